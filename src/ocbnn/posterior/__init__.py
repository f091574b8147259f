"""Prior, likelihood and data joined into one log density."""

from ocbnn.posterior.collapsed import Collapsed as Collapsed
from ocbnn.posterior.likelihoods import (
    Categorical as Categorical,
    Gaussian as Gaussian,
    GaussianNoise as GaussianNoise,
    Likelihood as Likelihood,
    VaryingNoise as VaryingNoise,
)
from ocbnn.posterior.position import Model as Model
from ocbnn.posterior.target import Target as Target
from ocbnn.posterior.truncated import TruncatedGaussian as TruncatedGaussian
