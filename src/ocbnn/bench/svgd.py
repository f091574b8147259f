"""Steps of SVGD, compared with the matrix products in them."""

import dataclasses
import itertools
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.bench.finding import Finding
from ocbnn.bench.problems import POINTS, step_flops, target, weights_in
from ocbnn.bench.products import gradient_products
from ocbnn.bench.timing import Run, in_turns, spread
from ocbnn.inference import SVGD, Plan
from ocbnn.inference.loop import init, warm_up
from ocbnn.posterior import Target


@dataclasses.dataclass(frozen=True)
class Sized:
    """The size of a case.

    Attributes
    ----------
    widths
        Of the network's layers.
    rows
        Rows of data.
    batches
        Rows per step; None for all.
    particles
        Number of networks.
    activation
        Of the hidden layers.
    is_classification
        Whether outputs are classes.
    least
        The share of the products' speed that is the goal.
    steps
        Steps in a run; enough to make the overhead of a call negligible.
    """

    widths: tuple[int, ...]
    rows: int
    batches: tuple[int | None, ...]
    particles: int
    activation: str
    is_classification: bool
    least: float
    steps: int


CLINICAL = Sized((9, 200, 200, 2), 125_000, (512, 4096), 50, "rbf", True, 0.65, 5)
MOTION = Sized((12, 100, 100, 4), 243, (None,), 50, "rbf", False, 0.40, 20)
_GROWTH_STEPS = 5


def share_of_products(case: str, sized: Sized, repeats: int) -> Iterator[Finding]:
    """Useful operations per second, as a share of what bare products reach."""
    for batch in sized.batches:
        rows = POINTS + (batch or sized.rows)
        density = target(
            sized.widths,
            sized.rows,
            activation=sized.activation,
            batch_size=batch,
            is_classification=sized.is_classification,
        )
        plan = SVGD(particles=sized.particles, iterations=sized.steps)
        products, their_flops = gradient_products(
            sized.widths, sized.particles, rows, sized.steps
        )
        runs = {"ours": moves(plan, density, sized.steps), "products": products}
        seconds = in_turns(runs, repeats)
        ours = sized.steps * step_flops(sized.widths, sized.particles, rows)
        rate, ceiling = ours / seconds["ours"], their_flops / seconds["products"]
        setting = "all rows" if batch is None else f"batch {batch}"
        step = spread(1e3 * seconds["ours"] / sized.steps)
        yield Finding(case, setting, "one step", step, "ms")
        yield Finding(case, setting, "products", spread(ceiling / 1e9), "GFLOP/s")
        yield Finding(
            case, setting, "share of them", spread(rate / ceiling), least=sized.least
        )


def growth(case: str, counts: tuple[int, ...], repeats: int) -> Iterator[Finding]:
    """Time per step as particles double, relative to the arithmetic."""
    widths, rows = (20, 100, 80, 4), 20
    weights = weights_in(widths)
    runs = {
        str(count): moves(
            SVGD(particles=count, iterations=_GROWTH_STEPS),
            target(widths, rows, activation="rbf"),
            _GROWTH_STEPS,
        )
        for count in counts
    }
    seconds = in_turns(runs, repeats)
    # The kernel takes 4 operations per pair and weight, gradients 6 per weight and row.
    work = {
        n: 4.0 * n * n * weights + step_flops(widths, n, rows + POINTS) for n in counts
    }
    for fewer, more in itertools.pairwise(counts):
        slowdown = seconds[str(more)] / seconds[str(fewer)]
        relative = spread(np.asarray(slowdown) / (work[more] / work[fewer]))
        setting = f"{fewer} to {more} particles"
        yield Finding(case, setting, "growth beside arithmetic", relative, most=1.2)


def moves(plan: Plan, density: Target, count: int) -> Run:
    """A run of `count` moves in the loop that the driver compiles."""
    algorithm = plan.bind(density)
    key = jax.random.key(0)
    state = init(algorithm, key)
    start, limit = jnp.asarray(0), jnp.asarray(count)
    return lambda: warm_up(algorithm, key, state, start, limit, count)[0]
