"""Drawing the inputs at which a rule is evaluated.

A sampler is a pytree whose `sample` is pure JAX, so that algorithms which want fresh
points at every step can draw them inside a compiled loop. Work that needs Python, such
as rejection or moving data rows into a region, is done once, in advance, and leaves a
pool of points.
"""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.stats import qmc

from ocbnn.core.choices import (
    Choices,
    free_columns,
    open_choices,
    pick,
    pick_traced,
)
from ocbnn.core.types import Inputs, RandomKey
from ocbnn.core.units import Units
from ocbnn.errors import RegionError

# Whether each row lies in the region.
Contains = Callable[[np.ndarray], np.ndarray]

POOL_SIZE = 4096
_MOST_PROPOSALS = 2**20


class PointSampler(eqx.Module):
    """Where a rule's points come from."""

    @abc.abstractmethod
    def sample(self, key: RandomKey, count: int) -> Inputs:
        """`count` points of the region."""


class BoxPoints(PointSampler):
    """Low-discrepancy points in a box, some of them on its faces.

    The points are a Sobol net, scrambled once and shifted by the key (modulo one),
    which is even where plain random points clump. One in ten, and at least one per face
    when there is room, is moved onto a face in turn: a function that is pulled by data
    outside violates a rule at the edge of its region first.
    """

    lower: Float[Array, " inputs"]
    upper: Float[Array, " inputs"]
    net: Float[Array, "net inputs"]
    choices: Choices = eqx.field(static=True)  # of each group, one column is 1

    def __init__(
        self,
        lower: np.ndarray,
        upper: np.ndarray,
        count: int,
        seed: int,
        choices: Choices = (),
    ) -> None:
        self.lower, self.upper = jnp.asarray(lower, float), jnp.asarray(upper, float)
        self.net = jnp.asarray(sobol(count, len(lower), seed), float)
        self.choices = open_choices(np.asarray(lower), np.asarray(upper), choices)

    def sample(self, key: RandomKey, count: int) -> Inputs:
        """The first `count` points of the shifted net."""
        shift = jax.random.uniform(key, (1, self.lower.size), self.net.dtype)
        unit = jnp.mod(self.net[:count] + shift, 1.0)
        unit = _onto_faces(unit, free_columns(unit.shape[1], self.choices))
        unit = pick_traced(unit, self.choices)
        return self.lower[None] + unit * (self.upper - self.lower)[None]


class PoolPoints(PointSampler):
    """Rows of a pool of points that are known to lie in the region."""

    pool: Float[Array, "pool inputs"]

    def __init__(self, pool: np.ndarray) -> None:
        self.pool = jnp.asarray(pool, float)

    def sample(self, key: RandomKey, count: int) -> Inputs:
        """`count` different rows, or as evenly repeated as a small pool allows."""
        size = self.pool.shape[0]
        order = jax.random.permutation(key, size)
        return self.pool[order[jnp.arange(count) % size]]


class GivenPoints(PointSampler):
    """The user's own points, all of them, in the order they were given."""

    points: Float[Array, "points inputs"]

    def __init__(self, points: np.ndarray) -> None:
        self.points = jnp.asarray(points, float)

    def sample(self, key: RandomKey, count: int) -> Inputs:
        """The points, repeated where more are requested."""
        return self.points[jnp.arange(count) % self.points.shape[0]]


class RefinedPoints(PointSampler):
    """Another sampler's points, followed by fixed ones that a search added.

    The number of added points is static, so replacing them compiles nothing again.
    """

    base: PointSampler
    added: Float[Array, "added inputs"]

    def sample(self, key: RandomKey, count: int) -> Inputs:
        """Points of the other sampler, followed by all added points."""
        ordinary = self.base.sample(key, count - self.added.shape[0])
        return jnp.concatenate([ordinary, self.added])


class OwnPoints(PointSampler):
    """A user's own sampler: `(key, count) -> points`, written in JAX.

    It returns points in the user's units, which are converted to `units` if given.
    """

    function: Callable[[RandomKey, int], Inputs] = eqx.field(static=True)
    units: Units | None = None

    def sample(self, key: RandomKey, count: int) -> Inputs:
        """What the user's function returns."""
        points = self.function(key, count)
        return points if self.units is None else self.units.traced_inputs(points)


def _onto_faces(
    unit: Float[Array, "points inputs"], free: tuple[int, ...]
) -> Float[Array, "points inputs"]:
    count, dimension = unit.shape[0], len(free)
    if not dimension:
        return unit
    # The faces of an interval are two points, and one visit to each is enough.
    share = 2 if dimension == 1 else count // 10
    moved = min(max(2 * dimension, share), count // 2)
    turn = np.arange(moved)
    columns = np.array(free)[turn // 2 % dimension]
    return unit.at[turn, columns].set((turn % 2).astype(float))


def sobol(count: int, dimension: int, seed: int) -> np.ndarray:
    """`count` points of a scrambled Sobol net in the unit cube."""
    exponent = max(0, int(np.ceil(np.log2(max(count, 1)))))
    net = qmc.Sobol(dimension, scramble=True, rng=np.random.default_rng(seed))
    return net.random_base2(exponent)[:count]


def rejection_pool(
    label: str,
    contains: Contains,
    lower: np.ndarray,
    upper: np.ndarray,
    seed: int,
    size: int = POOL_SIZE,
    units: Units | None = None,
    choices: Choices = (),
) -> np.ndarray:
    """Points of a general region, by keeping those of its bounding box that lie in it.

    Parameters
    ----------
    label
        The rule's name, for the error.
    contains
        Whether points lie in the region.
    lower
        The lower corner of the box, in the user's units.
    upper
        Its upper corner.
    seed
        Decides the scrambling.
    size
        How many points.
    units
        Standard units in which points are drawn, checked and returned. Far from
        zero, double precision would round points in the user's units.
    choices
        Columns of which exactly one is 1.

    Raises
    ------
    RegionError
        When fewer than one proposal in ten thousand is accepted.
    """
    standard = units or Units.plain(len(lower), 0)
    low, high = standard.standard_inputs(lower), standard.standard_inputs(upper)
    net = qmc.Sobol(len(lower), scramble=True, rng=np.random.default_rng(seed))
    between = open_choices(lower, upper, choices)
    accepted_blocks: list[np.ndarray] = []
    count = proposed = 0
    while count < size and proposed < _MOST_PROPOSALS:
        unit = pick(net.random(POOL_SIZE), between)
        proposals = low + unit * (high - low)
        accepted = proposals[contains(proposals)]
        accepted_blocks.append(accepted)
        count, proposed = count + len(accepted), proposed + len(proposals)
    if count < proposed * 1e-4 or count == 0:
        raise RegionError(
            f"the region of rule {label!r} fills almost nothing of its bounding box "
            f"(lower {lower.tolist()}, upper {upper.tolist()}): {count} of {proposed} "
            "proposals lay in it. If it is empty, mend the condition; if it is thin, "
            "write tighter bounds in it or pass points of your own with sampler=."
        )
    return np.concatenate(accepted_blocks)[:size]


def like_data_pool(
    label: str,
    contains: Contains,
    columns: tuple[int, ...],
    lower: np.ndarray,
    upper: np.ndarray,
    rows: np.ndarray,
    rng: np.random.Generator,
    size: int = POOL_SIZE,
    choices: Choices = (),
) -> np.ndarray:
    """Data rows with the constrained columns moved into the region.

    The other columns keep the values and the correlations of the data, so the rule is
    evaluated where predictions will be made. A moved column takes its value from a row
    that already lies in the region, or is drawn: uniformly between two bounds; beyond a
    single bound, at half-normal distances of the data's spread; without bounds, over
    the data's range, widened by its own length on both sides. The columns of each
    group in `choices`, of which exactly one is 1, move together.

    Raises
    ------
    RegionError
        When no row can be moved into the region.
    """
    inside = rows[contains(rows)]
    groups = [group for group in choices if {*group} & {*columns}]
    moved = sorted({*columns, *(column for group in groups for column in group)})
    draw = _drawer(lower[moved], upper[moved], rows[:, moved])
    within = tuple(tuple(moved.index(column) for column in g) for g in groups)
    accepted_blocks: list[np.ndarray] = []
    count = 0
    for _ in range(_MOST_PROPOSALS // POOL_SIZE):
        proposals = rows[rng.integers(len(rows), size=POOL_SIZE)]
        if moved:
            anew = draw(rng)
            for members in within:
                # No choice is more likely than another.
                anew[:, list(members)] = rng.random((POOL_SIZE, len(members)))
            anew = pick(anew, within, upper[moved])
            if len(inside):
                donors = inside[rng.integers(len(inside), size=POOL_SIZE)][:, moved]
                anew = np.where(rng.random((POOL_SIZE, 1)) < 0.5, donors, anew)
            stay = contains(proposals)
            proposals[:, moved] = np.where(stay[:, None], proposals[:, moved], anew)
        accepted_blocks.append(proposals[contains(proposals)])
        count += len(accepted_blocks[-1])
        if count >= size:
            break
    if count == 0:
        raise RegionError(
            f"no data row could be moved into the region of rule {label!r}: moving "
            f"columns {moved} between {lower[moved].tolist()} and "
            f"{upper[moved].tolist()} met its condition nowhere. Check the units of "
            "the rule against the data, or pass points of your own with sampler=."
        )
    return np.concatenate(accepted_blocks)[:size]


def _drawer(
    lower: np.ndarray, upper: np.ndarray, table: np.ndarray
) -> Callable[[np.random.Generator], np.ndarray]:
    """Draws new values for the moved columns, `POOL_SIZE` rows at a time."""
    low, high = table.min(axis=0), table.max(axis=0)
    reach = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    spread = np.where(high > low, table.std(axis=0), reach)
    below, above = np.isfinite(lower), np.isfinite(upper)
    start = np.where(below, lower, np.minimum(low, upper) - reach)
    end = np.where(above, upper, np.maximum(high, lower) + reach)

    def draw(rng: np.random.Generator) -> np.ndarray:
        shape = (POOL_SIZE, len(lower))
        even = rng.uniform(start, end, shape)
        away = spread * np.abs(rng.standard_normal(shape))
        one_sided = np.where(below, start + away, end - away)
        return np.where(below == above, even, one_sided)

    return draw
