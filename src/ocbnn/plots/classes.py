"""Predicted classes over two inputs."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from ocbnn.core.words import listing
from ocbnn.errors import SettingError
from ocbnn.plots import checks
from ocbnn.plots.slices import edges, labels, placing
from ocbnn.plots.style import CLASS_HUES, DASHES, INK, MARKERS, legend, literal, tidy
from ocbnn.plots.trace import Limits, trace
from ocbnn.rules import BoundRule

_MAP, _BORDER, _REGION, _DATA = 0.1, 1.0, 2.0, 3.0
_HAIR = 1e-9
_DEPTH = 0.72  # opacity of a certain class's colour, so that markers stand out


def class_map(
    ax: Axes,
    grid_x: np.ndarray,
    grid_y: np.ndarray,
    probabilities: np.ndarray,
    *,
    classes: Sequence[object],
    predicted: np.ndarray | None = None,
    X: np.ndarray | None = None,
    y: np.ndarray | None = None,
    rules: Sequence[BoundRule] = (),
    names: tuple[str, str] = ("x0", "x1"),
    inputs: tuple[int, int] = (0, 1),
    at: np.ndarray | None = None,
    with_legend: bool = True,
) -> Axes:
    """Draw the predicted class over two inputs, paler where it is less certain.

    Parameters
    ----------
    ax
        Where to draw.
    grid_x
        Values of the first input (columns,), increasing.
    grid_y
        Values of the second input (rows,), increasing.
    probabilities
        Probability of each class at each point (rows, columns, classes).
    classes
        Labels of the classes; one named "green" is drawn in green.
    predicted
        Number of the predicted class at each point (rows, columns); by default, the
        most probable one, which rules may forbid.
    X
        Data (n, 2), in the order of the axes.
    y
        Their class numbers (n,); each class has its own marker.
    rules
        Bound class rules; their regions are outlined and hatched in the colour of the
        class that they allow.
    names
        Of the two inputs.
    inputs
        Positions of the two inputs, for rules about more.
    at
        Values (inputs,) at which the other inputs are held.
    with_legend
        Whether to put a legend below the axes.
    """
    grid_x, grid_y = checks.along(grid_x, "grid_x"), checks.along(grid_y, "grid_y")
    chances = checks.probabilities(probabilities, grid_x, grid_y, classes)
    data = checks.class_points(X, y, len(classes))
    hues = _hues(classes)
    _check_rules(rules, classes)

    best = checks.class_numbers(predicted, chances)
    _paint(ax, grid_x, grid_y, chances, best, hues)
    for index, (label, hue) in enumerate(zip(classes, hues, strict=True)):
        class_points = np.empty((0, 2)) if data is None else data[0][data[1] == index]
        ax.scatter(
            *class_points.T,
            marker=MARKERS[index % len(MARKERS)],
            s=32,
            color=hue,
            edgecolors=INK,
            linewidths=0.8,
            label=literal(label),
            zorder=_DATA,
        )
    for i, (rule, name) in enumerate(zip(rules, labels(rules), strict=True)):
        _region(ax, rule, name, inputs, at, hues, DASHES[(i + 1) % len(DASHES)])
    tidy(ax, names)
    if with_legend:
        legend(ax, title="predicted class; the paler, the less sure")
    return ax


def _paint(
    ax: Axes,
    grid_x: np.ndarray,
    grid_y: np.ndarray,
    chances: np.ndarray,
    best: np.ndarray,
    hues: list[str],
) -> None:
    count = chances.shape[-1]
    chance = np.take_along_axis(chances, best[..., None], axis=-1)[..., 0]
    certainty = (chance * count - 1) / (count - 1)
    colors = np.array([to_rgb(hue) for hue in hues])[best]
    depth = _DEPTH * np.clip(certainty, 0.0, 1.0)[..., None]
    paint = 1 - depth * (1 - colors)
    # As vectors, every grid cell would be a separate shape in the SVG.
    ax.pcolormesh(
        grid_x, grid_y, paint, shading="nearest", rasterized=True, zorder=_MAP
    )
    ax.set(xlim=(grid_x[0], grid_x[-1]), ylim=(grid_y[0], grid_y[-1]))
    # With two classes the second's border is the first's.
    for index in range(count if count > 2 else 1):
        others = np.delete(chances, index, axis=-1).max(axis=-1)
        lead = chances[..., index] - others
        # The predicted class leads by at least a small number, even where it is not
        # the most probable.
        is_best = best == index
        lead = np.where(is_best, np.maximum(lead, _HAIR), np.minimum(lead, -_HAIR))
        if lead.min() < 0 < lead.max():
            ax.contour(
                grid_x, grid_y, lead, [0.0], colors=INK, linewidths=1.1, zorder=_BORDER
            )


def _region(
    ax: Axes,
    rule: BoundRule,
    name: str,
    inputs: tuple[int, int],
    at: np.ndarray | None,
    hues: list[str],
    dashes: object,
) -> None:
    make_rows = placing(rule, inputs, at)

    def inside(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return rule.applies(make_rows(x, y))

    xlim: Limits = ax.get_xlim()
    ylim: Limits = ax.get_ylim()
    outline = trace(inside, xlim, ylim, edges(rule, inputs[0]))
    mask = rule.claim.allowed or ()
    allowed = [hues[index] for index, fits in enumerate(mask) if fits]
    hue = allowed[0] if len(allowed) == 1 else INK
    edge = to_rgba(hue, 0.9)
    patch = PathPatch(outline.fill, facecolor="none", edgecolor=edge, zorder=_REGION)
    patch.set(linewidth=0.0, hatch="//")
    ax.add_artist(patch)
    for color, width, dash in (("white", 3.8, "-"), (hue, 1.8, dashes)):
        line = Line2D(*outline.boundary.T, color=color, linewidth=width)
        line.set(linestyle=dash, zorder=_REGION)
        ax.add_artist(line)
    # The patch has no edge, since limits may cut it off; the legend's sample has one.
    sample = PathPatch(Path(np.empty((0, 2))), facecolor="none", edgecolor=hue)
    sample.set(linewidth=1.5, linestyle=dashes, hatch="//", zorder=_REGION)
    sample.set_label(_label(rule, name, outline.is_empty))
    ax.add_artist(sample)


def _label(rule: BoundRule, name: str, is_empty: bool) -> str:
    unseen = " (out of view)" if is_empty else ""
    if rule.rule.name is None or rule.claim.allowed is None:
        return f"“{name}”{unseen}"
    pairs = zip(rule.schema.classes or (), rule.claim.allowed, strict=True)
    return f"“{name}”: {' or '.join(literal(c) for c, fits in pairs if fits)}{unseen}"


def _check_rules(rules: Sequence[BoundRule], classes: Sequence[object]) -> None:
    for rule in rules:
        rule_classes = rule.schema.classes
        if rule_classes is None:
            raise SettingError(
                f"rule {rule.name!r} is about real outputs, not about classes. Draw it "
                "with `regression` or `shade_rules`."
            )
        if list(map(str, rule_classes)) != list(map(str, classes)):
            raise SettingError(
                f"`classes` are those of rule {rule.name!r}, in its order: "
                f"{listing(rule_classes)}, got {listing(classes)}."
            )


def _hues(classes: Sequence[object]) -> list[str]:
    """A class named after a colour gets that; others get the remaining, in order."""
    names = [str(label).lower() for label in classes]
    free = [hue for name, hue in CLASS_HUES.items() if name not in names]
    free = free or list(CLASS_HUES.values())
    next_free = iter(range(len(names)))
    return [CLASS_HUES.get(n) or free[next(next_free) % len(free)] for n in names]
