"""Requests are parsed defensively, and errors are answered with sentences."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from ocbnn.errors import OcbnnError
from ocbnn.studio.page_advice import message

Handler = Callable[[Request], Awaitable[Response]]
Model = TypeVar("Model", bound=BaseModel)

_MOST_JSON, _MOST_READ = 4 * 2**20, 2**31
# Our pages nest four levels deep and write integers of at most 21 digits.
_MOST_DEPTH, _MOST_DIGITS = 32, 40
_MOST_SHOWN = 40
# Plain words for pydantic's messages that would name our classes.
_PLAIN = {
    "missing": "this is missing",
    "model_type": "send a JSON object, {...}",
    "model_attributes_type": "send a JSON object, {...}",
    "union_tag_not_found": "send a JSON object with a kind",
}


class RequestError(OcbnnError, ValueError):
    """A refused request, and the HTTP status of the answer."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def with_error_responses(handler: Handler) -> Handler:
    """The same handler, with errors answered as messages."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except KeyError:
            problem = "there is no such session or file. It may have been deleted."
            return JSONResponse({"error": problem}, 404)
        except RequestError as error:
            return JSONResponse({"error": str(error)}, error.status)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the request"
            problem = _PLAIN.get(first["type"], first["msg"])
            return JSONResponse({"error": f"{place}: {problem.rstrip('.')}."}, 422)
        except OcbnnError as error:
            return JSONResponse({"error": message(error)}, 422)
        except (ClientDisconnect, asyncio.CancelledError):
            # The page was closed or the server is ending: nobody reads this answer.
            return Response(status_code=503)

    return answer


async def read_json(request: Request) -> Any:
    """Read a JSON body.

    Raises
    ------
    RequestError
        When it is not JSON, or holds something that our pages never send.
    """
    content = await read_body(request, _MOST_JSON, "the request is too large")
    return await run_in_threadpool(_parse, content)


async def read_model(request: Request, model: type[Model]) -> Model:
    """Read a body that is a JSON object with a model's keys.

    Raises
    ------
    RequestError
        When it is not such an object.
    ValidationError
        When a value is wrong.
    """
    body = await read_json(request)
    if not isinstance(body, dict):
        keys = ", ".join(f'"{name}": ...' for name in model.model_fields)
        shown = json.dumps(body)
        if len(shown) > _MOST_SHOWN:
            shown = f"{shown[:_MOST_SHOWN]}..."
        raise RequestError(
            f"the request is {shown}: send a JSON object, {{{keys}}}.", 422
        )
    return model.model_validate(body)


async def read_body(request: Request, most: int, why: str) -> bytes:
    """Read a body of at most `most` bytes.

    Raises
    ------
    RequestError
        When it is larger.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size <= most:
            parts.append(part)
        else:
            # Browsers read the answer only after they have sent the whole body.
            parts.clear()
        if size > _MOST_READ:
            break
    if size > most:
        limit = f"{most / 2**20:.0f} MiB"
        raise RequestError(f"{why}: at most {limit}. Take a part of its rows.", 413)
    return b"".join(parts)


def _parse(content: bytes) -> Any:
    try:
        body = json.loads(
            content,
            parse_int=_whole_number,
            parse_float=_number,
            parse_constant=_number,
        )
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        if isinstance(error, RequestError):
            raise
        raise RequestError("the request is not JSON.", 422) from None
    _check_values(body)
    return body


def _whole_number(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise RequestError(
            f"the request has a number of {len(text)} digits; at most {_MOST_DIGITS} "
            "are read.",
            422,
        )
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if not abs(value) < float("inf"):
        raise RequestError(
            f"the request has the number {text[:40]}, which is too large or not "
            "a number.",
            422,
        )
    return value


def _check_values(body: Any) -> None:
    """Refuse excessive nesting, and text that cannot be encoded."""
    level, depth = [body], 0
    while level:
        depth += 1
        if depth > _MOST_DEPTH:
            raise _too_deep()
        children: list[Any] = []
        for value in level:
            if isinstance(value, str) and not value.isascii():
                _check_text(value)
            elif isinstance(value, dict):
                children += [*value.keys(), *value.values()]
            elif isinstance(value, list):
                children += value
        level = children


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RequestError(
            f"the request has text with half a character, {text[error.start]!r}.", 422
        ) from None


def _too_deep() -> RequestError:
    problem = f"the request is nested more than {_MOST_DEPTH} levels deep."
    return RequestError(problem, 422)
