"""Prior, likelihood and data joined into one log density."""

from ocbnn.posterior.likelihoods import (
    Categorical as Categorical,
    GaussianNoise as GaussianNoise,
    Likelihood as Likelihood,
)
from ocbnn.posterior.target import Model as Model, Target as Target
from ocbnn.posterior.truncated import TruncatedGaussian as TruncatedGaussian
