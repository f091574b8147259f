"""The table of windows, in NumPy."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ocbnn.datasets.clinical.report import Report
from ocbnn.errors import DataError

FEATURES = (
    "mean_bp",
    "heart_rate",
    "spo2",
    "gcs",
    "urine",
    "lactate",
    "creatinine",
    "bilirubin",
    "wbc",
)


@dataclass(frozen=True)
class ClinicalTable:
    """One row per ICU stay and window of four hours.

    `X` has NaN where a feature is missing; `y` is "act" where a vasopressor ran or a
    fluid bolus was given in the next window, else "not". Rows of one patient share a
    number in `subjects`: split by it, not by row.
    """

    names: tuple[str, ...]
    X: Float[np.ndarray, "windows features"]
    y: np.ndarray
    subjects: Int[np.ndarray, " windows"]
    stays: Int[np.ndarray, " windows"]
    hours: Int[np.ndarray, " windows"]
    report: Report

    @classmethod
    def of(cls, rows: Mapping[str, Any], report: Report) -> "ClinicalTable":
        """Make it from columns as DuckDB returns them."""
        return cls(
            names=FEATURES,
            X=np.stack([_floats(rows[name]) for name in FEATURES], axis=1),
            y=np.asarray(rows["action"], dtype=str),
            subjects=np.asarray(rows["subject_id"], dtype=np.int64),
            stays=np.asarray(rows["icustay_id"], dtype=np.int64),
            hours=np.asarray(rows["hours"], dtype=np.int64),
            report=report,
        )


def _floats(column: Any) -> Float[np.ndarray, " windows"]:
    return np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan)


def impute(
    train: Float[np.ndarray, "rows features"],
    *others: Float[np.ndarray, "_ features"],
) -> list[Float[np.ndarray, "_ features"]]:
    """All arrays, with NaN replaced by the medians of `train`'s columns.

    Raises
    ------
    DataError
        When a column of `train` has no values.
    """
    empty = np.flatnonzero(np.isnan(train).all(axis=0))
    if empty.size:
        raise DataError(
            f"column {empty[0]} of the training rows has no values, and so no median. "
            "Leave the column out, or train on more rows."
        )
    medians = np.nanmedian(train, axis=0)
    return [np.where(np.isnan(X), medians, X) for X in (train, *others)]
