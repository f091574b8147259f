"""What a fitted model says of itself: report, explanation, conflicts, pictures."""

from ocbnn.analysis.checks import check_rules as check_rules
from ocbnn.analysis.conflict import conflicts as conflicts
from ocbnn.analysis.explanation import explain as explain
