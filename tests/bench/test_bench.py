"""Benchmarks: what they count, and that each case runs."""

import json
from itertools import islice

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.bench import (
    child,
    hmc,
    memory,
    nuts,
    other_libraries,
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

TINY = svgd.Sized((3, 4, 2), 30, (8,), 3, "rbf", True, 0.65, 2)


@pytest.fixture
def ocbnn(monkeypatch, capfd):
    return make_caller(monkeypatch, capfd)


def test_every_run_has_its_turn_and_compiles_before_the_first():
    messages = []
    runs = {name: lambda name=name: messages.append(name) for name in "abc"}
    seconds = in_turns(runs, 3)
    assert "".join(messages) == "abc" + "abc" + "bca" + "cab"
    assert {len(one) for one in seconds.values()} == {3}


def test_a_finding_knows_whether_it_is_what_it_should_be():
    value = Spread(0.5, 0.4, 0.6)
    assert Finding("a", "b", "c", value).is_reached is None
    assert Finding("a", "b", "c", value, least=0.5).is_reached
    assert not Finding("a", "b", "c", value, most=0.4).is_reached
    said = line(Finding("svgd", "batch 8", "share", value, least=0.65))
    assert said == "svgd, batch 8: share 0.5 (0.4 - 0.6), >= 0.65: MISSED"


def test_operations_are_counted_as_the_products_need_them():
    widths, particles, rows, times = (3, 4, 5), 2, 7, 3
    _, flops = products.gradient_products(widths, particles, rows, times)
    # Two operations a multiplication; the first layer has no slope to hand down.
    assert flops == 2 * times * particles * rows * (2 * 3 * 4 + 3 * 4 * 5)
    assert problems.step_flops(widths, particles, rows) == 6 * 32 * 2 * 7
    _, forward = products.forward_products(widths, particles, rows, times)
    assert forward == 2 * times * particles * rows * 32


def test_the_products_are_all_those_of_a_gradient():
    run, _ = products.gradient_products((3, 4, 5, 2), 2, 7, 1)
    values, layers = products._numbers((3, 4, 5, 2), 2, 7)

    def half_square(layers):
        passed = values
        for weights in layers:
            passed = passed @ weights
        return 0.5 * jnp.sum(passed**2)

    for result, expected in zip(run()[1], jax.grad(half_square)(layers), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    forwards, _ = products.forward_products((3, 4, 5, 2), 2, 7, 1)
    passed = values @ layers[0] @ layers[1] @ layers[2]
    np.testing.assert_allclose(forwards()[1], passed, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "make", [products.gradient_products, products.forward_products]
)
def test_every_turn_of_the_products_needs_the_one_before(make, monkeypatch):
    monkeypatch.setattr(products, "_TRACE", 0.1)
    once, twice = (make((3, 4, 2), 2, 7, times)[0]() for times in (1, 2))
    for one, two in zip(jax.tree.leaves(once), jax.tree.leaves(twice), strict=True):
        assert not np.allclose(one, two, rtol=1e-3)


def test_the_bare_loop_samples_a_normal():
    slope = jax.value_and_grad(lambda place: -0.5 * jnp.sum((place - 3.0) ** 2))
    begin = jnp.zeros((2,))
    run = jax.jit(lambda key: hmc.bare_hmc(slope, begin, key, 0.3, 8, 4000)[1])
    places = np.asarray(run(jax.random.key(0)))[100:]
    np.testing.assert_allclose(places.mean(axis=0), 3.0, atol=0.1)
    np.testing.assert_allclose(places.std(axis=0), 1.0, atol=0.1)


def test_a_hundred_rules_are_of_several_kinds_and_have_their_points():
    density = problems.target((2, 3, 1), 5, activation="tanh", rules=6, points=4)
    kinds = {type(term.bound.claim).__name__ for term in density.rules}
    assert (len(density.rules), kinds) == (6, {"Forbidden", "Expectation"})
    assert {term.count for term in density.rules} == {4}


@pytest.mark.parametrize(
    "case",
    [
        lambda: svgd.share_of_products("svgd", TINY, 1),
        lambda: svgd.growth("many", (2, 4), 1),
        lambda: predict.share_of_a_pass("predict", 20, 1),
        pytest.param(lambda: predict.memory("predict", 40, 1), marks=pytest.mark.slow),
        lambda: rules.cost_of_rules("rules", (1, 3), 1),
        pytest.param(lambda: start.beginnings("start", 1), marks=pytest.mark.slow),
        pytest.param(lambda: nuts.beside_others("nuts", 1), marks=pytest.mark.slow),
    ],
)
def test_every_case_runs_and_finds_numbers(case, monkeypatch):
    monkeypatch.setattr(predict, "_WIDTHS", (3, 4, 2))
    monkeypatch.setattr(predict, "_PRODUCT_ROWS", 16)
    monkeypatch.setattr(nuts, "_EFFORT", other_libraries.Effort(2, 20, 20, 0.8))
    result = list(case())
    assert result
    for one in result:
        assert np.isfinite(one.value).all()
        assert one.value.low <= one.value.middle <= one.value.high


def test_the_cases_of_processes_and_other_libraries_run_daily_in_short(monkeypatch):
    monkeypatch.setattr(start, "_CODE", dict.fromkeys(start._CODE, "pass"))
    monkeypatch.setattr(start, "_FIT", "pass")
    monkeypatch.setattr(nuts, "_EFFORT", other_libraries.Effort(2, 20, 20, 0.8))
    first = lambda *args: islice(other_libraries.others(*args), 1)
    monkeypatch.setattr(nuts, "others", first)
    result = [*start.beginnings("start", 1), *nuts.beside_others("nuts", 1)]
    assert {one.case for one in result} == {"start", "nuts"}
    assert all(np.isfinite(one.value).all() for one in result)
    assert predict.peak_of_summary(20, (3, 4, 2), 5) > 50e6


def test_memory_that_grows_with_rows_beyond_inputs_and_outputs_is_seen(monkeypatch):
    whole, inputs_and_outputs = predict._GIB, 298_000 * 8 * (9 + 4 * 2)
    peaks = {298_000: whole / 2, 74_500: (whole - 1.5 * inputs_and_outputs) / 2}
    monkeypatch.setattr(predict, "_peak_of", lambda rows: peaks[rows])
    peak, quarter, beside = predict.memory("predict", 298_000, 2)
    assert (peak.value.middle, peak.is_reached) == (0.5, True)
    assert (quarter.setting, quarter.is_reached) == ("74,500 rows", None)
    np.testing.assert_allclose(beside.value, 1.0)
    # Values of all functions at all rows, held at once.
    peaks[298_000] += 298_000 * 50 * 2 * 8
    *_, beside = predict.memory("predict", 298_000, 1)
    assert not beside.is_reached


def test_the_peak_is_that_of_a_process_and_not_of_the_one_that_started_it():
    ours = memory.peak_bytes()
    assert ours > 50e6
    code = f"import runpy; print(runpy.run_path({memory.__file__!r})['peak_bytes']())"
    assert int(child.run_child(code)) < ours / 2


def test_rates_are_compared_seed_by_seed_and_chains_that_disagree_are_told():
    turns = {
        "ours": [nuts.Turn(2.0, 1.01), nuts.Turn(30.0, 1.02), nuts.Turn(8.0, 1.0)],
        "BlackJAX, x": [nuts.Turn(1.0, 1.7), nuts.Turn(10.0, 1.1), nuts.Turn(8.0, 1.1)],
    }
    result = {one.what: one for one in nuts.findings("nuts", turns)}
    beside = result["effective draws beside BlackJAX, x"]
    assert (beside.value, beside.least) == (Spread(2.0, 1.0, 3.0), 1.2)
    assert result["greatest R-hat of BlackJAX, x"].value == Spread(1.1, 1.1, 1.7)
    assert result["effective draws of ours"].value == Spread(8.0, 2.0, 30.0)


def test_hmc_runs_beside_a_bare_loop(monkeypatch):
    monkeypatch.setattr(hmc, "_MOVES", 4)
    result = list(hmc.beside_a_bare_loop("hmc", 1))
    assert [one.what for one in result][:2] == [
        "one leapfrog step",
        "speed beside a bare loop",
    ]


def test_the_command_prints_and_writes_what_it_found(ocbnn, tmp_path, monkeypatch):
    case = lambda name, repeats: iter([Finding(name, "b", "c", Spread(1, 1, 1))])
    monkeypatch.setattr(suite, "CASES", {"one": case, "two": case})
    out = tmp_path / "bench.json"
    result = ocbnn("bench", "--suite", "two", "--repeats", "1", "--json", out)
    assert result.code == 0
    assert result.out == "two, b: c 1 (1 - 1)\n"
    document = json.loads(out.read_text())
    assert [one["case"] for one in document["findings"]] == ["two"]
    assert {"date", "machine", "versions", "repeats"} <= set(document)
    result = ocbnn("bench", "--suite", "too")
    assert result.code == 2
    assert "there is no case 'too'. Did you mean `two`?" in result.err
