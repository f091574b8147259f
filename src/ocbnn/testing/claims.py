"""A conformance check for kinds of claims, on random functions.

A claim states the same thing in several forms: as text and in Python, as a density, as
a slack, as an exact check, and as terms that can be proved. This check compares them
with each other, and the density with the author's reference, in double precision.
"""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool

from ocbnn.core.slopes import slopes_at
from ocbnn.core.types import Function, Scalar, Slopes
from ocbnn.core.units import Units
from ocbnn.errors import CertificateError, RuleError
from ocbnn.networks import MLP
from ocbnn.networks.mlp import Layer
from ocbnn.priors import RuleTerm, make_term
from ocbnn.proofs.prover import Prover
from ocbnn.proofs.search import BROKEN, HOLDS, Roots, search
from ocbnn.rules import BoundRule, Rule, Schema, bind, parse_rule

# Log g of a function's values and slopes, implemented independently by the author.
Reference = Callable[[np.ndarray, np.ndarray, Slopes], float]

_HIDDEN, _POINTS, _BOXES = 4, 40, 400
# Slacks this close to zero may have the wrong sign by rounding.
_ROUNDING = 1e-9
_STEP = 1e-6


@dataclasses.dataclass(frozen=True)
class ClaimCheck:
    """The result of a check. Print it.

    Attributes
    ----------
    rule
        The rule.
    functions
        The number of random functions.
    kept
        The share of values that keep the claim.
    proved
        The number of functions that were proved to keep it in its region.
    refuted
        The number of functions that were proved to violate it.
    """

    rule: str
    functions: int
    kept: float
    proved: int
    refuted: int

    def __str__(self) -> str:
        return (
            f"{self.rule}: every promise is kept by {self.functions} functions, which "
            f"keep the claim in {self.kept:.0%} of cases; {self.proved} were proved to "
            f"keep it everywhere, and {self.refuted} not to."
        )


def check_claim(
    rule: Rule,
    schema: Schema,
    *,
    text: str | None = None,
    log_g: Reference | None = None,
    functions: int = 60,
    seed: int = 0,
) -> ClaimCheck:
    """Check a kind of claim, in a rule whose region is a box.

    Functions are random networks; some should keep the claim, and some violate it.

    Parameters
    ----------
    rule
        A rule with such a claim, made in Python.
    schema
        The columns it is about.
    text
        The same rule as text; None for a kind without text.
    log_g
        The log density, implemented from its equation in NumPy: a function of points
        (points, inputs), outputs there (points, outputs) and slopes by position. By
        default, the density is not compared.
    functions
        The number of random functions.
    seed
        The random seed.

    Raises
    ------
    RuleError
        When a check fails; the message says which.
    """
    _check_text(rule, text)
    bound = bind(rule, schema)
    _check_binding(rule, schema, bound)
    with jax.enable_x64(True):
        draws = _Networks.random(bound, functions, seed)
        evaluation = _Evaluation.at_points(bound, draws, seed)
        evaluation.check_density(log_g)
        evaluation.check_slope()
        evaluation.check_units(seed)
        kept = evaluation.check_truth() if bound.is_checkable else 1.0
        proved, refuted = _check_proofs(bound, draws, seed)
    return ClaimCheck(bound.name, functions, kept, proved, refuted)


def _check_text(rule: Rule, text: str | None) -> None:
    if text is None:
        return
    if parse_rule(text) != rule:
        _fail(rule, f"`{text}` parses to {parse_rule(text)!r}, another rule")
    if parse_rule(str(rule)) != rule:
        _fail(rule, f"its text, `{rule}`, does not parse back to an equal rule")


def _check_binding(rule: Rule, schema: Schema, bound: BoundRule) -> None:
    second = bind(rule, schema)
    if second.claim != bound.claim or hash(second.claim) != hash(bound.claim):
        _fail(rule, "bound twice, it is not equal to itself or has another hash")


@dataclasses.dataclass(frozen=True)
class _Networks:
    """Random functions of the right shape, and their region."""

    network: MLP
    layers: tuple[Layer, ...]
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def random(cls, bound: BoundRule, count: int, seed: int) -> "_Networks":
        low, high = bound.region.box()
        if not (bound.region.is_box and np.isfinite([low, high]).all()):
            _fail(bound.rule, "the region must be a box, for this check")
        outputs = len(bound.schema.classes or bound.schema.outputs)
        network = MLP(len(low), (_HIDDEN,), outputs, "tanh")
        rng = np.random.default_rng(seed)
        widths = (len(low), _HIDDEN, outputs)
        # Steep and flat, high and low functions: some keep a claim, and some do not.
        size = 10 ** rng.uniform(-1.5, 0.5, count)
        layers = tuple(
            Layer(
                size[:, None, None] * rng.standard_normal((count, into, out)),
                2.0 * rng.standard_normal((count, out)),
            )
            for into, out in itertools.pairwise(widths)
        )
        return cls(network, layers, low, high)

    @property
    def count(self) -> int:
        return len(self.layers[0].bias)

    def each(self, compute: Callable[..., Any], *arguments: Any) -> Any:
        """Apply `compute` to each function, and to each element of the arguments."""
        apply = lambda weights, *values: compute(
            lambda x: self.network.apply(weights, x), *values
        )
        return jax.jit(jax.vmap(apply))(self.layers, *arguments)

    def values(self, bound: BoundRule, xs: jax.Array) -> tuple[np.ndarray, Slopes]:
        """Outputs and slopes of each function at some points."""

        def at_points(function: Function) -> Any:
            slopes = lambda x: slopes_at(function, x, bound.slopes)
            return jax.vmap(function)(xs), jax.vmap(slopes)(xs)

        ys, slopes = self.each(at_points)
        return np.asarray(ys), {k: np.asarray(values) for k, values in slopes.items()}

    def keep(self, bound: BoundRule, xs: jax.Array) -> Bool[np.ndarray, "..."]:
        """Whether each function keeps the claim at each point, exactly."""
        ys, slopes = self.values(bound, xs)
        values = np.argmax(ys, axis=-1) if bound.schema.is_classification else ys
        return bound.claim.holds(np.asarray(xs), values, slopes)


@dataclasses.dataclass(frozen=True)
class _Evaluation:
    """The functions at the rule's own points."""

    bound: BoundRule
    term: RuleTerm
    draws: _Networks

    @classmethod
    def at_points(cls, bound: BoundRule, draws: _Networks, seed: int) -> "_Evaluation":
        return cls(bound, make_term(bound, jax.random.key(seed)), draws)

    @property
    def points(self) -> jax.Array:
        return self.term.points[:_POINTS]

    def log_g(self, function: Function, shift: Scalar) -> Scalar:
        """The log density of a function that is shifted and tilted."""
        moved = lambda x: function(x) + shift * (1.0 + x[:1])
        ys = jax.vmap(moved)(self.points)
        return self.term.law.log_g(self.points, ys, moved)

    def shifted(self, shift: float) -> np.ndarray:
        """The log density of each shifted function."""
        return np.asarray(self.draws.each(self.log_g, self._shifts(shift)))

    def _shifts(self, shift: float) -> jax.Array:
        return jnp.full((self.draws.count,), shift)

    def check_density(self, reference: Reference | None) -> None:
        if reference is None:
            return
        xs, (ys, slopes) = (
            np.asarray(self.points),
            self.draws.values(self.bound, self.points),
        )
        for number, ours in enumerate(self.shifted(0.0).tolist()):
            function_slopes = {along: s[number] for along, s in slopes.items()}
            theirs = float(reference(xs, ys[number], function_slopes))
            if not np.isclose(ours, theirs, rtol=1e-8, atol=1e-8):
                reason = f"log g is {ours!r}, but its equation gives {theirs!r}"
                _fail(self.bound.rule, reason)

    def check_slope(self) -> None:
        slope = lambda function, shift: jax.grad(lambda s: self.log_g(function, s))(
            shift
        )
        slopes = np.asarray(self.draws.each(slope, self._shifts(0.0)))
        above, below = self.shifted(_STEP), self.shifted(-_STEP)
        differences = (above - below) / (2 * _STEP)
        size = 1e-4 * np.maximum(1.0, np.maximum(np.abs(above), np.abs(differences)))
        wrong = ~(np.abs(slopes - differences) <= size)
        if wrong.any():
            at = int(np.argmax(wrong))
            _fail(
                self.bound.rule,
                f"the slope of log g is {float(slopes[at])!r}, but differences give "
                f"{float(differences[at])!r}",
            )

    def check_units(self, seed: int) -> None:
        """Check that a rule means the same in any units."""
        units = self._units(seed)
        key = jax.random.key(seed)
        scales = units.y_scale, units.x_scale
        plain = make_term(
            self.bound, key, output_scale=scales[0], input_scale=scales[1]
        )
        inner = make_term(self.bound, key, units=units)
        within = jnp.asarray(units.standard_inputs(np.asarray(self.points)))

        def in_both_units(function: Function) -> tuple[Scalar, Scalar]:
            standard = lambda z: (
                (function(z * units.x_scale + units.x_mean) - units.y_mean)
                / units.y_scale
            )
            at = lambda function, xs: jax.vmap(function)(xs)
            return (
                plain.law.log_g(self.points, at(function, self.points), function),
                inner.law.log_g(within, at(standard, within), standard),
            )

        theirs, ours = map(np.asarray, self.draws.each(in_both_units))
        wrong = ~np.isclose(ours, theirs, rtol=1e-5, atol=1e-6)
        if wrong.any():
            at = int(np.argmax(wrong))
            _fail(
                self.bound.rule,
                f"log g is {float(theirs[at])!r} in the user's units but "
                f"{float(ours[at])!r} in standard units, although both have the same "
                "scales",
            )

    def _units(self, seed: int) -> Units:
        """Random units; classes have none."""
        rng = np.random.default_rng(seed)
        inputs, outputs = self.points.shape[1], self.draws.network.outputs
        x = rng.normal(size=inputs), rng.uniform(0.5, 2, inputs)
        if self.bound.schema.is_classification:
            return Units(*x, np.zeros(outputs), np.ones(outputs))
        return Units(*x, rng.normal(size=outputs), rng.uniform(0.5, 2, outputs))

    def check_truth(self) -> float:
        """Compare slack and terms with the exact check; return the share kept."""
        holds = self.draws.keep(self.bound, self.points)
        if self.bound.claim.is_searchable:
            slack = lambda function: jax.vmap(
                lambda x: self.term.law.slack(function, x)
            )(self.points)
            slacks = np.asarray(self.draws.each(slack))
            wrong = ((slacks >= 0) != holds) & (np.abs(slacks) > _ROUNDING)
            self._fail_at(wrong, holds, "its slack disagrees")
        if self.bound.claim.broken is not None:
            ys, slopes = self.draws.values(self.bound, self.points)
            xs = np.broadcast_to(self.points, (len(ys), *self.points.shape))
            broken = np.zeros(holds.shape, bool)
            for term in self.bound.claim.broken:
                broken |= np.all([atom.holds(xs, ys, slopes) for atom in term], axis=0)
            self._fail_at(broken == holds, holds, "its terms disagree")
        return float(holds.mean())

    def _fail_at(self, wrong: np.ndarray, holds: np.ndarray, reason: str) -> None:
        if wrong.any():
            number, point = np.argwhere(wrong)[0]
            status = "kept" if holds[number, point] else "violated"
            x = np.asarray(self.points[point]).tolist()
            _fail(self.bound.rule, f"it is {status} at {x}, but {reason}")


def _check_proofs(bound: BoundRule, draws: _Networks, seed: int) -> tuple[int, int]:
    """How many functions are proved to keep the rule, and how many to violate it."""
    if bound.claim.broken is None:
        return 0, 0
    try:
        prover = Prover(draws.network, draws.layers, None, bound)
    except CertificateError:
        return 0, 0  # Claims that cannot be proved are allowed.
    ends = (np.tile(end, (draws.count, 1)) for end in (draws.low, draws.high))
    result = search(prover, Roots(np.arange(draws.count), *ends), _BOXES)
    points = np.random.default_rng(seed).random((1000, len(draws.low)))
    points = draws.low + points * (draws.high - draws.low)
    kept = draws.keep(bound, jnp.asarray(points))
    is_proved = result.status == HOLDS
    if not kept[is_proved].all():
        _fail(bound.rule, "it was proved to hold where it is violated")
    refuted = np.flatnonzero(result.status == BROKEN)
    at = np.where(np.isnan(result.broken_at), draws.low, result.broken_at)
    kept = draws.keep(bound, jnp.asarray(at))[refuted, refuted]
    if kept.any():
        x = at[refuted[np.argmax(kept)]].tolist()
        _fail(bound.rule, f"it was proved to be violated at {x}, where it holds")
    return int(is_proved.sum()), len(refuted)


def _fail(rule: Rule, reason: str) -> None:

    kind = type(rule.claim).__name__
    raise RuleError(f"{kind} breaks a promise in `{rule}`: {reason}.")
