"""Whether a draw keeps a rule on a box, for many draws and boxes at once."""

import functools
import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ocbnn.core.choices import are_choices, switched
from ocbnn.core.cores import cores
from ocbnn.core.units import Units
from ocbnn.errors import CertificateError
from ocbnn.language.intervals import TINY, Interval
from ocbnn.language.tree import Slot
from ocbnn.networks import MLP, Network
from ocbnn.networks.mlp import Layer
from ocbnn.proofs.attack import descend, slack
from ocbnn.proofs.bounds import FunctionalBounds, bound_network, bound_slopes
from ocbnn.proofs.question import QuestionArrays, forward, question_arrays, standard
from ocbnn.proofs.shapes import SHAPES, Shape
from ocbnn.proofs.statement import Statement, ranges, statement_of
from ocbnn.rules import BoundRule

# Bytes of coefficients in memory for each core.
_CHUNK_BYTES = 2**25
_MAX_CHUNK = 512
# Standardised ends are widened by this relative error of the numbers they come from.
_ROUNDING = 2.0**-50

Boxes = Float[np.ndarray, "boxes inputs"]
DrawNumbers = Int[np.ndarray, " boxes"]


class BoxVerdicts(NamedTuple):
    """Verdicts on boxes, each for one draw.

    Attributes
    ----------
    holds
        Whether it is proved that the rule is kept at every input of the box.
    outside
        Whether it is proved that the rule applies to none of its inputs.
    inside
        Whether it is proved that its region, if not a box, contains all of them.
    broken
        Whether it is proved that its claim is violated at every one.
    influence
        How useful it is to divide the box along each input.
    worst
        Two inputs of the box at which a violation is most likely.
    suspicious
        Whether the rule seems violated at each of them, without proof.
    """

    holds: Bool[np.ndarray, " boxes"]
    outside: Bool[np.ndarray, " boxes"]
    inside: Bool[np.ndarray, " boxes"]
    broken: Bool[np.ndarray, " boxes"]
    influence: Float[np.ndarray, "boxes inputs"]
    worst: Float[np.ndarray, "boxes 2 inputs"]
    suspicious: Bool[np.ndarray, "boxes 2"]


class Prover:
    """A rule, and draws of a network that may keep it."""

    def __init__(
        self,
        network: Network,
        weights: Any,
        units: Units | None,
        bound: BoundRule,
        *,
        is_masked: bool = False,
    ) -> None:
        if type(network) is not MLP or network.activation not in SHAPES:
            raise CertificateError(
                "certificates are for fully connected networks (MLP) with one of the "
                f"activations {', '.join(SHAPES)}, and this network is "
                f"{type(network).__name__}. Check its rules at points with "
                "check_rules()."
            )
        self.bound = bound
        self._shape = SHAPES[network.activation]
        self._statement, table = statement_of(bound, is_masked=is_masked)
        with jax.enable_x64(True):
            self._arrays = question_arrays(network, weights, units, table)
        self.draws = int(self._arrays.weights[0].bias.shape[0])
        self.chunk = _chunk_size(network)
        self.choices = bound.schema.choices

    def attack(
        self, draws: DrawNumbers, low: Boxes, high: Boxes
    ) -> tuple[Boxes, Bool[np.ndarray, " boxes"]]:
        """The worst input found in each box, and whether it seems to violate the rule.

        Nothing is proved.
        """
        points, slacks = self._map_chunks(_attack, draws, low, high)
        return points, slacks <= 0

    def judge(self, draws: DrawNumbers, low: Boxes, high: Boxes) -> BoxVerdicts:
        """Bound the rule on boxes, each for one draw."""
        return BoxVerdicts(*self._map_chunks(_judge, draws, low, high))

    def is_broken(self, draws: DrawNumbers, points: Boxes) -> Bool[np.ndarray, " _"]:
        """Whether the rule is proved to be violated at points, each for one draw."""
        verdicts = self.judge(draws, points, points)
        inside = self.bound.region.surely_contains(points) & verdicts.inside
        # Half of one level and half of another is not an input.
        return inside & are_choices(points, self.choices) & verdicts.broken

    def values(self, draw: int, point: np.ndarray) -> np.ndarray:
        """One draw's outputs at one point, in the network's own units."""
        with jax.enable_x64(True):
            weights = jax.tree.map(lambda a: a[draw], self._arrays.weights)
            inner = standard(self._arrays, jnp.asarray(point))
            return np.asarray(forward(weights, self._shape, inner))

    def _map_chunks(
        self, function: Any, draws: DrawNumbers, low: Boxes, high: Boxes
    ) -> list[np.ndarray]:
        """The results of a compiled function, chunk by chunk, on all cores."""

        def run(chunk: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
            # The setting is local to a thread, so each one needs it.
            with jax.enable_x64(True):
                results = function(self._shape, self._statement, self._arrays, *chunk)
                return tuple(np.asarray(part) for part in results)

        chunks = list(_chunks(self.chunk, draws, low, high))
        if len(chunks) == 1:
            parts = [run(chunks[0])]
        else:
            with ThreadPoolExecutor(cores()) as pool:
                parts = list(pool.map(run, chunks))
        arrays = map(np.concatenate, zip(*parts, strict=True))
        return [part[: len(draws)] for part in arrays]


def _chunk_size(network: MLP) -> int:
    """How many boxes fit in memory, a power of two."""
    widths = (network.inputs, *network.hidden, network.outputs)
    weights = sum(a * b for a, b in itertools.pairwise(widths))
    widest = max(network.hidden, default=1)
    numbers = 2 * weights + 20 * sum(widths)
    if len(network.hidden) > 1:
        numbers += 6 * widest * widest
    return int(np.clip(2 ** int(np.log2(_CHUNK_BYTES / (8 * numbers))), 16, _MAX_CHUNK))


def _chunks(
    size: int, draws: DrawNumbers, low: Boxes, high: Boxes
) -> Iterator[tuple[np.ndarray, ...]]:
    """Chunks of one size, so that little is compiled, padded with the last box."""
    for start in range(0, len(draws), size):
        rows = np.minimum(np.arange(start, start + size), len(draws) - 1)
        yield draws[rows], low[rows], high[rows]


@functools.partial(jax.jit, static_argnums=(0, 1))
def _judge(
    shape: Shape,
    statement: Statement,
    arrays: QuestionArrays,
    draws: Array,
    low: Array,
    high: Array,
) -> tuple[Array, ...]:
    def judge_box(draw: Array, low: Array, high: Array) -> tuple[Array, ...]:
        weights = jax.tree.map(lambda a: a[draw], arrays.weights)
        bounds, slots = _bounds(weights, shape, statement, arrays, low, high)
        is_outside = [_is_false(term, slots) for term in statement.region]
        is_kept = [_is_false(term, slots) for term in statement.claim]
        # Violating the rule takes a part of its region and a forbidden case.
        outside, all_kept = jnp.all(jnp.stack(is_outside)), jnp.all(jnp.stack(is_kept))
        worst = _guesses(statement, bounds, slots, low, high)
        slacks = jax.vmap(lambda x: slack(weights, shape, statement, arrays, x))(worst)
        broken = [
            jnp.all(jnp.stack([part.high < 0 for part in term]))
            for term in ranges(statement.claim, slots)
        ]
        inside = [
            _is_met(term, parts)
            for term, parts in zip(
                statement.region, ranges(statement.region, slots), strict=True
            )
        ]
        proved = (outside | all_kept, outside, jnp.any(jnp.stack(inside)))
        return *proved, jnp.any(jnp.stack(broken)), bounds.influence, worst, slacks <= 0

    return jax.vmap(judge_box)(draws, low, high)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _attack(
    shape: Shape,
    statement: Statement,
    arrays: QuestionArrays,
    draws: Array,
    low: Array,
    high: Array,
) -> tuple[Array, Array]:
    def attack_box(draw: Array, low: Array, high: Array) -> tuple[Array, Array]:
        weights = jax.tree.map(lambda a: a[draw], arrays.weights)
        return descend(weights, shape, statement, arrays, low, high)

    return jax.vmap(attack_box)(draws, low, high)


def _bounds(
    weights: tuple[Layer, ...],
    shape: Shape,
    statement: Statement,
    arrays: QuestionArrays,
    low: Array,
    high: Array,
) -> tuple[FunctionalBounds, list[Interval]]:
    """Bounds on every slot of the statement over a box in the user's units."""
    box = Interval(
        *(
            standard(arrays, end)
            + sign
            * _ROUNDING
            * (jnp.abs(end) + jnp.abs(arrays.x_mean))
            / arrays.x_scale
            + sign * TINY
            for sign, end in ((-1.0, low), (1.0, high))
        )
    )
    bounds = bound_network(weights, shape, box, arrays.functionals)
    slots = [Interval(a, b) for a, b in zip(*bounds.range, strict=True)]
    along = {column: None for _, column in statement.slopes}
    slopes = {c: bound_slopes(weights, shape, box, (c,)) for c in along}
    for output, column in statement.slopes:
        # The network's slope is in standard units.
        unit = arrays.y_scale[output] / arrays.x_scale[column]
        part = Interval(*(end[output] * unit for end in slopes[column]))
        size = _ROUNDING * jnp.maximum(jnp.abs(part.low), jnp.abs(part.high)) + TINY
        slots.append(Interval(part.low - size, part.high + size))
    if statement.slopes:
        # Bounds on slopes are loose where hidden units vary much.
        reach = jnp.sum(jnp.abs(weights[0].weight), axis=1) * (box.high - box.low)
        bounds = bounds._replace(influence=bounds.influence + reach)
    return bounds, slots


def _is_false(term: tuple[Any, ...], slots: list[Interval]) -> Array:
    """Whether some atom of an intersection is false throughout the box."""
    if not term:
        return jnp.zeros((), bool)
    parts = ranges((term,), slots)[0]
    false = [
        part.low >= 0 if atom.strict else part.low > 0
        for atom, part in zip(term, parts, strict=True)
    ]
    return jnp.any(jnp.stack(false))


def _is_met(term: tuple[Any, ...], parts: list[Interval]) -> Array:
    """Whether all atoms of an intersection are true throughout the box."""
    true = [
        part.high < 0 if atom.strict else part.high <= 0
        for atom, part in zip(term, parts, strict=True)
    ]
    return jnp.all(jnp.stack(true)) if true else jnp.ones((), bool)


def _guesses(
    statement: Statement,
    bounds: FunctionalBounds,
    slots: list[Interval],
    low: Array,
    high: Array,
) -> Float[Array, "2 inputs"]:
    """The middle of the box, and the corner at which the weakest bound is least."""
    no_tilt = jnp.zeros_like(low)
    lower_bounds, tilts = [], []
    for term, parts in zip(
        statement.claim, ranges(statement.claim, slots), strict=True
    ):
        lows = jnp.stack([part.low for part in parts])
        tilts_of_parts = jnp.stack(
            [
                bounds.tilt[atom.expr.place]
                if isinstance(atom.expr, Slot)
                and atom.expr.place < statement.functionals
                else no_tilt
                for atom in term
            ]
        )
        lower_bounds.append(jnp.max(lows))
        tilts.append(tilts_of_parts[jnp.argmax(lows)])
    tilt = jnp.stack(tilts)[jnp.argmin(jnp.stack(lower_bounds))]
    middle = 0.5 * (low + high)
    corner = jnp.where(tilt > 0, low, jnp.where(tilt < 0, high, middle))
    return jnp.stack(
        [switched(start, tilt, statement.choices, high) for start in (middle, corner)]
    )
