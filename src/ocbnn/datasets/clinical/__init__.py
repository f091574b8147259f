"""MIMIC-III as four-hour windows: features, and the treatment in the next window."""

from ocbnn.datasets.clinical.build import clinical_windows, read_windows
from ocbnn.datasets.clinical.report import Report
from ocbnn.datasets.clinical.table import FEATURES, ClinicalTable, impute

__all__ = [
    "FEATURES",
    "ClinicalTable",
    "Report",
    "clinical_windows",
    "impute",
    "read_windows",
]
