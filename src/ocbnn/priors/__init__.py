"""Priors on the weights, and on functions by their rules."""

from ocbnn.claims.indicator import soft_indicator as soft_indicator
from ocbnn.priors.chosen import with_prior as with_prior
from ocbnn.priors.law import Law as Law, alike as alike, log_gs as log_gs
from ocbnn.priors.layers import LayerScales as LayerScales
from ocbnn.priors.point_samplers import make_sampler as make_sampler
from ocbnn.priors.prior import NormalPrior as NormalPrior, Prior as Prior
from ocbnn.priors.student import StudentT as StudentT
from ocbnn.priors.term import RuleTerm as RuleTerm, make_term as make_term
from ocbnn.priors.weights import WeightPrior as WeightPrior
