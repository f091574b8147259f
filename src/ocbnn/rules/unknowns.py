"""The unknowns of rules at one input: outputs, and slopes as if they were outputs.

At a single input a smooth function may have any value, any slope and any curvature, so
claims about them are claims about independent unknown numbers.
"""

from collections.abc import Iterable

from jaxtyping import Float
from numpy import ndarray

from ocbnn.core.types import Along
from ocbnn.language.normal_form import Atom, Terms, replaced, slopes_in
from ocbnn.language.tree import Column, Expression, Number, Slope, Slot
from ocbnn.rules.bound import BoundRule


class Unknowns:
    """Numbers the outputs and, after them, every slope that the rules mention."""

    def __init__(self, rules: Iterable[BoundRule]) -> None:
        self._slopes: dict[Slope, Column] = {}
        self.outputs = 0
        for rule in rules:
            self.outputs = len(rule.schema.outputs)
            if rule.claim.required is not None:
                for slope in slopes_in(rule.claim.required):
                    if slope not in self._slopes:
                        self._slopes[slope] = Column("output", self.count, str(slope))

    @property
    def count(self) -> int:
        """The number of unknowns."""
        return self.outputs + len(self._slopes)

    def slope(self, index: int) -> tuple[int, Along]:
        """The output of an unknown, and the inputs it is a slope along, if any."""
        if index < self.outputs:
            return index, ()
        slope = list(self._slopes)[index - self.outputs]
        assert isinstance(slope.output, Column)
        return slope.output.index, slope.along

    def terms(self, terms: Terms) -> Terms:
        """The terms with a separate column for every slope."""
        return tuple(
            tuple(Atom(replaced(atom.expr, self._column), atom.strict) for atom in term)
            for term in terms
        )

    def _column(self, part: Expression) -> Expression:
        return self._slopes.get(part, part) if isinstance(part, Slope) else part


def at_input(expr: Expression, x: Float[ndarray, " inputs"]) -> Expression:
    """An expression at one input: inputs become numbers, and unknowns become slots."""

    def substitute(part: Expression) -> Expression:
        match part:
            case Column("input", index):
                return Number(float(x[index]))
            case Column(_, index):
                return Slot(index)
        return part

    return replaced(expr, substitute)
