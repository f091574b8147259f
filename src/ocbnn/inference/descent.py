"""Plans that optimise first and then draw from the result."""

import dataclasses
from typing import ClassVar

from ocbnn.inference.base import Plan, check_counts, check_positive


@dataclasses.dataclass(frozen=True, kw_only=True)
class DescentPlan(Plan):
    """The common part of SVGD, VI, Laplace and ensembles: optimisation is the warm-up.

    Attributes
    ----------
    iterations
        Steps.
    learning_rate
        The optimiser's initial step size.
    """

    chains: int = 1
    warmup: int = dataclasses.field(init=False, repr=False)  # the iterations
    draws: int = 1
    thin: int = 0
    iterations: int = 5000
    learning_rate: float = 0.01

    is_chain: ClassVar[bool] = False
    is_exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "warmup", self.iterations)
        super().__post_init__()
        check_counts(self, iterations=1)
        check_positive(self, "learning_rate")
