"""Functions before the data: what rules alone leave of the prior, within a second.

A population of prior draws meets the rules more and more: weighed, drawn again, and
moved by steps that keep the prior (preconditioned Crank-Nicolson: Cotter et al. 2013).
Nothing needs a gradient, so little is compiled, and that once for each form of rule.
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
from ocbnn.networks import MLP
from ocbnn.posterior import Categorical, GaussianNoise, Model, Target
from ocbnn.predictive import Predictive
from ocbnn.priors import with_prior
from ocbnn.priors.rulebook import make_terms
from ocbnn.projects.columns import Rows
from ocbnn.projects.study import Study
from ocbnn.rules import BoundRule

_PARTICLES, _FEW, _WIDE = 256, 100, 5000
_MOVES, _LAST_MOVES = 6, 24
_SECONDS = 1.0
# Steps are as long as this share of them being taken allows.
_TAKEN = 0.3


@dataclasses.dataclass(frozen=True)
class Prior:
    """Draws from the prior that rules have shaped.

    Attributes
    ----------
    predictive
        Their functions.
    reached
        How much of the rules' strength was reached in time; 1 for all.
    seconds
        How long it took.
    """

    predictive: Predictive
    reached: float
    seconds: float

    @property
    def note(self) -> str:
        """What a person should know about it."""
        if self.reached >= 1:
            return ""
        return (
            f"Before the data: cut short at {self.reached:.0%} of the rules' strength. "
            "They leave little of what the network does by itself; a fit takes its "
            "time, and says how far it obeys."
        )


def shaped_prior(study: Study, rows: Rows, rules: tuple[BoundRule, ...]) -> Prior:
    """Draw functions from the prior and the rules, without the data."""
    started = time.monotonic()
    targets = _targets(study, rows, rules)
    weights = sum(leaf.size for leaf in jax.tree.leaves(targets[0].network.shapes()))
    count = _FEW if weights > _WIDE else _PARTICLES
    seed = study.sections.fit.seed
    crowd = _Particles(targets, np.random.default_rng([seed, 5]), count)
    reached = crowd.meet(_SECONDS) if rules else 1.0
    predictive = Predictive.of(targets[0], crowd.positions)
    return Prior(predictive, reached, time.monotonic() - started)


def _targets(study: Study, rows: Rows, rules: tuple[BoundRule, ...]) -> list[Target]:
    """One density for each rule, so that rules of one form share what is compiled."""
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
    made = with_prior(network, settings.weight_prior, settings.weight_scale)
    likelihood = GaussianNoise.fixed(1.0, outputs) if is_number else Categorical()
    terms = make_terms(rules, key_from(study.sections.fit.seed), rows.X, y, units)
    sets = [(term,) for term in terms] or [()]
    return [Target(*made, likelihood, some, units=units) for some in sets]


class _Particles:
    """Prior draws on their way to the rules."""

    def __init__(
        self, targets: list[Target], rng: np.random.Generator, count: int
    ) -> None:
        self._targets, self._rng, self._count = targets, rng, count
        first = targets[0]
        self._sds = jax.tree.map(np.asarray, first.weight_prior.sd(first.network))
        self._shapes = first.network.shapes()
        self.positions = self._fresh()
        self._step = 0.5

    def meet(self, seconds: float) -> float:
        """Weigh, draw again and move until all of the rules is felt, or time is up."""
        reached, logs = 0.0, self._logs(self.positions)
        deadline = time.monotonic() + seconds  # Compiling is not its fault.
        while reached < 1:
            now = _next(logs, reached)
            chosen = self._chosen((now - reached) * logs)
            self.positions = jax.tree.map(lambda a, c=chosen: a[c], self.positions)
            logs, reached = logs[chosen], now
            logs = self._move(logs, reached, _MOVES if now < 1 else _LAST_MOVES)
            if time.monotonic() > deadline:
                break
        return reached

    def _move(
        self, logs: Float[np.ndarray, " n"], heat: float, moves: int
    ) -> Float[np.ndarray, " n"]:
        for _ in range(moves):
            kept = np.sqrt(1 - self._step**2)
            mix = lambda a, b, k=kept: (k * a + self._step * b).astype(a.dtype)
            proposed = jax.tree.map(mix, self.positions, self._fresh())
            others = self._logs(proposed)
            luck = np.log(self._rng.random(self._count))
            taken = luck < heat * (others - logs)
            pick = lambda a, b, t=taken: np.where(_wide(t, a), b, a)
            self.positions = jax.tree.map(pick, self.positions, proposed)
            logs = np.where(taken, others, logs)
            factor = 1.25 if taken.mean() > _TAKEN else 0.75
            self._step = float(np.clip(self._step * factor, 0.01, 1.0))
        return logs

    def _logs(self, positions: Model) -> Float[np.ndarray, " n"]:
        parts = [_log_g(target, positions) for target in self._targets]
        total = np.sum([np.asarray(part, float) for part in parts], axis=0)
        return np.where(np.isnan(total), -np.inf, total)

    def _fresh(self) -> Model:
        def draw(sd: np.ndarray, spec: Any) -> np.ndarray:
            noise = self._rng.standard_normal((self._count, *spec.shape))
            return (sd * noise).astype(spec.dtype)

        return Model(jax.tree.map(draw, self._sds, self._shapes), {})

    def _chosen(self, logs: Float[np.ndarray, " n"]) -> np.ndarray:
        """Systematic resampling."""
        shares = softmax(logs)
        places = (np.arange(self._count) + self._rng.random()) / self._count
        indices = np.searchsorted(np.cumsum(shares), places)
        return np.minimum(indices, self._count - 1)


@eqx.filter_jit
def _log_g(target: Target, positions: Model) -> Float[Array, " n"]:
    """What the rules add to the prior; there are no data."""
    return jax.vmap(lambda one: target.split(one)[1])(positions)


def _next(logs: Float[np.ndarray, " n"], now: float) -> float:
    """How much further the rules can be felt while half of the draws still count."""

    def effective(size: float) -> float:
        once, twice = (np.asarray(logsumexp(k * size * logs)) for k in (1, 2))
        return float(np.exp(2 * once - twice))

    if effective(1 - now) >= 0.5 * len(logs):
        return 1.0
    low, high = 0.0, 1 - now
    for _ in range(50):
        middle = (low + high) / 2
        if effective(middle) >= 0.5 * len(logs):
            low = middle
        else:
            high = middle
    return min(1.0, now + max(low, 1e-6))


def _wide(flags: np.ndarray, like: np.ndarray) -> np.ndarray:
    return flags.reshape(-1, *(1,) * (like.ndim - 1))
