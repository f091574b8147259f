"""What both studies of what rules are worth share: three models, and their comparison.

The models see the same rows: without rules, with rules multiplied into the prior, and
with the draws of the first moved to the nearest functions that obey the rules.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from ocbnn.errors import InferenceWarning
from ocbnn.estimators import OCBNNClassifier, OCBNNRegressor
from ocbnn.inference import NUTS
from ocbnn.inference.progress import Progress, ProgressReporter, SubtaskReporter
from ocbnn.studies.base import Result, finished

Model = OCBNNClassifier | OCBNNRegressor

PLAN = NUTS(chains=2, warmup=500, draws=250, target_acceptance=0.9)
QUICK_PLAN = NUTS(chains=2, warmup=200, draws=100)
WEIGHT_PRIOR = "learned"
LEVEL = 0.9
MODELS = {
    "bnn": "without rules",
    "ocbnn": "rules in the prior",
    "projection": "projection",
}
RULED = ("ocbnn", "projection")
# Above this, chains are usually said not to have mixed.
MIXED = 1.05


def fit_models(
    make: Callable[[Sequence[str], Progress], Model],
    X: np.ndarray,
    y: np.ndarray,
    rules: Sequence[str],
    measure: Callable[[Any], Result],
    bar: ProgressReporter | None,
    label: str,
) -> dict[str, Result]:
    """The numbers of all three models on the same rows, with their seconds."""
    measures: dict[str, Result] = {}

    def keep(key: str, model: Model, started: float) -> Model:
        seconds = time.monotonic() - started
        rhat = model.verdict_.rhat_max
        measures[key] = {**measure(model), "rhat_max": rhat, "seconds": seconds}
        return model

    def fit(key: str, rules: Sequence[str]) -> Model:
        started = time.monotonic()
        progress = SubtaskReporter(bar, f"{label}, {MODELS[key]}") if bar else False
        return keep(key, finished(make(rules, progress).fit(X, y)), started)

    with warnings.catch_warnings():
        # Chains disagree and rules are missed; the tables say so in numbers.
        warnings.simplefilter("ignore", InferenceWarning)
        free = fit("bnn", ())
        fit("ocbnn", rules)
        started = time.monotonic()
        keep("projection", free.obey(rules), started)
    return measures


def compared(
    rows: Sequence[int],
    free: Float[np.ndarray, "pairs sizes"],
    ours: Float[np.ndarray, "pairs sizes"],
) -> list[Result]:
    """Paired errors, given as logarithms, at each number of rows."""
    worth = rows_saved(rows, np.mean(free, 0), np.mean(ours, 0))
    cells = []
    for ratios, saved in zip((ours - free).T, worth, strict=True):
        ratio = float(np.exp(np.mean(ratios)))
        cells.append(
            {
                "ratio": ratio,
                "ratio_se": standard_error(ratios) * ratio,
                "better": float(np.mean(ratios < 0)),
                "worth": saved,
            }
        )
    return cells


def rows_saved(
    rows: Sequence[int],
    free: Float[np.ndarray, " sizes"],
    ours: Float[np.ndarray, " sizes"],
) -> list[float | None]:
    """How many more rows the first curve needs to reach each error of the second.

    Curves are logarithms of errors, and straight between two numbers of rows on a
    logarithmic scale. None where the first curve does not reach so far.

    >>> rows_saved([10, 100], np.array([0.0, -1.0]), np.array([-1.0, -1.5]))
    [90.0, None]
    """
    # A curve that rises by chance would be read twice, so it is made to fall.
    falling = np.minimum.accumulate(free)
    saved = []
    for count, error in zip(rows, ours, strict=True):
        if not falling[-1] <= error <= falling[0]:
            saved.append(None)
            continue
        needed = np.exp(np.interp(-error, -falling, np.log(rows)))
        saved.append(round(float(needed) - count, 1))
    return saved


def rows_in_words(cell: Result) -> str:
    """What rules are worth, with its sign, if the learning curve reaches so far."""
    return "unknown" if cell["worth"] is None else f"{cell['worth']:+.0f}"


def standard_error(values: Sequence[float] | np.ndarray) -> float:
    """The standard error of a mean; zero for a single value."""
    if len(values) < 2:
        return 0.0
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def share_mixed(cells: Sequence[Result]) -> float:
    """The share of fits whose chains agree."""
    rhats = [cell["rhat_max"] for cell in cells]
    return float(np.mean([rhat is not None and rhat <= MIXED for rhat in rhats]))
