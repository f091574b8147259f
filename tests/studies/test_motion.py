"""Human motion: numbers by hand, the contract's keys, and figures that are drawn."""

import dataclasses
import json
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from ocbnn.datasets.motion import make_states
from ocbnn.errors import DataError
from ocbnn.estimators import OCBNNRegressor
from ocbnn.inference import SVGD
from ocbnn.metrics import rmse
from ocbnn.studies import motion
from ocbnn.studies.base import Headline, Request
from ocbnn.studies.motion import (
    PAPER,
    PRESETS,
    bent_line,
    measure,
    preset_rule,
    run_table2,
)
from ocbnn.studies.motion_figures import POINTS, density
from ocbnn.studies.motion_problem import limits_rule, load_motions, make_problem
from ocbnn.studies.motion_report import MotionFigure, MotionTable

pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")

CONTRACT = {"rmse", "ho_ll", "pp_viol", "f_viol"}


@pytest.fixture(scope="module")
def problem():
    return make_problem(load_motions(), 0)


def test_the_problem_is_the_papers(problem):
    assert problem.train.X.shape[1] == 12
    assert problem.train.Y.shape[1] == 4
    assert 200 < len(problem.train.X) < 400
    clean = make_states(problem.motions)
    error = problem.test.X - clean.X
    assert (error[:, 4:] == 0).all()
    np.testing.assert_allclose(np.rad2deg(error[:, :4].std()), 2.0, rtol=0.1)
    assert (problem.test.Y == clean.Y).all()


def test_the_rule_holds_for_every_recorded_motion(problem):
    rule = limits_rule(problem, "points=5")
    assert str(rule).startswith(
        "joint limits: -0.09576 <= lShoulderY <= 0.85841 and -0.77438 <= lShoulderZ"
    )
    low, high = problem.limits
    targets = np.concatenate([problem.train.Y, problem.test.Y])
    assert ((low <= targets) & (targets <= high)).all()


def test_noise_is_larger_than_the_sensors_and_than_the_error_on_training_rows(problem):
    fitted = np.linalg.lstsq(problem.train.X, problem.train.Y)[0]
    inside = np.sqrt(((problem.train.X @ fitted - problem.train.Y) ** 2).mean(axis=0))
    assert (problem.noise > inside).all()
    assert problem.noise.shape == (4,)


def test_the_network_is_a_line_plus_a_bend_that_stops_at_the_limits(problem):
    free, stopped = (bent_line(problem, stops=stops) for stops in (False, True))
    weights = {k: jnp.zeros(spec.shape) for k, spec in free.shapes().items()}
    weights["line"] = jnp.eye(12, 4)
    weights["level"] = jnp.ones(4)
    x = jnp.linspace(0.0, 11.0, 12)
    np.testing.assert_allclose(free.apply(weights, x), [0.3, 1.3, 2.3, 3.3])
    y_mean, y_sd = problem.train.Y.mean(axis=0), problem.train.Y.std(axis=0)
    ends = [(end - y_mean) / y_sd for end in problem.limits]
    for sign, end in ((-100.0, ends[0]), (100.0, ends[1])):
        value = stopped.apply({**weights, "level": jnp.full(4, sign)}, x)
        np.testing.assert_allclose(value, end, rtol=1e-4)
    inside = stopped.apply({**weights, "level": jnp.zeros(4)}, 0.01 * x)
    np.testing.assert_allclose(inside, [0.0, 0.01, 0.02, 0.03], atol=1e-6)


class Fixed(OCBNNRegressor):
    """Two functions that were never fitted, and known noise."""

    limits_ = None
    draws_ = SimpleNamespace(size=2)
    verdict_ = SimpleNamespace(rhat_max=None, ess_min=None)

    def __init__(self, values, limits=None):
        self.values = values
        self.limits_ = limits

    def sample_functions(self, X, count=2):
        return np.stack([value + np.zeros((len(X), 4)) for value in self.values])

    def sample_noise(self, X, count=2):
        return np.full((2, len(X), 4), 0.1)

    def predict(self, X, return_std=False):
        functions = self.sample_functions(X)
        sd = np.sqrt(functions.var(axis=0) + 0.01)
        return (functions.mean(axis=0), sd) if return_std else functions.mean(axis=0)


def test_the_numbers_are_those_of_the_paper_by_hand(problem):
    low, high = problem.limits
    states = dataclasses.replace(
        problem.test, X=problem.test.X[:1], Y=problem.test.Y[:1]
    )
    middle = (low + high) / 2
    beyond = middle.copy()
    beyond[0] = high[0]
    model = Fixed([middle, beyond])
    result = measure(model, problem, states)
    mean, sd = model.predict(states.X, return_std=True)
    np.testing.assert_allclose(result["rmse"], rmse(mean, states.Y))
    expected = norm.logpdf(states.Y, mean, sd).sum()
    np.testing.assert_allclose(result["ho_ll"], expected)
    np.testing.assert_allclose(result["ho_ll_per_state"], expected)
    # One of two draws has half of its mass beyond the first joint's upper limit; the
    # rest is far inside. On the limit itself a function is still allowed.
    np.testing.assert_allclose(result["pp_viol"], 25.0, atol=0.01)
    assert result["f_viol"] == 0.0
    beyond[0] += 1e-6
    assert measure(model, problem, states)["f_viol"] == 50.0


@pytest.fixture
def never_fitted(monkeypatch):
    def fit_models(problem, preset, seed, *, quick, progress):
        low, high = problem.limits
        values = [low + 0.2, problem.train.Y.mean(axis=0)]
        return {"bnn": Fixed(values), "ocbnn": Fixed(values, (low, high))}

    monkeypatch.setattr(motion, "fit_models", fit_models)


@pytest.mark.parametrize("quick", [True, False])
def test_a_table_sums_up_its_splits(never_fitted, quick):
    result = run_table2("paper", 3, quick, False)
    json.dumps(result, allow_nan=False)
    assert len(result["splits"]) == (2 if quick else 5)
    for name in ("bnn", "ocbnn"):
        for part in ("train", "test"):
            numbers = result["models"][name][part]
            assert CONTRACT | {f"{key}_sd" for key in CONTRACT} <= set(numbers)
            each = [split[name][part]["rmse"] for split in result["splits"]]
            assert np.isclose(numbers["rmse"], np.mean(each))
            assert np.isclose(numbers["rmse_sd"], np.std(each, ddof=1))
    assert result["models"]["ocbnn"]["test"]["pp_viol"] == 0.0
    assert result["models"]["bnn"]["test"]["pp_viol"] > 0.0
    assert result["paper"]["models"] == PAPER
    assert result["rules"][0].startswith("joint limits")


def test_our_table_stands_beside_the_papers(never_fitted):
    study = MotionTable()
    numbers = study.run(Request("paper", 3, quick=True)).numbers
    base, ours = (numbers["models"][name]["test"] for name in ("bnn", "ocbnn"))
    assert study.headline(numbers) == Headline(base["pp_viol"] / 100, 0.0)
    assert f"RMSE {base['rmse']:.4f} -> {ours['rmse']:.4f} rad" in study.line(numbers)
    mine, papers = study.tables(numbers)
    by_label = {row[0]: row[1:] for row in mine.rows}
    assert by_label["PP-VIOL [%]"][3] == "0.000 ± 0.000"
    shown = f"{1e3 * base['rmse']:.3f} ± {1e3 * base['rmse_sd']:.3f}"
    assert by_label["RMSE [10⁻³ rad]"][2] == shown
    assert [row[0] for row in papers.rows] == list(by_label)[:3]
    first = 1e3 * PAPER["bnn"]["train"]["rmse"]
    assert papers.rows[0][1].startswith(f"{first:.3f}")


def test_the_papers_settings_are_the_papers(problem):
    paper = PRESETS["paper"]
    rule = preset_rule(problem, "paper")
    assert paper.settings(problem, True)["hidden"] == (100, 100)
    assert (paper.plan.particles, paper.plan.iterations) == (50, 1000)
    assert (rule.points, rule.strength) == (50, 10_000)
    draws = np.asarray(rule.sampler(jax.random.key(0), 500))
    X = problem.train.X
    np.testing.assert_allclose(draws.min(axis=0), X.min(axis=0), atol=0.05 * np.ptp(X))
    share = (draws - X.min(axis=0)) / np.ptp(X, axis=0)
    np.testing.assert_allclose(share.mean(axis=0), 0.5, atol=0.06)


def test_figure_three_shows_five_points_ten_frames_apart(monkeypatch):
    plan = SVGD(particles=8, iterations=200)
    tiny = dataclasses.replace(PRESETS["best"], quick=plan)
    monkeypatch.setitem(PRESETS, "best", tiny)
    outcome = MotionFigure().run(Request("best", quick=True))
    numbers, figures = outcome.numbers, outcome.figures
    json.dumps(numbers, allow_nan=False)
    assert np.diff(numbers["frames"]).tolist() == [10] * (POINTS - 1)
    assert len(numbers["truth"]) == len(numbers["models"]["bnn"]["outside"]) == POINTS
    assert numbers["models"]["ocbnn"]["outside"] == [0.0] * POINTS
    assert numbers["models"]["ocbnn"]["test"]["f_viol"] == 0.0
    assert set(figures) == {"fig3", "fig3-reach"}
    labels = figures["fig3"].axes[0].get_legend_handles_labels()[1]
    assert {"BNN", "OC-BNN", "what the arm did", "beyond the limits"} <= set(labels)
    (table,) = MotionFigure().tables(numbers)
    assert [row[0] for row in table.rows] == [str(frame) for frame in numbers["frames"]]
    assert [row[-1] for row in table.rows] == ["0.000"] * POINTS
    assert numbers["joint"] in table.caption


@pytest.mark.parametrize("limits", [None, (np.full(4, -0.2), np.full(4, 0.5))])
def test_a_predictive_density_integrates_to_one(limits):
    model = Fixed([np.zeros(4), np.full(4, 0.4)], limits)
    angles = np.linspace(-2, 2, 4001)
    heights = density(model, np.zeros(12), 3, angles)
    np.testing.assert_allclose(np.trapezoid(heights, angles), 1.0, rtol=5e-3)
    if limits is not None:
        assert (heights[(angles < -0.2) | (angles > 0.5)] == 0).all()


def test_a_folder_without_motions_says_what_is_expected(tmp_path):
    with pytest.raises(DataError, match=r"no motions here.*mocap\.hdf5"):
        load_motions(tmp_path)
