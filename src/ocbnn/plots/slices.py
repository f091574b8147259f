"""The full rows of inputs behind a plot's axes, and checks of the rules to draw."""

from collections.abc import Callable, Sequence

import numpy as np

from ocbnn.core.choices import choose_along
from ocbnn.core.words import listing
from ocbnn.errors import SettingError
from ocbnn.plots.style import literal
from ocbnn.rules import BoundRule


def placing(
    rule: BoundRule, shown: Sequence[int], at: np.ndarray | None
) -> Callable[..., np.ndarray]:
    """Make a function from values of the shown inputs to rows (n, inputs)."""
    names = rule.schema.inputs
    for index in shown:
        if not 0 <= index < len(names):
            raise SettingError(
                f"rule {rule.name!r} has the inputs 0 to {len(names) - 1} "
                f"({listing(names)}), but the plot shows input {index}."
            )
    hidden = [names[i] for i in rule.mentions("input") if i not in shown]
    if hidden and at is None:
        raise SettingError(
            f"rule {rule.name!r} mentions {listing(hidden)}, which the plot does not "
            f"show. Pass `at=`, one value for each of the {len(names)} inputs, to set "
            "the others."
        )
    row = np.full(len(names), np.nan) if at is None else np.asarray(at, dtype=float)
    if row.shape != (len(names),):
        raise SettingError(
            f"`at` has shape ({len(names)},), one value per input ({listing(names)}), "
            f"got {row.shape}."
        )

    def make_rows(*values: np.ndarray) -> np.ndarray:
        X = np.repeat(row[None], len(values[0]), axis=0)
        for index, column in zip(shown, values, strict=True):
            X[:, index] = column
        return choose_along(X, shown, rule.schema.choices)

    return make_rows


def edges(rule: BoundRule, input: int) -> list[float]:
    """Finite ends of a rule's region along one input, and the middle between them."""
    ends = [float(bound[input]) for bound in rule.region.box()]
    return [end for end in (*ends, sum(ends) / 2) if np.isfinite(end)]


def labels(rules: Sequence[BoundRule]) -> list[str]:
    """Names of rules in legends, numbered where several share one."""
    names = [literal(rule.name) for rule in rules]
    return [
        name if (copy := names[:i].count(name)) == 0 else f"{name} ({copy + 1})"
        for i, name in enumerate(names)
    ]


def refuse_classes(rules: Sequence[BoundRule]) -> None:
    """Raise an error for class rules on a plot of real outputs."""
    for rule in rules:
        if rule.schema.is_classification:
            raise SettingError(
                f"rule {rule.name!r} is about classes, which have no place on an axis "
                "of real outputs. Draw it with `class_map`."
            )
