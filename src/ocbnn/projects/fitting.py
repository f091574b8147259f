"""Fits of study files: a folder with the model, its report and a checkpoint."""

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ocbnn.analysis.report_page import Report
from ocbnn.core.advice import Kind, Spelling
from ocbnn.core.digest import file_digest
from ocbnn.core.page import block
from ocbnn.core.processes import is_first, require_same, wait_for_all
from ocbnn.core.sentences import Sentence, errors_spelled, spelled
from ocbnn.core.words import share
from ocbnn.errors import (
    DataError,
    OcbnnError,
    RegionError,
    RuleError,
    SettingError,
)
from ocbnn.projects.build import Model, build
from ocbnn.projects.columns import read_rows
from ocbnn.projects.command_advice import on_command_line
from ocbnn.projects.data_split import DataSplit, parts_of
from ocbnn.projects.folder import Run, RunFolder, as_json
from ocbnn.projects.scores import score, score_lines
from ocbnn.projects.streaming import MEMORY, kept_parts, survey, write_parts
from ocbnn.projects.study import Study, read_study
from ocbnn.rules import Schema
from ocbnn.storage import replace_file
from ocbnn.tables import open_table

Say = Callable[[str], None]

_QUICK = Sentence("A quick run, too short to judge by. ", Kind.FIT_IN_FULL)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A finished fit.

    Attributes
    ----------
    folder
        Where everything was written.
    document
        The content of `report.json`.
    summary
        The same in a few lines of text.
    interrupted
        Whether Ctrl-C ended the run.
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
    spelling: Spelling | None = None,
) -> Outcome | None:
    """Fit a study file, and write everything to a folder.

    Of several processes that fit together, the first writes, and the others return
    None. By default, reports and errors advise commands.

    Raises
    ------
    OcbnnError
        Naming the file, the place and the fix.
    KeyboardInterrupt
        When stopped before anything was drawn.
    """
    study = read_study(path)
    seed = study.sections.fit.seed if seed is None else seed
    advice_spelling = spelling or on_command_line(out)
    return _fit(
        study,
        RunFolder(out),
        seed,
        quick,
        force,
        devices,
        progress,
        say,
        advice_spelling,
    )


def resume(
    path: Path, *, devices: object = None, progress: object = "auto", say: Say = print
) -> Outcome | None:
    """Continue the fit in a folder; a finished one is read.

    The number of devices may differ from before.

    Raises
    ------
    OcbnnError
        When this is not the folder of a fit, or its table has changed.
    """
    folder = RunFolder(path)
    run = folder.run()
    study = read_study(folder.study, Path(run.folder))
    source = dataclasses.replace(study.source, path=Path(run.study))
    study = dataclasses.replace(study, source=source)
    advice_spelling = on_command_line(path)
    return _fit(
        study,
        folder,
        run.seed,
        run.quick,
        False,
        devices,
        progress,
        say,
        advice_spelling,
    )


def _fit(
    study: Study,
    folder: RunFolder,
    seed: int,
    quick: bool,
    force: bool,
    devices: object,
    progress: object,
    say: Say,
    spelling: Spelling,
) -> Outcome | None:
    # Computed late: hashing the table takes a while, and it may not exist.
    run = functools.cache(lambda: _run(study, seed, quick))
    with (
        errors_spelled(spelling),
        _table_rows(study, folder, seed, run, say) as (schema, count, divide),
    ):
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
            folder.claim(run(), study.source.text, force=force)
        parts = divide()
    if is_first():
        _announce(parts, len(study.rules), say)
        if study.sections.data.stream:
            wait_for_all()  # The others read the written rows.
    require_same(dataclasses.asdict(run()) | {"quick": str(quick)}, "studies")
    with errors_spelled(spelling):
        _fit_model(study, model, parts)
    outcome = None
    if is_first():
        outcome = _write_results(study, folder, seed, quick, model, parts, spelling)
    wait_for_all()
    if outcome is None and model.draws_.interrupted:
        raise KeyboardInterrupt("the first process has written the draws")
    return outcome


def _announce(parts: DataSplit, rules: int, say: Say) -> None:
    if parts.dropped:
        is_single = parts.dropped == 1
        phrase = (
            "row lacks a value and is" if is_single else "rows lack a value and are"
        )
        say(f"{parts.dropped} {phrase} left out.")
    say(f"fitting {parts.rows} rows and {rules} rule{'s' * (rules != 1)}")


@contextmanager
def _table_rows(
    study: Study, folder: RunFolder, seed: int, run: Callable[[], Run], say: Say
) -> Iterator[tuple[Schema, int, Callable[[], DataSplit]]]:
    """The schema, the approximate number of rows, and a function that splits them.

    Rows that are read in batches are written only after the folder is claimed.
    """
    if not study.sections.data.stream:
        with open_table(study.table, home=study.source.folder) as table:
            rows = read_rows(study, table)
        parts = parts_of(rows, study.sections.fit.holdout, seed)
        yield parts.schema, parts.rows, lambda: parts
        return
    if not is_first():
        wait_for_all()  # The first process is writing the rows.
        written = kept_parts(folder.rows)
        if written is None:
            raise SettingError(
                f"{folder.rows}: the rows that the first process wrote are missing. "
                "Use a folder that all processes share."
            )
        yield written.schema, written.rows, lambda: written
        return
    can_resume = folder.rows.exists() and study.table.exists()
    written = kept_parts(folder.rows) if can_resume and folder.holds(run()) else None
    if written is not None:
        yield written.schema, written.rows, lambda: written
        return
    say(f"reading {study.table}")
    with open_table(study.table, MEMORY, home=study.source.folder) as table:
        columns = survey(study, table)

        def divide() -> DataSplit:
            say(f"writing {columns.complete} rows to {folder.rows}")
            return write_parts(study, table, columns, seed, folder.rows)

        yield columns.schema, columns.complete, divide


def _run(study: Study, seed: int, quick: bool) -> Run:
    return Run(
        study=str(study.source.path.absolute()),
        folder=str(study.source.folder.absolute()),
        text=hashlib.sha256(study.source.text.encode()).hexdigest(),
        data=file_digest(study.table),
        seed=seed,
        quick=quick,
    )


def _fit_model(study: Study, model: Model, parts: DataSplit) -> None:
    X, y = parts.fitted
    try:
        target = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        model.fit(
            X,
            target,
            refine=study.sections.inference.refine,
            row_names=parts.numbers,
        )
    except (RuleError, RegionError, SettingError) as error:
        sentence = Sentence(_place_of(study, error), ": ", error)
        raise SettingError(sentence) from None
    except DataError as error:
        raise DataError(Sentence(f"{study.table}: ", error)) from None


def _place_of(study: Study, error: OcbnnError) -> str:
    """The line of the rule that an error names, or else the file."""
    for index, rule in enumerate(study.rules):
        if rule.name and repr(rule.name) in str(error):
            return study.source.place(("rules", index))
    return str(study.source.path)


def _write_results(
    study: Study,
    folder: RunFolder,
    seed: int,
    quick: bool,
    model: Model,
    parts: DataSplit,
    spelling: Spelling,
) -> Outcome:
    # The checkpoint and the progress bar are not part of the model.
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
        "report": report.to_dict(spelling),
        "refinement": model.refinement_ and model.refinement_.to_dict(),
        "files": {
            "folder": str(folder.path),
            "model": str(folder.model),
            "report": str(folder.report_text),
        },
    }
    lines = spelled(score_lines(scores), spelling)
    head = f"{_QUICK.to_text(spelling)}\n\n" if quick else ""
    page = f"{head}{report.to_text(spelling)}\n\n{block('Scores', lines)}\n"
    if model.refinement_ is not None:
        page += f"\n{model.refinement_}\n"
    replace_file(folder.report_text, page.encode())
    replace_file(folder.report_json, as_json(document).encode())
    interrupted = model.draws_.interrupted
    summary = head + _summary(report, lines, spelling)
    if model.refinement_ is not None:
        summary += f"\n\n{model.refinement_}"
    if model.projection_ is not None:
        summary += f"\n\n{model.projection_}"
    return Outcome(folder, document, summary, interrupted)


def _summary(report: Report, scores: list[str], spelling: Spelling) -> str:
    rules = [
        f"{share(rule.check.violation):>8}  {rule.rule}"
        for rule in report.rules
        if rule.check is not None
    ]
    chosen = spelled(report.fitted.get("chosen"), spelling)
    sentences = spelled(report.verdict.sentences, spelling)
    blocks = [
        block(report.fitted["inference"], [chosen]) if chosen else "",
        block(f"Verdict: {report.verdict.status}", sentences),
        block("Share of each rule's region in which it is violated", rules, wrap=False),
        block("Scores", scores),
    ]
    return "\n\n".join(block for block in blocks if block)
