"""Benchmarks: what they count, and that each case runs."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.bench import (
    hmc,
    nuts,
    predict,
    problems,
    products,
    rules,
    start,
    suite,
    svgd,
)
from ocbnn.bench.finding import Finding, line
from ocbnn.bench.timing import Spread, in_turns
from tests.cli.inprocess import make_caller

TINY = svgd.Sized((3, 4, 2), 30, (8,), 3, "rbf", True, 0.65)


@pytest.fixture
def ocbnn(monkeypatch, capfd):
    return make_caller(monkeypatch, capfd)


def test_every_run_has_its_turn_and_compiles_before_the_first():
    said = []
    runs = {name: lambda name=name: said.append(name) for name in "abc"}
    seconds = in_turns(runs, 3)
    assert "".join(said) == "abc" + "abc" + "bca" + "cab"
    assert {len(one) for one in seconds.values()} == {3}


def test_a_finding_knows_whether_it_is_what_it_should_be():
    value = Spread(0.5, 0.4, 0.6)
    assert Finding("a", "b", "c", value).is_reached is None
    assert Finding("a", "b", "c", value, least=0.5).is_reached
    assert not Finding("a", "b", "c", value, most=0.4).is_reached
    said = line(Finding("svgd", "batch 8", "share", value, least=0.65))
    assert said == "svgd, batch 8: share 0.5 (0.4 - 0.6), >= 0.65: MISSED"


def test_operations_are_counted_as_the_products_need_them():
    widths, particles, rows = (3, 4, 5), 2, 7
    run, flops = products.gradient_products(widths, particles, rows)
    # Two operations a multiplication; the first layer has no slope to hand down.
    assert flops == 2 * particles * rows * (2 * 3 * 4 + 3 * 4 * 5)
    shapes = [one.shape for one in run()]
    assert shapes == [(2, 7, 4), (2, 3, 4), (2, 7, 5), (2, 4, 5), (2, 7, 4)]
    assert problems.step_flops(widths, particles, rows) == 6 * 32 * 2 * 7
    _, forward = products.forward_products(widths, particles, rows)
    assert forward == 2 * particles * rows * 32


def test_the_bare_loop_samples_a_normal():
    slope = jax.value_and_grad(lambda place: -0.5 * jnp.sum((place - 3.0) ** 2))
    begin = jnp.zeros((2,))
    run = jax.jit(lambda key: hmc.bare_hmc(slope, begin, key, 0.3, 8, 4000)[1])
    places = np.asarray(run(jax.random.key(0)))[100:]
    np.testing.assert_allclose(places.mean(axis=0), 3.0, atol=0.1)
    np.testing.assert_allclose(places.std(axis=0), 1.0, atol=0.1)


def test_a_hundred_rules_are_of_several_kinds_and_have_their_points():
    made = problems.target((2, 3, 1), 5, activation="tanh", rules=6, points=4)
    kinds = {type(term.bound.claim).__name__ for term in made.rules}
    assert (len(made.rules), kinds) == (6, {"Forbidden", "Expectation"})
    assert {term.count for term in made.rules} == {4}


@pytest.mark.parametrize(
    "case",
    [
        lambda: svgd.share_of_products("svgd", TINY, 1),
        pytest.param(lambda: svgd.growth("many", (2, 4), 1), marks=pytest.mark.slow),
        lambda: predict.share_of_a_pass("predict", 20, 1),
        lambda: rules.cost_of_rules("rules", (1, 3), 1),
        pytest.param(lambda: start.beginnings("start", 1), marks=pytest.mark.slow),
        pytest.param(lambda: nuts.beside_others("nuts", 1), marks=pytest.mark.slow),
    ],
)
def test_every_case_runs_and_finds_numbers(case, monkeypatch):
    monkeypatch.setattr(predict, "_WIDTHS", (3, 4, 2))
    monkeypatch.setattr(predict, "_PRODUCT_ROWS", 16)
    monkeypatch.setattr(nuts, "_WARMUP", 20)
    monkeypatch.setattr(nuts, "_DRAWS", 20)
    found = list(case())
    assert found
    for one in found:
        assert np.isfinite(one.value).all()
        assert one.value.low <= one.value.middle <= one.value.high


@pytest.mark.slow
def test_hmc_runs_beside_a_bare_loop(monkeypatch):
    monkeypatch.setattr(hmc, "_MOVES", 4)
    found = list(hmc.beside_a_bare_loop("hmc", 1))
    assert [one.what for one in found][:2] == [
        "one leapfrog step",
        "speed beside a bare loop",
    ]


def test_the_command_prints_and_writes_what_it_found(ocbnn, tmp_path, monkeypatch):
    case = lambda name, repeats: iter([Finding(name, "b", "c", Spread(1, 1, 1))])
    monkeypatch.setattr(suite, "CASES", {"one": case, "two": case})
    out = tmp_path / "bench.json"
    shown = ocbnn("bench", "--suite", "two", "--repeats", "1", "--json", out)
    assert shown.code == 0
    assert shown.out == "two, b: c 1 (1 - 1)\n"
    said = json.loads(out.read_text())
    assert [one["case"] for one in said["findings"]] == ["two"]
    assert {"date", "machine", "versions", "repeats"} <= set(said)
    shown = ocbnn("bench", "--suite", "too")
    assert shown.code == 2
    assert "there is no case 'too'. Did you mean `two`?" in shown.err
