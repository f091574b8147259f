"""NUTS of other libraries on a density of ours, as their documentation advises.

Both advise to vectorise chains or, on processors, to give each a device of its own.
Threads do what such devices do, and need no setting before JAX starts. Everything is
compiled once, before it is timed.
"""

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ocbnn.core.cores import cores
from ocbnn.core.promotion import third_party
from ocbnn.posterior import Model, Target

# From a seed to positions stacked as (chain, draw, ...).
Sampler = Callable[[jax.Array], Model]
# From a key and a start to positions; or from those of several chains.
Draw = Callable[[Any, Any], Any]


class Effort(NamedTuple):
    """How much is drawn, and how carefully."""

    chains: int
    warmup: int
    draws: int
    acceptance: float


def others(made: Target, effort: Effort) -> Iterator[tuple[str, Sampler]]:
    """BlackJAX, and NumPyro where it is installed, each in two ways."""
    chain = _blackjax(made, effort)
    yield "BlackJAX, vectorised", _at_once(made, effort.chains, jax.vmap(chain))
    yield "BlackJAX, chains on cores", _on_cores(made, effort.chains, chain)
    if importlib.util.find_spec("numpyro") is None:
        return
    chains = _numpyro(made, effort)
    yield "NumPyro, vectorised", _at_once(made, effort.chains, chains)
    chain = _numpyro(made, effort._replace(chains=1))
    yield "NumPyro, chains on cores", _on_cores(made, effort.chains, chain)


def _at_once(made: Target, count: int, chains: Draw) -> Sampler:
    begin = _beginnings(made, count)
    with third_party():
        run = jax.jit(chains).lower(*begin(jax.random.key(0))).compile()
    return lambda seed: run(*begin(seed))


def _on_cores(made: Target, count: int, chain: Draw) -> Sampler:
    begin = _beginnings(made, count)
    pick = lambda begun, index: jax.tree.map(lambda a: a[index], begun)
    with third_party():
        run = jax.jit(chain).lower(*pick(begin(jax.random.key(0)), 0)).compile()

    def go(seed: jax.Array) -> Model:
        begun = begin(seed)
        one = lambda index: jax.block_until_ready(run(*pick(begun, index)))
        with ThreadPoolExecutor(cores()) as pool:
            found = list(pool.map(one, range(count)))
        return jax.tree.map(lambda *parts: jnp.stack(parts), *found)

    return go


def _beginnings(made: Target, count: int) -> Callable[[jax.Array], tuple[Any, Any]]:
    """Keys and starts of chains."""
    starts = jax.jit(jax.vmap(made.initial))

    def begin(seed: jax.Array) -> tuple[Any, Any]:
        key_start, key_run = jax.random.split(seed)
        places = starts(jax.random.split(key_start, count))
        return jax.random.split(key_run, count), places

    return begin


def _blackjax(made: Target, effort: Effort) -> Draw:
    """Window adaptation and a scan, for one chain."""
    with third_party(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import blackjax  # noqa: PLC0415

    def chain(key: jax.Array, place: Model) -> Model:
        key_warmup, key_draws = jax.random.split(key)
        adaptation = blackjax.window_adaptation(
            blackjax.nuts, made.logdensity, target_acceptance_rate=effort.acceptance
        )
        (state, parameters), _ = adaptation.run(
            key_warmup,
            place,
            effort.warmup,  # pyright: ignore
        )
        step = blackjax.nuts(made.logdensity, **parameters).step

        def move(state: Any, key: jax.Array) -> tuple[Any, Any]:
            state, _ = step(key, state)
            return state, state.position

        keys = jax.random.split(key_draws, effort.draws)
        return jax.lax.scan(move, state, keys)[1]

    return chain


def _numpyro(made: Target, effort: Effort) -> Draw:
    """Its own warm-up and chains: all of them, or one."""
    from numpyro import infer  # noqa: PLC0415

    several = effort.chains > 1
    kernel = infer.NUTS(
        potential_fn=lambda position: -made.logdensity(position),
        target_accept_prob=effort.acceptance,
    )
    mcmc = infer.MCMC(
        kernel,
        num_warmup=effort.warmup,
        num_samples=effort.draws,
        num_chains=effort.chains,
        chain_method="vectorized",
        progress_bar=False,
    )

    def run(key: Any, place: Any) -> Any:
        mcmc.run(key, init_params=place)
        return mcmc.get_samples(group_by_chain=several)

    return run
