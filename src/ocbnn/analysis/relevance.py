"""How much each input matters: the relevances that a model learned with its weights."""

import dataclasses
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from ocbnn.core.advice import Spelling
from ocbnn.core.choices import columns_of_inputs
from ocbnn.core.page import Page, block
from ocbnn.core.sentences import in_python
from ocbnn.core.words import share
from ocbnn.errors import SettingError
from ocbnn.fitted import FittedModel
from ocbnn.networks import ScaledNetwork

LEVEL = 0.9


@dataclasses.dataclass(frozen=True, eq=False)
class Relevance(Page):
    """How much each input matters, as a share of the total. Print it.

    A share says how fast functions may vary along the input, in its standard units,
    relative to the others. An input with a small share hardly matters. One with a large
    share matters, or distinguishes rows that another input could distinguish as well.

    Attributes
    ----------
    inputs
        Their names; a category is one input.
    median
        Medians over the draws of every input's share.
    lower, upper
        Central intervals of 90 %.
    shares
        Every draw's shares, which add up to one.
    """

    inputs: tuple[str, ...]
    shares: Float[np.ndarray, "draws inputs"]

    @property
    def median(self) -> Float[np.ndarray, " inputs"]:
        """Medians over the draws."""
        return np.median(self.shares, axis=0)

    @property
    def lower(self) -> Float[np.ndarray, " inputs"]:
        """Lower ends of central intervals of 90 %."""
        return np.quantile(self.shares, (1 - LEVEL) / 2, axis=0)

    @property
    def upper(self) -> Float[np.ndarray, " inputs"]:
        """Upper ends of central intervals of 90 %."""
        return np.quantile(self.shares, (1 + LEVEL) / 2, axis=0)

    @property
    def order(self) -> list[int]:
        """Positions of the inputs, the one that matters most first."""
        return np.argsort(-self.median, kind="stable").tolist()

    def to_dict(self) -> dict[str, dict[str, float]]:
        """The same as plain values, by input."""
        ends = zip(self.median, self.lower, self.upper, strict=True)
        return {
            name: {"median": float(m), "lower": float(a), "upper": float(b)}
            for name, (m, a, b) in zip(self.inputs, ends, strict=True)
        }

    def to_text(self, spelling: Spelling = in_python) -> str:
        """A line for each input, the one that matters most first."""
        del spelling
        width = max(map(len, self.inputs))
        median, lower, upper = self.median, self.lower, self.upper
        lines = [
            f"{self.inputs[i]:<{width}}  {share(median[i]):>6}  "
            f"({share(lower[i])} to {share(upper[i])})"
            for i in self.order
        ]
        return block("Relevance of inputs (90 % intervals)", lines, wrap=False)


def relevance(model: FittedModel) -> Relevance | None:
    """How much each input matters; None if no relevances were learned."""
    network = model.target.network
    if not isinstance(network, ScaledNetwork) or not network.has_relevances:
        return None
    draws = jax.tree.map(lambda a: np.asarray(a)[model.kept], model.draws.stacked())
    sizes = network.relevances(draws.weights)
    shares = sizes / sizes.sum(axis=1, keepdims=True)
    schema = model.schema
    # A category is one input, whose share is that of all its values.
    groups = columns_of_inputs(schema.inputs, schema.choices)
    together = [shares[:, list(columns)].sum(axis=1) for columns in groups.values()]
    return Relevance(tuple(groups), np.stack(together, axis=1))


def plot_relevance(model: FittedModel, ax: Any = None) -> Any:
    """Each input's relevance and its interval, the one that matters most on top.

    Raises
    ------
    SettingError
        When no relevances were learned.
    """
    from ocbnn import plots  # noqa: PLC0415  (slow to import)

    relevances = relevance(model)
    if relevances is None:
        network, prior = model.target.network, model.target.weight_prior.label
        if isinstance(network, ScaledNetwork):
            raise SettingError(
                "relevances need an MLP, whose weights belong to inputs, and this "
                f"network is {type(network.inner).__name__}. Leave network out, and "
                "write hidden=(50,)."
            )
        raise SettingError(
            "relevances of inputs are learned with the scales of weights, and this "
            f"model has the weight prior {prior}. Fit one with "
            'weight_prior="learned".'
        )
    rows = [relevances.inputs[i] for i in relevances.order]
    ordered = relevances.shares[:, relevances.order]
    if ax is None:
        ax = plots.figure(5.0, 1.2 + 0.28 * len(rows)).add_subplot()
    return plots.relevance_bars(ax, rows, ordered)
