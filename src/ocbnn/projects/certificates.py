"""Certificates for the command line, with its options as text."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ocbnn.certificates.arguments import (
    ALL,
    BOXES,
    CONFIDENCE,
    DRAWS,
)
from ocbnn.certificates.certificate import Certificate
from ocbnn.certificates.certification import prove
from ocbnn.certificates.file import unwritable
from ocbnn.core.sentences import Sentence
from ocbnn.errors import DataError, RegionError, RuleError, SettingError
from ocbnn.estimators import verify
from ocbnn.projects.build import Model
from ocbnn.projects.columns import read_inputs
from ocbnn.tables import open_table


def proved(
    model: Model,
    rule: str | None,
    at: Path | None,
    tolerance: Sequence[str] | None,
    within: Sequence[str] | None,
    draws: str | None,
    boxes: int | None,
    progress: object = False,
) -> Certificate:
    """Prove a model's rules.

    Raises
    ------
    SettingError
        When an option is invalid.
    """
    count = parse_draws(draws)
    tolerances = parse_tolerance(tolerance)
    bounds = parse_bounds(within)
    try:
        return prove(
            model.fitted_,
            rule,
            rows=None if at is None else read_table_rows(model, at),
            tolerance=tolerances,
            within=bounds,
            draws=count,
            boxes=BOXES if boxes is None else boxes,
            confidence=CONFIDENCE,
            progress=progress,
        )
    except (RuleError, RegionError) as error:
        if rule is None:
            raise
        raise SettingError(Sentence("--rule: ", error)) from None


def read_table_rows(model: Model, path: Path) -> np.ndarray:
    """The rows of a table, nan where they lack an input."""
    with open_table(path) as table:
        X = read_inputs(table, model.schema_.inputs)
    if not np.isfinite(X).all(axis=1).any():
        raise DataError(f"{path}: every row lacks an input.")
    return X


def parse_draws(text: str | None) -> int | str:
    """The number of draws to use, or all.

    >>> parse_draws("50"), parse_draws("all"), parse_draws(None)
    (50, 'all', 200)
    """
    if text is None or text == ALL:
        return text or DRAWS
    if not (text.isdecimal() and text.isascii() and int(text[:9])):
        raise SettingError(
            f"--draws {text}: write a whole number above zero, `--draws {DRAWS}`, or "
            "`--draws all`."
        )
    return int(text[:9])


def parse_tolerance(texts: Sequence[str] | None) -> float | dict[str, float] | None:
    """Read `0.1` for all inputs, or `x=0.1` for one.

    >>> parse_tolerance(["x=0.1", "z=2"])
    {'x': 0.1, 'z': 2.0}
    """
    if not texts:
        return None
    if len(texts) == 1 and _number(texts[0]) is not None:
        return _number(texts[0])
    advice = (
        "write a number for all columns, `--tolerance 0.1`, or one for each: "
        "`--tolerance dose=0.1 --tolerance pressure=5`. Columns without one must equal "
        "the row."
    )
    return _by_column(texts, "--tolerance", advice, _number)


def parse_bounds(texts: Sequence[str] | None) -> dict[str, tuple[float, float]]:
    """Read `age=0:120` for each input.

    >>> parse_bounds(["age=0:120"])
    {'age': (0.0, 120.0)}
    """

    def ends(text: str) -> tuple[float, float] | None:
        values = [_number(end) for end in text.split(":")]
        low, high = values if len(values) == 2 else (None, None)
        return None if low is None or high is None else (low, high)

    advice = (
        "name the column, then its least and greatest value, as in "
        "`--within dose=0:6 --within pressure=60:110`."
    )
    return _by_column(texts or (), "--within", advice, ends)


def check_out(out: Path) -> None:
    """Check that a file can be written before the work begins.

    Raises
    ------
    SettingError
        When it cannot.
    """
    if why := unwritable(out):
        raise SettingError(f"--out {out}: {why}")


def checked_again(model: Model, path: Path, at: Path | None = None) -> Certificate:
    """Read a certificate and check every statement in it.

    Raises
    ------
    CertificateError
        When a statement is wrong.
    """
    if path.is_dir():
        raise SettingError(
            f"--verify {path}: this is a folder. Name the certificate's file in it."
        )
    if not path.exists():
        raise SettingError(
            f"--verify {path}: there is no such certificate. `ocbnn certify MODEL "
            "--out FILE` writes one."
        )
    return verify(path, model, at=None if at is None else read_table_rows(model, at))


def _by_column(
    texts: Sequence[str], option: str, advice: str, read: Callable[[str], Any]
) -> dict[str, Any]:
    by_column = {}
    for text in texts:
        # A column may itself be called `colour=red`.
        name, _, value = text.rpartition("=")
        numbers = read(value)
        # A list in one word, `dose=0.1,pressure=5`, is refused: repeat the option.
        parts = [read(part.rpartition("=")[2]) for part in text.split(",")]
        is_list = len(parts) > 1 and None not in parts
        if not name or numbers is None or is_list:
            raise SettingError(f"{option} {text}: {advice}")
        if name in by_column:
            raise SettingError(f"{option}: {name!r} is given twice. Keep one.")
        by_column[name] = numbers
    return by_column


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
