"""The part of input space to which a rule applies."""

import dataclasses
import math
import sys
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ocbnn.core.choices import Choices, remaining_levels, say_choice
from ocbnn.core.words import listing
from ocbnn.errors import DataError, RegionError
from ocbnn.language.affine import Affine, affine, exact_affine
from ocbnn.language.conditions import Condition
from ocbnn.language.evaluate import truth
from ocbnn.language.normal_form import Atom, columns, normal_form
from ocbnn.language.tree import Expression


@dataclasses.dataclass(frozen=True)
class Region:
    """Inputs at which a bound condition holds; all inputs if there is none.

    `lower` and `upper` bound the region on each input, ±inf where nothing does.
    `is_box` says that the region is that box, up to its boundary. The columns of a
    choice range from 0 to 1 where they can be chosen, and are 0 elsewhere.
    """

    condition: Condition | None
    columns: tuple[int, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    is_box: bool
    choices: Choices = ()

    def contains(self, X: np.ndarray) -> np.ndarray:
        """Whether each row (n, inputs) lies inside, exactly: `<` is not `<=`."""
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.lower):
            raise DataError(
                f"inputs have shape (rows, {len(self.lower)}), got {X.shape}. "
                "Write one row per point and one column per input."
            )
        if self.condition is None:
            return np.ones(len(X), dtype=bool)
        return truth(self.condition, X, None, np)

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds on every input, ±inf where nothing bounds it."""
        return np.array(self.lower), np.array(self.upper)

    def boxes(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Bounds for each alternative of the condition; their union has the region."""
        if self.condition is None:
            return [self.box()]
        terms = normal_form(self.condition)
        slabs = (_Slab(t, len(self.lower), self.choices) for t in terms)
        return [(slab.lower, slab.upper) for slab in slabs if not slab.is_empty]

    def surely_contains(self, X: np.ndarray) -> np.ndarray:
        """Whether each row lies inside, with bounds compared without rounding.

        Conditions that do not bound a single input are checked as by `contains`. Ends
        that a function computes, such as `exp(3)`, have double precision.
        """
        inside = self.contains(X)
        if self.condition is None:
            return inside
        terms = normal_form(self.condition)
        by_term = [
            np.all([_surely(atom, X) for atom in term], axis=0) for term in terms
        ]
        return inside & np.any(by_term, axis=0)

    def edges(self) -> list[tuple[int, float]] | None:
        """Input and threshold of each comparison; None if one has another form."""
        edges = []
        terms = () if self.condition is None else normal_form(self.condition)
        for atom in (atom for term in terms for atom in term):
            form = _form(atom.expr)
            if form is None or len(form.slopes) > 1:
                return None
            ends = form.slopes.items()
            edges += [(i, float(-form.constant / slope)) for i, slope in ends]
        return edges


def region_of(
    condition: Condition | None,
    inputs: Sequence[str],
    rule: str,
    choices: Choices = (),
) -> Region:
    """Compute the bounds of a bound condition; `rule` is a name for the errors.

    `choices` are groups of inputs of which exactly one is 1.

    >>> from ocbnn.language.tree import Column
    >>> x = Column("input", 0, "x")
    >>> region_of(x.between(-1, 1), ["x", "z"], "gap").box()
    (array([ -1., -inf]), array([ 1., inf]))
    """
    count = len(inputs)
    if condition is None:
        slab = _Slab((), count, choices)
        ends = tuple(slab.lower.tolist()), tuple(slab.upper.tolist())
        return Region(None, (), *ends, True, choices)
    slabs = [_Slab(term, count, choices) for term in normal_form(condition)]
    inhabited = [slab for slab in slabs if not slab.is_empty]
    if not inhabited:
        raise RegionError(_empty_message(slabs, inputs, rule, condition))
    return Region(
        condition,
        tuple(sorted({column.index for column in columns(condition)})),
        tuple(np.min([slab.lower for slab in inhabited], axis=0).tolist()),
        tuple(np.max([slab.upper for slab in inhabited], axis=0).tolist()),
        len(inhabited) == 1 and inhabited[0].is_exact,
        choices,
    )


def _form(expr: Expression) -> Affine | None:
    """An expression of inputs in affine form, without rounding where possible."""
    form = exact_affine(expr, input=0)
    if form is None:
        return affine(expr, "input")
    ends = (abs(form.constant / slope) for slope in form.slopes.values())
    largest = max(ends, default=0)
    return form if largest < sys.float_info.max else None


def _surely(atom: Atom, X: np.ndarray) -> np.ndarray:
    """Whether `f <= 0`, comparing with the last float that satisfies it."""
    form = exact_affine(atom.expr, input=0)
    if form is None or len(form.slopes) != 1:
        return np.ones(len(X), bool)
    ((index, slope),) = form.slopes.items()
    # Mirrored for negative slopes, so that the end is always an upper end.
    end = -form.constant / abs(slope)
    x = X[:, index] if slope > 0 else -X[:, index]
    last_inside = float(end)
    if Fraction(last_inside) > end:
        last_inside = math.nextafter(last_inside, -math.inf)
    return (
        x < last_inside
        if atom.strict and Fraction(last_inside) == end
        else x <= last_inside
    )


class _Slab:
    """Bounds on each input that follow from one intersection of atoms."""

    def __init__(
        self, term: Sequence[Atom], inputs: int, choices: Choices = ()
    ) -> None:
        self.lower = np.full(inputs, -np.inf)
        self.upper = np.full(inputs, np.inf)
        self._open_below = np.zeros(inputs, dtype=bool)
        self._open_above = np.zeros(inputs, dtype=bool)
        self.is_exact = True
        self._false = False
        self.unchosen: list[tuple[int, ...]] = []  # groups without a possible level
        for atom in term:
            self._narrow(atom)
        if not self.is_empty:
            for group in choices:
                self._settle(group)

    def _settle(self, group: tuple[int, ...]) -> None:
        """Narrow a choice to the levels that its columns' bounds allow."""
        columns = list(group)
        can_be = [
            ((self.lower < value) | ((self.lower == value) & ~self._open_below))
            & ((self.upper > value) | ((self.upper == value) & ~self._open_above))
            for value in (0.0, 1.0)
        ]
        remaining = remaining_levels(*(mask[None, columns] for mask in can_be))[0]
        if not remaining.any():
            self.unchosen.append(group)
            return
        self.lower[columns] = remaining & (remaining.sum() == 1)
        self.upper[columns] = remaining
        self._open_below[columns] = self._open_above[columns] = False

    def _narrow(self, atom: Atom) -> None:
        form = _form(atom.expr)
        if form is None or len(form.slopes) > 1:
            # Leaving an atom out keeps the bounds sound: the box only grows.
            self.is_exact = False
            return
        if not form.slopes:
            constant = form.constant
            self._false |= constant >= 0 if atom.strict else constant > 0
            return
        ((index, slope),) = form.slopes.items()
        bound = float(-form.constant / slope) + 0.0  # No negative zero in messages.
        if slope > 0 and bound <= self.upper[index]:
            tie = bound == self.upper[index] and self._open_above[index]
            self.upper[index] = bound
            self._open_above[index] = atom.strict or tie
        elif slope < 0 and bound >= self.lower[index]:
            tie = bound == self.lower[index] and self._open_below[index]
            self.lower[index] = bound
            self._open_below[index] = atom.strict or tie

    @property
    def crossed(self) -> np.ndarray:
        """Inputs for which no value remains."""
        is_open = self._open_below | self._open_above
        return (self.lower > self.upper) | ((self.lower == self.upper) & is_open)

    @property
    def is_empty(self) -> bool:
        """Whether no input satisfies all atoms."""
        return self._false or bool(self.unchosen) or bool(np.any(self.crossed))


def _empty_message(
    slabs: Sequence[_Slab], inputs: Sequence[str], rule: str, condition: Condition
) -> str:
    crossed = [
        f"{inputs[index]} would be at least {slab.lower[index]:g} and at most "
        f"{slab.upper[index]:g}"
        for slab in slabs[:3]
        for index in np.flatnonzero(slab.crossed)[:2]
    ]
    for slab in slabs[:3]:
        named = [say_choice(inputs, group) for group in slab.unchosen[:2]]
        crossed += [
            f"{name} is one of {listing(levels)}, and none is left"
            for name, levels in named
        ]
    why = "; ".join(crossed) or "it contradicts itself"
    return (
        f"the region of rule {rule!r} is empty: no input satisfies ({condition}): "
        f"{why}. Swap the bounds, or join alternatives with `or` (`|`)."
    )
