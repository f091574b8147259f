"""Claims about outputs: one file for each kind."""

from ocbnn.claims.base import (
    AnyClaim as AnyClaim,
    BoundClaim as BoundClaim,
    Density as Density,
    WrittenClaim as WrittenClaim,
)
from ocbnn.claims.classes import AllowedClasses as AllowedClasses
from ocbnn.claims.custom import Custom as Custom, CustomTerm as CustomTerm
from ocbnn.claims.expectation import Expect as Expect, Expectation as Expectation
from ocbnn.claims.registry import (
    bind_claim as bind_claim,
    read_claim as read_claim,
    register as register,
)
from ocbnn.claims.values import Forbidden as Forbidden
