"""Where in input space something is wrong, in the user's columns and units."""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from ocbnn.core.choices import Choices, free_columns, say_choice
from ocbnn.core.words import share, spell

# Bins per column, when there are several columns.
_BINS = 5
# From this share of bad inputs on, the place is "everywhere".
_EVERYWHERE = 0.9
# Runs of bad inputs at most this many reference inputs apart are joined.
_NEAR = 2


@dataclasses.dataclass(frozen=True)
class Place:
    """A range of one input in which most of what is wrong lies.

    Attributes
    ----------
    input
        The column; None for every input.
    low
        Where the range begins.
    high
        Where it ends.
    share
        The share of reference inputs in the range that are wrong.
    width
        The column's width, which determines how many digits distinguish places.
    is_choice
        Whether the column is one value of a category.
    """

    input: str | None
    low: float = float("nan")
    high: float = float("nan")
    share: float = 1.0
    width: float = 0.0
    is_choice: bool = False

    def __str__(self) -> str:
        if self.input is None:
            return "everywhere"
        if self.is_choice:
            title, (level,) = say_choice([self.input], (0,))
            return f"at {title} = {level}"
        if self.low == self.high:
            return f"at {self.input} = {self.spelled()[0]}"
        is_everywhere = self.share > _EVERYWHERE
        most = "" if is_everywhere else f" ({share(self.share)} of inputs there)"
        return f"at {self.input} in [{', '.join(self.spelled())}]{most}"

    def spelled(self, digits: int = 4) -> tuple[str, str]:
        """Both ends, with the digits that matter."""
        return spell(self.low, self.width, digits), spell(self.high, self.width, digits)

    def holds(
        self, X: Float[np.ndarray, "rows inputs"], names: Sequence[str]
    ) -> Bool[np.ndarray, " rows"]:
        """Which rows lie in the range."""
        if self.input is None:
            return np.ones(len(X), bool)
        column = X[:, list(names).index(self.input)]
        return (column >= self.low) & (column <= self.high)


def find_places(
    X: Float[np.ndarray, "rows inputs"],
    wrong: Bool[np.ndarray, " rows"],
    names: Sequence[str],
    most: int = 3,
    choices: Choices = (),
) -> list[Place]:
    """Ranges of inputs that hold most of the wrong rows, at most `most`, widest first.

    For the inputs of a category, a single level of it.

    >>> X = np.linspace(0, 9, 10)[:, None]
    >>> [str(place) for place in find_places(X, (X[:, 0] >= 6), ["x"])]
    ['at x in [6, 9]']
    """
    if not wrong.any():
        return []
    if wrong.mean() > _EVERYWHERE:
        return [Place(None)]
    if X.shape[1] == 1:
        return _runs(X[:, 0], wrong, names[0])[:most]
    return [_range(X, wrong, names, choices)]


def _runs(
    x: Float[np.ndarray, " rows"], wrong: Bool[np.ndarray, " rows"], name: str
) -> list[Place]:
    order = np.argsort(x, kind="stable")
    x, wrong = x[order], wrong[order]
    indices = np.flatnonzero(wrong)
    pieces = np.split(indices, np.flatnonzero(np.diff(indices) > _NEAR) + 1)
    ranges = [
        Place(
            name,
            float(x[piece[0]]),
            float(x[piece[-1]]),
            float(wrong[piece[0] : piece[-1] + 1].mean()),
            float(np.ptp(x)),
        )
        for piece in pieces
    ]
    return sorted(ranges, key=lambda place: place.low - place.high)


def _range(
    X: Float[np.ndarray, "rows inputs"],
    wrong: Bool[np.ndarray, " rows"],
    names: Sequence[str],
    choices: Choices,
) -> Place:
    """The bin of a column with the highest concentration of wrong rows."""
    best, best_weight = None, -1.0
    free = free_columns(len(names), choices)
    for column, name in enumerate(names):
        x, is_choice = X[:, column], column not in free
        ends = np.unique(np.quantile(x, np.linspace(0, 1, _BINS + 1)))
        bins = (
            [(1.0, 1.0)] * bool(x.max() == 1) if is_choice else itertools.pairwise(ends)
        )
        for low, high in bins:
            inside = (x >= low) & (x <= high)
            wrong_share = float(wrong[inside].mean())
            # The same share is weaker evidence in a bin of few rows.
            weight = wrong_share * np.sqrt(inside.sum())
            if weight > best_weight:
                width = float(np.ptp(x))
                best = Place(
                    name, float(low), float(high), wrong_share, width, is_choice
                )
                best_weight = weight
    return best or Place(None)
