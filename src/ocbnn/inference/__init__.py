"""Algorithms that turn a log density into draws, and the driver that runs them."""

from ocbnn.inference.base import (
    Algorithm as Algorithm,
    LogDensity as LogDensity,
    Plan as Plan,
)
from ocbnn.inference.choice import (
    AUTO as AUTO,
    PLANS as PLANS,
    Choice as Choice,
    choose as choose,
)
from ocbnn.inference.draws import Draws as Draws
from ocbnn.inference.driver import sample as sample
from ocbnn.inference.ensemble import Ensemble as Ensemble
from ocbnn.inference.hmc import HMC as HMC
from ocbnn.inference.langevin import SGHMC as SGHMC, SGLD as SGLD
from ocbnn.inference.laplace import Laplace as Laplace
from ocbnn.inference.microcanonical import (
    MCLMC as MCLMC,
    AdjustedMCLMC as AdjustedMCLMC,
)
from ocbnn.inference.nuts import NUTS as NUTS
from ocbnn.inference.smc import SMC as SMC
from ocbnn.inference.svgd import SVGD as SVGD
from ocbnn.inference.variational import VI as VI
from ocbnn.inference.verdict import Verdict as Verdict, judge as judge
from ocbnn.inference.warm_start import WarmStart as WarmStart
