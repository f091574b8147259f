"""What was sent, as plain values, whatever it is; and errors as sentences."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from ocbnn.core.errors import OcbnnError

Handler = Callable[[Request], Awaitable[Response]]
Model = TypeVar("Model", bound=BaseModel)

_MOST_JSON, _MOST_HEARD = 4 * 2**20, 2**31
# Pages nest four deep, and write whole numbers of 21 digits at most.
_MOST_DEPTH, _MOST_DIGITS = 32, 40
_MOST_SHOWN = 40
# What pydantic calls by the names of our classes, or not at all.
_PLAIN = {
    "missing": "this is missing",
    "model_type": "send a JSON object, {...}",
    "model_attributes_type": "send a JSON object, {...}",
    "union_tag_not_found": "send a JSON object with a kind",
}


class RefusedError(OcbnnError, ValueError):
    """A request that is not answered, and the status that says so."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def spoken(handler: Handler) -> Handler:
    """The same, with errors as messages."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except KeyError:
            said = "there is no such session or file. It may have been deleted."
            return JSONResponse({"error": said}, 404)
        except RefusedError as error:
            return JSONResponse({"error": str(error)}, error.status)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the request"
            said = _PLAIN.get(first["type"], first["msg"])
            return JSONResponse({"error": f"{place}: {said.rstrip('.')}."}, 422)
        except OcbnnError as error:
            return JSONResponse({"error": str(error)}, 422)
        except (ClientDisconnect, asyncio.CancelledError):
            # The page is gone or the server ends: nobody reads how far it got.
            return Response(status_code=503)

    return answer


async def sent_json(request: Request) -> Any:
    """A body that is JSON.

    Raises:
        RefusedError: When it is none, or holds what no page sends.
    """
    content = await sent_bytes(request, _MOST_JSON, "the request is too large")
    return await run_in_threadpool(_plain, content)


async def sent_as(request: Request, model: type[Model]) -> Model:
    """A body that is a JSON object with a model's keys.

    Raises:
        RefusedError: When it is something else.
        ValidationError: When a value is wrong.
    """
    said = await sent_json(request)
    if not isinstance(said, dict):
        keys = ", ".join(f'"{name}": ...' for name in model.model_fields)
        shown = json.dumps(said)
        if len(shown) > _MOST_SHOWN:
            shown = f"{shown[:_MOST_SHOWN]}..."
        raise RefusedError(
            f"the request is {shown}: send a JSON object, {{{keys}}}.", 422
        )
    return model.model_validate(said)


async def sent_bytes(request: Request, most: int, why: str) -> bytes:
    """A body, of which no more is kept than is allowed.

    Raises:
        RefusedError: When there is more.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size <= most:
            parts.append(part)
        else:
            # Browsers hear the answer only once they have sent all.
            parts.clear()
        if size > _MOST_HEARD:
            break
    if size > most:
        limit = f"{most / 2**20:.0f} MiB"
        raise RefusedError(f"{why}: at most {limit}. Take a part of its rows.", 413)
    return b"".join(parts)


def _plain(content: bytes) -> Any:
    try:
        found = json.loads(
            content,
            parse_int=_whole_number,
            parse_float=_number,
            parse_constant=_number,
        )
    except RecursionError:
        raise _deep() from None
    except ValueError as error:
        if isinstance(error, RefusedError):
            raise
        raise RefusedError("the request is no JSON.", 422) from None
    _check(found)
    return found


def _whole_number(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise RefusedError(
            f"the request has a number of {len(text)} digits; at most {_MOST_DIGITS} "
            "are read.",
            422,
        )
    return int(text)


def _number(text: str) -> float:
    found = float(text)
    if not abs(found) < float("inf"):
        raise RefusedError(
            f"the request has the number {text[:40]}, which is too large or is none.",
            422,
        )
    return found


def _check(found: Any) -> None:
    """Refuse nesting that no page makes, and texts that no file can hold."""
    level, depth = [found], 0
    while level:
        depth += 1
        if depth > _MOST_DEPTH:
            raise _deep()
        inner: list[Any] = []
        for one in level:
            if isinstance(one, str) and not one.isascii():
                _check_text(one)
            elif isinstance(one, dict):
                inner += [*one.keys(), *one.values()]
            elif isinstance(one, list):
                inner += one
        level = inner


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RefusedError(
            f"the request has a text with half a character, {text[error.start]!r}.", 422
        ) from None


def _deep() -> RefusedError:
    said = f"the request is nested more than {_MOST_DEPTH} deep, which no page does."
    return RefusedError(said, 422)
