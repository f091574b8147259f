"""Drawing the inputs at which a rule is felt.

A sampler is a pytree whose `sample` is pure JAX, so that algorithms which want fresh
points at every step can draw them inside a compiled loop. Whatever needs Python, such
as rejection or moving data rows into a region, is done once, before, and leaves a pool.
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
    when there is room, is moved onto a face in turn: a function that comes from data
    outside breaks a rule at the edge of its region first.
    """

    lower: Float[Array, " inputs"]
    upper: Float[Array, " inputs"]
    net: Float[Array, "net inputs"]
    choices: Choices = eqx.field(static=True)  # columns of which one is at its end

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
    """A person's own points, all of them, in the order they were given."""

    points: Float[Array, "points inputs"]

    def __init__(self, points: np.ndarray) -> None:
        self.points = jnp.asarray(points, float)

    def sample(self, key: RandomKey, count: int) -> Inputs:
        """The points, again and again where more are asked for."""
        return self.points[jnp.arange(count) % self.points.shape[0]]


class RefinedPoints(PointSampler):
    """Another sampler's points, and some that were found: the same every time.

    The number of those found is fixed, so that others may take their place and nothing
    is compiled anew.
    """

    base: PointSampler
    found: Float[Array, "found inputs"]

    def sample(self, key: RandomKey, count: int) -> Inputs:
        """Points of the other sampler, followed by all that were found."""
        ordinary = self.base.sample(key, count - self.found.shape[0])
        return jnp.concatenate([ordinary, self.found])


class OwnPoints(PointSampler):
    """A user's own sampler: `(key, count) -> points`, written in JAX.

    Its points are in the user's units, and `units` are those that they are wanted in.
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
    most = 2 if dimension == 1 else count // 10
    moved = min(max(2 * dimension, most), count // 2)
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
        Where the box begins, in the user's units.
    upper
        Where it ends.
    seed
        Decides the scrambling.
    size
        How many points.
    units
        Standard units in which points are drawn, asked about and returned.
        Drawn far from zero, they would be rounded to what double precision knows
        there.
    choices
        Columns of which exactly one is 1.

    Raises
    ------
    RegionError
        When fewer than one proposal in ten thousand is accepted.
    """
    known = units or Units.plain(len(lower), 0)
    low, high = known.standard_inputs(lower), known.standard_inputs(upper)
    net = qmc.Sobol(len(lower), scramble=True, rng=np.random.default_rng(seed))
    between = open_choices(lower, upper, choices)
    kept: list[np.ndarray] = []
    found = proposed = 0
    while found < size and proposed < _MOST_PROPOSALS:
        unit = pick(net.random(POOL_SIZE), between)
        proposals = low + unit * (high - low)
        accepted = proposals[contains(proposals)]
        kept.append(accepted)
        found, proposed = found + len(accepted), proposed + len(proposals)
    if found < proposed * 1e-4 or found == 0:
        raise RegionError(
            f"the region of rule {label!r} fills almost nothing of its bounding box "
            f"(lower {lower.tolist()}, upper {upper.tolist()}): {found} of {proposed} "
            "proposals lay in it. If it is empty, mend the condition; if it is thin, "
            "write tighter bounds in it or pass points of your own with sampler=."
        )
    return np.concatenate(kept)[:size]


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

    The other columns keep the values and the correlations of the data, which is what
    makes a rule felt where predictions will be asked for. A moved column takes its
    value from a row that lies in the region already, or is drawn anew: evenly between
    two bounds; below or above a single bound, within a few spreads of the data, most
    of them close; without bounds, over the data's range widened by as much again.
    Columns of which exactly one is 1, the `choices`, move together.

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
    kept: list[np.ndarray] = []
    found = 0
    for _ in range(_MOST_PROPOSALS // POOL_SIZE):
        proposals = rows[rng.integers(len(rows), size=POOL_SIZE)]
        if moved:
            anew = draw(rng)
            for place in within:
                # No choice is more likely than another.
                anew[:, list(place)] = rng.random((POOL_SIZE, len(place)))
            anew = pick(anew, within, upper[moved])
            if len(inside):
                donors = inside[rng.integers(len(inside), size=POOL_SIZE)][:, moved]
                anew = np.where(rng.random((POOL_SIZE, 1)) < 0.5, donors, anew)
            stay = contains(proposals)
            proposals[:, moved] = np.where(stay[:, None], proposals[:, moved], anew)
        kept.append(proposals[contains(proposals)])
        found += len(kept[-1])
        if found >= size:
            break
    if found == 0:
        raise RegionError(
            f"no data row could be moved into the region of rule {label!r}: moving "
            f"columns {moved} between {lower[moved].tolist()} and "
            f"{upper[moved].tolist()} met its condition nowhere. Check the units of "
            "the rule against the data, or pass points of your own with sampler=."
        )
    return np.concatenate(kept)[:size]


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
