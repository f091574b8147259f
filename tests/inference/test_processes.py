"""Several processes on loopback: one run, the same draws, files written once."""

import signal

import jax
import numpy as np
import pytest

from tests.inference.in_processes import LOST, draw, finish, start


def program(*words):
    return ["-m", "tests.inference.in_processes", *words]


def read(path):
    with np.load(path) as arrays:
        return [arrays[name] for name in arrays.files]


def gap(here, there):
    pairs = zip(read(here), read(there), strict=True)
    return max(float(np.max(np.abs(a - b) / (1 + np.abs(a)))) for a, b in pairs)


def together(count, name, folder, out, *victim):
    return finish(start(count, program(name, folder, out, *victim)))


def alone(name, place):
    """The draws of one process, in a file."""
    (ended,) = together(1, name, place / "run", place / "alone")
    assert ended[0] == 0, ended
    return place / "alone-0.npz"


def here(name, place, folder=None):
    """The draws of this process, in a file."""
    with jax.enable_x64(True):
        draws = draw(name, folder)
    np.savez(place, *jax.tree.leaves(draws.positions))
    return place


def check(tmp_path, name, count, expected):
    """All processes have the same draws."""
    for ended in together(count, name, tmp_path / "many", tmp_path / "all"):
        assert ended[0] == 0, ended
    for number in range(count):
        assert gap(expected, tmp_path / f"all-{number}.npz") < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count"), [("particles", 4), ("chains", 2), ("chains", 4), ("rows", 2)]
)
def test_several_processes_draw_what_one_draws(tmp_path, name, count):
    check(tmp_path, name, count, alone(name, tmp_path))


@pytest.mark.parametrize("victim", [1, pytest.param(0, marks=pytest.mark.slow)])
def test_a_lost_process_ends_the_run_and_another_number_goes_on(tmp_path, victim):
    folder = tmp_path / "run"
    ends = together(2, "simple", folder, tmp_path / "lost", str(victim))
    assert ends[victim][0] == -signal.SIGKILL
    code, _, said = ends[1 - victim]
    # Without the first, which they meet at, JAX may end the others by itself.
    assert code in ((LOST,) if victim else (LOST, 1))
    if code == LOST:
        assert "another of the 2 processes of this run was lost" in said
        assert str(folder) in said
    assert not list(tmp_path.glob("lost-*"))
    saved = sorted(path.name for path in folder.rglob("block-*"))
    assert saved[:2] == ["block-000000.ocbnn", "block-000001.ocbnn"]
    whole, rest = (
        here("simple", tmp_path / name, place)
        for name, place in (("whole.npz", None), ("rest.npz", folder))
    )
    assert gap(whole, rest) < 1e-6
