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
        Its text.
    region
        Share of (draw, point) pairs in its region that violate it.
    rows
        Number of the table's rows in its region; None without a table.
    predictions
        Share of those rows whose prediction violates it.
    observations
        Share of those rows whose observed output violates it; None without
        outputs, and for slopes, which single rows do not have.
    """

    rule: str
    text: str
    region: float
    rows: int | None = None
    predictions: float | None = None
    observations: float | None = None

    def holds(self, most: float) -> bool:
        """Whether functions and predictions violate it in at most this share."""
        return self.region <= most and (self.predictions or 0.0) <= most


def check(model: Model, data: Path | None = None) -> list[RuleCheckResult]:
    """Check every rule that can be violated, also on the rows of `data`."""
    texts = {bound.name: str(bound.rule) for bound in model.rules_}
    if data is None:
        return [
            RuleCheckResult(c.rule, texts[c.rule], c.violation)
            for c in model.check_rules()
        ]
    with open_table(data) as table:
        X, y = _rows(model, table)
    return [_result(check, texts[check.rule]) for check in model.check_rules(X=X, y=y)]


def _result(check: RuleCheck, text: str) -> RuleCheckResult:
    return RuleCheckResult(
        check.rule,
        text,
        check.violation,
        check.rows_in_region,
        check.prediction_violation,
        check.data_violation,
    )


def _rows(model: Model, table: Table) -> tuple[np.ndarray, np.ndarray | None]:
    """Complete rows of inputs, and their outputs if the table has them."""
    X = read_inputs(table, model.schema_.inputs)
    complete = np.isfinite(X).all(axis=1)
    outputs, classes = model.schema_.outputs, model.schema_.classes
    y = None
    if all(name in table.names for name in outputs):
        if classes is None:
            y = table.numbers(outputs)
            complete &= np.isfinite(y).all(axis=1)
        else:
            labels = {str(label): label for label in classes}
            texts = table.texts(outputs[0])
            # Rules cannot be checked on a class that the model does not know.
            complete &= np.array([text in labels for text in texts])
            y = np.array([labels.get(text or "", classes[0]) for text in texts])
        y = y[complete]
    if not complete.any():
        raise DataError(f"{table.path}: every row lacks an input or an output.")
    return X[complete], y
