"""Profiles of columns: their kind, range and number of missing values."""

import dataclasses
import re
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["number", "text", "mixed", "empty"]
_EUROPEAN = re.compile(r"\s*[+-]?\d+(,\d+)?\s*")


@dataclasses.dataclass(frozen=True)
class Profile:
    """A summary of one column of a table.

    Beyond a million rows, `distinct` and `middle` are estimates, and `levels` are those
    of the first million.

    Attributes
    ----------
    name
        The column.
    kind
        "number" if every value is a number, "text" if less than half are, "mixed" in
        between, "empty" without any value.
    rows
        Number of rows.
    missing
        Number of rows without a value.
    distinct
        Number of different values.
    whole
        Whether all numbers are integers.
    low
        The least number.
    middle
        The quartiles of the numbers.
    high
        The greatest number.
    levels
        The most frequent values as text, most frequent first.
    stray
        In a mixed column, the first value that is not a number, and its row.
    """

    name: str
    kind: Kind
    rows: int
    missing: int
    distinct: int
    whole: bool = False
    low: float = 0.0
    middle: tuple[float, float, float] = (0.0, 0.0, 0.0)
    high: float = 0.0
    levels: tuple[str, ...] = ()
    stray: tuple[str, int] | None = None

    @property
    def comma(self) -> str | None:
        """An example of a number with a decimal comma, if the column has only such."""
        if self.kind != "text" or not all(map(_EUROPEAN.fullmatch, self.levels)):
            return None
        return next((level for level in self.levels if "," in level), None)

    @property
    def is_constant(self) -> bool:
        """Whether it has fewer than two different values."""
        return self.distinct < 2
