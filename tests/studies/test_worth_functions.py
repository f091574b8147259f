"""What rules are worth: functions that obey theirs, and a tiny run of the study."""

import re

import numpy as np
import pytest

from ocbnn.inference import SVGD
from ocbnn.rules import Schema, bind, parse_rule
from ocbnn.studies import names_for
from ocbnn.studies.base import Request
from ocbnn.studies.worth import rows_saved
from ocbnn.studies.worth_functions import WorthFunctionsStudy, summary_of
from ocbnn.studies.worth_truths import NOISE_SHARE, TRUTHS


def slope(truth, X, name, order):
    """A derivative by central differences, as a share of the function's spread."""
    column = truth.inputs.index(name)
    low, high = truth.box[name]
    step = (high - low) * 1e-3
    X = np.array(X)
    X[:, column] = np.clip(X[:, column], low + step, high - step)
    shift = np.zeros(len(truth.inputs))
    shift[column] = step
    left, middle, right = truth(X - shift), truth(X), truth(X + shift)
    change = right - left if order == 1 else right - 2 * middle + left
    return change / truth.spread


def excess(truth, X, claim):
    """How far each claim is from being broken, from its words alone."""
    output = truth.output
    if found := re.fullmatch(rf"{output} (rises|falls) with (\w+)", claim):
        sign = 1 if found[1] == "rises" else -1
        return sign * slope(truth, X, found[2], 1)
    if found := re.fullmatch(rf"d\({output}, (\w+), \1\) ([<>]=) 0", claim):
        sign = 1 if found[2] == ">=" else -1
        return sign * slope(truth, X, found[1], 2)
    bound, edge = re.fullmatch(rf"{output} ([<>]=) (\d+)", claim).groups()
    sign = 1 if bound == ">=" else -1
    return sign * (truth(X) - float(edge)) / truth.spread


@pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)
def test_every_function_obeys_its_rules(truth):
    X = truth.draw_inputs(np.random.default_rng(1), 20_000)
    corners = np.array(np.meshgrid(*truth.box.values())).reshape(len(truth.box), -1).T
    X = np.concatenate([X, corners])
    assert np.isfinite(truth(X)).all()
    for claim in truth.claims:
        assert excess(truth, X, claim).min() >= -1e-9, claim
    schema = Schema(inputs=truth.inputs, outputs=(truth.output,))
    for text in truth.rules:
        bind(parse_rule(text), schema)


def test_there_are_twenty_functions_of_one_to_six_inputs():
    assert len(TRUTHS) == 20
    assert {len(truth.inputs) for truth in TRUTHS.values()} == {1, 2, 3, 4, 5, 6}
    assert names_for("worth") == ["worth-functions", "worth-tables"]


def test_observations_have_the_noise_that_is_stated():
    truth = TRUTHS["cooling"]
    X, y = truth.draw_rows(np.random.default_rng(3), 50_000)
    noise = np.std(y - truth(X)) / truth.spread
    assert noise == pytest.approx(NOISE_SHARE, rel=0.02)


def test_rows_are_saved_only_as_far_as_the_curve_reaches():
    rows = [10, 20, 40]
    free = np.log([1.0, 0.5, 0.25])
    assert rows_saved(rows, free, free) == [0, 0, 0]
    assert rows_saved(rows, free, np.log([0.5, 0.25, 0.1])) == [10, 20, None]
    assert rows_saved(rows, free, np.log([2.0, 1.0, 0.5])) == [None, -10, -20]
    # A curve that goes up by chance is read as level.
    bumpy = np.log([1.0, 1.5, 0.25])
    assert rows_saved(rows, bumpy, np.log([0.25, 0.25, 0.25])) == [30, 20, 0]


def test_ratios_are_geometric_means_of_pairs():
    cell = lambda error: {
        "error": error,
        "coverage": 0.9,
        "coverage_of_truth": 0.9,
        "violation": 0.0,
        "noise": 1.0,
        "rhat_max": 1.01,
        "seconds": 1.0,
    }
    curves = {
        "a": {"8": {"bnn": cell(0.4), "ocbnn": cell(0.1)}},
        "b": {"8": {"bnn": cell(0.1), "ocbnn": cell(0.1)}},
    }
    summary = summary_of(curves, [8], "ocbnn")["8"]
    assert summary["ratio"] == pytest.approx(0.5)
    # Logarithms of the ratios are log(1/4) and 0: their sd is log(4) / sqrt(2).
    assert summary["ratio_se"] == pytest.approx(0.5 * np.log(4) / 2)
    assert summary["better"] == 0.5
    assert summary["mixed"] == 1.0


def test_a_tiny_run_compares_all_models_on_the_same_rows():
    study = WorthFunctionsStudy(
        SVGD(particles=4, iterations=10), {"cooling": TRUTHS["cooling"]}, rows=(5, 9)
    )
    outcome = study.run(Request(quick=True))
    curve = outcome.numbers["functions"]["cooling"]
    assert list(curve) == ["5", "9"]
    assert list(curve["5"]) == ["bnn", "ocbnn", "projection"]
    assert curve["5"]["projection"]["violation"] <= curve["5"]["bnn"]["violation"]
    means, functions = study.tables(outcome.numbers)
    assert len(means.rows) == 6
    assert len(functions.rows) == 1
    assert set(outcome.figures) == {"means", "functions"}
    assert "at 5 rows" in study.line(outcome.numbers)
