"""Rules on a plot of one input and one output."""

from collections.abc import Sequence
from itertools import count

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.container import Container
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch

from ocbnn.claims.base import Curve
from ocbnn.core.words import listing
from ocbnn.errors import SettingError
from ocbnn.plots import checks
from ocbnn.plots.slices import edges, labels, placing, refuse_classes
from ocbnn.plots.style import DASHES, GREEN, GREY, HATCHES, RED, legend, literal
from ocbnn.plots.trace import Inside, Limits, Outline, trace
from ocbnn.rules import BoundRule, evaluate

# Sets lie below the bands and lines of functions; expectations are thin or dashed and
# lie on top, because a good fit would hide them.
_SET, _EDGE, _EXPECTED_EDGE, _EXPECTED = 0.4, 0.5, 2.6, 3.4


def shade_rules(
    ax: Axes,
    rules: Sequence[BoundRule],
    xlim: Limits,
    ylim: Limits,
    input: int = 0,
    output: int = 0,
    *,
    at: np.ndarray | None = None,
    colors: Sequence[str] | None = None,
    with_legend: bool = True,
) -> Axes:
    """Draw rules about one output along one input.

    Outputs that violate a rule are red and hatched; an expectation is a green line with
    a band of ±2 sd; both exactly over the rule's region. A rule that cannot be drawn
    (your own density, slopes, a relation between several outputs) marks its region at
    the bottom of the axes, and the legend says why. Rules about other outputs are
    left out, and so are those that the axes already show.

    Parameters
    ----------
    ax
        Where to draw.
    rules
        Bound rules of a schema with real outputs.
    xlim
        The range to draw along the input; the view does not change.
    ylim
        The range to draw along the output.
    input
        Position of the input on the horizontal axis.
    output
        Position of the output on the vertical axis.
    at
        Values (inputs,) at which the inputs that are not shown are held.
    colors
        A colour for each rule, instead of red, green and grey.
    with_legend
        Whether to put a legend below the axes.
    """
    if colors is not None and len(colors) != len(rules):
        raise SettingError(
            f"`colors` has one for each of {len(rules)} rules, got {len(colors)}."
        )
    xlim, ylim = checks.limits(xlim, "xlim"), checks.limits(ylim, "ylim")
    refuse_classes(rules)
    present = set(ax.get_legend_handles_labels()[1])
    hatches, dashes = count(), count()
    rule_colors = [None] * len(rules) if colors is None else list(colors)
    for rule, name, color in zip(rules, labels(rules), rule_colors, strict=True):
        outputs = rule.mentions("output")
        view = RuleView(rule, input, output, at, xlim, ylim)
        drawable = outputs == [output] and not rule.slopes
        if rule.claim.required is not None and drawable:
            label, hatch = f"forbidden by “{name}”", next(hatches)
            if label not in present:
                look = HATCHES[hatch % len(HATCHES)]
                _forbidden(ax, view, label, look, color or RED)
        elif rule.claim.curves and drawable:
            label, dash = f"expected by “{name}”, ±2 sd", next(dashes)
            if label not in present:
                look = DASHES[1 + dash % (len(DASHES) - 1)]
                _expected(ax, view, label, look, color or GREEN)
        elif output in outputs or not outputs:
            label = f"“{name}” {_why_not(rule, outputs)}"
            if label not in present:
                _foot(ax, view, label, color or GREY)
    if with_legend:
        legend(ax)
    return ax


class RuleView:
    """A rule along one input and one output."""

    def __init__(
        self,
        rule: BoundRule,
        input: int,
        output: int,
        at: np.ndarray | None,
        xlim: Limits,
        ylim: Limits,
    ) -> None:
        self.rule, self.xlim, self.ylim = rule, xlim, ylim
        self._rows = placing(rule, [input], at)
        self._edges, self._output = edges(rule, input), output

    def rows_at(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Full rows of inputs and outputs; other outputs are NaN."""
        Y = np.full((len(y), len(self.rule.schema.outputs)), np.nan)
        Y[:, self._output] = y
        return self._rows(x), Y

    def applies(self, x: np.ndarray) -> np.ndarray:
        """Whether the rule applies at each input."""
        return self.rule.applies(self._rows(x))

    def violates(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Whether each output violates the rule."""
        return ~self.rule.holds(*self.rows_at(x, y))

    def keeps(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Whether the rule applies and is kept."""
        return self.applies(x) & self.rule.holds(*self.rows_at(x, y))

    def outline(self, inside: Inside) -> Outline:
        """The outline of a set in this view."""
        return trace(inside, self.xlim, self.ylim, self._edges)


def _forbidden(ax: Axes, view: RuleView, label: str, hatch: str, color: str) -> None:
    outline = view.outline(view.violates)
    if outline.is_empty:
        label += " (out of view)"
    # Hatches in an SVG are opaque, so they have a paler colour, and the area is a
    # separate patch.
    face = PathPatch(outline.fill, facecolor=to_rgba(color, 0.16), edgecolor="none")
    lines = PathPatch(outline.fill, facecolor="none", edgecolor=_paler(color, 0.55))
    face.set(linewidth=0.0, zorder=_SET)
    lines.set(linewidth=0.0, hatch=hatch, zorder=_SET)
    # `add_artist` does not change the view; a forbidden set is often unbounded.
    ax.add_artist(face)
    ax.add_artist(lines)
    ax.add_container(Container((face, lines), label=label))
    ax.add_artist(_line(outline.boundary, color=color, linewidth=1.0, zorder=_EDGE))


def _expected(
    ax: Axes,
    view: RuleView,
    label: str,
    dashes: object,
    color: str,
) -> None:
    outline = view.outline(view.keeps)
    ax.add_artist(
        _line(outline.boundary, color=color, linewidth=0.8, zorder=_EXPECTED_EDGE)
    )
    band = PathPatch(
        outline.fill,
        facecolor=to_rgba(color, 0.22),
        edgecolor="none",
        zorder=_SET,
    )
    ax.add_artist(band)
    lines = [ax.add_artist(_mean_line(view, curve)) for curve in view.rule.claim.curves]
    for line in lines:
        line.set(linestyle=dashes, color=color)
    ax.add_container(Container((band, lines[0]), label=label))


def _mean_line(view: RuleView, curve: Curve) -> Line2D:
    """The curve where the target equals its mean."""

    def excess(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        X, Y = view.rows_at(x, y)
        value = evaluate(curve.target, X, Y, np) - evaluate(curve.mean, X, Y, np)
        return np.where(view.applies(x), value, np.nan)

    curves = view.outline(lambda x, y: excess(x, y) <= 0).curves
    # The target may jump across its mean or end; such points are not on the curve.
    is_on_curve = np.abs(excess(*curves.T)) <= curve.sd
    curves = np.where(is_on_curve[:, None], curves, np.nan)
    return _line(curves, color=GREEN, linewidth=1.8, zorder=_EXPECTED)


def _foot(ax: Axes, view: RuleView, label: str, color: str) -> None:
    x = np.linspace(*view.xlim, 1001)
    inside = np.where(view.applies(x), 0.0, np.nan)
    foot = np.column_stack([x, inside])
    line = _line(foot, color=color, linewidth=5.0, alpha=0.6, label=label, zorder=_EDGE)
    line.set_transform(ax.get_xaxis_transform())
    line.set_solid_capstyle("butt")
    ax.add_artist(line)


def _paler(color: str, alpha: float) -> tuple[float, ...]:
    """The colour of this opacity on white, as an opaque colour."""
    return tuple(1 - alpha * (1 - part) for part in to_rgb(color))


def _why_not(rule: BoundRule, outputs: list[int]) -> str:
    if rule.slopes:
        return "is about slopes here"
    if len(outputs) > 1:
        names = listing(literal(rule.schema.outputs[i]) for i in outputs)
        return f"relates {names} here"
    return "applies here, and cannot be drawn"


def _line(points: np.ndarray, **settings: object) -> Line2D:
    return Line2D(points[:, 0], points[:, 1], **settings)  # pyright: ignore
