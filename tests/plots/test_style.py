"""Files are the same every time, and importing chooses nothing."""

import subprocess
import sys

import numpy as np
import pytest

from ocbnn.errors import SettingError
from ocbnn.plots import class_inset, class_map, figure, regression, save
from tests.plots.helpers import COLOURS, class_grid, rule, waves


def picture():
    fig = figure(8, 4)
    left, right = fig.subplots(1, 2)
    x = np.linspace(-3, 3, 41)
    gap = rule("gap: if -1 <= x <= 1 then y < 2")
    regression(left, x, waves(x), label="posterior", shown=3, rules=[gap])
    xs, ys, chances = class_grid()
    allowed = [rule("box: if a > 1 then class in {green}", COLOURS)]
    class_map(right, xs, ys, chances, classes=COLOURS.classes, rules=allowed)
    class_inset(right, xs, ys, chances, classes=COLOURS.classes)
    return fig


def test_the_same_picture_gives_the_same_bytes(tmp_path):
    first = save(picture(), tmp_path / "one" / "fig1.left")
    second = save(picture(), tmp_path / "two" / "fig1.left")
    assert [path.name for path in first] == ["fig1.left.png", "fig1.left.svg"]
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes()


def test_png_has_160_dots_per_inch(tmp_path):
    png, _ = save(figure(2, 1), tmp_path / "empty")
    width, height = np.frombuffer(png.read_bytes()[16:24], ">u4")
    assert (width, height) == (320, 160)


def test_a_suffix_is_refused_because_two_files_are_written(tmp_path):
    with pytest.raises(SettingError, match=r"got 'a\.png'. Write 'a'"):
        save(figure(), tmp_path / "a.png")


def test_sizes_are_positive():
    with pytest.raises(SettingError, match="`height` is a positive number of inches"):
        figure(3, 0)


def test_importing_neither_loads_pyplot_nor_chooses_a_backend():
    code = (
        "import sys, matplotlib as mpl, ocbnn.plots;"
        "assert 'matplotlib.pyplot' not in sys.modules;"
        "assert mpl.get_backend(auto_select=False) is None"
    )
    clean = {"PATH": "/usr/bin:/bin", "HOME": "/tmp"}
    subprocess.run([sys.executable, "-c", code], check=True, env=clean, timeout=300)
