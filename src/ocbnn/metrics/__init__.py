"""How well rules hold, and how good predictions are."""

from ocbnn.metrics import loo as loo, psis as psis
from ocbnn.metrics.outside import mass_outside as mass_outside
from ocbnn.metrics.rules import RuleCheck as RuleCheck, check_rule as check_rule
from ocbnn.metrics.scores import (
    coverage as coverage,
    mean_log_likelihood as mean_log_likelihood,
    rmse as rmse,
)
from ocbnn.metrics.worst import Worst as Worst, find_worst as find_worst
