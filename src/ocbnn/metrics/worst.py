"""Where draws break a rule most: a search over its whole region, not a look at points.

Every draw's function is followed downhill on the slack that the rule leaves it, from
many places of the region at once. A function that holds a rule at a hundred thousand
points may still break it between them; where this search finds nothing, there is little
left to find. It proves nothing: it is an attack, and not a certificate.
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

# Values of a network's widest layer held at a time.
_ROOM = 2**21
# Points at which all draws are judged at a time.
_JUDGED = 5000
# The first step, as a share of the region's width, and how it grows and shrinks.
_STEP, _GROW, _SHRINK = 0.05, 1.3, 0.5
# Points on an open or rounded edge are drawn inwards by these shares of the width.
_NUDGES = (1e-9, 1e-7, 1e-6, 1e-5)


class Worst(NamedTuple):
    """For every draw, where it comes closest to breaking a rule, or breaks it most.

    Attributes
    ----------
    points
        In the user's units, inside the region.
    slack
        The signed distance left there, in natural sizes; below zero: broken.
    broken
        Whether the draw breaks the rule there, judged exactly.
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
    """Search a rule's region for the input that each draw gets most wrong.

    Projected gradient descent on the slack, over all draws and starts at once. Sides
    that the region leaves open end where the rule's own points do.

    Parameters
    ----------
    predictive
        The draws.
    term
        The rule, with the sampler of its points.
    key
        Decides the starts.
    starts
        From how many places every draw is followed; some are corners.
    steps
        How many steps from each.
    most
        At most so many draws, evenly chosen as by `Predictive.functions`.
    rows
        Data rows; those in the region are starts too.

    Raises
    ------
    RuleError
        For a custom rule, which has no notion of being broken.
    SettingError
        When rule and draws are in different units.
    """
    bound = term.bound
    if not bound.claim.is_searchable:
        raise RuleError(
            f"rule {bound.name!r} is custom: it has a density, but no notion of being "
            "broken, so there is no worst input. Say it with require, forbid or expect."
        )
    term.check_units(predictive.units)
    some = predictive.thinned(most)
    begin, lower, upper = _starts(term, key, starts, rows)
    width = np.where(upper > lower, upper - lower, 1.0)
    unit = jnp.asarray(np.clip((begin - lower) / width, 0.0, 1.0), float)
    least, greatest = term.inner(lower), term.inner(upper)
    ends = jnp.asarray(least, float), jnp.asarray(greatest - least, float)
    found, first = [], []
    for weights, count in _blocks(some, len(begin)):
        u, best = _descend(
            *(some.network, term.law, term.region, weights, unit, ends, steps),
            bound.schema.choices,
        )
        found.append(np.asarray(u, float)[:count])
        first.append(np.asarray(best)[:count])
    points = np.clip(lower + np.concatenate(found) * width, lower, upper)
    points = pick(points, bound.schema.choices, upper)
    otherwise = begin[np.concatenate(first)]
    points = _inside(bound.region, points, (lower, upper), otherwise)
    return judge_worst(some, term, points)


def judge_worst(
    predictive: Predictive, term: RuleTerm, points: Float[np.ndarray, "draws inputs"]
) -> Worst:
    """Slack and exact truth of every draw at a point of its own."""
    bound, network = term.bound, predictive.network
    units = predictive.units or Units.plain(network.inputs, network.outputs)
    slack, values, slopes = _at_own(
        network,
        term.law,
        jax.tree.map(jnp.asarray, predictive.draws.weights),
        jnp.asarray(units.standard_inputs(points), float),
    )
    # Into the user's units in double precision, so that offsets cost no digits.
    slack, values = np.asarray(slack, float), units.outputs(np.asarray(values))
    known = {
        along: np.asarray(slope, float)
        * slope_scale(along, units.y_scale, units.x_scale)
        for along, slope in slopes.items()
    }
    # One draw as rules see it, because every draw has a point of its own.
    known = {along: slope[None] for along, slope in known.items()}
    holds = ~broken_at(bound, points, _judged(bound, values)[None], known)[0]
    # The exact answer decides on which side of zero a slack lies.
    tiny = np.finfo(np.float32).tiny
    agreed = np.where(holds, np.maximum(slack, 0.0), np.minimum(slack, -tiny))
    return Worst(points, agreed, ~holds)


def draws_broken_at(
    predictive: Predictive,
    term: RuleTerm,
    points: Float[np.ndarray, "points inputs"],
    most: int | None = None,
) -> Bool[np.ndarray, "draws points"]:
    """Which draws break a rule at which points of its region, judged exactly."""
    bound, blocks = term.bound, []
    for start in range(0, len(points), _JUDGED):
        some = points[start : start + _JUDGED]
        slopes = predictive.slopes(some, bound.slopes, most) if bound.slopes else {}
        values = predictive.functions(some, most)
        blocks.append(broken_at(bound, some, _judged(bound, values), slopes))
    return np.concatenate(blocks, axis=1)


def _judged(bound: BoundRule, values: np.ndarray) -> np.ndarray:
    """What rules judge of function values: outputs, or class numbers."""
    return np.argmax(values, -1) if bound.schema.is_classification else values


def _starts(
    term: RuleTerm, key: RandomKey, count: int, rows: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where to begin, and the box that the search stays in."""
    key_points, key_corners = jax.random.split(key)
    region = term.bound.region
    corners = count // 4 if region.is_box else 0
    begin = term.many(key_points, count - corners)
    if rows is not None and len(inside := rows[region.contains(rows)]):
        # In the place of points, not beside them: the code is compiled for a count.
        chosen = evenly(len(inside), count // 4)
        begin[: len(chosen)] = inside[chosen]
    lower, upper = term.ends()
    if corners:
        sides = jax.random.bernoulli(key_corners, 0.5, (corners, len(lower)))
        ends = np.where(np.asarray(sides), upper, lower)
        for group in map(list, region.choices):
            level = jax.random.uniform(key_corners, (corners, len(group)))
            ends[:, group] = np.asarray(level)
        begin = np.concatenate([begin, pick(ends, region.choices, upper)])
    return begin, lower, upper


def _blocks(predictive: Predictive, starts: int) -> list[tuple[Position, int]]:
    """Weights of a few draws at a time, and how many of them are real."""
    leaves = jax.tree.leaves(predictive.draws.weights)
    widest = max(predictive.network.outputs, *(leaf.shape[-1] for leaf in leaves))
    room = 2 ** int(np.log2(max(1, _ROOM // (starts * widest))))
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
    """One start of one draw: where it is in the unit cube, and how it continues."""

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
    """Every draw's lowest place in the unit cube, and the number of its best start."""
    lower, width = ends

    def inside(unit: Input) -> Bool[Array, ""]:
        if region is None:
            return jnp.asarray(True)
        return truth(region, lower + unit * width, None, jnp)

    def from_one(weights: Position, start: Input) -> tuple[Input, Scalar, Scalar]:
        function = lambda x: network.apply(weights, x)
        level = jax.value_and_grad(
            lambda unit: law.slack(function, lower + unit * width)
        )
        first = _Walk(start, *level(start), jnp.full((2,), _STEP, start.dtype))
        move = lambda index, walk: _move(level, inside, index, walk, choices, width)
        walk = jax.lax.fori_loop(0, steps, move, first)
        return walk.unit, walk.slack, first.slack

    def of_draw(weights: Position) -> tuple[Input, Int[Array, ""]]:
        unit, slack, first = jax.vmap(from_one, (None, 0))(weights, starts)
        return unit[jnp.argmin(slack)], jnp.argmin(first)

    return jax.vmap(of_draw)(weights)


def _move(
    level: Callable[[Input], tuple[Scalar, Input]],
    inside: Callable[[Input], Bool[Array, ""]],
    index: Int[Array, ""],
    walk: _Walk,
    choices: Choices,
    width: Input,
) -> _Walk:
    """One step downhill, kept where it leads lower and stays in the region."""
    slope = jnp.where(jnp.isfinite(walk.slope), walk.slope, 0.0)
    chosen = switched(walk.unit, slope, choices, width)
    for group in map(np.array, choices):
        slope = slope.at[group].set(0.0)
    # On a face, only what leads back into the cube or along the face counts.
    pushes_out = ((walk.unit <= 0) & (slope > 0)) | ((walk.unit >= 1) & (slope < 0))
    slope = jnp.where(pushes_out, 0.0, slope)
    # Signs find corners soon, the slope itself finds hollows; so they take turns, each
    # with a step of its own.
    turn = index % 2
    largest = jnp.maximum(jnp.max(jnp.abs(slope)), jnp.finfo(slope.dtype).tiny)
    way = jnp.where(turn == 0, slope / largest, jnp.sign(slope))
    unit = jnp.clip(walk.unit - walk.steps[turn] * way, 0.0, 1.0)
    # Every third step another choice is tried, if there is one.
    is_choice = jnp.asarray(bool(choices)) & (index % 3 == 2)
    unit = jnp.where(is_choice, chosen, unit)
    slack, slope = level(unit)
    better = (slack < walk.slack) & inside(unit)
    steps = walk.steps.at[turn].multiply(jnp.where(better, _GROW, _SHRINK))
    steps = jnp.where(is_choice, walk.steps, steps)
    there = _Walk(unit, slack, slope, steps)
    here = walk._replace(steps=steps)
    return jax.tree.map(lambda a, b: jnp.where(better, a, b), there, here)


@eqx.filter_jit
def _at_own(
    network: Network,
    law: Law,
    weights: Position,
    points: Inputs,
) -> tuple[Float[Array, " draws"], Float[Array, "draws outputs"], dict[Along, Array]]:
    """Every draw's slack at a point of its own, and its value and slopes there.

    All in the units of the network.
    """

    def one(weights: Position, point: Input) -> tuple[Array, Array, dict]:
        function = lambda x: network.apply(weights, x)
        slack = law.slack(function, point)
        return slack, function(point), slopes_at(function, point, law.slopes)

    return jax.vmap(one)(weights, points)


def _inside(
    region: Region,
    points: Float[np.ndarray, "draws inputs"],
    ends: tuple[np.ndarray, np.ndarray],
    otherwise: Float[np.ndarray, "draws inputs"],
) -> Float[np.ndarray, "draws inputs"]:
    """The points, those on an open or rounded edge drawn inwards by a hair."""
    lower, upper = ends
    middle = np.broadcast_to(0.5 * (lower + upper), points.shape).copy()
    for group in map(list, region.choices):
        middle[:, group] = points[:, group]
    found = points.copy()
    outside = ~region.contains(found)
    for share in _NUDGES:
        found[outside] = points[outside] + share * (middle - points)[outside]
        outside = ~region.contains(found)
    found[outside] = otherwise[outside]
    return found
