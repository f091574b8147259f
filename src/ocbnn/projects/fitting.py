"""From a study file to a folder with a fitted model and a report on it."""

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ocbnn.core.errors import (
    DataError,
    OcbnnError,
    RegionError,
    RuleError,
    SettingError,
)
from ocbnn.core.processes import is_first, require_same, wait_for_all
from ocbnn.estimators.page import block, share
from ocbnn.estimators.report import Report
from ocbnn.projects.build import Model, build
from ocbnn.projects.columns import read_rows
from ocbnn.projects.folder import Run, RunFolder, as_json, digest
from ocbnn.projects.parts import Parts, parts_of
from ocbnn.projects.scores import score, score_lines
from ocbnn.projects.streaming import MEMORY, kept_parts, survey, write_parts
from ocbnn.projects.study import Study, read_study
from ocbnn.rules import Schema
from ocbnn.storage import replace_file
from ocbnn.tables import open_table

Say = Callable[[str], None]

_QUICK = "A quick run, too short to judge by. Fit without --quick for an answer."


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A finished fit.

    Attributes:
        folder: Where everything was written.
        document: What `report.json` says.
        summary: The same in a few lines.
        interrupted: Whether Ctrl-C ended the run.
    """

    folder: RunFolder
    document: dict[str, Any]
    summary: str
    interrupted: bool


def fit_study(
    path: Path,
    out: Path,
    *,
    seed: int | None = None,
    quick: bool = False,
    force: bool = False,
    devices: object = None,
    progress: object = "auto",
    say: Say = lambda _: None,
) -> Outcome | None:
    """Fit what a study file says, and write everything to a folder.

    Of several processes that fit together the first writes, and the others get None.

    Raises:
        OcbnnError: Naming the file, the place and the fix.
        KeyboardInterrupt: When stopped before anything was drawn.
    """
    study = read_study(path)
    seed = study.said.fit.seed if seed is None else seed
    return _fit(study, RunFolder(out), seed, quick, force, devices, progress, say)


def resume(
    path: Path, *, devices: object = None, progress: object = "auto", say: Say = print
) -> Outcome | None:
    """Go on with the fit of a folder, or read it when it is finished.

    It need not be on as many devices as before.

    Raises:
        OcbnnError: When this is no folder of a fit, or its table has changed.
    """
    folder = RunFolder(path)
    run = folder.run()
    study = read_study(folder.study, Path(run.folder))
    named = dataclasses.replace(study.source, path=Path(run.study))
    study = dataclasses.replace(study, source=named)
    return _fit(study, folder, run.seed, run.quick, False, devices, progress, say)


def _fit(
    study: Study,
    folder: RunFolder,
    seed: int,
    quick: bool,
    force: bool,
    devices: object,
    progress: object,
    say: Say,
) -> Outcome | None:
    # Asked for late: the table's fingerprint takes a while, and it may not be there.
    asked = functools.cache(lambda: _run(study, seed, quick))
    with _material(study, folder, seed, asked, say) as (schema, count, divide):
        model = build(
            study,
            schema,
            count,
            seed=seed,
            quick=quick,
            checkpoint=folder.checkpoint,
            devices=devices,
            progress=progress,
        )
        if is_first():
            folder.claim(asked(), study.source.text, force=force)
        parts = divide()
    if is_first():
        _announce(parts, len(study.rules), say)
        if study.said.data.stream:
            wait_for_all()  # The others read what was written.
    require_same(dataclasses.asdict(asked()) | {"quick": str(quick)}, "studies")
    _learn(study, model, parts)
    found = None
    if is_first():
        found = _written(study, folder, seed, quick, model, parts)
    wait_for_all()
    if found is None and model.draws_.interrupted:
        raise KeyboardInterrupt("the first process has written what was drawn")
    return found


def _announce(parts: Parts, rules: int, say: Say) -> None:
    if parts.dropped:
        one = parts.dropped == 1
        lack = "row lacks a value and is" if one else "rows lack a value and are"
        say(f"{parts.dropped} {lack} left out.")
    say(f"fitting to {parts.rows} rows and {rules} rule{'s' * (rules != 1)}")


@contextmanager
def _material(
    study: Study, folder: RunFolder, seed: int, asked: Callable[[], Run], say: Say
) -> Iterator[tuple[Schema, int, Callable[[], Parts]]]:
    """The names of columns, about how many rows, and what divides and gives them.

    Rows that are read in batches are written only once the folder is this run's own.
    """
    if not study.said.data.stream:
        with open_table(study.table, home=study.source.folder) as table:
            rows = read_rows(study, table)
        parts = parts_of(rows, study.said.fit.holdout, seed)
        yield parts.schema, parts.rows, lambda: parts
        return
    if not is_first():
        wait_for_all()  # The first is writing them.
        kept = kept_parts(folder.rows)
        if kept is None:
            raise SettingError(
                f"{folder.rows}: the rows that the first process has written are not "
                "there. All processes must see the same folder."
            )
        yield kept.schema, kept.rows, lambda: kept
        return
    is_begun = folder.rows.exists() and study.table.exists()
    kept = kept_parts(folder.rows) if is_begun and folder.holds(asked()) else None
    if kept is not None:
        yield kept.schema, kept.rows, lambda: kept
        return
    say(f"reading {study.table}")
    with open_table(study.table, MEMORY, home=study.source.folder) as table:
        found = survey(study, table)

        def divide() -> Parts:
            say(f"writing {found.whole} rows to {folder.rows}")
            return write_parts(study, table, found, seed, folder.rows)

        yield found.schema, found.whole, divide


def _run(study: Study, seed: int, quick: bool) -> Run:
    return Run(
        study=str(study.source.path.absolute()),
        folder=str(study.source.folder.absolute()),
        text=hashlib.sha256(study.source.text.encode()).hexdigest(),
        data=digest(study.table),
        seed=seed,
        quick=quick,
    )


def _learn(study: Study, model: Model, parts: Parts) -> None:
    X, y = parts.fitted
    try:
        target = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        model._table_rows = parts.numbers
        model.fit(X, target, refine=study.said.inference.refine)
    except (RuleError, RegionError, SettingError) as error:
        raise SettingError(f"{_place_of(study, error)}: {error}") from None
    except DataError as error:
        raise DataError(f"{study.table}: {error}") from None


def _place_of(study: Study, error: OcbnnError) -> str:
    """The line of the rule that an error speaks of, else the file."""
    for index, rule in enumerate(study.rules):
        if rule.name and repr(rule.name) in str(error):
            return study.source.place(("rules", index))
    return str(study.source.path)


def _written(
    study: Study,
    folder: RunFolder,
    seed: int,
    quick: bool,
    model: Model,
    parts: Parts,
) -> Outcome:
    # Where and how it was fitted is no part of the model.
    model.set_params(checkpoint=None, progress="auto").save(folder.model)
    report, scores = model.report(), score(model, parts)
    document = {
        "study": str(study.source.path.absolute()),
        "table": str(study.table.absolute()),
        "seed": seed,
        "quick": quick,
        "rows": {
            "fitted": parts.rows,
            "held_out": parts.held_out,
            "dropped": parts.dropped,
        },
        "scores": scores,
        "report": report.to_dict(),
        "refinement": model.refinement_ and model.refinement_.to_dict(),
        "files": {
            "folder": str(folder.path),
            "model": str(folder.model),
            "report": str(folder.report_text),
        },
    }
    page = f"{report}\n\n{block('Scores', score_lines(scores))}\n"
    if model.refinement_ is not None:
        page += f"\n{model.refinement_}\n"
    page = f"{_QUICK}\n\n{page}" if quick else page
    replace_file(folder.report_text, page.encode())
    replace_file(folder.report_json, as_json(document).encode())
    interrupted = model.draws_.interrupted
    summary = _summary(report, scores)
    if model.refinement_ is not None:
        summary += f"\n\n{model.refinement_}"
    summary = f"{_QUICK}\n\n{summary}" if quick else summary
    return Outcome(folder, document, summary, interrupted)


def _summary(report: Report, scores: dict[str, Any]) -> str:
    rules = [
        f"{share(one.check.violation):>8}  {one.rule}"
        for one in report.rules
        if one.check is not None
    ]
    chosen = report.fitted.get("chosen")
    blocks = [
        block(report.fitted["inference"], [chosen]) if chosen else "",
        block(f"Verdict: {report.verdict.status}", report.verdict.sentences),
        block("In how much of its region each rule is broken", rules, wrap=False),
        block("Scores", score_lines(scores)),
    ]
    return "\n\n".join(block for block in blocks if block)
