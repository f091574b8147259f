"""Functions before the data: the prior conditioned on the rules, within a second.

Prior draws are tempered towards the rules: reweighted, resampled, and moved by steps
that preserve the prior. Those are preconditioned Crank-Nicolson for normals (Cotter et
al. 2013); of weights with heavy tails, a random part is drawn anew. No gradient is
needed, so little is compiled, and only once for each form of rule.
"""

import dataclasses
import time
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float
from scipy.special import logsumexp, softmax

from ocbnn.core.randomness import key_from
from ocbnn.core.scales import make_units
from ocbnn.core.words import share
from ocbnn.networks import MLP
from ocbnn.posterior import Categorical, GaussianNoise, Model, Target
from ocbnn.predictive import Predictive
from ocbnn.priors import NormalPrior, StudentT, with_prior
from ocbnn.priors.rulebook import make_terms
from ocbnn.projects.columns import Rows
from ocbnn.projects.study import Study
from ocbnn.rules import BoundRule

_PARTICLES, _FEW_PARTICLES, _MANY_WEIGHTS = 256, 100, 5000
_MOVES, _LAST_MOVES = 6, 24
_SECONDS = 1.0
# The step size is adapted to this acceptance rate.
_TARGET_ACCEPTANCE = 0.3


@dataclasses.dataclass(frozen=True)
class Prior:
    """Draws from the prior conditioned on rules.

    Attributes
    ----------
    predictive
        The draws' functions.
    reached
        Share of the rules' strength reached in time; 1 for all of it.
    seconds
        Run time.
    """

    predictive: Predictive
    reached: float
    seconds: float

    @property
    def note(self) -> str:
        """A caution for the user; empty if the rules have their full strength."""
        if self.reached >= 1:
            return ""
        return (
            f"Before the data: cut short at {share(self.reached)} of the rules' "
            "strength. Few of the network's functions satisfy the rules. A fit takes "
            "longer, and reports how far the rules are violated."
        )


def shaped_prior(study: Study, rows: Rows, rules: tuple[BoundRule, ...]) -> Prior:
    """Draw functions from the prior and the rules, without the data."""
    started = time.monotonic()
    targets = _targets(study, rows, rules)
    weights = sum(leaf.size for leaf in jax.tree.leaves(targets[0].network.shapes()))
    count = _FEW_PARTICLES if weights > _MANY_WEIGHTS else _PARTICLES
    seed = study.sections.fit.seed
    particles = _Particles(targets, np.random.default_rng([seed, 5]), count)
    reached = particles.temper(_SECONDS) if rules else 1.0
    predictive = Predictive.of(targets[0], particles.positions)
    return Prior(predictive, reached, time.monotonic() - started)


def _targets(study: Study, rows: Rows, rules: tuple[BoundRule, ...]) -> list[Target]:
    """One target for each rule, so that rules of one form share compiled code."""
    settings, schema = study.sections.network, rows.schema
    is_number = schema.classes is None
    outputs = len(schema.outputs if schema.classes is None else schema.classes)
    y = rows.y if is_number else None
    units = make_units(
        settings.standardize, settings.scales, schema.inputs, rows.X, y, outputs
    )
    network = MLP(
        len(schema.inputs), tuple(settings.hidden), outputs, settings.activation
    )
    network_and_prior = with_prior(
        network, settings.weight_prior, settings.weight_scale
    )
    likelihood = GaussianNoise.fixed(1.0, outputs) if is_number else Categorical()
    terms = make_terms(rules, key_from(study.sections.fit.seed), rows.X, y, units)
    sets = [(term,) for term in terms] or [()]
    return [
        Target(*network_and_prior, likelihood, rule_terms, units=units)
        for rule_terms in sets
    ]


class _Particles:
    """Prior draws tempered towards the rules."""

    def __init__(
        self, targets: list[Target], rng: np.random.Generator, count: int
    ) -> None:
        self._targets, self._rng, self._count = targets, rng, count
        first = targets[0]
        prior, network = first.weight_prior, first.network
        if isinstance(prior, StudentT):
            self._df, widths = prior.df, prior.widths(network)
        else:
            assert isinstance(prior, NormalPrior)
            self._df, widths = None, prior.sd(network)
        self._widths = jax.tree.map(np.asarray, widths)
        self._shapes = first.network.shapes()
        self.positions = self._prior_draws()
        self._step = 0.5

    def temper(self, seconds: float) -> float:
        """Reweight, resample and move until the rules count in full or time is up."""
        reached, logs = 0.0, self._logs(self.positions)
        deadline = time.monotonic() + seconds  # Compilation time does not count.
        while reached < 1:
            exponent = _next_exponent(logs, reached)
            kept = self._resample((exponent - reached) * logs)
            self.positions = jax.tree.map(lambda a, c=kept: a[c], self.positions)
            logs, reached = logs[kept], exponent
            logs = self._move(logs, reached, _MOVES if exponent < 1 else _LAST_MOVES)
            if time.monotonic() > deadline:
                break
        return reached

    def _move(
        self, logs: Float[np.ndarray, " n"], exponent: float, moves: int
    ) -> Float[np.ndarray, " n"]:
        for _ in range(moves):
            proposed = jax.tree.map(self._mixed, self.positions, self._prior_draws())
            proposed_logs = self._logs(proposed)
            threshold = np.log(self._rng.random(self._count))
            accepted = threshold < exponent * (proposed_logs - logs)
            select = lambda a, b, t=accepted: np.where(_expand(t, a), b, a)
            self.positions = jax.tree.map(select, self.positions, proposed)
            logs = np.where(accepted, proposed_logs, logs)
            factor = 1.25 if accepted.mean() > _TARGET_ACCEPTANCE else 0.75
            self._step = float(np.clip(self._step * factor, 0.01, 1.0))
        return logs

    def _mixed(self, old: np.ndarray, new: np.ndarray) -> np.ndarray:
        """A step that preserves the prior, from old values and independent draws."""
        if self._df is None:
            return (np.sqrt(1 - self._step**2) * old + self._step * new).astype(
                old.dtype
            )
        return np.where(self._rng.random(old.shape) < self._step, new, old)

    def _logs(self, positions: Model) -> Float[np.ndarray, " n"]:
        parts = [_log_g(target, positions) for target in self._targets]
        total = np.sum([np.asarray(part, float) for part in parts], axis=0)
        return np.where(np.isnan(total), -np.inf, total)

    def _prior_draws(self) -> Model:
        def draw(width: np.ndarray, spec: Any) -> np.ndarray:
            shape = (self._count, *spec.shape)
            noise = (
                self._rng.standard_normal(shape)
                if self._df is None
                else self._rng.standard_t(self._df, shape)
            )
            return (width * noise).astype(spec.dtype)

        return Model(jax.tree.map(draw, self._widths, self._shapes), {})

    def _resample(self, logs: Float[np.ndarray, " n"]) -> np.ndarray:
        """Systematic resampling."""
        shares = softmax(logs)
        places = (np.arange(self._count) + self._rng.random()) / self._count
        indices = np.searchsorted(np.cumsum(shares), places)
        return np.minimum(indices, self._count - 1)


@eqx.filter_jit
def _log_g(target: Target, positions: Model) -> Float[Array, " n"]:
    """The log density of the rules; there are no data."""
    return jax.vmap(lambda position: target.split(position)[1])(positions)


def _next_exponent(logs: Float[np.ndarray, " n"], current: float) -> float:
    """The next tempering exponent, at which half of the draws are effective."""

    def effective(step: float) -> float:
        first, second = (np.asarray(logsumexp(k * step * logs)) for k in (1, 2))
        return float(np.exp(2 * first - second))

    if effective(1 - current) >= 0.5 * len(logs):
        return 1.0
    low, high = 0.0, 1 - current
    for _ in range(50):
        middle = (low + high) / 2
        if effective(middle) >= 0.5 * len(logs):
            low = middle
        else:
            high = middle
    return min(1.0, current + max(low, 1e-6))


def _expand(flags: np.ndarray, like: np.ndarray) -> np.ndarray:
    return flags.reshape(-1, *(1,) * (like.ndim - 1))
