"""What a benchmark found: numbers with their spread, and what they should be."""

import dataclasses
from typing import Any

from ocbnn.bench.timing import Spread


@dataclasses.dataclass(frozen=True)
class Finding:
    """One number about one case.

    Attributes
    ----------
    case
        The case's name.
    setting
        What of it was varied, in words.
    what
        What the number is.
    value
        The number over several turns.
    unit
        Its unit; empty for a ratio.
    least
        What it should be at least; None where nothing is asked.
    most
        What it should be at most, likewise.
    """

    case: str
    setting: str
    what: str
    value: Spread
    unit: str = ""
    least: float | None = None
    most: float | None = None

    @property
    def is_reached(self) -> bool | None:
        """Whether the number is what it should be; None where nothing is asked."""
        if self.least is None and self.most is None:
            return None
        high_enough = self.least is None or self.value.middle >= self.least
        return high_enough and (self.most is None or self.value.middle <= self.most)

    @property
    def goal(self) -> str:
        """What it should be, in words."""
        if self.least is not None:
            return f">= {self.least:g}"
        return "" if self.most is None else f"<= {self.most:g}"

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        said = dataclasses.asdict(self)
        return {**said, "value": self.value._asdict(), "reached": self.is_reached}


def line(finding: Finding) -> str:
    """A finding in one line of a terminal."""
    middle, low, high = (f"{value:.3g}" for value in finding.value)
    marks = {None: "", True: ": reached", False: ": MISSED"}
    goal = f", {finding.goal}{marks[finding.is_reached]}" if finding.goal else ""
    unit = f" {finding.unit}" if finding.unit else ""
    return (
        f"{finding.case}, {finding.setting}: {finding.what} {middle}{unit} "
        f"({low} - {high}){goal}"
    )
