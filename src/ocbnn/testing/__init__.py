"""Conformance checks for your own algorithms, claims and priors."""

from ocbnn.testing.algorithms import (
    AlgorithmCheck as AlgorithmCheck,
    KnownGaussian as KnownGaussian,
    check_algorithm as check_algorithm,
)
from ocbnn.testing.claims import (
    ClaimCheck as ClaimCheck,
    check_claim as check_claim,
)
from ocbnn.testing.priors import (
    WeightPriorCheck as WeightPriorCheck,
    check_weight_prior as check_weight_prior,
)
