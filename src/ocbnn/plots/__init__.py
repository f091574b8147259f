"""Pictures: posteriors, rules, class maps and violations, on axes you bring.

Every function draws on the given axes and returns them. Nothing here touches pyplot or
chooses a backend.
"""

from ocbnn.plots.classes import class_map as class_map
from ocbnn.plots.diagnostics import (
    chain_trace as chain_trace,
    energy_histogram as energy_histogram,
    ess_profile as ess_profile,
    progress_trace as progress_trace,
    rank_bars as rank_bars,
    rhat_profile as rhat_profile,
)
from ocbnn.plots.functions import (
    prior_predictive as prior_predictive,
    regression as regression,
)
from ocbnn.plots.insets import class_inset as class_inset
from ocbnn.plots.relevance import relevance_bars as relevance_bars
from ocbnn.plots.shading import shade_rules as shade_rules
from ocbnn.plots.style import (
    BASELINE as BASELINE,
    BLUE as BLUE,
    CONSTRAINED as CONSTRAINED,
    GREEN as GREEN,
    GREY as GREY,
    RED as RED,
    Look as Look,
    figure as figure,
    legend as legend,
    save as save,
)
from ocbnn.plots.violation import violation_profile as violation_profile
