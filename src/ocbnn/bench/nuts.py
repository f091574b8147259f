"""NUTS on the paper's first figure, compared with NumPyro and BlackJAX."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.bench.finding import Finding
from ocbnn.bench.hmc import first_figure
from ocbnn.bench.other_libraries import Effort, Sampler, others
from ocbnn.bench.timing import in_order, spread, timed
from ocbnn.inference import NUTS, sample
from ocbnn.inference.diagnostics import ess_bulk, rhat
from ocbnn.posterior import Model, Target

_EFFORT = Effort(chains=4, warmup=300, draws=300, acceptance=0.8)
_INPUTS = np.linspace(-2.5, 2.5, 21)[:, None]
_LEAST = {"BlackJAX": 1.2, "NumPyro": 2.0}


class Turn(NamedTuple):
    """The result of one run, at the input where the function mixes worst."""

    rate: float  # effective draws per second
    rhat: float


def beside_others(case: str, repeats: int) -> Iterator[Finding]:
    """Effective draws of the function per second, including warm-up."""
    target = first_figure()
    samplers = {"ours": _ours(target), **dict(others(target, _EFFORT))}
    for run in samplers.values():
        jax.block_until_ready(run(jax.random.key(0)))  # compiles
    turns: dict[str, list[Turn]] = {name: [] for name in samplers}
    for turn in range(repeats):
        # Every turn has its own seed, because mixing varies more than speed.
        for name in in_order(samplers, turn):
            turns[name].append(_turn(target, samplers[name], jax.random.key(turn + 1)))
    yield from findings(case, turns)


def findings(case: str, turns: Mapping[str, list[Turn]]) -> Iterator[Finding]:
    """Rates and R-hats of all samplers, and our rate relative to theirs, per seed."""
    setting = f"{_EFFORT.chains} chains"
    rates = {
        name: np.array([turn.rate for turn in all_]) for name, all_ in turns.items()
    }
    for name, rate in rates.items():
        what = f"effective draws of {name}"
        yield Finding(case, setting, what, spread(rate), "/s")
        # R-hat explains low rates: chains that disagree have few effective draws.
        mixing = spread(np.array([turn.rhat for turn in turns[name]]))
        yield Finding(case, setting, f"greatest R-hat of {name}", mixing)
    ours = rates.pop("ours")
    for name, theirs in rates.items():
        least = _LEAST[name.split(",")[0]]
        what = f"effective draws beside {name}"
        yield Finding(case, setting, what, spread(ours / theirs), least=least)


def _turn(target: Target, run: Sampler, seed: jax.Array) -> Turn:
    seconds, positions = timed(lambda: run(seed))
    curves = _values(target, jax.tree.map(jnp.asarray, positions))
    values = np.asarray(curves, float)
    return Turn(float(ess_bulk(values).min()) / seconds, float(rhat(values).max()))


@jax.jit
def _values(target: Target, positions: Model) -> jax.Array:
    inputs = jnp.asarray(_INPUTS, float)
    curve = lambda position: target.network.batch(position.weights, inputs)[:, 0]
    return jax.vmap(jax.vmap(curve))(positions)


def _ours(target: Target) -> Sampler:
    plan = NUTS(
        chains=_EFFORT.chains,
        warmup=_EFFORT.warmup,
        draws=_EFFORT.draws,
        target_acceptance=_EFFORT.acceptance,
    )
    return lambda seed: sample(plan, target, seed).positions
