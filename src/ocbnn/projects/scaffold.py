"""A first study file for a table, explained line by line."""

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

# A column of at most so many values is a choice among them.
_FEW_CLASSES, _FEW_LEVELS = 10, 20
_COUNTS = "it numbers the rows"
# Says what errors may quote of a table, else nothing.
Shown = Callable[[str], str]


@dataclasses.dataclass(frozen=True)
class Scaffold:
    """What was found in a table, and what is proposed.

    Attributes
    ----------
    data
        The table.
    path
        The study file.
    profiles
        Every column, summed up.
    output
        The column to predict.
    task
        "regression" or "classification".
    inputs
        Columns to predict from.
    categories
        Those of them that hold names.
    left_out
        Columns that are no inputs, and why.
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
        """How many rows the table has."""
        return self.profiles[self.output].rows

    @property
    def has_gaps(self) -> bool:
        """Whether a value is missing somewhere in what is used."""
        return any(self.profiles[n].missing for n in [*self.inputs, self.output])

    def document(self) -> dict[str, Any]:
        """The same as plain values."""
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
                    "kind": one.kind,
                    "missing": one.missing,
                    "distinct": one.distinct,
                    "low": one.low if one.kind == "number" else None,
                    "high": one.high if one.kind == "number" else None,
                }
                for name, one in self.profiles.items()
            },
        }

    def summary(self) -> str:
        """What a person should know next."""
        lines = [
            f"{self.data}: {self.rows} rows, {len(self.profiles)} columns",
            f"output {self.output} ({self.task}), {len(self.inputs)} "
            f"input{'s' * (len(self.inputs) != 1)}",
            *(f"left out {name}: {why}" for name, why in self.left_out.items()),
            f"written to {self.path}",
            "",
            f"Read it, write down what you know as rules, then: ocbnn fit {self.path}",
        ]
        return "\n".join(lines)


def start_study(data: Path, out: Path, *, output: str | None, force: bool) -> Scaffold:
    """Look at a table and write a study file for it.

    Raises
    ------
    DataError
        When the table cannot be read, or has nothing to learn.
    SettingError
        When the file is there already, or there is no such column.
    """
    if out.suffix != ".toml":
        raise SettingError(f"--out {out}: a study file's name ends in .toml.")
    if out.exists() and not force:
        raise SettingError(
            f"{out}: this file is there already. Name another as --out, or write "
            "--force to replace it."
        )
    start = propose(data, out, output)
    out.parent.mkdir(parents=True, exist_ok=True)
    file = Path(os.path.relpath(data, out.parent)).as_posix()
    replace_file(out, study_text(start, file).encode())
    return start


def propose(data: Path, out: Path, output: str | None = None) -> Scaffold:
    """What could be learned from a table: its last column from the others.

    Raises
    ------
    DataError
        When the table cannot be read, or has nothing to learn.
    SettingError
        When there is no such column.
    """
    with open_table(data) as table:
        chosen = table.names[-1] if output is None else output
        if chosen not in table.names:
            near = (
                f"{suggest(chosen, table.names)} Columns: {listing(table.names, 30)}."
            )
            raise SettingError(
                f"--output {chosen}: {data} has no such column.{table.shown(near)}"
            )
        profiles = {name: table.profile(name) for name in table.names}
    return _propose(data, out, profiles, chosen, table.shown)


def _propose(
    data: Path, out: Path, profiles: dict[str, Profile], output: str, shown: Shown
) -> Scaffold:
    _refuse_useless(data, profiles[output], shown)
    inputs, categories, left_out = [], [], {}
    counting = []
    for name, profile in profiles.items():
        if name == output:
            continue
        if why := _why_not(profile):
            left_out[name] = why
            if why == _COUNTS:
                counting.append(name)
            continue
        inputs.append(name)
        if profile.kind == "text":
            categories.append(name)
    if not inputs and counting:
        # Days or steps may well be what it depends on.
        inputs = [counting[0]]
        del left_out[counting[0]]
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


def _why_not(profile: Profile) -> str:
    """Why a column is no input; empty when it is one."""
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
