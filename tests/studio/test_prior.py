"""Functions before the data, beside a plain reference for the same prior."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from ocbnn import studio
from ocbnn.priors.chosen import NAMES
from ocbnn.projects.columns import Rows
from ocbnn.projects.sections import Network
from ocbnn.projects.source import Source
from ocbnn.projects.study import study_of
from ocbnn.rules import Schema, bind
from ocbnn.studio.prior import shaped_prior

ROWS = Rows(
    np.linspace(-3, 3, 10)[:, None],
    np.linspace(-2, 2, 10)[:, None],
    Schema(("x",), ("y",)),
    0,
    np.arange(1, 11),
)
TEXT = """
[data]
file = "table.csv"
output = "y"
task = "regression"
[network]
hidden = [10]
weight_prior = "PRIOR"
standardize = false
"""


def shaped(*rules, prior="isotropic"):
    text = TEXT.replace("PRIOR", prior)
    text += "".join(f"[[rules]]\nrule = '{rule}'\n" for rule in rules)
    study = study_of(Source(Path("study.toml"), text, Path()))
    bounds = tuple(bind(rule, ROWS.schema) for rule in study.rules)
    return shaped_prior(study, ROWS, bounds)


def reference(rng, count, x):
    """Prior functions of a network of ten radial units, in double precision."""
    weights, biases = rng.normal(size=(2, count, 1, 10))
    last, bias = rng.normal(size=(count, 10, 1)), rng.normal(size=(count, 1, 1))
    return (np.exp(-((x[None] * weights + biases) ** 2)) @ last + bias)[..., 0]


def test_without_rules_they_are_the_prior_s():
    x = np.linspace(-3, 3, 7)[:, None]
    result = shaped().predictive.functions(x)[..., 0]
    truth = reference(np.random.default_rng(0), 100_000, x)
    error = truth.std(axis=0) / np.sqrt(len(result))
    assert (np.abs(result.mean(axis=0) - truth.mean(axis=0)) < 5 * error).all()
    np.testing.assert_allclose(result.std(axis=0), truth.std(axis=0), rtol=0.25)


@pytest.mark.parametrize("mean", [0.0, 2.0])
def test_an_expectation_weighs_them_as_it_should(mean):
    # At one point of weight one, log g is the normal's log density there.
    rule = f"if 0.999 <= x <= 1.001 then y ~ Normal({mean}, 0.5) [points=1, weight=1]"
    prior = shaped(rule)
    assert prior.reached == 1
    x = np.array([[1.0], [-1.0]])
    result = prior.predictive.functions(x)[..., 0]
    truth = reference(np.random.default_rng(1), 400_000, x)
    weights = np.exp(-0.5 * ((truth[:, 0] - mean) / 0.5) ** 2)
    weights /= weights.sum()
    for place in range(2):
        centre = weights @ truth[:, place]
        spread = np.sqrt(weights @ (truth[:, place] - centre) ** 2)
        # Some of the draws share their past; they are worth a third of their number.
        error = spread / np.sqrt(len(result) / 3)
        assert abs(result[:, place].mean() - centre) < 4 * error
        np.testing.assert_allclose(result[:, place].std(), spread, rtol=0.35)


def test_heavy_tails_are_weighed_as_they_should():
    rule = "if 0.999 <= x <= 1.001 then y ~ Normal(2, 0.5) [points=1, weight=1]"
    prior = shaped(rule, prior="student-t")
    assert prior.reached == 1
    rng, x = np.random.default_rng(1), np.array([[1.0], [-1.0]])
    weights, biases, last = rng.standard_t(4, size=(3, 400_000, 10))
    units = np.exp(-((x[:, :, None] * weights + biases) ** 2))
    truth = (units * last / np.sqrt(10)).sum(axis=-1) + rng.standard_t(4, 400_000)
    shares = np.exp(-0.5 * ((truth[0] - 2) / 0.5) ** 2)
    shares /= shares.sum()
    result = prior.predictive.functions(x)[..., 0].T
    for ours, values in zip(result, truth, strict=True):
        centre = shares @ values
        spread = np.sqrt(shares @ (values - centre) ** 2)
        assert abs(ours.mean() - centre) < 4 * spread / np.sqrt(len(ours) / 3)
        np.testing.assert_allclose(ours.std(), spread, rtol=0.35)


def test_study_files_and_the_page_know_every_prior_with_a_name():
    assert set(NAMES) == set(get_args(Network.model_fields["weight_prior"].annotation))
    page = (Path(studio.__file__).parent / "static" / "prior.js").read_text()
    assert all(f'["{name}", ' in page for name in NAMES)


def test_a_box_is_avoided_on_both_sides():
    prior = shaped("if -1 <= x <= 1 then not (-1 <= y <= 1)")
    x = np.linspace(-1, 1, 41)[:, None]
    values = prior.predictive.functions(x)[..., 0]
    assert prior.reached == 1
    assert prior.note == ""
    assert (np.abs(values) > 0.99).all(axis=1).mean() > 0.95
    assert (values[:, 20] > 1).any()
    assert (values[:, 20] < -1).any()


def test_what_cannot_be_reached_in_time_is_said():
    prior = shaped("if -3 <= x <= 3 then y ~ Normal(300 + 40 * x, 0.01)")
    assert prior.reached < 1
    assert "cut short" in prior.note
    assert prior.seconds < 30
