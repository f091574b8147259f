"""What rules do in a model whose draws were projected onto them.

The density has no terms for these rules, so there is nothing to weight draws by. But
every draw is known as it was before it moved, and can be moved onto other rules: all
but one, or one more. Draw by draw, the difference is that rule's effect.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from ocbnn.analysis.rule_removal import PosteriorWithoutRule
from ocbnn.fitted import FittedModel
from ocbnn.fitted.conclusion import move
from ocbnn.metrics.loo import LeaveOneOut, leave_one_out
from ocbnn.predictive.pointwise import pointwise_log_likelihood
from ocbnn.priors import RuleTerm
from ocbnn.refinement.projected import Distance
from ocbnn.refinement.projection import distances

# Draws that are moved again for every rule, and how often; more would take minutes.
_MOST_DRAWS, _SEARCHES = 500, 3
LogLikelihood = np.ndarray


@dataclasses.dataclass(frozen=True)
class RuleAlone:
    """The same draws, moved onto all rules and onto all but one.

    Attributes
    ----------
    term
        That rule.
    is_fitted
        Whether the model has it; otherwise it is only proposed.
    with_rule
        The draws, moved onto all rules.
    without
        The draws, moved onto the others.
    """

    term: RuleTerm
    is_fitted: bool
    with_rule: FittedModel
    without: FittedModel

    def posterior_without(self) -> PosteriorWithoutRule:
        """The functions without it, for comparisons."""
        predictive = self.without.predictive
        even = np.full(predictive.size, 1.0 / predictive.size)
        return PosteriorWithoutRule(predictive, even, "projected")

    def distances(self) -> tuple[Distance, ...]:
        """How far the rule has moved each output at the training rows."""
        rows, names = self.with_rule.rows, self.with_rule.schema.outputs
        pair = self.without.predictive, self.with_rule.predictive
        return distances(*pair, (rows.X, rows.Y), names)

    def held_out(self) -> tuple[LeaveOneOut, LeaveOneOut]:
        """Leave-one-out predictions with the rule and without it."""
        return left_out(self.with_rule), left_out(self.without)


def rules_alone(
    model: FittedModel,
    terms: Sequence[RuleTerm],
    proposed: Sequence[RuleTerm] = (),
    *,
    progress: object = "auto",
) -> Iterator[RuleAlone]:
    """What each of some rules does, and what each of some proposed ones would do.

    Parameters
    ----------
    model
        A projected model.
    terms
        Rules of the model.
    proposed
        Other rules.
    progress
        As for a model.
    """
    now = model.thinned(_MOST_DRAWS)
    for term in terms:
        others = tuple(other for other in model.terms if other is not term)
        yield RuleAlone(term, True, now, _onto(now, others, progress))
    for term in proposed:
        more = (*model.terms, term)
        yield RuleAlone(term, False, _onto(now, more, progress), now)


def left_out(model: FittedModel, most: int | None = None) -> LeaveOneOut:
    """Each row's log predictive density given the others.

    After a projection, weights that leave a row out are those of the original draws,
    which come from a posterior, and what predicts are the functions they moved to.

    Parameters
    ----------
    model
        A fitted model.
    most
        The largest number of draws to use; all by default.
    """
    some = model if most is None else model.thinned(most)
    logs = rows_of(some.free_model)
    return leave_one_out(logs, scored=None if some.free is None else rows_of(some))


def rows_of(model: FittedModel) -> LogLikelihood:
    """The log density of every row under every draw."""
    return pointwise_log_likelihood(model.target, model.draws.stacked())


def _onto(
    model: FittedModel, terms: tuple[RuleTerm, ...], progress: object
) -> FittedModel:
    """The model's original draws, moved onto other rules."""
    rules = tuple(term.bound for term in terms)
    others = dataclasses.replace(model, rules=rules, projected_onto=terms)
    return move(others, _SEARCHES, progress=progress)
