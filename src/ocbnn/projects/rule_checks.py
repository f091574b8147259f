"""How well a fitted model keeps its rules, in their regions and on a table's rows."""

import dataclasses
from pathlib import Path

import numpy as np

from ocbnn.errors import DataError
from ocbnn.metrics import RuleCheck
from ocbnn.projects.build import Model
from ocbnn.projects.columns import read_inputs
from ocbnn.tables import Table, open_table


@dataclasses.dataclass(frozen=True)
class RuleCheckResult:
    """How well one rule is kept.

    Attributes
    ----------
    rule
        Its name.
    text
        The rule.
    region
        Share of (draw, point) pairs of its region that break it.
    rows
        How many rows of the table the rule speaks about; None without a table.
    predictions
        Share of those rows whose prediction breaks it.
    observations
        Share of those rows whose own output breaks it; None where there
        is none, and for slopes, which rows do not have.
    """

    rule: str
    text: str
    region: float
    rows: int | None = None
    predictions: float | None = None
    observations: float | None = None

    def holds(self, most: float) -> bool:
        """Whether functions and predictions break it in at most this share."""
        return self.region <= most and (self.predictions or 0.0) <= most


def check(model: Model, data: Path | None = None) -> list[RuleCheckResult]:
    """Check every rule that can be broken; on the rows of `data` too."""
    texts = {bound.name: str(bound.rule) for bound in model.rules_}
    if data is None:
        return [
            RuleCheckResult(c.rule, texts[c.rule], c.violation)
            for c in model.check_rules()
        ]
    with open_table(data) as table:
        X, y = _rows(model, table)
    return [_kept(one, texts[one.rule]) for one in model.check_rules(X=X, y=y)]


def _kept(found: RuleCheck, text: str) -> RuleCheckResult:
    return RuleCheckResult(
        found.rule,
        text,
        found.violation,
        found.rows_in_region,
        found.prediction_violation,
        found.data_violation,
    )


def _rows(model: Model, table: Table) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows that lack nothing, and their own outputs where the table has them."""
    X = read_inputs(table, model.schema_.inputs)
    whole = np.isfinite(X).all(axis=1)
    outputs, classes = model.schema_.outputs, model.schema_.classes
    y = None
    if all(name in table.names for name in outputs):
        if classes is None:
            y = table.numbers(outputs)
            whole &= np.isfinite(y).all(axis=1)
        else:
            labels = {str(label): label for label in classes}
            texts = table.texts(outputs[0])
            # A class that the model cannot predict says nothing about its rules.
            whole &= np.array([text in labels for text in texts])
            y = np.array([labels.get(text or "", classes[0]) for text in texts])
        y = y[whole]
    if not whole.any():
        raise DataError(f"{table.path}: every row lacks an input or an output.")
    return X[whole], y
