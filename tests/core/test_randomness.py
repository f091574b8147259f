"""Keys come from what people call a seed, and the same seed gives the same key."""

import jax
import numpy as np
import pytest

from ocbnn.core.randomness import key_from, numpy_generator
from ocbnn.errors import SettingError


def numbers(random_state):
    return jax.random.key_data(key_from(random_state)).tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda: 7,
        lambda: np.int64(7),
        lambda: 2**32 - 1,
        lambda: 2**40 + 1,
        lambda: np.random.RandomState(7),
        lambda: np.random.default_rng(7),
    ],
)
def test_the_same_random_state_gives_the_same_key(make):
    assert numbers(make()) == numbers(make())


def test_different_seeds_give_different_keys():
    assert len({tuple(numbers(seed)) for seed in range(100)}) == 100


def test_a_generator_gives_another_key_each_time():
    for generator in (np.random.RandomState(0), np.random.default_rng(0)):
        assert numbers(generator) != numbers(generator)


def test_no_random_state_gives_a_new_key_each_time():
    assert numbers(None) != numbers(None)


@pytest.mark.parametrize("wrong", [-1, 1.5, "0", [1]])
def test_other_random_states_are_refused_with_advice(wrong):
    with pytest.raises(SettingError, match="random_state=0"):
        key_from(wrong)


def test_numpys_generator_is_decided_by_the_whole_key():
    keys = jax.random.split(jax.random.key(0), 4)
    firsts = [numpy_generator(key).random() for key in keys]
    assert len(set(firsts)) == 4
    assert numpy_generator(keys[0]).random() == firsts[0]
