"""The settings that all estimators share, declared once."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, no_type_check

import equinox as eqx
import numpy as np

from ocbnn.core.types import Whole
from ocbnn.inference import Plan
from ocbnn.inference.layout import Device
from ocbnn.inference.progress import Progress
from ocbnn.networks import LearnedScales, Network
from ocbnn.priors import Prior
from ocbnn.rules.rule import GivenRules

Activation: TypeAlias = Literal[
    "rbf", "tanh", "relu", "silu", "gelu", "softplus", "sigmoid", "elu", "sin"
]
WeightPriors: TypeAlias = (
    Literal["fan-in", "isotropic", "learned", "student-t"] | LearnedScales | Prior
)
RulesBy: TypeAlias = Literal["prior", "projection"]


# Types are for readers and editors only. `fit` raises errors for wrong values, because
# scikit-learn requires constructors to accept everything.
@no_type_check
@dataclasses.dataclass(eq=False, repr=False)
class Settings:
    """A constructor that stores its arguments, as scikit-learn requires."""

    rules: GivenRules = ()
    _: dataclasses.KW_ONLY
    rules_by: RulesBy = "prior"
    inputs: Collection[str] | None = None
    outputs: Collection[str] | None = None
    choices: Collection[Collection[str | Whole]] | None = None
    hidden: Whole | Sequence[Whole] = (50,)
    activation: Activation = "rbf"
    network: Network | eqx.Module | None = None
    weight_prior: WeightPriors = "learned"
    weight_scale: float = 1.0
    standardize: bool = True
    scales: Mapping[str, Sequence[float]] | None = None
    inference: str | Plan = "auto"
    batch_size: Whole | None = None
    random_state: Whole | np.random.Generator | np.random.RandomState | None = None
    progress: Progress = "auto"
    checkpoint: str | Path | None = None
    devices: int | str | Sequence[Device] | None = None
