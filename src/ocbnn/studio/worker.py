"""One fit in a process of its own: with the rules, then without them, then proofs.

Started by the server as `python -m ocbnn.studio.worker FOLDER`. It tells of its
progress, and writes what it finds to the session's folder. SIGINT ends it gently: what
was drawn until then is kept.
"""

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any

from ocbnn.core.errors import OcbnnError
from ocbnn.studio.telling import tell

# Proofs are a bonus: as many draws as take a moment.
_PROVED_DRAWS, _PROVED_BOXES = 100, 512


def main() -> int:
    """Fit, and say how it went; the exit code is 0 unless something broke."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    try:
        warnings.simplefilter("ignore")
        state = _run(asked.folder, quick=asked.quick)
        tell("end", state=state, message="")
    except KeyboardInterrupt:
        tell("end", state="stopped", message="Stopped before anything was drawn.")
    except OcbnnError as error:
        message = str(error).replace(f"{asked.folder}/", "")
        tell("end", state="failed", message=message)
    return 0


def _run(folder: Path, *, quick: bool) -> str:
    # Imported here, so that a stop while the library loads is gentle as well.
    from ocbnn.storage import replace_file  # noqa: PLC0415
    from ocbnn.studio.document import study_text  # noqa: PLC0415
    from ocbnn.studio.sessions import Session  # noqa: PLC0415

    session = Session(folder.name, folder)
    _, document = session.read()
    result: dict[str, Any] = {"quick": quick, "with": None, "without": None}
    result |= {"conflicts": "", "certificates": [], "report": ""}

    def keep(**more: Any) -> None:
        result.update(more)
        replace_file(session.result, json.dumps(result, allow_nan=False).encode())
        tell("result")

    bare = folder / "without.toml"
    replace_file(bare, study_text(document, with_rules=False).encode())
    rules = bool(document.active)
    stage = "fitting with your rules" if rules else "fitting; there are no rules"
    one, stopped = _fit(session.study, session, document, "with", stage, quick)
    keep(**{"with": one, "report": one.pop("text")})
    if stopped:
        return "stopped"
    if not rules:
        return "done"
    stage = "fitting without rules, to compare"
    other, stopped = _fit(bare, session, document, "without", stage, quick)
    other.pop("text")
    other["rules"] = _broken_without(session)
    keep(without=other)
    if stopped:
        return "stopped"
    for word, look in (("conflicts", _conflicts), ("certificates", _certificates)):
        tell("progress", stage=look.__doc__, note="", share=None, rate=None, left=None)
        try:
            keep(**{word: look(session.run("with"))})
        except KeyboardInterrupt:
            return "done"
    return "done"


def _fit(
    study: Path, session: Any, document: Any, which: str, stage: str, quick: bool
) -> tuple[dict[str, Any], bool]:
    from ocbnn.projects.fitting import fit_study  # noqa: PLC0415
    from ocbnn.studio.answers import summed_up  # noqa: PLC0415
    from ocbnn.studio.material import checked  # noqa: PLC0415
    from ocbnn.studio.telling import Teller  # noqa: PLC0415

    seen = checked(session.folder, document).window
    look = None
    if seen is not None:
        look = lambda found: summed_up(found.functions(seen.inputs), seen)
    found = fit_study(
        study,
        session.run(which),
        quick=quick,
        force=True,
        progress=Teller(stage, which, look),
    )
    if found is None:
        raise TypeError("one process only")
    return _one(found.document, found.summary), found.interrupted


def _broken_without(session: Any) -> list[dict[str, Any]]:
    """How far the rules are broken by the fit that never heard of them."""
    from ocbnn.projects.folder import RunFolder  # noqa: PLC0415
    from ocbnn.projects.predicting import load_model  # noqa: PLC0415

    one, other = (
        load_model(RunFolder(session.run(which)).model) for which in ("with", "without")
    )
    return [
        {"rule": check.rule, "violation": check.violation, "sentence": ""}
        for check in other.check_rules(of=one)
    ]


def _one(document: dict[str, Any], summary: str) -> dict[str, Any]:
    report = document["report"]
    verdict = report["verdict"]
    rules = [
        {
            "rule": one["rule"],
            "violation": (one["check"] or {}).get("violation"),
            "sentence": " ".join(one.get("advice") or ()),
        }
        for one in report["rules"].values()
    ]
    return {
        "verdict": {"status": verdict["status"], "sentences": verdict["sentences"]},
        "rules": rules,
        "scores": _numbers(document["scores"]),
        "seconds": report["fitted"].get("seconds"),
        "text": summary,
    }


def _numbers(scores: dict[str, Any], head: str = "") -> dict[str, float]:
    """Every score by name; those of several outputs are named after them."""
    found: dict[str, float] = {}
    for name, value in scores.items():
        if isinstance(value, dict):
            few = name == "outputs" and len(value) == 1
            inner = next(iter(value.values())) if few else value
            within = "" if few or name == "outputs" else f"{name} "
            found |= _numbers(inner, head + within)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found[head + name] = value
    return found


def _conflicts(run: Path) -> str:
    """setting rules against the data"""  # noqa: D400, D403, D415 (shown as a stage)
    from ocbnn.projects.folder import RunFolder  # noqa: PLC0415
    from ocbnn.projects.predicting import load_model  # noqa: PLC0415

    try:
        return str(load_model(RunFolder(run).model).conflicts())
    except OcbnnError as error:
        return str(error)


def _certificates(run: Path) -> list[dict[str, Any]]:
    """proving what can be proved"""  # noqa: D400, D403, D415 (shown as a stage)
    from ocbnn.estimators import certify  # noqa: PLC0415
    from ocbnn.projects.folder import RunFolder  # noqa: PLC0415
    from ocbnn.projects.predicting import load_model  # noqa: PLC0415

    model = load_model(RunFolder(run).model)
    found = certify(model, draws=_PROVED_DRAWS, boxes=_PROVED_BOXES)
    proved = [
        {
            "rule": one.rule,
            "holds": one.holds,
            "broken": one.broken,
            "undecided": one.undecided,
            "sentence": f"{one.holds:.0%} of {len(one.draws)} draws are proved to keep "
            "it at every input.",
        }
        for one in found.rules
    ]
    skipped = [
        {"rule": name, "holds": None, "broken": None, "undecided": None, "sentence": s}
        for name, s in found.skipped.items()
    ]
    return proved + skipped


if __name__ == "__main__":
    from ocbnn.core.compiled import keep_compiled

    keep_compiled()
    sys.exit(main())
