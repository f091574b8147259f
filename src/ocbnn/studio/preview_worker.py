"""A process that answers what functions look like: before the data, and after a fit.

It reads one question a line and answers in one line, and keeps what is compiled and
the models that were asked about last.
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
    """Answer until the server is gone."""
    reserve_stdout()
    warnings.simplefilter("ignore")
    send({"ready": True})
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = _ANSWERS[question["kind"]](question)
            send({"number": question["number"], "answer": answer})
        except OcbnnError as error:
            sentence = message(error, question["folder"])
            send({"number": question["number"], "error": sentence})


def _looked_at(question: dict[str, Any]) -> tuple[Any, Any]:
    """The document and the window of a question."""
    from ocbnn.studio.document import Document  # noqa: PLC0415
    from ocbnn.studio.session_data import checked  # noqa: PLC0415

    document = Document.model_validate(question["document"])
    checks = checked(Path(question["folder"]), document)
    if checks.rows is None:
        raise OcbnnError(checks.problem)
    return checks, checks.window


def _prior(question: dict[str, Any]) -> dict[str, Any]:
    from ocbnn.studio.function_summaries import summarize  # noqa: PLC0415
    from ocbnn.studio.prior import shaped_prior  # noqa: PLC0415
    from ocbnn.studio.session_data import study_for  # noqa: PLC0415

    checks, seen = _looked_at(question)
    study = study_for(Path(question["folder"]), checks.document)
    prior = shaped_prior(study, checks.rows, checks.active())
    answer = summarize(prior.predictive.functions(seen.inputs), seen)
    return {**answer, "seconds": prior.seconds, "note": prior.note}


def _posterior(question: dict[str, Any]) -> dict[str, Any]:
    from ocbnn.projects.folder import RunFolder  # noqa: PLC0415
    from ocbnn.studio.function_summaries import predictions_in_view  # noqa: PLC0415

    _, seen = _looked_at(question)
    answer = {}
    for which in ("with", "without"):
        path = RunFolder(Path(question["folder"]) / which).model
        answer[which] = None
        if which in question["runs"] and path.is_file():
            model = _model(path, path.stat().st_mtime_ns)
            if model.schema_ == seen.schema:
                answer[which] = predictions_in_view(model, seen)
    return answer


def _figure(question: dict[str, Any]) -> dict[str, Any]:
    from ocbnn.plots import save  # noqa: PLC0415
    from ocbnn.projects.folder import RunFolder  # noqa: PLC0415
    from ocbnn.studio.figures import draw  # noqa: PLC0415

    checks, seen = _looked_at(question)
    models = {}
    for which in question["runs"]:
        path = RunFolder(Path(question["folder"]) / which).model
        model = _model(path, path.stat().st_mtime_ns)
        if model.schema_ != seen.schema:
            raise OcbnnError("the columns have changed since the fit. Fit again.")
        models[which] = model
    colours = [rule.colour for rule in checks.document.active]
    save(draw(models, seen, checks.rows, colours), Path(question["path"]))
    return {}


@functools.lru_cache(16)
def _model(path: Path, changed: int) -> Any:
    """A fitted model; `changed` tells a new one from that which was read before."""
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
