"""Four small tables of the UCI repository: three for regression, one of classes.

Every table has named columns with units, and is split at random into nine tenths for
training and one tenth for testing.
"""

import csv
import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from jaxtyping import Float, Int

from ocbnn.core.words import suggest
from ocbnn.datasets.shipped import shipped
from ocbnn.errors import DataError, SettingError

SPLITS = 20
_TEST_SHARE = 0.1


@dataclasses.dataclass(frozen=True, eq=False)
class UciTable:
    """Inputs and the target of one table, in its own units.

    Attributes
    ----------
    name
        Its name.
    X
        Inputs.
    y
        Targets; for classes, their codes.
    inputs
        Names of the columns of `X`.
    output
        Name of `y`.
    units
        The unit of every column; `1` if it has none.
    """

    name: str
    X: Float[np.ndarray, "rows inputs"]
    y: Float[np.ndarray, " rows"]
    inputs: tuple[str, ...]
    output: str
    units: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class _Source:
    file: str
    # The column in the file, its name here, and its unit.
    inputs: tuple[tuple[str, str, str], ...]
    output: tuple[str, str, str]


def _same(*columns: str, unit: str = "1") -> tuple[tuple[str, str, str], ...]:
    return tuple((column, column, unit) for column in columns)


_SOURCES = {
    "yacht": _Source(
        "yacht_hydrodynamics/yacht_hydrodynamics.csv",
        _same(
            "longitudinal_position",
            "prismatic_coefficient",
            "length_displacement_ratio",
            "beam_draught_ratio",
            "length_beam_ratio",
            "froude_number",
        ),
        ("residuary_resistance", "resistance", "1"),
    ),
    "concrete": _Source(
        "concrete_strength/concrete_strength.csv",
        (
            *_same(
                "cement",
                "blast_furnace_slag",
                "fly_ash",
                "water",
                "superplasticizer",
                "coarse_aggregate",
                "fine_aggregate",
                unit="kg/m³",
            ),
            ("age", "age", "days"),
        ),
        ("compressive_strength", "strength", "MPa"),
    ),
    "energy": _Source(
        "energy_efficiency/energy_efficiency.csv",
        (
            ("X1", "compactness", "1"),
            ("X2", "surface_area", "m²"),
            ("X3", "wall_area", "m²"),
            ("X4", "roof_area", "m²"),
            ("X5", "height", "m"),
            ("X6", "orientation", "1"),
            ("X7", "glazing_area", "1"),
            ("X8", "glazing_distribution", "1"),
        ),
        ("Y1", "heating_load", "kWh/m²"),
    ),
    "credit": _Source(
        "south_german_credit/south_german_credit.csv",
        (
            *_same("status"),
            ("duration", "duration", "months"),
            *_same("credit_history", "purpose"),
            ("amount", "amount", "DM"),
            *_same(
                "savings",
                "employment_duration",
                "installment_rate",
                "personal_status_sex",
                "other_debtors",
                "present_residence",
                "property",
            ),
            ("age", "age", "years"),
            *_same(
                "other_installment_plans",
                "housing",
                "number_credits",
                "job",
                "people_liable",
                "telephone",
                "foreign_worker",
            ),
        ),
        ("credit_risk", "repaid", "1"),
    ),
}
TABLES = tuple(_SOURCES)


def uci(name: str) -> UciTable:
    """A table by name: `yacht`, `concrete`, `energy` or `credit`.

    >>> table = uci("yacht")
    >>> table.X.shape, table.output, table.inputs[-1]
    ((308, 6), 'resistance', 'froude_number')

    Raises
    ------
    SettingError
        There is no such table.
    DataError
        The file is missing, or not the one that was shipped.
    """
    if name not in _SOURCES:
        raise SettingError(
            f"there is no table {name!r}.{suggest(name, TABLES)} Write one of "
            f"{', '.join(TABLES)}."
        )
    source = _SOURCES[name]
    path = shipped(source.file)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    columns = [*source.inputs, source.output]
    try:
        table = np.array([[float(row[key]) for key, _, _ in columns] for row in rows])
    except (KeyError, ValueError) as error:
        raise DataError(f"{path}: {error}: not a column, or not a number.") from None
    names = tuple(column for _, column, _ in columns)
    units = MappingProxyType({column: unit for _, column, unit in columns})
    return UciTable(name, table[:, :-1], table[:, -1], names[:-1], names[-1], units)


def split(
    rows: int, seed: int
) -> tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]:
    """Random indices of rows: nine tenths to train and one tenth to test.

    The splits in the literature are random, too, but different, so compare means over
    many splits and not single splits.

    >>> train, test = split(308, seed=0)
    >>> len(train), len(test)
    (277, 31)
    """
    order = np.random.default_rng(seed).permutation(rows)
    test_rows = round(_TEST_SHARE * rows)
    return np.sort(order[test_rows:]), np.sort(order[:test_rows])
