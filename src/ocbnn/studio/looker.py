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

from ocbnn.core.errors import OcbnnError
from ocbnn.studio.telling import say, speak_alone


def main() -> None:
    """Answer until the server is gone."""
    speak_alone()
    warnings.simplefilter("ignore")
    say({"ready": True})
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = _ANSWERS[asked["kind"]](asked)
            say({"number": asked["number"], "answer": answer})
        except OcbnnError as error:
            said = str(error).replace(f"{asked['folder']}/", "")
            say({"number": asked["number"], "error": said})


def _looked_at(asked: dict[str, Any]) -> tuple[Any, Any]:
    """The document and the window of a question."""
    from ocbnn.studio.document import Document  # noqa: PLC0415
    from ocbnn.studio.material import checked  # noqa: PLC0415

    document = Document.model_validate(asked["document"])
    found = checked(Path(asked["folder"]), document)
    if found.rows is None:
        raise OcbnnError(found.problem)
    return found, found.window


def _prior(asked: dict[str, Any]) -> dict[str, Any]:
    from ocbnn.studio.answers import summed_up  # noqa: PLC0415
    from ocbnn.studio.material import study_for  # noqa: PLC0415
    from ocbnn.studio.prior import shaped_prior  # noqa: PLC0415

    found, seen = _looked_at(asked)
    study = study_for(Path(asked["folder"]), found.document)
    prior = shaped_prior(study, found.rows, found.active())
    answer = summed_up(prior.predictive.functions(seen.inputs), seen)
    return {**answer, "seconds": prior.seconds, "note": prior.note}


def _posterior(asked: dict[str, Any]) -> dict[str, Any]:
    from ocbnn.projects.folder import RunFolder  # noqa: PLC0415
    from ocbnn.studio.answers import answered  # noqa: PLC0415

    _, seen = _looked_at(asked)
    answer = {}
    for which in ("with", "without"):
        path = RunFolder(Path(asked["folder"]) / which).model
        answer[which] = None
        if which in asked["runs"] and path.is_file():
            model = _model(path, path.stat().st_mtime_ns)
            if model.schema_ == seen.schema:
                answer[which] = answered(model, seen)
    return answer


def _figure(asked: dict[str, Any]) -> dict[str, Any]:
    from ocbnn.plots import save  # noqa: PLC0415
    from ocbnn.projects.folder import RunFolder  # noqa: PLC0415
    from ocbnn.studio.figures import draw  # noqa: PLC0415

    found, seen = _looked_at(asked)
    models = {}
    for which in asked["runs"]:
        path = RunFolder(Path(asked["folder"]) / which).model
        model = _model(path, path.stat().st_mtime_ns)
        if model.schema_ != seen.schema:
            raise OcbnnError("the columns have changed since the fit. Fit again.")
        models[which] = model
    colours = [rule.colour for rule in found.document.active]
    save(draw(models, seen, found.rows, colours), Path(asked["path"]))
    return {}


@functools.lru_cache(16)
def _model(path: Path, changed: int) -> Any:
    """A fitted model; `changed` tells a new one from that which was read before."""
    from ocbnn.projects.predicting import load_model  # noqa: PLC0415

    return load_model(path)


_ANSWERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "prior": _prior,
    "posterior": _posterior,
    "figure": _figure,
}

if __name__ == "__main__":
    from ocbnn.core.compiled import keep_compiled

    keep_compiled()
    main()
