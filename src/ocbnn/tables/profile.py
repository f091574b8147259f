"""What is in a column: numbers or words, how many are missing, and their range."""

import dataclasses
import re
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["number", "text", "mixed", "empty"]
_EUROPEAN = re.compile(r"\s*[+-]?\d+(,\d+)?\s*")


@dataclasses.dataclass(frozen=True)
class Profile:
    """One column of a table, summed up.

    Beyond a million rows, `distinct` and `middle` are estimates, and `levels` those of
    the first million.

    Attributes
    ----------
    name
        The column.
    kind
        "number" when every value is one, "text" when few are, "mixed" between,
        "empty" without any value.
    rows
        All rows.
    missing
        Rows without a value.
    distinct
        How many different values there are.
    whole
        Whether all numbers are whole.
    low
        The least number.
    middle
        Quarter, half and three quarters of the numbers lie below these.
    high
        The greatest number.
    levels
        The most frequent values as text, most frequent first.
    stray
        The first value that is not a number, of a mixed column, and its row.
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
        """A number with a decimal comma, where a column of text holds such numbers."""
        if self.kind != "text" or not all(map(_EUROPEAN.fullmatch, self.levels)):
            return None
        return next((level for level in self.levels if "," in level), None)

    @property
    def is_constant(self) -> bool:
        """Whether nothing can be learned from it."""
        return self.distinct < 2
