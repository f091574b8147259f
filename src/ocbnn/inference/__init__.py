"""Algorithms that turn a log density into draws, and the driver that runs them."""

from ocbnn.inference.base import (
    Algorithm as Algorithm,
    LogDensity as LogDensity,
    Plan as Plan,
)
from ocbnn.inference.draws import Draws as Draws
from ocbnn.inference.driver import sample as sample
from ocbnn.inference.hmc import HMC as HMC
from ocbnn.inference.nuts import NUTS as NUTS
from ocbnn.inference.smc import SMC as SMC
from ocbnn.inference.svgd import SVGD as SVGD
from ocbnn.inference.verdict import Verdict as Verdict, judge as judge
