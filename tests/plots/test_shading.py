"""Rules are drawn where they hold and are called by their names."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import PathPatch

from ocbnn.errors import SettingError
from ocbnn.plots import figure, shade_rules
from ocbnn.rules import Schema, bind, custom, inputs
from tests.plots.helpers import COLOURS, PLAIN, axes, labels, rule

GAP = "gap: if -0.3 <= x <= 0.3 then 2.5 <= y <= 3"
RING = "ring: if x < 1 then x**2 + y**2 >= 1 and x**2 + y**2 <= 9"
EITHER = "either: if x < -1 or x > 1 then not (y > sin(x) and y < 3)"


def lines_of(ax):
    return [np.column_stack(line.get_data()) for line in ax.lines]


@pytest.mark.parametrize("text", [GAP, RING, EITHER])
def test_forbidden_pixels_are_those_at_which_the_rule_does_not_hold(text):
    bound = rule(text)
    fig = figure(4, 4)
    fig.set_layout_engine("none")
    ax = fig.add_axes((0, 0, 1, 1))
    ax.set(xlim=(-4, 4), ylim=(-4, 4))
    ax.axis("off")
    shade_rules(ax, [bound], (-4, 4), (-4, 4), with_legend=False)
    for line in list(ax.lines):
        line.remove()
    face, hatched = ax.patches
    hatched.remove()
    face.set(facecolor="black", antialiased=False)
    canvas = FigureCanvasAgg(fig)
    canvas.draw()
    dark = np.asarray(canvas.buffer_rgba())[::-1, :, 0] < 128

    size = len(dark)
    centres = (np.arange(size) + 0.5) / size * 8 - 4
    x, y = (axis.ravel() for axis in np.meshgrid(centres, centres))
    breaks = ~bound.holds(x[:, None], y[:, None])
    # A pixel's own neighbours tell whether an edge passes through it.
    mask = breaks.reshape(size, size)
    near = np.zeros_like(mask)
    for shift in (-1, 1):
        for axis in (0, 1):
            near |= np.roll(mask, shift, axis) != mask
    assert mask.any()
    assert (dark == mask)[~near].all()


def test_expected_curves_are_the_means_over_the_region_only():
    ax = shade_rules(
        axes(), [rule("if 1 <= x <= 2 then y ~ Normal(x**2, 0.5)")], (-4, 4), (-1, 9)
    )
    curve = lines_of(ax)[-1]
    curve = curve[~np.isnan(curve[:, 1])]
    assert np.allclose(curve[:, 1], curve[:, 0] ** 2, atol=1e-6)
    assert np.allclose([curve[:, 0].min(), curve[:, 0].max()], [1, 2], atol=1e-6)
    band = ax.patches[0].get_path().get_extents()
    assert np.allclose(band.extents, [1, 0, 2, 5], atol=1e-6)


def test_a_mixture_has_a_curve_for_every_mean():
    text = "if 0 <= x <= 1 then y ~ 0.5*Normal(x, 0.1) + 0.5*Normal(3 - x, 0.1)"
    curves = lines_of(shade_rules(axes(), [rule(text)], (-1, 2), (-1, 4)))[-2:]
    for curve, mean in zip(curves, (lambda x: x, lambda x: 3 - x), strict=True):
        assert np.allclose(*(v[~np.isnan(v)] for v in (curve[:, 1], mean(curve[:, 0]))))


def test_an_expected_transform_is_drawn_where_it_has_its_value():
    ax = shade_rules(axes(), [rule("log(y) ~ Normal(0, 0.1)")], (0, 1), (-1, 4))
    curve = lines_of(ax)[-1][:, 1]
    assert np.allclose(curve[~np.isnan(curve)], 1.0)


def test_legend_names_every_rule_once_and_apart():
    rules = [
        rule("if x < 0 then y < 1"),
        rule("high: if x > 1 then y < 2"),
        rule("high: if x > 2 then y < 3"),
        rule("near: y ~ Normal(x, 1)"),
    ]
    ax = axes()
    shade_rules(ax, rules, (-3, 3), (-3, 3))
    shade_rules(ax, rules, (-3, 3), (-3, 3))
    assert sorted(labels(ax)) == [
        "expected by “near”, ±2 sd",
        "forbidden by “high (2)”",
        "forbidden by “high”",
        "forbidden by “if x < 0 then y < 1”",
    ]
    hatches = [p.get_hatch() for p in ax.patches if isinstance(p, PathPatch)]
    assert len(set(hatches) - {None}) == 3


def test_view_is_left_alone():
    ax = axes()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    shade_rules(ax, [rule(GAP), rule("y ~ Normal(x, 1)")], (-9, 9), (-9, 9))
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 1), (0, 1))


def test_rules_that_cannot_be_drawn_still_mark_their_region():
    two = Schema(("x",), ("y", "z"))
    mine = custom(lambda xs, ys: 0.0, where=inputs("x") > 1, name="mine")
    bound = [rule("both: if x < 0 then y < z", two), bind(mine, two)]
    other = rule("other: z < 3", two)
    ax = shade_rules(axes(), [*bound, other], (-2, 2), (-2, 2))
    undrawn = "“mine” applies here, and cannot be drawn"
    assert labels(ax) == ["“both” relates y, z here", undrawn]
    foot = ax.lines[0].get_xdata()[~np.isnan(ax.lines[0].get_ydata())]
    assert foot.max() < 0
    checked = custom(lambda xs, ys: 0.0, holds=lambda xs, ys: ys[:, 0] > 1, name="mine")
    ax = shade_rules(axes(), [bind(checked, two)], (-2, 2), (-2, 2))
    assert labels(ax) == [undrawn]


def test_a_rule_about_slopes_marks_where_it_speaks():
    grows = rule("grows: if x > 1 then d(y, x) ~ Normal(1, 0.1)")
    ax = shade_rules(axes(), [grows], (-2, 2), (-2, 2))
    assert labels(ax) == ["“grows” is about slopes here"]


def test_a_set_out_of_view_is_said_to_be():
    ax = shade_rules(axes(), [rule("far: y < 99")], (-2, 2), (-2, 2))
    assert labels(ax) == ["forbidden by “far” (out of view)"]


def test_inputs_that_are_not_shown_are_held_where_asked():
    bound = rule("if a > 0 and b > 1 then y < 0", Schema(("a", "b"), ("y",)))
    with pytest.raises(SettingError, match=r"mentions b, .* Pass `at=`"):
        shade_rules(axes(), [bound], (-2, 2), (-2, 2))
    with pytest.raises(SettingError, match=r"`at` has shape \(2,\).* got \(3,\)"):
        shade_rules(axes(), [bound], (-2, 2), (-2, 2), at=np.zeros(3))
    with pytest.raises(SettingError, match="shows input 5"):
        shade_rules(axes(), [bound], (-2, 2), (-2, 2), input=5)
    ax = shade_rules(axes(), [bound], (-2, 2), (-2, 2), at=np.array([0.0, 2.0]))
    extents = ax.patches[0].get_path().get_extents().extents
    assert np.allclose(extents, [0, 0, 2, 2], atol=1e-6)


def test_class_rules_are_sent_to_the_class_map():
    with pytest.raises(SettingError, match="class_map"):
        shade_rules(axes(), [rule("class in {red}", COLOURS)], (0, 1), (0, 1))


def test_limits_have_two_finite_ends_in_order():
    with pytest.raises(SettingError, match=r"`ylim`.*got \(1\.0, 0\.0\)"):
        shade_rules(axes(), [bind(rule(GAP).rule, PLAIN)], (0, 1), (1, 0))
