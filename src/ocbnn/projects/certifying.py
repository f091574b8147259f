"""Certificates as the command line asks for them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ocbnn.core.errors import DataError, SettingError
from ocbnn.estimators.certificate import Certificate
from ocbnn.estimators.certificate_file import read, verify
from ocbnn.estimators.certifying import certify as prove
from ocbnn.projects.columns import read_inputs
from ocbnn.tables import open_table

__all__ = ["asked_bounds", "asked_rows", "asked_tolerance", "checked_again", "prove"]


def asked_rows(model: Any, path: Path) -> np.ndarray:
    """Rows of a table that lack nothing."""
    with open_table(path) as table:
        X = read_inputs(table, model.schema_.inputs)
    whole = np.isfinite(X).all(axis=1)
    if not whole.any():
        raise DataError(f"{path}: every row lacks an input.")
    return X[whole]


def asked_tolerance(texts: Sequence[str] | None) -> float | dict[str, float] | None:
    """`0.1` for all inputs, or `x=0.1` for one.

    >>> asked_tolerance(["x=0.1", "z=2"])
    {'x': 0.1, 'z': 2.0}
    """
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return _number(texts[0], "--tolerance")
    found = dict(_named(text, "--tolerance", "x=0.1") for text in texts)
    return {name: _number(value, "--tolerance") for name, value in found.items()}


def asked_bounds(texts: Sequence[str] | None) -> dict[str, tuple[float, float]]:
    """`age=0:120` for every input.

    >>> asked_bounds(["age=0:120"])
    {'age': (0.0, 120.0)}
    """
    found = {}
    for text in texts or ():
        name, ends = _named(text, "--within", "age=0:120")
        low, colon, high = ends.partition(":")
        if not colon:
            raise SettingError(
                f"--within {text}: write a column, its least and its greatest value, "
                "as in `--within age=0:120`."
            )
        found[name] = (_number(low, "--within"), _number(high, "--within"))
    return found


def checked_again(model: Any, path: Path) -> Certificate:
    """Read a certificate and check every statement in it.

    Raises:
        CertificateError: When one does not stand.
    """
    if not path.is_file():
        raise SettingError(f"{path}: there is no such certificate.")
    found = read(path)
    verify(found, model)
    return found


def _named(text: str, option: str, example: str) -> tuple[str, str]:
    # A column may itself be called `colour=red`.
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise SettingError(
            f"{option} {text}: name the column first, as in `{option} {example}`."
        )
    return name, value


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SettingError(f"{option}: {text!r} is no number.") from None
