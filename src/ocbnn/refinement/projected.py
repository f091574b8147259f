"""What a projection did: how far draws have moved, and whether they obey."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ocbnn.core.warn import warn
from ocbnn.core.words import listing, share
from ocbnn.errors import InferenceWarning
from ocbnn.storage import record_from_dict, record_to_dict

Quantiles = tuple[float, float, float, float]

# Rules that are true moved draws by up to twice the noise.
_FAR = 5.0


@dataclasses.dataclass(frozen=True)
class RuleProjection:
    """One rule before and after.

    Attributes
    ----------
    rule
        Its name.
    before
        The share of draws that violated it somewhere as they were drawn.
    after
        The share that still does.
    worst
        The least slack of all draws afterwards, in natural sizes; below zero if
        violated.
    """

    rule: str
    before: float
    after: float
    worst: float


@dataclasses.dataclass(frozen=True)
class Distance:
    """How far draws have moved: each one's root mean square over the training rows.

    Attributes
    ----------
    output
        Its name.
    quantiles
        Of all draws, in the units of the output (for classes, of probabilities): 5 %,
        50 %, 95 % and the largest.
    of_noise
        The median as a share of the median of the draws' noise; None for classes.
    of_spread
        The median as a share of the spread of the observations; None for classes.
    """

    output: str
    quantiles: Quantiles
    of_noise: float | None
    of_spread: float | None

    def __str__(self) -> str:
        _, middle, high, most = self.quantiles
        moved = (
            f"{self.output} moved by {middle:.3g} (median), {high:.3g} (95 %), at most "
            f"{most:.3g}"
        )
        if self.of_noise is None or self.of_spread is None:
            return moved
        return (
            f"{moved}; the median is {share(self.of_noise)} of the noise and "
            f"{share(self.of_spread)} of the spread of {self.output}"
        )


@dataclasses.dataclass(frozen=True)
class ProjectionRecord:
    """What it took to make every draw obey. Print it.

    Attributes
    ----------
    target
        The share of draws that may violate a rule.
    draws
        How many draws there are.
    moved
        How many of them violated a rule and were moved; the others are as they were
        drawn.
    rounds
        How often draws were searched and moved.
    seconds
        Wall-clock time, compilation included.
    rules
        Each rule before and after.
    distances
        How far draws have moved at the training rows, for each output.
    """

    target: float
    draws: int
    moved: int
    rounds: int
    seconds: float
    rules: tuple[RuleProjection, ...]
    distances: tuple[Distance, ...]

    @property
    def is_met(self) -> bool:
        """Whether no rule is violated by more draws than the target allows."""
        return all(rule.after <= self.target for rule in self.rules)

    def __str__(self) -> str:
        head, *lines = self.lines()
        return "\n".join([f"Projection: {head}", *(f"  {line}" for line in lines)])

    def lines(self) -> list[str]:
        """What was done, rule by rule, and how far it moved draws."""
        head = (
            f"{self.moved:,} of {self.draws:,} draws violated a rule and were "
            f"moved to the nearest function that obeys, in {self.rounds} "
            f"round{'s' * (self.rounds != 1)} "
            f"({self.seconds:.1f} s)"
        )
        lines = [
            f"{rule.rule}: violated somewhere by {share(rule.before)} of draws before "
            f"and {share(rule.after)} after, least slack {rule.worst:.3f}"
            for rule in self.rules
        ]
        return [head, *lines, *map(str, self.distances)]

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values."""
        return record_to_dict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "ProjectionRecord":
        """The record that `to_dict` wrote.

        Raises
        ------
        StorageError
            When something is missing or of another kind.
        """
        return record_from_dict(cls, document, "projection")


def warn_if_far(record: ProjectionRecord) -> None:
    """Tell that rules took draws far away from the data that they fitted."""
    for distance in record.distances:
        if distance.of_noise is not None and distance.of_noise > _FAR:
            warn(
                f"to obey, draws moved {distance.output} by {distance.of_noise:.0f} "
                "times the noise at the training rows (median): rules contradict the "
                "data there. Print projection_, and look at the rules and at the rows.",
                InferenceWarning,
            )


def warn_if_disobeyed(record: ProjectionRecord) -> None:
    """Tell that a rule is still violated by more draws than may."""
    if record.is_met:
        return
    violated = [
        f"rule {rule.rule!r} by {share(rule.after)} ({share(rule.before)} before)"
        for rule in record.rules
        if rule.after > record.target
    ]
    warn(
        f"after {record.rounds} rounds of projection, draws still violate rules "
        f"somewhere, and {share(record.target)} of them may: {listing(violated, 3)}. "
        "Give it more rounds, refine=20, a wider network, or look at the rule: it may "
        "contradict the data or another rule.",
        InferenceWarning,
    )
