"""Conformance checks for your own algorithms and claims."""

from ocbnn.testing.algorithms import (
    AlgorithmCheck as AlgorithmCheck,
    KnownGaussian as KnownGaussian,
    check_algorithm as check_algorithm,
)
from ocbnn.testing.claims import (
    ClaimCheck as ClaimCheck,
    check_claim as check_claim,
)
