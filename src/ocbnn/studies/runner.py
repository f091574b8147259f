"""Running studies, and writing what was found."""

import dataclasses
import json
import time
from collections.abc import Callable
from pathlib import Path

from ocbnn.core.plain import plain
from ocbnn.core.versions import library_versions
from ocbnn.errors import SettingError
from ocbnn.inference.progress import Progress
from ocbnn.plots.style import save
from ocbnn.studies.algorithms import AlgorithmStudy
from ocbnn.studies.base import PRESETS, Request, Result, Study
from ocbnn.studies.clinical import ClinicalStudy
from ocbnn.studies.motion_report import MotionFigure, MotionTable
from ocbnn.studies.parts import FOLDER, Parts
from ocbnn.studies.report import write_index
from ocbnn.studies.sure import SureStudy
from ocbnn.studies.toy_runs import ToyStudy
from ocbnn.studies.toys import TOYS
from ocbnn.studies.uci import UciStudy
from ocbnn.studies.worst_case import WorstCaseStudy
from ocbnn.studies.worth_functions import WorthFunctionsStudy
from ocbnn.studies.worth_tables import WorthTablesStudy

_PAPER: dict[str, Study] = {
    study.name: study
    for study in (
        *map(ToyStudy, TOYS.values()),
        ClinicalStudy(),
        MotionTable(),
        MotionFigure(),
    )
}
_OTHERS: dict[str, Study] = {
    study.name: study
    for study in (
        UciStudy(),
        AlgorithmStudy(),
        WorstCaseStudy(),
        SureStudy(),
        WorthFunctionsStudy(),
        WorthTablesStudy(),
    )
}
_STUDIES: dict[str, Study] = {**_PAPER, **_OTHERS}
_GROUPS = {
    "toys": tuple(TOYS),
    "worth": (WorthFunctionsStudy.name, WorthTablesStudy.name),
    "all": tuple(_PAPER),
}
STUDIES = (*_STUDIES, *_GROUPS)


def names_for(name: str) -> list[str]:
    """The single studies that a name stands for."""
    if name in _GROUPS:
        return list(_GROUPS[name])
    if name in _STUDIES:
        return [name]
    raise SettingError(
        f"there is no study {name!r}: write one of {', '.join(STUDIES)}."
    )


def reproduce(
    name: str,
    *,
    preset: str = "best",
    seed: int = 0,
    out: Path = Path("results"),
    quick: bool = False,
    data: Path | None = None,
    progress: Progress = False,
    say: Callable[[str], None] = lambda _: None,
) -> list[Result]:
    """Run a study, or several, and write results, figures, tables and a page.

    The page, `index.html`, shows every study whose result is in the folder, also those
    of earlier runs.

    Parameters
    ----------
    name
        A study, or `toys`, `worth`, or `all` for those of the paper.
    preset
        `paper` for the paper's settings, `best` for what we would advise.
    seed
        Decides every random number.
    out
        Folder for `NAME/result.json`, the tables and the figures.
    quick
        A smaller run, said so in the result.
    data
        A folder of one's own recordings: MIMIC-III's tables for `table1`,
        `mocap.hdf5` and `segment.hdf5` for `table2` and `fig3`.
    progress
        True, False, "auto" or a reporter.
    say
        Called with a line for people after each study.

    Returns
    -------
    list[Result]
        The contents of each `result.json`.

    Raises
    ------
    SettingError
        No such study or preset.
    KeyboardInterrupt
        Stopped; the studies finished before are written.
    """
    if preset not in PRESETS:
        raise SettingError(
            f"there is no preset {preset!r}: write one of {', '.join(PRESETS)}."
        )
    names = names_for(name)
    if data is not None and (len(names) > 1 or name in (*TOYS, *_OTHERS)):
        raise SettingError(
            f"{name!r} does not read recordings from one folder, so data={str(data)!r} "
            "has no meaning for it. Name one study that does, such as table1."
        )
    out.mkdir(parents=True, exist_ok=True)
    request = Request(preset, seed, quick, progress, data)
    results = []
    for single in names:
        result = _run(_STUDIES[single], request, out / single, say)
        results.append(result)
        say(_line(_STUDIES[single], result))
        write_index(out, _STUDIES)
    return results


def _run(
    study: Study, request: Request, folder: Path, say: Callable[[str], None]
) -> Result:
    started = time.monotonic()
    parts = _parts(study, request, folder)
    if kept := parts.count():
        say(
            f"{study.name}: continuing, {kept} parts were finished by an earlier run "
            f"(delete {folder / FOLDER} to start again)"
        )
    outcome = study.run(dataclasses.replace(request, parts=parts))
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in outcome.figures.items():
        save(figure, folder / name)
    result = plain(
        {
            "study": study.name,
            "preset": request.preset,
            "quick": request.quick,
            "seed": request.seed,
            "seconds": {
                "fit": outcome.fit_seconds,
                "total": time.monotonic() - started,
            },
            "versions": library_versions(),
            "figures": list(outcome.figures),
            **outcome.numbers,
        }
    )
    tables = study.tables(result)
    (folder / "table.md").write_text("\n".join(table.markdown() for table in tables))
    (folder / "table.tex").write_text("\n".join(table.latex() for table in tables))
    # Last, because a folder with a result is a finished study.
    text = json.dumps(result, indent=2, allow_nan=False) + "\n"
    (folder / "result.json").write_text(text)
    parts.clear()
    return result


def _parts(study: Study, request: Request, folder: Path) -> Parts:
    """Parts of this study in the folder, for these options and versions."""
    settings = {
        "study": study.name,
        "preset": request.preset,
        "quick": request.quick,
        "seed": request.seed,
        "data": None if request.data is None else str(request.data),
        "versions": library_versions(),
    }
    return Parts(folder / FOLDER, settings)


def _line(study: Study, result: Result) -> str:
    quick = ", quick" if result["quick"] else ""
    head = f"{study.name} ({result['preset']}{quick})"
    return f"{head}: {study.line(result)} [{result['seconds']['total']:.0f} s]"
