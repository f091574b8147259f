"""The paper's HMC on its first figure, compared with a bare loop."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.bench.finding import Finding
from ocbnn.bench.timing import Run, in_turns, spread
from ocbnn.core.cores import cores
from ocbnn.inference import HMC, sample
from ocbnn.inference.loop import draw, init
from ocbnn.networks import MLP
from ocbnn.posterior import GaussianNoise, Target
from ocbnn.priors import WeightPrior, make_term
from ocbnn.rules import Schema, bind
from ocbnn.studies.toys import TOYS

_STEP_SIZE, _STEPS, _MOVES = 0.003, 50, 400


def beside_a_bare_loop(case: str, repeats: int) -> Iterator[Finding]:
    """The speed of one chain, and of one chain per core."""
    target = first_figure()
    seconds = in_turns({"ours": _chain(target), "bare": _bare_chain(target)}, repeats)
    leapfrog = spread(1e6 * seconds["ours"] / (_MOVES * _STEPS))
    yield Finding(case, "one chain", "one leapfrog step", leapfrog, "us")
    relative = spread(seconds["bare"] / seconds["ours"])
    yield Finding(case, "one chain", "speed beside a bare loop", relative, least=0.9)
    yield from _on_cores(case, target, repeats)


def _on_cores(case: str, target: Target, repeats: int) -> Iterator[Finding]:
    count = cores()
    if count < 2:
        return
    plan = lambda chains: HMC(
        chains=chains, warmup=0, draws=10 * _MOVES, step_size=_STEP_SIZE, climb=0
    )
    runs: dict[str, Run] = {
        str(chains): lambda chains=chains: _sampled(plan(chains), target)
        for chains in (1, count)
    }
    seconds = in_turns(runs, repeats)
    relative = spread(seconds["1"] / seconds[str(count)])
    yield Finding(case, f"{count} chains", "speed of each", relative, least=0.85)


def _sampled(plan: HMC, target: Target) -> np.ndarray:
    return sample(plan, target, jax.random.key(0)).stats["logdensity"]


def first_figure() -> Target:
    """The density of Figure 1, left, its rule included."""
    toy = TOYS["fig1-left"]
    bound = bind(toy.rules[0], Schema(("x",), ("y",)))
    return Target(
        MLP(1, (10,), 1),
        WeightPrior(),
        GaussianNoise.fixed(0.1),
        (make_term(bound, jax.random.key(0)),),
        jnp.asarray(toy.X, float),
        jnp.asarray(toy.y, float)[:, None],
    )


def _chain(target: Target) -> Run:
    plan = HMC(step_size=_STEP_SIZE, steps=_STEPS, climb=0)
    algorithm, key = plan.bind(target), jax.random.key(0)
    state = init(algorithm, key)
    start, count = jnp.asarray(0), jnp.asarray(_MOVES)
    return lambda: draw(algorithm, key, state, start, count, _MOVES, 1)[0]


def _bare_chain(target: Target) -> Run:
    slope = jax.value_and_grad(
        lambda position: target.logdensity(target.unravel(position))
    )
    start = target.ravel(target.initial(jax.random.key(0)))
    run = jax.jit(lambda position, key: bare_hmc(slope, position, key))
    return lambda: run(start, jax.random.key(1))


def bare_hmc(
    slope: Callable[[jax.Array], tuple[jax.Array, jax.Array]],
    position: jax.Array,
    key: jax.Array,
    step_size: float = _STEP_SIZE,
    steps: int = _STEPS,
    moves: int = _MOVES,
) -> tuple[jax.Array, jax.Array]:
    """Bare Hamiltonian Monte Carlo: the last position, and all positions."""

    def leapfrog(_: Any, state: tuple) -> tuple:
        position, momentum, _, force = state
        momentum = momentum + 0.5 * step_size * force
        position = position + step_size * momentum
        value, force = slope(position)
        return position, momentum + 0.5 * step_size * force, value, force

    def move(state: tuple, key: jax.Array) -> tuple[tuple, Any]:
        position, value, force = state
        key_kick, key_accept = jax.random.split(key)
        momentum = jax.random.normal(key_kick, position.shape, position.dtype)
        start = (position, momentum, value, force)
        new_position, new_momentum, new_value, new_force = jax.lax.fori_loop(
            0, steps, leapfrog, start
        )
        log_ratio = (
            new_value
            - value
            + 0.5 * jnp.sum(momentum**2)
            - 0.5 * jnp.sum(new_momentum**2)
        )
        accept = jnp.log(jax.random.uniform(key_accept)) < log_ratio
        select = lambda a, b: jnp.where(accept, a, b)
        state = (
            select(new_position, position),
            select(new_value, value),
            select(new_force, force),
        )
        return state, state[0]

    value, force = slope(position)
    keys = jax.random.split(key, moves)
    state, positions = jax.lax.scan(move, (position, value, force), keys)
    return state[0], positions
