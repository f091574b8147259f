"""Processes that are killed, for real, lose nothing."""

import pytest

from tests.inference.kill_and_resume import NAMES, kill_often


def test_killed_processes_go_on_to_the_same_bits():
    killed = kill_often(kills=2, seed=3, size=6, names=("HMC", "SVGD"))
    assert sum(killed.values()) == 2


@pytest.mark.slow
def test_fifty_kills_lose_nothing():
    killed = kill_often(kills=50, seed=20261115, size=20)
    assert sum(killed.values()) == 50
    assert set(NAMES) <= killed.keys()
