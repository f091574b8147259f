"""A first study file for a table, with comments on every line."""

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ocbnn.core.words import listing, suggest
from ocbnn.errors import DataError, SettingError
from ocbnn.projects.template import study_text
from ocbnn.storage import replace_file
from ocbnn.tables import Profile, open_table

# A column with at most this many values may be categorical.
_FEW_CLASSES, _FEW_LEVELS = 10, 20
_COUNTS = "it numbers the rows"
# Returns a text if errors may quote it from the table, and "" if not.
Shown = Callable[[str], str]


@dataclasses.dataclass(frozen=True)
class Scaffold:
    """A summary of a table, and the study proposed for it.

    Attributes
    ----------
    data
        The table.
    path
        The study file.
    profiles
        A profile of every column.
    output
        The column to predict.
    task
        "regression" or "classification".
    inputs
        Columns to predict from.
    categories
        Inputs that hold names.
    left_out
        Columns that are not inputs, and why.
    """

    data: Path
    path: Path
    profiles: dict[str, Profile]
    output: str
    task: str
    inputs: list[str]
    categories: list[str]
    left_out: dict[str, str]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.profiles[self.output].rows

    @property
    def has_gaps(self) -> bool:
        """Whether an input or the output has missing values."""
        return any(self.profiles[n].missing for n in [*self.inputs, self.output])

    def document(self) -> dict[str, Any]:
        """The proposal as plain values."""
        return {
            "study": str(self.path),
            "table": str(self.data),
            "rows": self.rows,
            "output": self.output,
            "task": self.task,
            "inputs": self.inputs,
            "categories": self.categories,
            "left_out": self.left_out,
            "columns": {
                name: {
                    "kind": profile.kind,
                    "missing": profile.missing,
                    "distinct": profile.distinct,
                    "low": profile.low if profile.kind == "number" else None,
                    "high": profile.high if profile.kind == "number" else None,
                }
                for name, profile in self.profiles.items()
            },
        }

    def summary(self) -> str:
        """The proposal in a few lines, and what to do next."""
        lines = [
            f"{self.data}: {self.rows} rows, {len(self.profiles)} columns",
            f"output {self.output} ({self.task}), {len(self.inputs)} "
            f"input{'s' * (len(self.inputs) != 1)}",
            *(f"left out {name}: {why}" for name, why in self.left_out.items()),
            f"written to {self.path}",
            "",
            f"Read it, add what you know as rules, then run: ocbnn fit {self.path}",
        ]
        return "\n".join(lines)


def start_study(data: Path, out: Path, *, output: str | None, force: bool) -> Scaffold:
    """Write a study file for a table.

    Raises
    ------
    DataError
        When the table cannot be read, or has nothing to learn.
    SettingError
        When the file exists already, or there is no such column.
    """
    if out.suffix != ".toml":
        raise SettingError(f"--out {out}: a study file's name ends in .toml.")
    if out.exists() and not force:
        raise SettingError(
            f"{out}: this file exists already. Name another as --out, or write "
            "--force to replace it."
        )
    scaffold = propose(data, out, output)
    out.parent.mkdir(parents=True, exist_ok=True)
    file = Path(os.path.relpath(data, out.parent)).as_posix()
    replace_file(out, study_text(scaffold, file).encode())
    return scaffold


def propose(data: Path, out: Path, output: str | None = None) -> Scaffold:
    """Propose what to predict from a table: by default, its last column.

    Raises
    ------
    DataError
        When the table cannot be read, or has nothing to learn.
    SettingError
        When there is no such column.
    """
    with open_table(data) as table:
        target = table.names[-1] if output is None else output
        if target not in table.names:
            near = (
                f"{suggest(target, table.names)} Columns: {listing(table.names, 30)}."
            )
            raise SettingError(
                f"--output {target}: {data} has no such column.{table.shown(near)}"
            )
        profiles = {name: table.profile(name) for name in table.names}
    return _propose(data, out, profiles, target, table.shown)


def _propose(
    data: Path, out: Path, profiles: dict[str, Profile], output: str, shown: Shown
) -> Scaffold:
    _refuse_useless(data, profiles[output], shown)
    inputs, categories, left_out = [], [], {}
    counters = []
    for name, profile in profiles.items():
        if name == output:
            continue
        if why := _exclusion(profile):
            left_out[name] = why
            if why == _COUNTS:
                counters.append(name)
            continue
        inputs.append(name)
        if profile.kind == "text":
            categories.append(name)
    if not inputs and counters:
        # Days or steps may be what the output depends on.
        inputs = [counters[0]]
        del left_out[counters[0]]
    if not inputs:
        reasons = listing(f"{name} ({why})" for name, why in left_out.items())
        raise DataError(
            f"{data}: there is no column to predict {shown(f'{output!r} ')}from."
            f"{shown(f' Left out: {reasons}.')}"
        )
    task = _task(profiles[output])
    return Scaffold(data, out, profiles, output, task, inputs, categories, left_out)


def _refuse_useless(data: Path, profile: Profile, shown: Shown) -> None:
    name = shown(f" {profile.name!r}")
    if profile.comma is not None:
        raise DataError(
            f"{data}, column{name}: numbers have decimal commas"
            f"{shown(f', as in {profile.comma!r}')}. Write the file with decimal "
            "points."
        )
    if profile.is_constant:
        raise DataError(
            f"{data}: the output{name} is the same in every row, so there is nothing "
            "to learn. Name another column as --output."
        )
    if profile.kind == "mixed" and profile.stray is not None:
        value, row = profile.stray
        raise DataError(
            f"{data}, row {row}, column{name}: {shown(repr(value)) or 'a word'} stands "
            "among numbers. Write a number, or leave the cell empty."
        )


def _task(profile: Profile) -> str:
    few = profile.distinct <= min(_FEW_CLASSES, max(2, profile.rows // 5))
    is_class = profile.kind == "text" or (profile.whole and few)
    return "classification" if is_class else "regression"


def _exclusion(profile: Profile) -> str:
    """Why a column is not proposed as an input; empty if it is."""
    if profile.is_constant:
        return "it is the same in every row"
    if profile.kind == "mixed" and profile.stray is not None:
        value, row = profile.stray
        return f"{value!r} in row {row} stands among numbers"
    if profile.comma is not None:
        return f"its numbers have decimal commas, as in {profile.comma!r}"
    if profile.kind == "text" and profile.distinct > _FEW_LEVELS:
        return f"it holds {profile.distinct} different words"
    span = profile.high - profile.low + 1
    if profile.whole and profile.distinct == profile.rows == span:
        return _COUNTS
    return ""
