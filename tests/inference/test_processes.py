"""Several processes on loopback: one run, the same draws, files written once."""

import signal

import numpy as np
import pytest

from tests.inference.in_processes import LOST, finish, start


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


@pytest.fixture(scope="module")
def particles(tmp_path_factory):
    """Made once."""
    return alone("particles", tmp_path_factory.mktemp("particles"))


def check(tmp_path, name, count, expected):
    """All processes have the same draws."""
    for ended in together(count, name, tmp_path / "many", tmp_path / "all"):
        assert ended[0] == 0, ended
    for number in range(count):
        assert gap(expected, tmp_path / f"all-{number}.npz") < 1e-6


@pytest.mark.slow
def test_four_processes_draw_what_one_draws(tmp_path, particles):
    check(tmp_path, "particles", 4, particles)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("chains", 2), ("chains", 4), ("rows", 2)])
def test_so_do_others(tmp_path, name, count):
    check(tmp_path, name, count, alone(name, tmp_path))


@pytest.mark.parametrize("victim", [1, pytest.param(0, marks=pytest.mark.slow)])
def test_a_lost_process_ends_the_run_and_another_number_goes_on(
    tmp_path, victim, particles
):
    folder = tmp_path / "run"
    ends = together(2, "particles", folder, tmp_path / "lost", str(victim))
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
    assert gap(particles, alone("particles", tmp_path)) < 1e-6
