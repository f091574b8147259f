"""Where along an input, and how often, draws violate each rule."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from ocbnn.core.words import share
from ocbnn.errors import DataError, SettingError
from ocbnn.plots import checks
from ocbnn.plots.slices import labels, placing
from ocbnn.plots.style import DASHES, HUES, legend, tidy
from ocbnn.rules import BoundRule


def violation_profile(
    ax: Axes,
    x: np.ndarray,
    values: np.ndarray,
    rules: Sequence[BoundRule],
    *,
    input: int = 0,
    at: np.ndarray | None = None,
    with_legend: bool = True,
) -> Axes:
    """Draw the share of draws that violate each rule, along its region only.

    A rule that every draw keeps is a line at zero. The legend gives the share over all
    draws and all inputs of `x` in the region, and names rules that cannot be checked:
    those that do not say which outputs keep them, and those about slopes, which are not
    in `values`.

    Parameters
    ----------
    ax
        Where to draw.
    x
        Inputs (n,), increasing.
    values
        Every draw's outputs at these inputs: (draws, n) for one output, else
        (draws, n, outputs); for classes whole numbers (draws, n).
    rules
        Bound rules.
    input
        Position of the input along `x`.
    at
        Values (inputs,) at which the other inputs are held.
    with_legend
        Whether to put a legend below the axes.
    """
    if not rules:
        raise SettingError("`rules` is empty: there is nothing to draw. Pass a rule.")
    x = checks.along(x)
    for i, (rule, name) in enumerate(zip(rules, labels(rules), strict=True)):
        X = placing(rule, [input], at)(x)
        inside = rule.applies(X)
        share, summary = _share(rule, X, values, inside)
        ax.plot(
            x,
            np.where(inside, share, np.nan),
            color=HUES[i % len(HUES)],
            linestyle=DASHES[i % len(DASHES)],
            # Later lines are thinner, so that one at zero does not hide another.
            linewidth=max(3.4 - 0.7 * i, 1.2),
            marker="o" if inside.sum() == 1 else None,
            label=f"“{name}”: {summary}",
            solid_capstyle="butt",
            clip_on=False,
        )
    ax.set_xlim(x[0], x[-1])
    ax.set_ylim(-0.03, 1.03)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.axhline(0.0, color="0.8", linewidth=0.6, zorder=0.5)
    tidy(ax, (rules[0].schema.inputs[input], "draws that violate the rule"))
    if with_legend:
        legend(ax)
    return ax


def _share(
    rule: BoundRule, X: np.ndarray, values: np.ndarray, inside: np.ndarray
) -> tuple[np.ndarray, str]:
    if not rule.is_checkable:
        return np.full(len(X), np.nan), "cannot be checked"
    if rule.slopes:
        return np.full(len(X), np.nan), "about slopes, which `values` lack"
    broken = (~rule.holds(X, _outputs(rule, values, len(X)))).mean(axis=0)
    if not inside.any():
        return broken, "no input of `x` in its region"
    return broken, share(float(broken[inside].mean()), ".2f")


def _outputs(rule: BoundRule, values: np.ndarray, n: int) -> np.ndarray:
    values = np.asarray(values)
    count = len(rule.schema.outputs)
    is_class = rule.schema.is_classification
    expected = (n,) if count == 1 else (n, count)
    shape_given = values.shape[:-1] if values.shape[2:] == (1,) else values.shape
    fits = shape_given[1:] == expected and shape_given[0] > 0
    if not fits or (is_class and not np.issubdtype(values.dtype, np.integer)):
        shape = ", ".join(map(str, ("draws", *expected)))
        raise DataError(
            f"`values` has shape ({shape}){' of whole class numbers' * is_class}, as "
            f"`x` has {n} inputs and rule {rule.name!r} is about {count} "
            f"output{'s' * (count > 1)}, got {values.dtype} of shape "
            f"{values.shape}. Pass one row per draw."
        )
    return values.reshape(shape_given if is_class else (len(values), n, count))
