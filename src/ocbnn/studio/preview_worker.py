"""A process that evaluates functions: of the prior, and of fits.

It reads one request per line and answers in one line. It keeps compiled code and the
models used last in memory.
"""

import functools
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ocbnn.errors import OcbnnError
from ocbnn.studio.page_advice import message
from ocbnn.studio.worker_messages import reserve_stdout, send


def main() -> None:
    """Answer requests until the server ends."""
    reserve_stdout()
    warnings.simplefilter("ignore")
    send({"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = _ANSWERS[request["kind"]](request)
            send({"number": request["number"], "answer": answer})
        except OcbnnError as error:
            sentence = message(error, request["folder"])
            send({"number": request["number"], "error": sentence})


def _checked_view(request: dict[str, Any]) -> tuple[Any, Any]:
    """The checked document and the viewport of a request."""
    from ocbnn.studio.document import Document  # noqa: PLC0415
    from ocbnn.studio.session_data import checked  # noqa: PLC0415

    document = Document.model_validate(request["document"])
    checks = checked(Path(request["folder"]), document)
    if checks.rows is None:
        raise OcbnnError(checks.problem)
    return checks, checks.window


def _prior(request: dict[str, Any]) -> dict[str, Any]:
    from ocbnn.studio.function_summaries import summarize  # noqa: PLC0415
    from ocbnn.studio.prior import shaped_prior  # noqa: PLC0415
    from ocbnn.studio.session_data import study_for  # noqa: PLC0415

    checks, viewport = _checked_view(request)
    study = study_for(Path(request["folder"]), checks.document)
    prior = shaped_prior(study, checks.rows, checks.active())
    answer = summarize(prior.predictive.functions(viewport.inputs), viewport)
    return {**answer, "seconds": prior.seconds, "note": prior.note}


def _posterior(request: dict[str, Any]) -> dict[str, Any]:
    from ocbnn.projects.folder import RunFolder  # noqa: PLC0415
    from ocbnn.studio.function_summaries import predictions_in_view  # noqa: PLC0415

    _, viewport = _checked_view(request)
    answer = {}
    for which in ("with", "without"):
        path = RunFolder(Path(request["folder"]) / which).model
        answer[which] = None
        if which in request["runs"] and path.is_file():
            model = _model(path, path.stat().st_mtime_ns)
            if model.schema_ == viewport.schema:
                answer[which] = predictions_in_view(model, viewport)
    return answer


def _figure(request: dict[str, Any]) -> dict[str, Any]:
    from ocbnn.plots import save  # noqa: PLC0415
    from ocbnn.projects.folder import RunFolder  # noqa: PLC0415
    from ocbnn.studio.figures import draw  # noqa: PLC0415

    checks, viewport = _checked_view(request)
    models = {}
    for which in request["runs"]:
        path = RunFolder(Path(request["folder"]) / which).model
        model = _model(path, path.stat().st_mtime_ns)
        if model.schema_ != viewport.schema:
            raise OcbnnError("the columns have changed since the fit. Fit again.")
        models[which] = model
    colours = [rule.colour for rule in checks.document.active]
    save(draw(models, viewport, checks.rows, colours), Path(request["path"]))
    return {}


@functools.lru_cache(16)
def _model(path: Path, changed: int) -> Any:
    """A fitted model; the file's time `changed` keeps the cache from stale ones."""
    from ocbnn.projects.predictions import load_model  # noqa: PLC0415

    return load_model(path)


_ANSWERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "prior": _prior,
    "posterior": _posterior,
    "figure": _figure,
}

if __name__ == "__main__":
    from ocbnn.core.compilation_cache import keep_compiled

    keep_compiled()
    main()
