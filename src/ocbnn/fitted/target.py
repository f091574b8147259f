"""The log density of a model, from the settings of an estimator, rules and data."""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np

from ocbnn.core.units import Units
from ocbnn.errors import SettingError
from ocbnn.fitted.streams import Stream
from ocbnn.networks import MLP, EquinoxNetwork, Network
from ocbnn.posterior import (
    Categorical,
    Gaussian,
    GaussianNoise,
    Likelihood,
    Target,
    TruncatedGaussian,
    VaryingNoise,
)
from ocbnn.posterior.masks import ClassMask
from ocbnn.predictive.predictive import Limits
from ocbnn.priors import RuleTerm, with_prior
from ocbnn.refinement.hard import hard_rules
from ocbnn.rules import BoundRule, Schema, output_limits

# The data of a fit: inputs and outputs in memory, or in files.
Data: TypeAlias = tuple[np.ndarray, np.ndarray] | Stream

# The prior of the noise: a median of a tenth of the outputs' spread, and a standard
# deviation of its logarithm.
_NOISE_SHARE, _NOISE_SPREAD = 0.1, 1.0
# Hidden units of the network for varying noise.
_NOISE_UNITS = 5


@dataclasses.dataclass(frozen=True)
class TargetSettings:
    """Those settings of an estimator that its log density depends on.

    They are as the user gave them, and checked when they are used. Their names and
    meanings are the estimator's. A classifier has neither `noise` nor `truncate`.
    """

    hidden: Any
    activation: Any
    network: Any
    weight_prior: Any
    weight_scale: Any
    noise: Any = None
    truncate: Any = False

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "TargetSettings":
        """These among all settings of an estimator."""
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(**{name: settings[name] for name in names if name in settings})


def make_target(
    settings: TargetSettings,
    schema: Schema,
    rules: tuple[BoundRule, ...],
    terms: tuple[RuleTerm, ...],
    data: Data | None,
    units: Units | None,
    batch_size: int | None,
) -> Target:
    """The log density.

    Parameters
    ----------
    settings
        Those of the estimator.
    schema
        The names of inputs, outputs and classes.
    rules
        All rules, some of which limit observations or mask classes.
    terms
        The rules that have a penalty in it, with their points.
    data
        Rows in the user's units; None for a prior.
    units
        Standard units; None if there are none.
    batch_size
        Rows of a batch; None for all.

    Raises
    ------
    SettingError
        When a setting is not valid, or does not fit the data.
    """
    network = make_network(settings, schema)
    used_units = units or Units.plain(network.inputs, network.outputs)
    inner_x = inner_y = None
    if isinstance(data, Stream):
        inner_x, inner_y = data.stored(used_units)
    elif data is not None:
        X, Y = data
        inner_x = jnp.asarray(used_units.standard_inputs(X), float)
        inner_y = (
            jnp.asarray(used_units.standard_outputs(Y), float)
            if schema.classes is None
            else jnp.asarray(Y, jnp.int32)
        )
    return Target(
        *with_prior(network, settings.weight_prior, settings.weight_scale),
        make_likelihood(settings, schema, rules, used_units),
        terms,
        inner_x,
        inner_y,
        units,
        batch_size,
    )


def make_network(settings: TargetSettings, schema: Schema) -> Network:
    """The network that the settings ask for, with an output for each class or output.

    Raises
    ------
    SettingError
        When a network of the user's own does not fit the data.
    """
    inputs = len(schema.inputs)
    outputs = len(schema.outputs if schema.classes is None else schema.classes)
    if settings.network is None:
        return MLP(inputs, settings.hidden, outputs, settings.activation)
    if isinstance(settings.network, Network):
        network = settings.network
    else:
        network = EquinoxNetwork(settings.network, inputs)
    if (network.inputs, network.outputs) != (inputs, outputs):
        raise SettingError(
            f"the network maps {network.inputs} inputs to {network.outputs} "
            f"outputs, but the data have {inputs} and {outputs}. Build it for the "
            "data."
        )
    return network


def make_likelihood(
    settings: TargetSettings,
    schema: Schema,
    rules: tuple[BoundRule, ...],
    units: Units,
) -> Likelihood:
    """The likelihood of observations in standard units, as rules restrict it.

    Raises
    ------
    SettingError
        When the noise is not valid, or no rule limits observations to truncate.
    """
    if schema.classes is not None:
        hard = hard_rules(rules)
        return Categorical(ClassMask(units, hard) if hard else None)
    noise = _noise(settings.noise, units, len(schema.outputs))
    if not settings.truncate:
        return noise
    low, high = map(units.standard_outputs, observation_limits(schema, rules))
    return TruncatedGaussian(noise, low, high)


def observation_limits(schema: Schema, rules: tuple[BoundRule, ...]) -> Limits:
    """The limits of truncated observations.

    Raises
    ------
    SettingError
        When no rule sets any.
    """
    low, high = output_limits(rules, len(schema.outputs))
    if not np.isfinite([low, high]).any():
        raise SettingError(
            "truncate=True takes the limits of observations from rules without a "
            "region that bound single outputs, and there are none. Write such a "
            f"rule, for example `{schema.outputs[0]} >= 0 [sampler=like-data]`, or "
            "leave truncate out."
        )
    return low, high


def _noise(given: Any, units: Units, outputs: int) -> Gaussian:
    # In standard units; without them, outputs are assumed to be of order one.
    typical = jnp.full((outputs,), _NOISE_SHARE)
    if isinstance(given, str) and given == "infer":
        return GaussianNoise(typical, _NOISE_SPREAD, known=False)
    if isinstance(given, str) and given == "varies":
        inputs = len(units.x_scale)
        network = MLP(inputs, (_NOISE_UNITS,), outputs, activation="tanh")
        return VaryingNoise(typical, network, _NOISE_SPREAD)
    return GaussianNoise(jnp.asarray(_known_noise(given, outputs) / units.y_scale))


def _known_noise(given: Any, outputs: int) -> np.ndarray:
    try:
        sd = np.asarray(given, float)
    except (TypeError, ValueError):
        sd = np.array(np.nan)
    if sd.shape not in ((), (outputs,)) or not ((sd > 0) & (sd < np.inf)).all():
        raise SettingError(
            'noise must be "infer", "varies", or a number above zero, the standard '
            "deviation of an observation in the units of y, or a list of such "
            f"numbers, one for each of {outputs} outputs, got {given!r}."
        )
    return np.broadcast_to(sd, (outputs,))
