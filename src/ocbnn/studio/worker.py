"""One fit in a process of its own: with the rules, then without them, then proofs.

Started by the server as `python -m ocbnn.studio.worker FOLDER`. It tells of its
progress, and writes what it finds to the session's folder. It can be told to stop at
any moment: what was drawn until then is kept. What was found before is there until
something new is. Nothing heavy is loaded before it listens.
"""

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

from ocbnn.core.compiled import keep_compiled
from ocbnn.core.errors import OcbnnError
from ocbnn.studio.hearing import Stop
from ocbnn.studio.telling import before, in_json, speak_alone, tell


def main() -> int:
    """Fit, and say how it went; the exit code is 0 unless something broke."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--run", default="")
    asked = parser.parse_args()
    speak_alone()
    farewell = lambda message: tell("end", state="stopped", message=message)
    stop = Stop(
        farewell=lambda: farewell(before(asked.folder)),
        promise=lambda: tell("keeping"),
    )
    stop.listen()
    keep_compiled()
    try:
        warnings.simplefilter("ignore")
        state = _run(asked.folder, asked.run, stop, quick=asked.quick)
        stop.hold()  # Nothing is left that could be stopped.
        tell("end", state=state, message="")
    except KeyboardInterrupt:
        farewell(before(asked.folder))
    except OcbnnError as error:
        message = str(error).replace(f"{asked.folder}/", "")
        tell("end", state="failed", message=message)
    return 0


def _run(folder: Path, run: str, stop: Stop, *, quick: bool) -> str:
    from ocbnn.storage import replace_file  # noqa: PLC0415
    from ocbnn.studio.document import study_text  # noqa: PLC0415
    from ocbnn.studio.findings import (  # noqa: PLC0415
        broken_without,
        certificates,
        conflicts,
    )
    from ocbnn.studio.sessions import Session  # noqa: PLC0415

    session = Session(folder.name, folder)
    _, document = session.read()
    result: dict[str, Any] = {"run": run, "quick": quick}
    result |= {"document": document.model_dump(mode="json"), "without": None}
    result |= {"conflicts": "", "certificates": [], "report": ""}

    def keep(**more: Any) -> None:
        result.update(more)
        replace_file(session.result, in_json(result).encode())
        tell("result")

    bare = folder / "without.toml"
    replace_file(bare, study_text(document, with_rules=False).encode())
    rules = bool(document.active)
    stage = "fitting with your rules" if rules else "fitting; there are no rules"
    one = _fit(session.study, session, document, "with", stage, quick, stop)
    keep(**{"with": one, "report": one.pop("text"), "rows": one.pop("rows")})
    stop.farewell = lambda: tell("end", state="stopped", message="")
    if stop.let_go():
        return "stopped"
    if not rules:
        return "done"
    stage = "fitting without rules, to compare"
    try:
        other = _fit(bare, session, document, "without", stage, quick, stop)
    except KeyboardInterrupt:
        return "stopped"
    other.pop("text"), other.pop("rows")
    other["rules"] = broken_without(session)
    keep(without=other)
    if stop.let_go():
        return "stopped"
    for word, look in (("conflicts", conflicts), ("certificates", certificates)):
        tell("progress", stage=look.__doc__, note="", share=None, rate=None, left=None)
        keep(**{word: look(session)})
    return "done"


def _fit(
    study: Path,
    session: Any,
    document: Any,
    which: str,
    stage: str,
    quick: bool,
    stop: Stop,
) -> dict[str, Any]:
    from ocbnn.projects.fitting import fit_study  # noqa: PLC0415
    from ocbnn.projects.folder import RunFolder  # noqa: PLC0415
    from ocbnn.studio.answers import summed_up  # noqa: PLC0415
    from ocbnn.studio.findings import found_by  # noqa: PLC0415
    from ocbnn.studio.material import checked  # noqa: PLC0415
    from ocbnn.studio.teller import Teller  # noqa: PLC0415

    seen = checked(session.folder, document).window
    look = None
    if seen is not None:
        look = lambda found: summed_up(found.functions(seen.inputs), seen)
    # The last fit is gone on with if it is the same; else it stays until this one has
    # something to show.
    here = RunFolder(session.run(which))
    is_same = here.is_one and here.study.read_bytes() == study.read_bytes()
    is_same = is_same and here.run().quick == quick
    found = fit_study(
        study,
        here.path if is_same else session.coming(which),
        quick=quick,
        force=True,
        progress=Teller(stage, which, look, stop),
    )
    if found is None:
        raise TypeError("one process only")
    if not is_same:
        session.has_come(which)
    return found_by(found)


if __name__ == "__main__":
    sys.exit(main())
