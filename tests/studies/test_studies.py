"""Studies: the problems are the paper's, and results keep their contract."""

import json

import numpy as np
import pytest

from ocbnn.errors import SettingError
from ocbnn.inference import SMC
from ocbnn.studies import STUDIES, names_for, reproduce
from ocbnn.studies.measures import bound_rules, region_grid
from ocbnn.studies.toys import TOYS, smaller
from tests.studies.tiny import CLASSES, REGRESSION, make_tiny


@pytest.fixture
def tiny(monkeypatch):
    """Every preset replaced by the smallest run that has all the parts."""
    make_tiny(monkeypatch)


pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")


# Tests of the command line run a figure with numbers.
@pytest.mark.parametrize(
    "asked", ["fig1-right", pytest.param("toys", marks=pytest.mark.slow)]
)
def test_a_run_keeps_the_contract(tiny, tmp_path, asked):
    lines, names = [], names_for(asked)
    reproduce(asked, preset="best", seed=3, out=tmp_path, say=lines.append)
    for name in names:
        result = json.loads((tmp_path / name / "result.json").read_text())
        assert result["study"] == name
        assert (result["preset"], result["quick"], result["seed"]) == ("best", False, 3)
        assert set(result["seconds"]) == {"fit", "total"}
        assert {"python", "jax", "ocbnn"} <= set(result["versions"])
        keys = CLASSES if name == "fig1-right" else REGRESSION
        for model in ("bnn", "ocbnn"):
            assert keys <= set(result["models"][model]), model
        bimodal = name in ("fig2-right", "fig4-right")
        assert result["models"]["bnn"].get("modes") is None
        assert (result["models"]["ocbnn"].get("modes") is not None) == bimodal
        assert ("paper_inference" in result) == bimodal
        for suffix in ("png", "svg"):
            assert (tmp_path / name / f"{name}.{suffix}").stat().st_size > 5000
    page = (tmp_path / "index.html").read_text()
    assert all(f'src="{name}/{name}.png"' in page for name in names)
    assert "http" not in page.replace("http-equiv", "")
    assert "$" not in page
    assert len(lines) == len(names)


def test_wrong_names_and_presets_list_the_right_ones(tmp_path):
    with pytest.raises(SettingError, match="fig1-left, fig1-right"):
        names_for("fig9")
    with pytest.raises(SettingError, match="paper, best"):
        reproduce("fig1-left", preset="fast", out=tmp_path)
    assert set(names_for("toys")) == set(TOYS) < set(names_for("all"))
    assert set(TOYS) < set(STUDIES)


def test_the_problems_are_the_papers():
    x = TOYS["fig1-left"].X[:, 0]
    assert np.allclose(TOYS["fig1-left"].y, -(x**4) + 3 * x**2 + 1)
    assert TOYS["fig4-left"].rules_of("paper")[0].strength == 20_000
    assert not any(rule.is_indicator for rule in TOYS["fig4-left"].rules_of("best"))
    assert np.array_equal(TOYS["fig2-left"].X, TOYS["fig4-left"].X)
    clouds, labels = TOYS["fig1-right"].X, TOYS["fig1-right"].y
    centres = {"green": (0, -3), "red": (-3, 1), "blue": (2, 3)}
    for label, centre in centres.items():
        assert (labels == label).sum() == 8
        assert np.allclose(clouds[labels == label].mean(axis=0), centre, atol=0.35)
    hmc = TOYS["fig1-left"].plans["paper"]
    assert (hmc.warmup, hmc.draws, hmc.thin, hmc.steps) == (10_000, 1000, 10, 50)


@pytest.mark.parametrize(
    ("study", "good", "bad"),
    [
        ("fig1-left", lambda x: 2.75 + 0 * x, lambda x: 2.4 + 0 * x),
        ("fig2-left", lambda x: 5 + abs(x), lambda x: 6.2 + abs(x)),
        ("fig2-right", lambda x: -6 + 0 * x, lambda x: 0 * x),
        ("fig4-left", lambda x: 4 + abs(x), lambda x: 8 + abs(x)),
        ("fig4-right", lambda x: 0.2 * x**3 - 0.15 * x**2 + 3.5, lambda x: 1.6 + 0 * x),
    ],
)
def test_rules_hold_for_the_papers_functions_and_break_for_others(study, good, bad):
    bounds = bound_rules(TOYS[study])
    assert bounds
    for bound in bounds:
        grid = region_grid(bound)
        assert len(grid) >= 400
        assert bound.holds(grid, good(grid)).all()
        assert not bound.holds(grid, bad(grid)).any()


def test_modes_are_counted_by_side_and_by_curve():
    grid = np.linspace(-1, 1, 5)
    values = np.stack([np.full(5, v) for v in (-9.0, -6.0, 5.0, 0.0)])
    assert TOYS["fig2-right"].modes(grid, values) == {"below": 0.5, "above": 0.25}
    curves = np.stack([3.5 + 0 * grid, 3.4 + 0 * grid, -0.3 + 0.5 * grid])
    shares = TOYS["fig4-right"].modes(grid, curves)
    assert np.isclose(shares["lower"], 1 / 3)
    assert np.isclose(shares["upper"], 2 / 3)


@pytest.mark.parametrize("toy", TOYS.values(), ids=lambda toy: toy.name)
def test_quick_plans_are_smaller(toy):
    for plan in toy.plans.values():
        quick = smaller(plan)
        assert type(quick) is type(plan)
        work = lambda p: (
            getattr(p, "particles", p.chains * p.draws)
            * getattr(p, "iterations", p.warmup)
            * (p.moves if isinstance(p, SMC) else 1)
        )
        assert work(quick) < work(plan)
