"""The figure that is taken away shows what the page shows."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from ocbnn.estimators import OCBNNRegressor
from ocbnn.plots import save
from ocbnn.plots.style import HUES
from ocbnn.projects.columns import Rows
from ocbnn.rules import Schema, bind, parse_rule
from ocbnn.studio.document import View
from ocbnn.studio.figures import draw
from ocbnn.studio.function_summaries import predictions_in_view
from ocbnn.studio.viewport import window

rng = np.random.default_rng(0)
SCHEMA = Schema(("a", "b", "who=x", "who=z"), ("dose",))
BOX = bind(parse_rule("box: if 1 <= a <= 4 then not (-1 <= dose <= 1)"), SCHEMA)


def rows(count=40):
    X = np.column_stack([rng.uniform(0, 10, (count, 2)), np.eye(2)[[1] * count]])
    y = rng.normal(size=(count, 1))
    return Rows(X, y, SCHEMA, 0, np.arange(1, count + 1))


class Fake(OCBNNRegressor):
    """A model whose functions are lines of random height."""

    def __init__(self, height, rules=()):
        super().__init__()
        self.height, self.bound_rules = height, rules

    @property
    def rules_(self):
        return self.bound_rules

    def sample_functions(self, X, count):
        lift = np.random.default_rng(1).normal(size=(50, 1))
        return self.height + lift + 0.1 * X[:, 0] * X[:, 1]

    def predict(self, X):
        return self.height + 0.1 * X[:, 0] * X[:, 1]

    def predict_summary(self, X):
        mean = self.predict(X)
        return SimpleNamespace(mean=mean, lower=mean - 3, upper=mean + 3)


MODELS = {"with": Fake(2.0, (BOX,)), "without": Fake(-2.0)}


def labels(ax):
    return ax.get_legend_handles_labels()[1]


def test_bands_are_those_of_the_page_and_rules_have_their_colours():
    viewport = window(View(along=["a"]), rows())
    fig = draw(MODELS, viewport, rows(), [3])
    ax = fig.axes[0]
    assert {"95 % of functions", "95 % of new rows", "mean", "data"} <= set(labels(ax))
    page = predictions_in_view(MODELS["with"], viewport)
    bands = {one.get_label(): one for one in ax.collections}
    heights = bands["95 % of functions"].get_paths()[0].vertices[:, 1]
    assert heights.min() == pytest.approx(min(page["function_low"]))
    assert heights.max() == pytest.approx(max(page["function_high"]))
    lines = ax.findobj(Line2D)
    assert HUES[3].lower() in {to_hex(line.get_color()) for line in lines}
    assert fig.get_supxlabel() == f"Others at: b {viewport.at[1]:.4g}, who z"


def test_maps_side_by_side_share_their_colours_and_show_rules_and_data():
    fig = draw(MODELS, window(View(along=["a", "b"]), rows()), rows(), [3])
    one, other, bar = fig.axes
    assert bar.get_ylabel() == "mean of dose"
    levels = [ax.collections[0].norm for ax in (one, other)]
    assert (levels[0].vmin, levels[0].vmax) == (levels[1].vmin, levels[1].vmax)
    assert "data" in labels(one)
    assert any("box" in label for label in labels(one))


def test_many_points_are_pale():
    many = rows(1000)
    fig = draw({"with": MODELS["with"]}, window(View(), many), many, [])
    (data,) = [one for one in fig.axes[0].lines if one.get_label() == "data"]
    assert data.get_alpha() < 0.5


def test_hatches_are_seen_in_an_svg(tmp_path):
    fig = draw(MODELS, window(View(along=["a"]), rows()), rows(), [5])
    _, svg = save(fig, tmp_path / "figure")
    patterns = re.findall(r"<pattern.*?</pattern>", svg.read_text(), re.DOTALL)
    assert patterns
    for pattern in patterns:
        assert re.search(r'<rect[^>]*fill="none"', pattern)
