"""Priors on the weights, and on functions by their rules."""

from ocbnn.claims.indicator import soft_indicator as soft_indicator
from ocbnn.priors.law import Law as Law, alike as alike, log_gs as log_gs
from ocbnn.priors.point_samplers import make_sampler as make_sampler
from ocbnn.priors.term import RuleTerm as RuleTerm, make_term as make_term
from ocbnn.priors.weights import WeightPrior as WeightPrior, with_prior as with_prior
