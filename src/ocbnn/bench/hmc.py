"""The paper's HMC on its first figure, beside a bare loop on the same density."""

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
    """Speed of one chain, and how many chains as many cores carry."""
    made = first_figure()
    seconds = in_turns({"ours": _chain(made), "bare": _bare_chain(made)}, repeats)
    leapfrog = spread(1e6 * seconds["ours"] / (_MOVES * _STEPS))
    yield Finding(case, "one chain", "one leapfrog step", leapfrog, "us")
    relative = spread(seconds["bare"] / seconds["ours"])
    yield Finding(case, "one chain", "speed beside a bare loop", relative, least=0.9)
    yield from _on_cores(case, made, repeats)


def _on_cores(case: str, made: Target, repeats: int) -> Iterator[Finding]:
    many = cores()
    if many < 2:
        return
    plan = lambda chains: HMC(
        chains=chains, warmup=0, draws=10 * _MOVES, step_size=_STEP_SIZE, climb=0
    )
    runs: dict[str, Run] = {
        str(chains): lambda chains=chains: _sampled(plan(chains), made)
        for chains in (1, many)
    }
    seconds = in_turns(runs, repeats)
    carried = spread(seconds["1"] / seconds[str(many)])
    yield Finding(case, f"{many} chains", "speed of each", carried, least=0.85)


def _sampled(plan: HMC, made: Target) -> np.ndarray:
    return sample(plan, made, jax.random.key(0)).stats["logdensity"]


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


def _chain(made: Target) -> Run:
    plan = HMC(step_size=_STEP_SIZE, steps=_STEPS, climb=0)
    algorithm, key = plan.bind(made), jax.random.key(0)
    state = init(algorithm, key)
    start, count = jnp.asarray(0), jnp.asarray(_MOVES)
    return lambda: draw(algorithm, key, state, start, count, _MOVES, 1)[0]


def _bare_chain(made: Target) -> Run:
    slope = jax.value_and_grad(lambda place: made.logdensity(made.unravel(place)))
    begin = made.ravel(made.initial(jax.random.key(0)))
    run = jax.jit(lambda place, key: bare_hmc(slope, place, key))
    return lambda: run(begin, jax.random.key(1))


def bare_hmc(
    slope: Callable[[jax.Array], tuple[jax.Array, jax.Array]],
    place: jax.Array,
    key: jax.Array,
    step_size: float = _STEP_SIZE,
    steps: int = _STEPS,
    moves: int = _MOVES,
) -> tuple[jax.Array, jax.Array]:
    """Hamiltonian Monte Carlo with nothing around it: every place, and how it ended."""

    def leapfrog(_: Any, state: tuple) -> tuple:
        place, momentum, _, force = state
        momentum = momentum + 0.5 * step_size * force
        place = place + step_size * momentum
        value, force = slope(place)
        return place, momentum + 0.5 * step_size * force, value, force

    def move(state: tuple, key: jax.Array) -> tuple[tuple, Any]:
        place, value, force = state
        key_kick, key_accept = jax.random.split(key)
        momentum = jax.random.normal(key_kick, place.shape, place.dtype)
        begin = (place, momentum, value, force)
        new, last, there, pull = jax.lax.fori_loop(0, steps, leapfrog, begin)
        gain = there - value + 0.5 * jnp.sum(momentum**2) - 0.5 * jnp.sum(last**2)
        accept = jnp.log(jax.random.uniform(key_accept)) < gain
        keep = lambda a, b: jnp.where(accept, a, b)
        state = keep(new, place), keep(there, value), keep(pull, force)
        return state, state[0]

    value, force = slope(place)
    keys = jax.random.split(key, moves)
    state, places = jax.lax.scan(move, (place, value, force), keys)
    return state[0], places
