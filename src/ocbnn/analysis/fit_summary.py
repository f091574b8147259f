"""What was fitted: rows, columns, network, prior, noise and algorithm, in words."""

from typing import Any

import jax
import numpy as np

from ocbnn.analysis.relevance import relevance
from ocbnn.core.choices import say_inputs
from ocbnn.core.rows import evenly
from ocbnn.core.words import listing, share
from ocbnn.fitted import FittedModel
from ocbnn.fitted.record import REFERENCE_INPUTS
from ocbnn.networks import MLP, Network, ScaledNetwork
from ocbnn.networks.scales import shown
from ocbnn.posterior import Target


def fit_summary(model: FittedModel) -> dict[str, Any]:
    """Sentences about a fit, by what they are about, and the values behind them."""
    draws, target, schema = model.draws, model.target, model.schema
    network = _without_scales(target.network)
    sizes = [leaf.size for leaf in jax.tree.leaves(network.shapes())]
    kind = ("chain" if draws.plan.is_chain else "set") + "s" * (draws.chains > 1)
    settings = {
        name: value
        for name, value in draws.settings().items()
        if name not in ("algorithm", "chains", "draws")
        and not (name == "thin" and value < 2)
    }
    rows, stored = len(model.rows), model.rows.stored
    note = "" if stored is None else f", {rows:,} of them looked at here,"
    row_count = f"{rows}" if stored is None else f"{stored:,}"
    title = f"{model.estimator}, fitted to {row_count} rows{note}"
    rules = len(model.rules)
    inputs = say_inputs(schema.inputs, schema.choices)
    return {
        "title": f"{title} and {rules} rule{'s' * (rules != 1)}",
        "data": f"{listing(inputs, 6)} -> {listing(schema.outputs, 6)}"
        + (
            "" if schema.classes is None else f" (classes {listing(schema.classes, 6)})"
        ),
        "network": f"{_network(network)}: {sum(sizes)} weights, prior "
        f"{_prior(target)}{_scales(model.scales)}",
        **_relevance(model),
        **_noise(model),
        "inference": f"{draws.plan.label}: {draws.chains} {kind} of {draws.draws} "
        f"draws, {draws.seconds:.1f} s, seed {model.random_state}",
        **({"chosen": model.choice.reason} if model.choice.reason else {}),
        "settings": ", ".join(f"{name}={_short(v)}" for name, v in settings.items()),
        "rows": rows if stored is None else stored,
        **({} if stored is None else {"rows_looked_at": rows}),
        "inputs": list(schema.inputs),
        "outputs": list(schema.outputs),
        "weights": int(sum(sizes)),
        "plan": draws.settings(),
        "seconds": draws.seconds,
        "interrupted": draws.interrupted,
    }


def _without_scales(network: Network) -> Network:
    """The network without its scales of weights, which belong to the prior."""
    return network.inner if isinstance(network, ScaledNetwork) else network


def _network(network: Network) -> str:
    """A network's kind and widths."""
    if not isinstance(network, MLP):
        return type(network).__name__
    widths = (network.inputs, *network.hidden, network.outputs)
    return f"MLP {'-'.join(map(str, widths))}, {network.activation}"


def _prior(target: Target) -> str:
    network, prior = target.network, target.weight_prior
    if not isinstance(network, ScaledNetwork):
        return prior.label
    hyper = network.hyper
    weights, biases = shown(hyper.weights), shown(hyper.biases)
    return (
        f"learned (scales of weights {weights} and of biases {biases}, "
        f"give or take a factor of {np.exp(hyper.spread):.2g})"
    )


def _relevance(model: FittedModel) -> dict[str, str]:
    """The relevances of inputs, if they were learned and there are several inputs."""
    relevances = relevance(model)
    if relevances is None or len(relevances.inputs) < 2:
        return {}
    median, lower, upper = relevances.median, relevances.lower, relevances.upper
    names = relevances.inputs
    shares = [
        f"{names[i]} {share(median[i])} ({share(lower[i])} to {share(upper[i])})"
        for i in relevances.order
    ]
    return {"relevance": f"relevance of inputs: {listing(shares, 4)}"}


def _noise(model: FittedModel) -> dict[str, str]:
    """The noise in words; nothing for classes."""
    if model.schema.classes is not None:
        return {}
    rows = evenly(len(model.rows.X), REFERENCE_INPUTS)
    noise = model.predictive.noise_at(model.rows.X[rows], REFERENCE_INPUTS)
    typical = noise.mean(axis=0)
    if model.noise is None:
        how, ends = (
            "varies with the inputs",
            (typical.min(axis=0), typical.max(axis=0)),
        )
        sizes = [f"{low:.3g} to {high:.3g}" for low, high in zip(*ends, strict=True)]
    else:
        how = "given" if model.is_noise_given else "inferred"
        sizes = [f"{size:.3g}" for size in typical[0]]
    return {"noise": f"noise {how}: {', '.join(sizes)}"}


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _scales(scales: Any) -> str:
    """Inputs with scales of their own; empty for most models."""
    return "".join(
        f", {name} from {float(origin):g} in steps of {float(step):g}"
        for name, (origin, step) in (scales or {}).items()
    )
