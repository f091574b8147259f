"""The checks that anyone can run on an algorithm: they pass ours, and catch faults."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest

from ocbnn.errors import InferenceError
from ocbnn.inference import HMC, MCLMC, Algorithm, Ensemble, Plan
from ocbnn.testing import check_algorithm


def test_a_sound_algorithm_passes():
    check = check_algorithm(HMC(step_size=0.25, steps=7, warmup=200, draws=2000))
    assert check.ess > 1000
    assert "HMC keeps its promises" in str(check)


def test_an_approximation_passes_with_the_bias_it_states():
    assert check_algorithm(MCLMC(warmup=1000, draws=1000), bias=0.05).ess > 500


def test_an_ensemble_is_caught_having_no_spread():
    with pytest.raises(InferenceError, match="a covariance is off by 100"):
        check_algorithm(Ensemble(members=200, iterations=3000, learning_rate=0.05))


class Info(NamedTuple):
    logdensity: Any


class Independent(Algorithm):
    """Exact draws, with one fault of a person's choice."""

    target: Any
    fault: str

    def init(self, key):
        return self._draw(key)

    def _draw(self, key):
        scale = 2.0 if self.fault == "too wide" else 1.0
        root = jnp.linalg.cholesky(jnp.linalg.inv(self.target.precision))
        noise = jax.random.normal(key, (3,))
        shift = 0.2 if self.fault == "elsewhere" else 0.0
        return self.target.mean + scale * root @ noise + shift

    def step(self, key, state):
        state = self._draw(key)
        if self.fault == "state":
            return state[:2], Info(jnp.zeros(()))
        return state, jnp.zeros(()) if self.fault == "info" else Info(jnp.zeros(()))

    def emit(self, key, state):
        if self.fault == "emit":
            return state[None]
        return type(self.target.shapes())(state[None, :1], state[None, 1:])


@dataclasses.dataclass(frozen=True, kw_only=True)
class Drawn(Plan):
    fault: str = ""

    def bind(self, target):
        return Independent(target, self.fault)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("too wide", "a covariance is off"),
        ("elsewhere", "a mean is off"),
        ("state", "`step` must return a state of the same structure"),
        ("info", "`step` must return a named tuple"),
        ("emit", "`emit` must return positions as"),
    ],
)
def test_a_fault_is_named(fault, message):
    with pytest.raises(InferenceError, match=f"Drawn breaks a promise: {message}"):
        check_algorithm(Drawn(fault=fault, warmup=0, draws=1000))
    check_algorithm(Drawn(warmup=0, draws=1000))
