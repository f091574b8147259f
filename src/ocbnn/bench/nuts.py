"""NUTS on the paper's first figure, beside NumPyro and BlackJAX as they advise."""

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.bench.finding import Finding
from ocbnn.bench.hmc import first_figure
from ocbnn.bench.timing import spread, timed
from ocbnn.core.edges import third_party
from ocbnn.inference import NUTS, sample
from ocbnn.inference.diagnostics import ess_bulk
from ocbnn.posterior import Model, Target

_CHAINS, _WARMUP, _DRAWS, _ACCEPTANCE = 4, 300, 300, 0.8
_INPUTS = jnp.linspace(-2.5, 2.5, 21)[:, None]

# From a key to positions stacked as (chain, draw, ...).
Sampler = Callable[[Any], Model]


def beside_others(case: str, repeats: int) -> Iterator[Finding]:
    """Effective draws of the function a second, warm-up and all, beside others'."""
    made = first_figure()
    samplers = {"ours": _ours(made), "BlackJAX": _blackjax(made)}
    if importlib.util.find_spec("numpyro") is not None:
        for method in ("vectorized", "sequential"):
            samplers[f"NumPyro, {method}"] = _numpyro(made, method)
    rates: dict[str, list[float]] = {name: [] for name in samplers}
    for run in samplers.values():
        run(jax.random.key(0))  # compiles
    for turn in range(1, repeats + 1):
        # Turns have seeds in common, and a seed that mixes badly hits all.
        for name, run in samplers.items():
            seconds, positions = timed(lambda run=run, n=turn: run(jax.random.key(n)))
            rates[name].append(_effective(made, positions) / seconds)
    found = {name: np.array(values) for name, values in rates.items()}
    setting = f"{_CHAINS} chains"
    ours = found.pop("ours")
    yield Finding(case, setting, "effective draws", spread(ours), "/s")
    least = {"BlackJAX": 1.2}
    for name, theirs in found.items():
        wanted = least.get(name, 2.0)
        what = f"times those of {name}"
        yield Finding(case, setting, what, spread(ours / theirs), least=wanted)


def _effective(made: Target, positions: Model) -> float:
    """Effective draws of the function where it mixes worst."""
    values = _values(made, jax.tree.map(jnp.asarray, positions))
    return float(ess_bulk(np.asarray(values, float)).min())


@jax.jit
def _values(made: Target, positions: Model) -> jax.Array:
    one = lambda position: made.network.batch(position.weights, _INPUTS)[:, 0]
    return jax.vmap(jax.vmap(one))(positions)


def _ours(made: Target) -> Sampler:
    plan = NUTS(
        chains=_CHAINS, warmup=_WARMUP, draws=_DRAWS, target_acceptance=_ACCEPTANCE
    )
    return lambda key: sample(plan, made, key).positions


def _blackjax(made: Target) -> Sampler:
    """Window adaptation and a scan, for all chains at once."""
    with third_party(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import blackjax  # noqa: PLC0415

    def chain(key: jax.Array) -> Model:
        key_start, key_warmup, key_draws = jax.random.split(key, 3)
        adaptation = blackjax.window_adaptation(
            blackjax.nuts, made.logdensity, target_acceptance_rate=_ACCEPTANCE
        )
        (state, parameters), _ = adaptation.run(
            key_warmup,
            made.initial(key_start),
            _WARMUP,  # pyright: ignore
        )
        step = blackjax.nuts(made.logdensity, **parameters).step

        def move(state: Any, key: jax.Array) -> tuple[Any, Any]:
            state, _ = step(key, state)
            return state, state.position

        keys = jax.random.split(key_draws, _DRAWS)
        return jax.lax.scan(move, state, keys)[1]

    run = jax.jit(jax.vmap(chain))

    def go(key: jax.Array) -> Model:
        with third_party():
            return run(jax.random.split(key, _CHAINS))

    return go


def _numpyro(made: Target, method: str) -> Sampler:
    """Its own warm-up and chains, on the same density."""
    from numpyro import infer  # noqa: PLC0415

    kernel = infer.NUTS(
        potential_fn=lambda position: -made.logdensity(position),
        target_accept_prob=_ACCEPTANCE,
    )
    mcmc = infer.MCMC(
        kernel,
        num_warmup=_WARMUP,
        num_samples=_DRAWS,
        num_chains=_CHAINS,
        chain_method=method,
        progress_bar=False,
    )
    starts = jax.jit(jax.vmap(made.initial))

    def go(key: jax.Array) -> Model:
        key_start, key_run = jax.random.split(key)
        with third_party():
            places = starts(jax.random.split(key_start, _CHAINS))
            mcmc.run(key_run, init_params=places)
            return mcmc.get_samples(group_by_chain=True)

    return go
