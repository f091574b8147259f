"""Problems with 1, 2, 4, 9 and 12 inputs, each with a rule about a region."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from ocbnn.datasets.clinical import clinical_windows, impute
from ocbnn.datasets.uci import uci
from ocbnn.estimators import OCBNNClassifier, OCBNNRegressor
from ocbnn.studies.motion_problem import limits_rule, load_motions, make_problem
from ocbnn.studies.toys import TOYS

Model = OCBNNRegressor | OCBNNClassifier

ROWS, OTHERS = 200, 2000
_MIX = ("cement", "water", "superplasticizer", "age")
# A table's network: large enough to fit, and small enough for many fits.
_NETWORK = {"hidden": (20,), "activation": "tanh", "weight_prior": "fan-in"}
# A network that can level off: with a single layer, a function that is steep between
# rows is as steep in the corners of a region with many inputs.
_DEEPER = {"hidden": (20, 20), "activation": "tanh", "weight_prior": "fan-in"}
# A third layer, and local units: limits are close to rows in many directions.
_DEEPEST = {"hidden": (20, 20, 20), "activation": "rbf", "weight_prior": "fan-in"}
# Below this pressure, in mmHg, patients must be treated.
_EDGE = 65.0
_PAPER = {
    "hidden": (10,),
    "activation": "rbf",
    "weight_prior": "isotropic",
    "standardize": False,
}


@dataclasses.dataclass(frozen=True)
class Material:
    """Rows, and a model of them with a rule of given strength.

    Attributes
    ----------
    X
        Inputs.
    y
        Outputs, or class labels.
    model
        Makes a model from a strength and further settings.
    allowed
        Moves predictions at rows to the nearest that the rule allows.
    others
        Held-out rows and their outputs, if there are any.
    """

    X: np.ndarray
    y: np.ndarray
    model: Callable[..., Model]
    allowed: Callable[[np.ndarray, np.ndarray], np.ndarray]
    others: tuple[np.ndarray, np.ndarray] | None = None


@dataclasses.dataclass(frozen=True)
class Problem:
    """One row of the study's table.

    Attributes
    ----------
    name
        Its name.
    inputs
        Number of inputs.
    region
        The rule and its region, in words.
    make
        Makes rows and model from a seed, which selects the rows.
    """

    name: str
    inputs: int
    region: str
    make: Callable[[int], Material]


def _split(seed: int, *tables: np.ndarray) -> list[list[np.ndarray]]:
    """Random training rows and held-out rows."""
    order = np.random.default_rng(seed).permutation(len(tables[0]))
    chosen = np.sort(order[:ROWS]), np.sort(order[ROWS : ROWS + OTHERS])
    return [[table[rows] for table in tables] for rows in chosen]


def _box(names: Any, low: np.ndarray, high: np.ndarray) -> str:
    sides = zip(names, low.tolist(), high.tolist(), strict=True)
    return " and ".join(f"{a!r} <= {name} <= {b!r}" for name, a, b in sides)


def _within(X: np.ndarray, low: Any, high: Any) -> np.ndarray:
    inside = np.greater_equal(X, low) & np.less_equal(X, high)
    return np.all(inside, axis=1)


def _gap(seed: int) -> Material:
    toy = TOYS["fig1-left"]
    text = "gap: if -0.3 <= x <= 0.3 then 2.5 <= y <= 3 [strength={}]"
    return Material(
        toy.X,
        toy.y,
        lambda strength, **settings: OCBNNRegressor(
            text.format(strength), noise=0.1, **_PAPER, **settings
        ),
        lambda X, y: np.where(np.abs(X[:, 0]) <= 0.3, np.clip(y, 2.5, 3.0), y),
    )


def _green(seed: int) -> Material:
    toy = TOYS["fig1-right"]
    text = (
        "green box: if 1 <= x0 <= 3 and -2 <= x1 <= 0 then y in {{green}} [strength={}]"
    )
    return Material(
        toy.X,
        toy.y,
        lambda strength, **settings: OCBNNClassifier(
            text.format(strength), **_PAPER, **settings
        ),
        lambda X, y: np.where(_within(X, [1, -2], [3, 0]), "green", y),
    )


def _concrete(seed: int) -> Material:
    table = uci("concrete")
    chosen = table.X[:, [table.inputs.index(name) for name in _MIX]]
    box = _box(_MIX, chosen.min(axis=0), chosen.max(axis=0))
    text = f"sign: if {box} then strength >= 0 [strength={{}}]"
    (X, y), others = _split(seed, chosen, table.y)
    names = {"inputs": _MIX, "outputs": "strength"}
    return Material(
        X,
        y,
        lambda strength, **settings: OCBNNRegressor(
            text.format(strength), **names, **_NETWORK, **settings
        ),
        lambda X, y: np.maximum(y, 0.0),
        (others[0], others[1]),
    )


def _clinical(seed: int) -> Material:
    table = clinical_windows(None)
    (X, y), (X_others, y_others) = _split(seed, table.X, table.y)
    X, X_others = impute(X, X_others)
    # As in the paper's filtered table: the data do not show what the rule says.
    pressure = table.names.index("mean_bp")
    kept, kept_others = (rows[:, pressure] >= _EDGE for rows in (X, X_others))
    X, y = X[kept], y[kept]
    low, high = np.quantile(X, [0.01, 0.99], axis=0)
    low[pressure], high[pressure] = 45.0, _EDGE
    box = _box(table.names, low, high)
    text = f"low pressure: if {box} then action in {{{{act}}}} [{{}}]"
    names = {"inputs": table.names, "outputs": "action"}
    # Rows lie close to the edge, and functions must be able to change there.
    scales = {"mean_bp": (_EDGE, 1.0)}
    # The weight of the clinical study's soft rule.
    options = {"soft": "weight=50", "firm": "strength=firm, weight=50"}
    return Material(
        X,
        y,
        lambda strength, **settings: OCBNNClassifier(
            text.format(options[strength]),
            scales=scales,
            **names,
            **_DEEPER,
            **settings,
        ),
        lambda X, y: np.where(_within(X, low, high), "act", y),
        (X_others[kept_others], y_others[kept_others]),
    )


def _motion(seed: int) -> Material:
    problem = make_problem(load_motions(), seed)
    (X, y), _ = _split(seed, problem.train.X, problem.train.Y)
    names = {
        "inputs": [f"state {number}" for number in range(X.shape[1])],
        "outputs": list(problem.joints),
    }
    # The error on held-out reaches; inferred noise would be that of memorized ones.
    noise = problem.noise.tolist()
    return Material(
        X,
        y,
        lambda strength, **settings: OCBNNRegressor(
            limits_rule(problem, f"strength={strength}"),
            noise=noise,
            **names,
            **_DEEPEST,
            **settings,
        ),
        lambda X, y: np.clip(y, *problem.limits),
        (problem.test.X, problem.test.Y),
    )


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem("gap", 1, "a narrow gap between six rows", _gap),
        Problem("green box", 2, "one class in a box without rows", _green),
        Problem("concrete", 4, "strength >= 0 in the whole range of mixes", _concrete),
        Problem("clinical", 9, "act at low pressure, whatever else", _clinical),
        Problem("motion", 12, "four joint limits in the range of states", _motion),
    )
}
