"""Predictions for many rows, beside one pass of bare matrix products."""

from collections.abc import Iterator

import jax
import numpy as np

from ocbnn.bench.finding import Finding
from ocbnn.bench.problems import weights_in
from ocbnn.bench.products import forward_products
from ocbnn.bench.timing import in_turns, spread
from ocbnn.networks import MLP
from ocbnn.posterior import GaussianNoise, Model
from ocbnn.predictive import Predictive
from ocbnn.priors import WeightPrior

_WIDTHS, _DRAWS = (9, 200, 200, 2), 50
# As many as fit into memory with their products; the ceiling is a rate.
_PRODUCT_ROWS = 4096


def share_of_a_pass(case: str, rows: int, repeats: int) -> Iterator[Finding]:
    """Mean, standard deviation and interval of every row: one pass would be enough."""
    inputs, *hidden, outputs = _WIDTHS
    network = MLP(inputs, tuple(hidden), outputs, "rbf")
    keys = jax.random.split(jax.random.key(0), _DRAWS)
    weights = jax.vmap(lambda key: WeightPrior("fan-in").sample(key, network))(keys)
    likelihood = GaussianNoise.fixed(0.1, outputs)
    made = Predictive(network, likelihood, Model(weights, {}))
    X = np.random.default_rng(0).standard_normal((rows, inputs))

    predictions = lambda: made.summary(X, 0.9, np.random.default_rng(0))
    products, their_flops = forward_products(_WIDTHS, _DRAWS, _PRODUCT_ROWS)
    seconds = in_turns({"ours": predictions, "products": products}, repeats)
    whole = 2.0 * weights_in(_WIDTHS) * _DRAWS * rows
    share = (whole / seconds["ours"]) / (their_flops / seconds["products"])
    setting = f"{rows:,} rows"
    yield Finding(case, setting, "all rows", spread(seconds["ours"]), "s")
    yield Finding(case, setting, "share of products", spread(share), least=0.5)
