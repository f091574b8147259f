"""Prior, likelihood and data joined into one log density."""

from ocbnn.posterior.likelihoods import (
    Categorical as Categorical,
    Gaussian as Gaussian,
    GaussianNoise as GaussianNoise,
    Likelihood as Likelihood,
    VaryingNoise as VaryingNoise,
)
from ocbnn.posterior.target import Model as Model, Target as Target
from ocbnn.posterior.truncated import TruncatedGaussian as TruncatedGaussian
