"""Six real tables, and what an expert would say of them before seeing a row.

Rules about values and slopes speak of the whole box that a table spans. How far each
rule agrees with the whole table is measured, and reported with the results.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from sklearn.datasets import load_breast_cancer, load_diabetes

from ocbnn.datasets.uci import uci
from ocbnn.rules import BoundRule, Schema, bind
from ocbnn.studies.base import Result


@dataclasses.dataclass(frozen=True)
class Known:
    """What is known of a table, and why.

    Attributes
    ----------
    claim
        What is claimed of the output.
    reason
        Why an expert would say so.
    where
        Where; None for the whole box of the table.
    """

    claim: str
    reason: str
    where: str | None = None

    def __str__(self) -> str:
        where = "" if self.where is None else f"if {self.where} then "
        return f"{where}{self.claim} ({self.reason})"


# Rows of each class among the fewest rows.
_EACH = 3
# With learned scales, a density that rewards certainty without limit is refused.
_CLASSES = "[sampler=like-data, forbidden=1]"
KNOWN: Mapping[str, Mapping[str, Known]] = {
    "yacht": {
        "sign": Known("resistance >= 0", "water does not push a hull forwards"),
        "speed": Known(
            "resistance rises with froude_number",
            "the faster a hull, the larger the waves it makes",
        ),
    },
    "concrete": {
        "sign": Known("strength >= 0", "a strength is not negative"),
        "cement": Known("strength rises with cement", "cement is what binds"),
        "water": Known(
            "strength falls with water", "water that does not react leaves pores"
        ),
        "age": Known("strength rises with age", "concrete hardens for months"),
    },
    "energy": {
        "sign": Known("heating_load >= 0", "heating only adds heat"),
        "windows": Known(
            "heating_load rises with glazing_area",
            "glass lets more heat out than a wall does",
        ),
    },
    "diabetes": {
        "sign": Known("progression >= 0", "it is measured from zero upwards"),
        "weight": Known("progression rises with bmi", "fat makes cells resist insulin"),
        "pressure": Known("progression rises with bp", "high pressure harms vessels"),
        "sugar": Known(
            "progression rises with glucose", "sugar in the blood is what harms"
        ),
    },
    "cancer": {
        "large": Known(
            "diagnosis in {malignant}",
            "nuclei of cancer cells are enlarged and have dents",
            "radius >= 18 and concave_points >= 0.15",
        ),
        "small": Known(
            "diagnosis in {benign}",
            "small nuclei with a smooth outline are those of healthy cells",
            "radius <= 13 and concave_points <= 0.1",
        ),
    },
    "credit": {
        "safe": Known(
            "credit in {good}",
            "little, for a short time, to a customer with money who always paid",
            "status >= 4 and credit_history >= 4 and duration <= 12 and amount <= 3000",
        ),
        "savings": Known(
            "credit in {good}",
            "who has money on both accounts can pay",
            "status >= 4 and savings >= 4",
        ),
        "risky": Known(
            "credit in {bad}",
            "much, for a long time, to somebody without money on the account",
            "status <= 2 and duration >= 48 and amount >= 10000",
        ),
    },
}
# Nine columns whose numbers are amounts, or codes in a sensible order.
_CREDIT = (
    "status",
    "duration",
    "credit_history",
    "amount",
    "savings",
    "employment_duration",
    "installment_rate",
    "property",
    "age",
)
_SERUM = {"s1": "cholesterol", "s2": "ldl", "s3": "hdl", "s4": "cholesterol_by_hdl",
             "s5": "log_triglycerides", "s6": "glucose"}  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class RuledTable:
    """Rows of a table, and what is known of it.

    Attributes
    ----------
    name
        Its name.
    X
        Inputs.
    y
        Targets, or labels of classes.
    inputs
        Names of the columns of `X`.
    output
        Name of `y`.
    known
        The rules by name.
    """

    name: str
    X: Float[np.ndarray, "rows inputs"]
    y: Shaped[np.ndarray, " rows"]
    inputs: tuple[str, ...]
    output: str
    known: Mapping[str, Known]

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The labels in order; None if targets are numbers."""
        return None if self.y.dtype.kind == "f" else tuple(np.unique(self.y).tolist())

    @property
    def targets(self) -> np.ndarray:
        """Targets, or the position of each label."""
        return self.y if self.classes is None else np.searchsorted(self.classes, self.y)

    @property
    def rules(self) -> list[str]:
        """What is known, in the language of rules."""
        ends = zip(self.inputs, self.X.min(axis=0), self.X.max(axis=0), strict=True)
        box = " and ".join(f"{low:g} <= {name} <= {high:g}" for name, low, high in ends)
        settings = "" if self.classes is None else f" {_CLASSES}"
        return [
            f"{name}: if {known.where or box} then {known.claim}{settings}"
            for name, known in self.known.items()
        ]

    @property
    def bounds(self) -> list[BoundRule]:
        """The rules, bound to the columns."""
        schema = Schema(self.inputs, (self.output,), self.classes)
        return [bind(rule, schema) for rule in self.rules]


@functools.cache
def ruled_table(name: str) -> RuledTable:
    """A table by name, one of `KNOWN`."""
    columns = _SCIKIT_LEARN.get(name, _uci)(name)
    return RuledTable(name, *columns, KNOWN[name])


_Columns = tuple[np.ndarray, np.ndarray, tuple[str, ...], str]


def _diabetes(name: str) -> _Columns:
    data: Any = load_diabetes(scaled=False)
    inputs = tuple(_SERUM.get(str(x), str(x)) for x in data.feature_names)
    return data.data, data.target, inputs, "progression"


def _cancer(name: str) -> _Columns:
    """The ten measurements of each sample's worst nuclei."""
    data: Any = load_breast_cancer()
    worst = np.char.startswith(data.feature_names, "worst")
    inputs = tuple(
        str(column).removeprefix("worst ").replace(" ", "_")
        for column in data.feature_names[worst]
    )
    return data.data[:, worst], data.target_names[data.target], inputs, "diagnosis"


def _uci(name: str) -> _Columns:
    table = uci(name)
    if name != "credit":
        return table.X, table.y, table.inputs, table.output
    chosen = [table.inputs.index(column) for column in _CREDIT]
    return table.X[:, chosen], np.where(table.y, "good", "bad"), _CREDIT, "credit"


_SCIKIT_LEARN = {"diabetes": _diabetes, "cancer": _cancer}


def truth(table: RuledTable) -> dict[str, Result]:
    """How far each rule agrees with the whole table."""
    return {
        bound.name: agreement(bound, table.X, table.targets) for bound in table.bounds
    }


def agreement(
    bound: BoundRule,
    X: Float[np.ndarray, "rows inputs"],
    y: Shaped[np.ndarray, " rows"],
) -> Result:
    """The share of rows in the region that agree with a rule.

    Rows have no slopes: a rule that says how the output changes with an input agrees
    with a pair of rows that differ in this input alone, if their outputs are in the
    claimed order. The share is None where nothing can be compared.
    """
    inside = bound.applies(X)
    X, y = X[inside], y[inside]
    if bound.slopes:
        agree = _pairs_agree(bound, X, y)
    else:
        outputs = y if bound.schema.is_classification else y[:, None]
        agree = bound.holds(X, outputs)
    return {
        "compared": "pairs" if bound.slopes else "rows",
        "count": len(agree),
        "share": float(agree.mean()) if len(agree) else None,
    }


def _pairs_agree(
    bound: BoundRule, X: np.ndarray, y: np.ndarray
) -> Bool[np.ndarray, " pairs"]:
    sign = direction(bound)
    if not sign:
        return np.array([], bool)
    ((column,),) = bound.slopes
    _, group = np.unique(np.delete(X, column, axis=1), axis=0, return_inverse=True)
    agree = [
        sign * (y[second] - y[first]) >= 0
        for rows in _members(group)
        for first in rows
        for second in rows
        if X[second, column] > X[first, column]
    ]
    return np.array(agree, bool)


def _members(group: np.ndarray) -> list[Int[np.ndarray, " rows"]]:
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


def direction(bound: BoundRule) -> int:
    """1 for a rule that the output rises with one input, -1 for falls, 0 for others."""
    if len(bound.slopes) != 1 or len(bound.slopes[0]) != 1:
        return 0
    lower, upper = bound.region.box()
    inside = np.where(np.isfinite(lower + upper), (lower + upper) / 2, 0.0)[None]
    allows = lambda slope: bool(
        bound.holds(inside, np.zeros((1, 1)), {bound.slopes[0]: np.full((1, 1), slope)})
    )
    return int(allows(1e-9)) - int(allows(-1e-9))


def directions(table: RuledTable) -> list[int]:
    """For each input, whether the output rises (1) or falls (-1) with it."""
    signs = [0] * len(table.inputs)
    for bound in table.bounds:
        if sign := direction(bound):
            signs[bound.slopes[0][0]] = sign
    return signs


def draw_split(
    table: RuledTable, seed: int, train: int, test: int, least: int
) -> tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]:
    """Rows to learn from, in random order, and other rows to be tested on.

    Among the first `least` rows, every class has at least three: with fewer,
    some models could not be fitted, or their settings chosen.
    """
    # From its name, so that its rows do not depend on which others are run.
    rng = np.random.default_rng([seed, *table.name.encode()])
    while True:
        order = rng.permutation(len(table.y))
        if table.classes is None or all(
            np.sum(table.y[order[:least]] == label) >= _EACH for label in table.classes
        ):
            return order[:train], np.sort(order[train : train + test])
