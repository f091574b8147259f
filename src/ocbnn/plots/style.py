"""The style of all plots: colours, sizes, figures, legends and files.

Red, green, blue and grey mean the same as in the paper: forbidden, expected, with
rules, without rules. The shades are distinguishable for every common kind of colour
vision, and nothing depends on colour alone: forbidden sets are hatched, and lines
differ in their dashes.
"""

import textwrap
import unicodedata
from pathlib import Path
from typing import TypedDict

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.container import Container
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ocbnn.errors import SettingError

RED = "#CC3311"
GREEN = "#009E73"
BLUE = "#0072B2"
GREY = "#555555"
INK = "#222222"
# Okabe and Ito's colours, ordered so that neighbours also differ in lightness.
HUES = (BLUE, "#E69F00", GREEN, "#CC79A7", "#56B4E9", RED, "#B8A800", GREY)
CLASS_HUES = {
    "green": GREEN,
    "red": RED,
    "blue": BLUE,
    "yellow": "#F0E442",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "cyan": "#56B4E9",
    "grey": GREY,
}
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))
HATCHES = ("///", "\\\\\\", "xxx", "---")

TEXT, SMALL = 9.0, 8.0
DPI = 160

_LETTER = 0.062  # inches, the mean width of a letter at the size of a legend
_HANDLE = 0.55  # inches, the sample and the space around an entry


class Look(TypedDict):
    """How to draw a model, to distinguish it from others: `**BASELINE`."""

    label: str
    color: str
    linestyle: str


BASELINE = Look(label="BNN", color=GREY, linestyle="--")
CONSTRAINED = Look(label="OC-BNN", color=BLUE, linestyle="-")


def figure(width: float = 5.0, height: float = 3.8) -> Figure:
    """Make an empty figure, in inches, with a layout that makes room for legends.

    >>> ax = figure(4, 3).add_subplot()
    """
    for name, value in (("width", width), ("height", height)):
        if not value > 0:
            raise SettingError(
                f"`{name}` is a positive number of inches, got {value}. Write "
                f"`figure(5, 3.8)`."
            )
    return Figure(figsize=(width, height), layout="constrained")


def save(fig: Figure, path: str | Path) -> tuple[Path, Path]:
    """Write `path` with .png and with .svg; the same figure gives the same bytes."""
    path = Path(path)
    if path.suffix.lower() in (".png", ".svg"):
        raise SettingError(
            f"`path` has no suffix, because both PNG and SVG are written, got "
            f"{path.name!r}. Write {path.stem!r}."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    png = path.with_name(path.name + ".png")
    svg = path.with_name(path.name + ".svg")
    # Ids in an SVG are random without a salt, and both formats carry a date or version.
    with mpl.rc_context({"svg.hashsalt": "ocbnn"}):
        fig.savefig(png, dpi=DPI, metadata={"Software": None})
        fig.savefig(svg, dpi=DPI, metadata={"Date": None})
    return png, svg


def tidy(ax: Axes, names: tuple[str, str]) -> None:
    """Name unnamed axes, set font sizes, and remove the upper and right spines."""
    ax.set_xlabel(ax.get_xlabel() or literal(names[0]), fontsize=TEXT)
    ax.set_ylabel(ax.get_ylabel() or literal(names[1]), fontsize=TEXT)
    ax.tick_params(labelsize=SMALL)
    ax.spines[["top", "right"]].set_visible(False)


def literal(text: object) -> str:
    r"""Escape a user's name, so that it is drawn as it is written.

    Matplotlib parses mathematics between dollars, omits labels that begin with `_` from
    legends, and writes control characters into SVG files, which makes them invalid.

    >>> print(literal("cost [$] of $x^2$"), literal("_id"))
    cost [\$] of \$x^2\$  _id
    """
    is_drawn = lambda c: unicodedata.category(c) not in ("Cc", "Cs", "Cn")
    plain = "".join(c if is_drawn(c) else " " for c in str(text))
    return (" " * plain.startswith("_") + plain).replace("$", r"\$")


def legend(ax: Axes, title: str | None = None) -> None:
    """Put one legend below the axes, where it covers nothing.

    Each label appears once, artists on top come first, long labels are wrapped, and
    there are as many columns as fit.
    """
    entries: dict[str, Artist | Container] = {}
    for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
        entries.setdefault(label, handle)
    if not entries:
        return
    order = sorted(entries, key=lambda label: -_height(entries[label]))
    wrapped = {label: textwrap.fill(label, 58) for label in order}
    letters = max(len(line) for text in wrapped.values() for line in text.split("\n"))
    fig = ax.get_figure(root=True)
    room = ax.get_position().width * (fig.get_figwidth() if fig else 5.0) + 0.6
    below = 3.6 if ax.get_xlabel() else 2.0
    box = ax.legend(
        [entries[label] for label in wrapped],
        list(wrapped.values()),
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        borderaxespad=below * TEXT / SMALL,  # in letters, so it clears the axis' name
        ncols=min(len(wrapped), max(1, int(room / (_LETTER * letters + _HANDLE)))),
        fontsize=SMALL,
        frameon=False,
        handlelength=2.4,
        handleheight=1.1,
        columnspacing=1.4,
        title=title,
        title_fontsize=SMALL,
    )
    # Draws are faint because there are many; the legend shows only one.
    for sample in box.findobj(Line2D):
        sample.set(alpha=1.0)


def _height(handle: Artist | Container) -> float:
    parts = handle if isinstance(handle, Container) else [handle]
    return min(part.get_zorder() for part in parts)
