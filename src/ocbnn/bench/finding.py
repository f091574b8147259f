"""Results of benchmarks: numbers with their spread and their goals."""

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
        The variant of the case, in words.
    what
        What the number is.
    value
        The number over several repetitions.
    unit
        Its unit; empty for a ratio.
    least
        The least value that reaches the goal; None without one.
    most
        The greatest value that reaches the goal; None without one.
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
        """Whether the goal is reached; None without a goal."""
        if self.least is None and self.most is None:
            return None
        high_enough = self.least is None or self.value.middle >= self.least
        return high_enough and (self.most is None or self.value.middle <= self.most)

    @property
    def goal(self) -> str:
        """The goal, in words."""
        if self.least is not None:
            return f">= {self.least:g}"
        return "" if self.most is None else f"<= {self.most:g}"

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain values."""
        fields = dataclasses.asdict(self)
        return {**fields, "value": self.value._asdict(), "reached": self.is_reached}


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
