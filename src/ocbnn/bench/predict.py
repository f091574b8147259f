"""Predictions for many rows, compared with one pass of bare matrix products."""

from collections.abc import Iterator

import jax
import numpy as np

from ocbnn.bench.child import run_child
from ocbnn.bench.finding import Finding
from ocbnn.bench.memory import peak_bytes
from ocbnn.bench.problems import weights_in
from ocbnn.bench.products import forward_products
from ocbnn.bench.timing import Run, in_turns, spread
from ocbnn.networks import MLP
from ocbnn.posterior import GaussianNoise, Model
from ocbnn.predictive import Predictive
from ocbnn.priors import WeightPrior

_WIDTHS, _DRAWS = (9, 200, 200, 2), 50
# This many rows fit into the processor's cache; more make the products slower.
_PRODUCT_ROWS, _TIMES = 256, 16
_GIB = 2.0**30
# Enough repetitions to show the spread of memory.
_TURNS = 3


def predictions(case: str, rows: int, repeats: int) -> Iterator[Finding]:
    """Mean, standard deviation and interval of every row: their time and memory."""
    yield from share_of_a_pass(case, rows, repeats)
    yield from memory(case, rows, repeats)


def share_of_a_pass(case: str, rows: int, repeats: int) -> Iterator[Finding]:
    """The time of all rows, relative to one pass of products."""
    products, their_flops = forward_products(_WIDTHS, _DRAWS, _PRODUCT_ROWS, _TIMES)
    runs = {"ours": summary(rows, _WIDTHS, _DRAWS), "products": products}
    seconds = in_turns(runs, repeats)
    flops = 2.0 * weights_in(_WIDTHS) * _DRAWS * rows
    ceiling = their_flops / seconds["products"]
    share = (flops / seconds["ours"]) / ceiling
    setting = f"{rows:,} rows"
    yield Finding(case, setting, "all rows", spread(seconds["ours"]), "s")
    yield Finding(case, setting, "products", spread(ceiling / 1e9), "GFLOP/s")
    yield Finding(case, setting, "share of them", spread(share), least=0.5)


def memory(case: str, rows: int, repeats: int) -> Iterator[Finding]:
    """Peak memory of all rows and of a quarter, each in its own process."""
    counts = (rows, rows // 4)
    turns = range(min(repeats, _TURNS))
    peak_memory = np.array([[_peak_of(count) for count in counts] for _ in turns])
    for count, peaks in zip(counts, peak_memory.T, strict=True):
        most = 1.0 if count == rows else None
        peak = spread(peaks / _GIB)
        yield Finding(case, f"{count:,} rows", "peak memory", peak, "GiB", most=most)
    # Inputs, and mean, standard deviation and interval of every output.
    row = 8 * (_WIDTHS[0] + 4 * _WIDTHS[-1])
    all_rows, quarter = (peak_memory - row * np.array(counts)).T
    what = "peak memory but for inputs and outputs, beside that of a quarter"
    growth = spread(all_rows / quarter)
    yield Finding(case, f"{rows:,} rows", what, growth, most=1.1)


def _peak_of(rows: int) -> int:
    call = f"peak_of_summary({rows}, {_WIDTHS}, {_DRAWS})"
    code = f"from ocbnn.bench.predict import peak_of_summary; print({call})"
    return int(run_child(code))


def peak_of_summary(rows: int, widths: tuple[int, ...], draws: int) -> int:
    """The peak memory of this process after predicting `rows` rows."""
    summary(rows, widths, draws)()
    return peak_bytes()


def summary(rows: int, widths: tuple[int, ...], draws: int) -> Run:
    """Predictions of rows by networks drawn from a prior."""
    inputs, *hidden, outputs = widths
    network = MLP(inputs, tuple(hidden), outputs, "rbf")
    keys = jax.random.split(jax.random.key(0), draws)
    weights = jax.vmap(lambda key: WeightPrior("fan-in").sample(key, network))(keys)
    likelihood = GaussianNoise.fixed(0.1, outputs)
    predictive = Predictive(network, likelihood, Model(weights, {}))
    X = np.random.default_rng(0).standard_normal((rows, inputs))
    return lambda: predictive.summary(X, 0.9)
