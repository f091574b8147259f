"""The units that a network works in: a column's own spread, or the user's scale."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ocbnn.core.moments import ColumnMoments
from ocbnn.core.units import Units
from ocbnn.core.words import listing, suggest
from ocbnn.errors import SettingError

Measured = ColumnMoments | np.ndarray


def make_units(
    standardize: bool,
    scales: Any,
    inputs: Sequence[str],
    X: Measured,
    Y: Measured | None,
    outputs: int,
) -> Units | None:
    """The units for some data; None where nothing is converted.

    Parameters
    ----------
    standardize
        Whether columns are brought to mean zero and spread one.
    scales
        Origin and step of some inputs, by name, used instead of mean and spread.
    inputs
        Names of the inputs.
    X
        Inputs, or the moments of their columns.
    Y
        Outputs likewise; None for classes, and without outputs.
    outputs
        The number of the network's outputs.

    Raises
    ------
    SettingError
        When a name in `scales` is not an input, or a scale is not an origin and step.
    """
    chosen = _checked(scales, inputs)
    if not (standardize or chosen):
        return None
    units = Units.plain(len(inputs), outputs)
    if standardize:
        units = Units.measured(_moments(X), None if Y is None else _moments(Y), outputs)
    return units.with_scales(chosen)


def _moments(columns: Measured) -> ColumnMoments:
    return ColumnMoments.of(columns) if isinstance(columns, np.ndarray) else columns


def _checked(scales: Any, inputs: Sequence[str]) -> dict[int, tuple[float, float]]:
    if scales is None:
        return {}
    if not isinstance(scales, Mapping):
        raise SettingError(
            "scales says for some inputs where their scale begins and what one step of "
            f"it is, by name, got {scales!r}. Write "
            f"scales={{{inputs[0]!r}: (65.0, 1.0)}}."
        )
    chosen = {}
    for name, scale in scales.items():
        if name not in inputs:
            raise SettingError(
                f"scales has a scale for {name!r}, which is not an input."
                f"{suggest(str(name), inputs)} The inputs are {listing(inputs, 30)}."
            )
        chosen[list(inputs).index(name)] = _pair(name, scale)
    return chosen


def _pair(name: str, scale: Any) -> tuple[float, float]:
    try:
        origin, step = map(float, () if isinstance(scale, str) else scale)
    except (TypeError, ValueError):
        origin, step = np.nan, np.nan
    if not (np.isfinite(origin) and 0 < step < np.inf):
        raise SettingError(
            f"scales: {name!r} needs two numbers, where its scale begins and one step "
            f"of it above zero, got {scale!r}. Write {{{name!r}: (65.0, 1.0)}} for "
            "steps of one from 65."
        )
    return origin, step
