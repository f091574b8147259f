"""The prior that a person's settings choose, and the network that it applies to."""

import dataclasses
from typing import Any

import equinox as eqx
import jax

from ocbnn.core.words import shorten
from ocbnn.errors import SettingError
from ocbnn.networks import LearnedScales, Network, ScaledNetwork
from ocbnn.networks.scales import times
from ocbnn.priors.prior import NormalPrior, Prior, check_scale
from ocbnn.priors.student import StudentT
from ocbnn.priors.weights import KINDS, WeightPrior

NAMES = (*KINDS, "student-t")


def with_prior(network: Network, chosen: object, scale: float) -> tuple[Network, Prior]:
    """A network and the prior on its weights.

    Parameters
    ----------
    network
        The network.
    chosen
        A name, hyperpriors of learned scales, or a prior.
    scale
        The standard deviation of the prior, or a factor of its scales.

    Raises
    ------
    SettingError
        When there is no such prior, or it does not fit the network.
    """
    check_scale(scale, "weight_scale=1.0")
    if isinstance(chosen, Prior):
        prior = chosen if scale == 1 else chosen.scaled(scale)
        _check_fits(prior, network)
        return network, prior
    if isinstance(chosen, LearnedScales) or chosen == "learned":
        hyper = chosen if isinstance(chosen, LearnedScales) else LearnedScales()
        medians = {
            "weights": times(hyper.weights, scale),
            "biases": times(hyper.biases, scale),
        }
        hyper = dataclasses.replace(hyper, **medians)
        return ScaledNetwork(network, hyper), WeightPrior("learned")
    if chosen == "student-t":
        return network, StudentT(scale=scale)
    if not isinstance(chosen, str) or chosen not in NAMES:
        raise SettingError(
            f"weight prior {shorten(repr(chosen))} is not known: write one of "
            f"{', '.join(NAMES)}, or a prior such as ocbnn.StudentT(df=4)."
        )
    return network, WeightPrior(chosen, scale)


def _check_fits(prior: Prior, network: Network) -> None:
    """Raise an error unless draws are weights of the network, with one density."""
    name, expected = type(prior).__name__, network.shapes()
    if isinstance(prior, NormalPrior):
        # Its own errors are raised here, without a traceback through JAX.
        prior.sd(network)
    drawn = eqx.filter_eval_shape(prior.sample, jax.random.key(0), network)
    if not _are_alike(drawn, expected):
        raise SettingError(
            f"draws of the weight prior {name} must be structured and shaped like the "
            f"network's weights, {shorten(str(expected), 300)}, got "
            f"{shorten(str(drawn), 300)}. Build them from network.shapes()."
        )
    log = eqx.filter_eval_shape(prior.logdensity, network, expected)
    if getattr(log, "shape", None) != ():
        raise SettingError(
            f"the log density of the weight prior {name} must be one number for all "
            f"weights, got {log}. Add up the parts of `logdensity`."
        )


def _are_alike(drawn: Any, expected: Any) -> bool:
    if jax.tree.structure(drawn) != jax.tree.structure(expected):
        return False
    kind = lambda spec: (getattr(spec, "shape", None), getattr(spec, "dtype", None))
    pairs = zip(jax.tree.leaves(drawn), jax.tree.leaves(expected), strict=True)
    return all(kind(leaf) == kind(spec) for leaf, spec in pairs)
