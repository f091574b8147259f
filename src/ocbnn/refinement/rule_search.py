"""The search for inputs at which the draws of a run break rules."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Bool

from ocbnn.core.types import RandomKey
from ocbnn.metrics import Worst, find_worst
from ocbnn.metrics.worst import draws_broken_at
from ocbnn.posterior import Target
from ocbnn.predictive import Predictive
from ocbnn.priors import RuleTerm
from ocbnn.refinement.settings import Refinement


class RuleSearch(NamedTuple):
    """What a search found out about one rule in the draws of a run."""

    term: RuleTerm
    worst: Worst
    broken: Bool[np.ndarray, " draws"]  # by the search or at a test point
    at_points: float  # share of draws that break it at its own points

    @property
    def share_broken(self) -> float:
        """The share of draws that break the rule somewhere."""
        return float(self.broken.mean())


def search_rules(
    target: Target,
    predictive: Predictive,
    X: np.ndarray,
    refinement: Refinement,
    key: RandomKey,
    max_draws: int,
) -> list[RuleSearch]:
    """Search the region of every rule that has room for points."""
    searches = []
    for index, term in enumerate(target.rules):
        if not term.added:
            continue
        key_search, key_test = jax.random.split(jax.random.fold_in(key, index))
        worst = find_worst(
            predictive,
            term,
            key_search,
            starts=refinement.starts,
            steps=refinement.steps,
            most=max_draws,
            rows=X,
        )
        test_points = term.many(key_test, refinement.test_points)
        at_tests = draws_broken_at(predictive, term, test_points, max_draws).any(axis=1)
        places = term.places
        at_points = draws_broken_at(predictive, term, places, max_draws).any(axis=1)
        broken = worst.broken | at_tests | at_points
        searches.append(RuleSearch(term, worst, broken, float(at_points.mean())))
    return searches


def is_met(searches: list[RuleSearch], refinement: Refinement) -> bool:
    """Whether no rule is broken by more draws than the target allows."""
    return all(search.share_broken <= refinement.target for search in searches)
