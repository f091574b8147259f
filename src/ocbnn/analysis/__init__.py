"""Analyses of a fitted model: report, explanation, conflicts, checks and plots."""

from ocbnn.analysis.checks import check_rules as check_rules
from ocbnn.analysis.conflict import conflicts as conflicts
from ocbnn.analysis.explanation import explain as explain
