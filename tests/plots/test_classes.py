"""Class maps show who wins, how surely, and what the rules allow."""

import numpy as np
import pytest
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colors import to_rgb

from ocbnn.errors import DataError, SettingError
from ocbnn.plots import BLUE, GREEN, RED, class_inset, class_map
from tests.plots.helpers import COLOURS, axes, class_grid, labels, rule

XS, YS, CHANCES = class_grid()
CLASSES = ("green", "red", "blue")
BOX = "box: if 1 <= a <= 3 and -2 <= b <= 0 then class in {green}"
DATA = {"X": np.array([(0.0, -3.0), (2.0, 3.0)]), "y": np.array([0, 2])}


def draw(ax=None, **settings):
    return class_map(ax or axes(), XS, YS, CHANCES, classes=CLASSES, **settings)


def test_colour_is_the_winners_and_pales_with_doubt():
    (mesh,) = (c for c in draw().collections if isinstance(c, QuadMesh))
    paint = np.asarray(mesh.get_array()).reshape(len(YS), len(XS), 3)
    hues = np.array([to_rgb(hue) for hue in (GREEN, RED, BLUE)])
    strength = (1 - paint) / (1 - hues[CHANCES.argmax(-1)])
    assert np.allclose(strength, strength[..., :1])
    doubt = CHANCES.max(-1)
    assert np.all(np.diff(strength[..., 0].ravel()[np.argsort(doubt, None)]) >= -1e-9)


def test_a_class_named_after_a_colour_has_it_in_any_order():
    ax = class_map(axes(), XS, YS, CHANCES, classes=("blue", "other", "green"))
    marks = [c for c in ax.collections if isinstance(c, PathCollection)]
    faces = [tuple(mark.get_facecolor()[0][:3]) for mark in marks]
    assert faces == [to_rgb(BLUE), to_rgb(RED), to_rgb(GREEN)]


def test_the_class_that_is_predicted_may_be_another_than_the_most_probable():
    chosen = np.where(CHANCES.argmax(-1) == 1, 0, CHANCES.argmax(-1))
    (mesh,) = (c for c in draw(predicted=chosen).collections if isinstance(c, QuadMesh))
    paint = np.asarray(mesh.get_array()).reshape(len(YS), len(XS), 3)
    hues = np.array([to_rgb(hue) for hue in (GREEN, RED, BLUE)])
    strength = (1 - paint) / (1 - hues[chosen])
    assert np.allclose(strength, strength[..., :1])


def test_every_class_has_a_marker_of_its_own():
    marks = [c for c in draw(**DATA).collections if isinstance(c, PathCollection)]
    assert [len(mark.get_offsets()) for mark in marks] == [1, 0, 1]
    assert len({str(mark.get_paths()[0].vertices) for mark in marks}) == 3


def test_rules_outline_their_region_and_name_the_allowed_class():
    ax = draw(rules=[rule(BOX, COLOURS)])
    assert labels(ax)[-1] == "“box”: green"
    extents = ax.patches[0].get_path().get_extents().extents
    assert np.allclose(extents, [1, -2, 3, 0], atol=1e-6)


def test_regions_of_any_shape_are_outlined():
    disc = rule("disc: if a**2 + b**2 < 4 then class not in {blue}", COLOURS)
    ax = draw(rules=[disc])
    edge = np.column_stack(ax.lines[-1].get_data())
    radius = np.hypot(*edge[~np.isnan(edge[:, 1])].T)
    assert np.allclose(radius, 2, atol=0.02)
    assert labels(ax)[-1] == "“disc”: green or red"


def test_one_certain_class_needs_no_border():
    certain = np.zeros_like(CHANCES)
    certain[..., 1] = 1.0
    ax = class_map(axes(), XS, YS, certain, classes=CLASSES)
    assert len(ax.collections) == 1 + len(CLASSES)


def test_inset_takes_the_corner_that_covers_least():
    crowd = np.array([(4.0, 3.5), (-4.0, 3.5), (4.0, -3.5)])
    ax = draw(X=crowd, y=np.zeros(3, int))
    inset = class_inset(ax, XS, YS, CHANCES, classes=CLASSES, size=0.3)
    ax.figure.draw_without_rendering()
    box = inset.get_window_extent().transformed(ax.transAxes.inverted())
    assert np.allclose(box.extents, [0, 0, 0.3, 0.3], atol=0.01)
    named = class_inset(ax, XS, YS, CHANCES, classes=CLASSES, corner="upper right")
    assert named.texts[0].get_text() == "BNN"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"probabilities": CHANCES.swapaxes(0, 1)}, DataError, r"swapaxes\(0, 1\)"),
        ({"probabilities": CHANCES[..., :2]}, DataError, r"got \(21, 31, 2\)"),
        ({"probabilities": 5 * CHANCES}, DataError, "softmax"),
        ({"classes": ("a",)}, SettingError, "two or more"),
        ({"X": np.zeros((3, 4)), "y": np.zeros(3, int)}, DataError, r"`X` has shape"),
        ({"X": np.zeros((3, 2)), "y": np.zeros(3)}, DataError, "whole class numbers"),
        ({"X": np.zeros((1, 2)), "y": np.array([3])}, DataError, "0 to 2, got 3 to 3"),
        ({"rules": [rule("y < 1")]}, SettingError, "real outputs"),
        ({"classes": ("red", "green", "blue"), "rules": [rule(BOX, COLOURS)]},
         SettingError, "in its order: green, red, blue"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named_and_mended(change, error, message):
    arguments = {"probabilities": CHANCES, "classes": CLASSES} | change
    with pytest.raises(error, match=message):
        class_map(axes(), XS, YS, **arguments)


def test_bad_corners_and_sizes_are_refused():
    with pytest.raises(SettingError, match="'upper right'"):
        class_inset(draw(), XS, YS, CHANCES, classes=CLASSES, corner="middle")
    with pytest.raises(SettingError, match="between 0 and 1"):
        class_inset(draw(), XS, YS, CHANCES, classes=CLASSES, size=2.0)
