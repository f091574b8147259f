"""Types, errors, points and randomness: what every other room stands on."""

from ocbnn.core import errors as errors
