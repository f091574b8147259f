"""One fit in a process of its own: with the rules, then without them, then proofs.

Started by the server as `python -m ocbnn.studio.worker FOLDER`. It reports progress and
writes results to the session's folder. It can be stopped at any time and keeps its
draws; earlier results stay until there are new ones. Nothing heavy is imported before
it listens for the request to stop.
"""

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

from ocbnn.core.compilation_cache import keep_compiled
from ocbnn.errors import OcbnnError
from ocbnn.studio.page_advice import message, on_page
from ocbnn.studio.stop_signal import StopSignal
from ocbnn.studio.worker_messages import (
    reserve_stdout,
    send_event,
    stopped_early,
    to_json,
)


def main() -> int:
    """Fit and report the outcome; expected errors are reported with exit code 0."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--run", default="")
    options = parser.parse_args()
    reserve_stdout()
    report_stopped = lambda message: send_event("end", state="stopped", message=message)
    stop = StopSignal(
        on_exit=lambda: report_stopped(stopped_early(options.folder)),
        on_saving=lambda: send_event("keeping"),
    )
    stop.listen()
    keep_compiled()
    try:
        warnings.simplefilter("ignore")
        state = _run(options.folder, options.run, stop, quick=options.quick)
        stop.hold()  # The fit is complete and can no longer be stopped.
        send_event("end", state=state, message="")
    except KeyboardInterrupt:
        report_stopped(stopped_early(options.folder))
    except OcbnnError as error:
        send_event("end", state="failed", message=message(error, options.folder))
    return 0


def _run(folder: Path, run: str, stop: StopSignal, *, quick: bool) -> str:
    from ocbnn.storage import replace_file  # noqa: PLC0415
    from ocbnn.studio.document import study_text  # noqa: PLC0415
    from ocbnn.studio.fit_results import (  # noqa: PLC0415
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

    def save(**parts: Any) -> None:
        result.update(parts)
        replace_file(session.result, to_json(result).encode())
        send_event("result")

    bare = folder / "without.toml"
    replace_file(bare, study_text(document, with_rules=False).encode())
    rules = bool(document.active)
    stage = "fitting with your rules" if rules else "fitting; there are no rules"
    fitted = _fit(session.study, session, document, "with", stage, quick, stop)
    save(**{"with": fitted, "report": fitted.pop("text"), "rows": fitted.pop("rows")})
    stop.on_exit = lambda: send_event("end", state="stopped", message="")
    if stop.release():
        return "stopped"
    if not rules:
        return "done"
    stage = "fitting without rules, to compare"
    try:
        without = _fit(bare, session, document, "without", stage, quick, stop)
    except KeyboardInterrupt:
        return "stopped"
    without.pop("text"), without.pop("rows")
    without["rules"] = broken_without(session)
    save(without=without)
    if stop.release():
        return "stopped"
    for key, analysis in (("conflicts", conflicts), ("certificates", certificates)):
        send_event(
            "progress",
            stage=analysis.__doc__,
            note="",
            share=None,
            rate=None,
            left=None,
        )
        save(**{key: analysis(session)})
    return "done"


def _fit(
    study: Path,
    session: Any,
    document: Any,
    which: str,
    stage: str,
    quick: bool,
    stop: StopSignal,
) -> dict[str, Any]:
    from ocbnn.projects.fitting import fit_study  # noqa: PLC0415
    from ocbnn.projects.folder import RunFolder  # noqa: PLC0415
    from ocbnn.studio.fit_results import fit_result  # noqa: PLC0415
    from ocbnn.studio.function_summaries import summarize  # noqa: PLC0415
    from ocbnn.studio.session_data import checked  # noqa: PLC0415
    from ocbnn.studio.worker_reporter import WorkerReporter  # noqa: PLC0415

    viewport = checked(session.folder, document).window
    look = None
    if viewport is not None:
        look = lambda predictive: summarize(
            predictive.functions(viewport.inputs), viewport
        )
    # The same study continues its last fit. Another one leaves the last fit in place
    # until there is something new to show.
    run_folder = RunFolder(session.run(which))
    is_same = run_folder.is_one and run_folder.study.read_bytes() == study.read_bytes()
    is_same = is_same and run_folder.run().quick == quick
    outcome = fit_study(
        study,
        run_folder.path if is_same else session.coming(which),
        quick=quick,
        force=True,
        progress=WorkerReporter(stage, which, look, stop),
        spelling=on_page,
    )
    if outcome is None:
        raise TypeError("one process only")
    if not is_same:
        session.has_come(which)
    return fit_result(outcome)


if __name__ == "__main__":
    sys.exit(main())
