"""What every algorithm must do, as checks that a person can run on their own."""

from ocbnn.testing.algorithms import (
    AlgorithmCheck as AlgorithmCheck,
    KnownGaussian as KnownGaussian,
    check_algorithm as check_algorithm,
)
