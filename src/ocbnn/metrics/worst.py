"""Where draws violate a rule most: a search over its whole region, not only at points.

For every draw, gradient descent on the rule's slack starts at many inputs of the region
at once. A function that keeps a rule at a hundred thousand points may still violate it
between them; where this search finds nothing, few violations are left. It proves
nothing: it is an attack, not a certificate.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ocbnn.core.choices import Choices, pick, switched
from ocbnn.core.rows import evenly
from ocbnn.core.slopes import slope_scale, slopes_at
from ocbnn.core.types import (
    Along,
    Input,
    Inputs,
    Position,
    RandomKey,
    Scalar,
)
from ocbnn.core.units import Units
from ocbnn.errors import RuleError
from ocbnn.language.evaluate import truth
from ocbnn.metrics.rules import broken_at
from ocbnn.networks import Network
from ocbnn.predictive import Predictive
from ocbnn.priors import RuleTerm
from ocbnn.priors.law import Law
from ocbnn.rules import BoundRule, Condition, Region

# Values of a network's widest layer in memory at a time.
_MAX_VALUES = 2**21
# Points at which all draws are checked at a time.
_POINTS_PER_BLOCK = 5000
# The first step, as a share of the region's width, and how it grows and shrinks.
_STEP, _GROW, _SHRINK = 0.05, 1.3, 0.5
# Points on an open or rounded edge are moved inwards by these shares of the width.
_NUDGES = (1e-9, 1e-7, 1e-6, 1e-5)


class Worst(NamedTuple):
    """For every draw, where it comes closest to violating a rule, or violates it most.

    Attributes
    ----------
    points
        Inputs in the user's units, inside the region.
    slack
        The slack there, in natural sizes; below zero if violated.
    broken
        Whether the draw violates the rule there, checked exactly.
    """

    points: Float[np.ndarray, "draws inputs"]
    slack: Float[np.ndarray, " draws"]
    broken: Bool[np.ndarray, " draws"]


def find_worst(
    predictive: Predictive,
    term: RuleTerm,
    key: RandomKey,
    *,
    starts: int = 64,
    steps: int = 40,
    most: int | None = None,
    rows: np.ndarray | None = None,
) -> Worst:
    """Search a rule's region for each draw's worst input.

    Projected gradient descent on the slack, over all draws and starts at once. Where
    the region is unbounded, the search ends where the rule's own points do.

    Parameters
    ----------
    predictive
        The draws.
    term
        The rule, with the sampler of its points.
    key
        Determines the starts.
    starts
        How many starts per draw; some are corners of the region.
    steps
        How many steps from each.
    most
        The largest number of draws, evenly chosen as by `Predictive.functions`.
    rows
        Data rows; some of those in the region are starts, too.

    Raises
    ------
    RuleError
        For a rule that cannot be searched.
    SettingError
        When rule and draws are in different units.
    """
    bound = term.bound
    if not bound.is_searchable:
        raise RuleError(
            f"rule {bound.name!r} cannot be searched: it does not say by how much a "
            "function violates it, so no input can be found where that is worst. Write "
            "it with require, forbid or expect."
        )
    term.check_units(predictive.units)
    thinned = predictive.thinned(most)
    starting_points, lower, upper = _starts(term, key, starts, rows)
    width = np.where(upper > lower, upper - lower, 1.0)
    unit = jnp.asarray(np.clip((starting_points - lower) / width, 0.0, 1.0), float)
    least, greatest = term.inner(lower), term.inner(upper)
    ends = jnp.asarray(least, float), jnp.asarray(greatest - least, float)
    unit_points, best_starts = [], []
    for weights, count in _blocks(thinned, len(starting_points)):
        u, best = _descend(
            *(thinned.network, term.law, term.region, weights, unit, ends, steps),
            bound.schema.choices,
        )
        unit_points.append(np.asarray(u, float)[:count])
        best_starts.append(np.asarray(best)[:count])
    points = np.clip(lower + np.concatenate(unit_points) * width, lower, upper)
    points = pick(points, bound.schema.choices, upper)
    fallback = starting_points[np.concatenate(best_starts)]
    points = _moved_inside(bound.region, points, (lower, upper), fallback)
    return judge_worst(thinned, term, points)


def judge_worst(
    predictive: Predictive, term: RuleTerm, points: Float[np.ndarray, "draws inputs"]
) -> Worst:
    """Every draw's slack at its own point, and whether it violates the rule there."""
    bound, network = term.bound, predictive.network
    units = predictive.units or Units.plain(network.inputs, network.outputs)
    slack, values, slopes = _at_own_points(
        network,
        term.law,
        jax.tree.map(jnp.asarray, predictive.draws.weights),
        jnp.asarray(units.standard_inputs(points), float),
    )
    # Into the user's units in double precision, so that offsets cost no digits.
    slack, values = np.asarray(slack, float), units.outputs(np.asarray(values))
    user_slopes = {
        along: np.asarray(slope, float)
        * slope_scale(along, units.y_scale, units.x_scale)
        for along, slope in slopes.items()
    }
    # Rules see this as one draw at many points: point `i` has the values of draw `i`.
    user_slopes = {along: slope[None] for along, slope in user_slopes.items()}
    holds = ~broken_at(
        bound, points, _checkable_values(bound, values)[None], user_slopes
    )[0]
    # The exact check decides the sign of the slack.
    tiny = np.finfo(np.float32).tiny
    consistent = np.where(holds, np.maximum(slack, 0.0), np.minimum(slack, -tiny))
    return Worst(points, consistent, ~holds)


def draws_broken_at(
    predictive: Predictive,
    term: RuleTerm,
    points: Float[np.ndarray, "points inputs"],
    most: int | None = None,
) -> Bool[np.ndarray, "draws points"]:
    """Which draws violate a rule at which points of its region, checked exactly."""
    bound, blocks = term.bound, []
    for start in range(0, len(points), _POINTS_PER_BLOCK):
        block = points[start : start + _POINTS_PER_BLOCK]
        slopes = predictive.slopes(block, bound.slopes, most) if bound.slopes else {}
        values = predictive.functions(block, most)
        blocks.append(broken_at(bound, block, _checkable_values(bound, values), slopes))
    return np.concatenate(blocks, axis=1)


def _checkable_values(bound: BoundRule, values: np.ndarray) -> np.ndarray:
    """Function values as rules check them: outputs, or class numbers."""
    return np.argmax(values, -1) if bound.schema.is_classification else values


def _starts(
    term: RuleTerm, key: RandomKey, count: int, rows: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Starting points, and the box that the search stays in."""
    key_points, key_corners = jax.random.split(key)
    region = term.bound.region
    corners = count // 4 if region.is_box else 0
    starting_points = term.many(key_points, count - corners)
    if rows is not None and len(inside := rows[region.contains(rows)]):
        # Rows replace points, because the code is compiled for a fixed count.
        chosen = evenly(len(inside), count // 4)
        starting_points[: len(chosen)] = inside[chosen]
    lower, upper = term.ends()
    if corners:
        sides = jax.random.bernoulli(key_corners, 0.5, (corners, len(lower)))
        ends = np.where(np.asarray(sides), upper, lower)
        for group in map(list, region.choices):
            weights = jax.random.uniform(key_corners, (corners, len(group)))
            ends[:, group] = np.asarray(weights)
        starting_points = np.concatenate(
            [starting_points, pick(ends, region.choices, upper)]
        )
    return starting_points, lower, upper


def _blocks(predictive: Predictive, starts: int) -> list[tuple[Position, int]]:
    """Weights of a few draws at a time, and how many of them are not padding."""
    leaves = jax.tree.leaves(predictive.draws.weights)
    widest = max(predictive.network.outputs, *(leaf.shape[-1] for leaf in leaves))
    room = 2 ** int(np.log2(max(1, _MAX_VALUES // (starts * widest))))
    size = min(room, 2 ** int(np.ceil(np.log2(predictive.size))))
    blocks = []
    for start in range(0, predictive.size, size):
        rows = np.arange(start, start + size)
        count = min(size, predictive.size - start)
        rows = np.minimum(rows, predictive.size - 1)
        chosen = jax.tree.map(lambda a, r=rows: jnp.asarray(a[r]), predictive.draws)
        blocks.append((chosen.weights, count))
    return blocks


class _Walk(NamedTuple):
    """The state of one descent of one draw, in the unit cube."""

    unit: Input
    slack: Scalar
    slope: Input
    steps: Float[Array, " 2"]  # along the slope, and along its signs


@eqx.filter_jit
def _descend(
    network: Network,
    law: Law,
    region: Condition | None,
    weights: Position,
    starts: Float[Array, "starts inputs"],
    ends: tuple[Input, Input],
    steps: int,
    choices: Choices,
) -> tuple[Float[Array, "draws inputs"], Int[Array, " draws"]]:
    """Every draw's lowest point in the unit cube, and the number of its best start."""
    lower, width = ends

    def inside(unit: Input) -> Bool[Array, ""]:
        if region is None:
            return jnp.asarray(True)
        return truth(region, lower + unit * width, None, jnp)

    def from_one(weights: Position, start: Input) -> tuple[Input, Scalar, Scalar]:
        function = lambda x: network.apply(weights, x)
        slack_and_slope = jax.value_and_grad(
            lambda unit: law.slack(function, lower + unit * width)
        )
        first = _Walk(
            start, *slack_and_slope(start), jnp.full((2,), _STEP, start.dtype)
        )
        move = lambda index, walk: _move(
            slack_and_slope, inside, index, walk, choices, width
        )
        walk = jax.lax.fori_loop(0, steps, move, first)
        return walk.unit, walk.slack, first.slack

    def of_draw(weights: Position) -> tuple[Input, Int[Array, ""]]:
        unit, slack, first = jax.vmap(from_one, (None, 0))(weights, starts)
        return unit[jnp.argmin(slack)], jnp.argmin(first)

    return jax.vmap(of_draw)(weights)


def _move(
    slack_and_slope: Callable[[Input], tuple[Scalar, Input]],
    inside: Callable[[Input], Bool[Array, ""]],
    index: Int[Array, ""],
    walk: _Walk,
    choices: Choices,
    width: Input,
) -> _Walk:
    """One step downhill, accepted if the slack decreases inside the region."""
    slope = jnp.where(jnp.isfinite(walk.slope), walk.slope, 0.0)
    chosen = switched(walk.unit, slope, choices, width)
    for group in map(np.array, choices):
        slope = slope.at[group].set(0.0)
    # On a face, ignore components that lead out of the cube.
    pushes_out = ((walk.unit <= 0) & (slope > 0)) | ((walk.unit >= 1) & (slope < 0))
    slope = jnp.where(pushes_out, 0.0, slope)
    # Steps along signs find corners fast, steps along the slope find interior minima.
    # They alternate, each with its own step size.
    turn = index % 2
    largest = jnp.maximum(jnp.max(jnp.abs(slope)), jnp.finfo(slope.dtype).tiny)
    direction = jnp.where(turn == 0, slope / largest, jnp.sign(slope))
    unit = jnp.clip(walk.unit - walk.steps[turn] * direction, 0.0, 1.0)
    # Every third step tries another level of a category, if there is one.
    is_choice = jnp.asarray(bool(choices)) & (index % 3 == 2)
    unit = jnp.where(is_choice, chosen, unit)
    slack, slope = slack_and_slope(unit)
    is_better = (slack < walk.slack) & inside(unit)
    steps = walk.steps.at[turn].multiply(jnp.where(is_better, _GROW, _SHRINK))
    steps = jnp.where(is_choice, walk.steps, steps)
    moved = _Walk(unit, slack, slope, steps)
    stayed = walk._replace(steps=steps)
    return jax.tree.map(lambda a, b: jnp.where(is_better, a, b), moved, stayed)


@eqx.filter_jit
def _at_own_points(
    network: Network,
    law: Law,
    weights: Position,
    points: Inputs,
) -> tuple[Float[Array, " draws"], Float[Array, "draws outputs"], dict[Along, Array]]:
    """Every draw's slack, value and slopes at its own point, in the network's units."""

    def at_one(weights: Position, point: Input) -> tuple[Array, Array, dict]:
        function = lambda x: network.apply(weights, x)
        slack = law.slack(function, point)
        return slack, function(point), slopes_at(function, point, law.slopes)

    return jax.vmap(at_one)(weights, points)


def _moved_inside(
    region: Region,
    points: Float[np.ndarray, "draws inputs"],
    ends: tuple[np.ndarray, np.ndarray],
    fallback: Float[np.ndarray, "draws inputs"],
) -> Float[np.ndarray, "draws inputs"]:
    """The points; those just outside, on an open or rounded edge, moved inwards."""
    lower, upper = ends
    middle = np.broadcast_to(0.5 * (lower + upper), points.shape).copy()
    for group in map(list, region.choices):
        middle[:, group] = points[:, group]
    moved = points.copy()
    outside = ~region.contains(moved)
    for share in _NUDGES:
        moved[outside] = points[outside] + share * (middle - points)[outside]
        outside = ~region.contains(moved)
    moved[outside] = fallback[outside]
    return moved
