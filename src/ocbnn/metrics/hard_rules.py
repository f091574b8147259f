r"""Draws that keep hard rules, and their weights.

The exact posterior under hard rules is $p(W)\,1[W\ \text{holds}]\,p(D|W)$. Draws were
made with the rules' soft factor $g(W)$ instead of the indicator, so a draw that
violates a rule has weight zero, and one that keeps all of them weight $1 / g(W)$.
"""

import dataclasses
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ocbnn.core.plain import plain
from ocbnn.core.words import share
from ocbnn.metrics.psis import smooth, trust_limit

# Fewer draws than this, or draws worth fewer than that, cannot represent a posterior.
LEAST_DRAWS, LEAST_ESS = 20, 10.0

Way = Literal["conditioned", "masked"]
Weights = Literal["smoothed", "equal", "alike"]
_WEIGHTING = {
    "smoothed": "{answering:,} of these are used, some more than once, weighted "
    "towards the exact posterior (Pareto k {k:.2f}): as good as {ess:.0f} of equal "
    "weight.",
    "equal": "All of these are used, equally weighted, because weights towards the "
    "exact posterior cannot be trusted (Pareto k {k:.2f}).",
    "alike": "All of these are used, with the same weight.",
}


class ConditionedDraws(NamedTuple):
    """Draws that represent the posterior under hard rules, some of them repeated.

    Attributes
    ----------
    kept
        Their numbers, in order.
    ess
        How many equally weighted draws the weighted ones are worth.
    pareto_k
        Pareto k of the weights; -inf if all are the same.
    weights
        How the draws were weighted.
    """

    kept: Int[np.ndarray, " kept"]
    ess: float
    pareto_k: float
    weights: Weights


def condition(
    holds: Bool[np.ndarray, " draws"], log_g: Float[np.ndarray, " draws"]
) -> ConditionedDraws:
    """Keep the draws that hold, each repeated in proportion to its weight.

    Weights that cannot be trusted are not used. The draws that hold then get equal
    weights, which leaves them a little too far from the rules' edges.

    >>> condition(np.array([True, False, True]), np.zeros(3)).kept
    array([0, 2])
    """
    holding = np.flatnonzero(holds)
    if not holding.size:
        return ConditionedDraws(holding, 0.0, np.inf, "equal")
    smoothed = smooth(-log_g[holding])
    if np.isneginf(smoothed.pareto_k):
        return ConditionedDraws(
            holding, float(holding.size), smoothed.pareto_k, "alike"
        )
    if not smoothed.pareto_k <= trust_limit(holding.size):
        return ConditionedDraws(
            holding, float(holding.size), smoothed.pareto_k, "equal"
        )
    # Systematic resampling: evenly spaced places in the cumulative weights.
    total = np.cumsum(np.exp(smoothed.log_weights))
    places = (np.arange(holding.size) + 0.5) / holding.size * total[-1]
    kept = holding[np.searchsorted(total, places)]
    return ConditionedDraws(kept, smoothed.ess, smoothed.pareto_k, "smoothed")


def too_few(conditioned: ConditionedDraws, holding: int, draws: int) -> bool:
    """Whether too few draws remain; of fewer than 40 draws, half are enough."""
    least = min(LEAST_DRAWS, max(2, draws // 2))
    return holding < least or conditioned.ess < min(LEAST_ESS, least / 2)


@dataclasses.dataclass(frozen=True)
class HardRuleEntry:
    """How one hard rule is kept.

    Attributes
    ----------
    rule
        Its name.
    way
        `conditioned`: draws that violate it are left out. `masked`: forbidden classes
        have no probability, so every draw is used.
    share
        The share of draws that keep it by themselves, at every input checked.
    points
        How many inputs were checked.
    """

    rule: str
    way: Way
    share: float
    points: int

    def __str__(self) -> str:
        where = f"at each of {self.points:,} inputs"
        sentence = (
            f"{self.rule}: {share(self.share)} of draws keep it by themselves {where}"
        )
        return sentence + ("; forbidden classes are masked" * (self.way == "masked"))


@dataclasses.dataclass(frozen=True)
class HardRuleRecord:
    """What enforcing hard rules has cost. Print it.

    Attributes
    ----------
    rules
        Each hard rule.
    draws
        How many draws there were.
    holding
        How many of them keep every rule that draws must keep.
    ess
        How many draws of equal weight the weighted ones are worth. It ignores
        autocorrelation within chains, which the verdict takes into account.
    pareto_k
        Pareto k of their weights; -inf if all are the same.
    weights
        `smoothed` towards the exact posterior, `equal` if such weights cannot be
        trusted, or `alike` if all are the same anyway.
    answering
        How many different draws are used for predictions. Weights leave some out
        and repeat others, so there may be fewer of them than of those that hold.
    """

    rules: tuple[HardRuleEntry, ...]
    draws: int
    holding: int
    ess: float
    pareto_k: float
    weights: Weights
    answering: int

    def __str__(self) -> str:
        sentence = _WEIGHTING[self.weights].format(
            k=self.pareto_k, ess=self.ess, answering=self.answering
        )
        summary = (
            f"{self.holding:,} of {self.draws:,} draws keep the hard rules. {sentence}"
        )
        return "\n".join([summary, *map(str, self.rules)])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON; None for NaN."""
        return plain(dataclasses.asdict(self))
