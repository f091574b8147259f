"""The rules' log density for any function, for models written elsewhere."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ocbnn.core.randomness import key_from
from ocbnn.core.types import RandomKey, Scalar, Unchecked
from ocbnn.core.units import Units
from ocbnn.errors import DataError
from ocbnn.priors import RuleTerm
from ocbnn.priors.rulebook import bind_rules, make_terms
from ocbnn.rules import Schema
from ocbnn.rules.rule import GivenRules

Table = Float[Array, "points columns"]
BatchFunction = Callable[[Table], Table]


class RuleFactor(eqx.Module):
    """`log g` of rules, for any function of the inputs.

    Call it with a function, and add what it returns to a log density.

    Attributes
    ----------
    terms
        The rules, with their points.
    """

    terms: tuple[RuleTerm, ...]

    def __call__(self, function: BatchFunction, key: RandomKey | None = None) -> Scalar:
        """The sum over all rules.

        Parameters
        ----------
        function
            Takes a table of inputs, one point per row, and returns a table of outputs,
            both in the units the rules are written in (logits, for classes).
        key
            Draws fresh points; the rules' own points when left out.

        Raises
        ------
        DataError
            When the function does not return one row per point.
        """
        return sum(self.parts(function, key).values(), start=jnp.zeros(()))

    def parts(
        self, function: BatchFunction, key: RandomKey | None = None
    ) -> dict[str, Scalar]:
        """Every rule's `log g` by name.

        Code compiled with a factor as its argument keeps the names of the first one.

        Parameters
        ----------
        function
            Takes a table of inputs, one point per row, and returns a table of outputs,
            both in the units the rules are written in (logits, for classes).
        key
            Draws fresh points; the rules' own points when left out.

        Raises
        ------
        DataError
            When the function does not return one row per point.
        """
        points = [term.points for term in self.terms]
        if key is not None:
            keys = jax.random.split(key, max(1, len(points)))
            pairs = zip(self.terms, keys, strict=False)
            points = [term.fresh(point_key) for term, point_key in pairs]
        at_one = lambda x: _table(function, x[None])[0]
        logs = {}
        for term, xs in zip(self.terms, points, strict=True):
            parts = term.parts(xs, at_one)
            values = [law.log_g(at, _table(function, at), at_one) for law, at in parts]
            logs[term.bound.name] = jnp.sum(jnp.stack(values))
        return logs


def rule_factor(
    rules: Unchecked[GivenRules],
    *,
    inputs: Sequence[str],
    outputs: Sequence[str],
    X: object = None,
    y: object = None,
    classes: Sequence[Any] | None = None,
    random_state: object = 0,
) -> RuleFactor:
    """The rules as a factor for a model of your own.

    Parameters
    ----------
    rules
        A rule, its text, or a list of these.
    inputs
        Names of the inputs, in the order of the columns.
    outputs
        Names of the outputs.
    X
        Rows of data, for rules whose points are sampled like the data, and for the
        size of each input.
    y
        Their outputs, for the size of each output. Without data, inputs and outputs
        are taken to be of order one, as in the paper.
    classes
        The classes, for classification.
    random_state
        Determines where the points are.

    Returns
    -------
    RuleFactor
        Call it with a function: it returns the sum of the rules' log densities.

    Raises
    ------
    RuleError
        When a rule makes no sense, or does not fit the columns.
    DataError
        When `X` has not one column for each input, or `y` is given without `X`.
    """
    schema = Schema(
        tuple(inputs), tuple(outputs), None if classes is None else tuple(classes)
    )
    table = None if X is None else np.asarray(X, float)
    targets = None if y is None or classes is not None else np.asarray(y, float)
    if targets is not None:
        targets = targets.reshape(len(targets), -1)
    if table is not None and table.shape[1:] != (len(schema.inputs),):
        raise DataError(
            f"X must have one column for each of {len(schema.inputs)} inputs, got "
            f"shape {table.shape}."
        )
    if targets is not None and table is None:
        raise DataError("y was given without X: give both, or neither.")
    units = None
    if table is not None and targets is not None:
        units = Units.of(table, targets, len(schema.outputs))
    bound = bind_rules(rules, schema)
    key = key_from(random_state)
    return RuleFactor(make_terms(bound, key, table, targets, units, is_inner=False))


def _table(function: BatchFunction, xs: Table) -> Array:
    values = jnp.asarray(function(xs))
    if values.ndim == 2 and values.shape[0] == xs.shape[0]:
        return values
    raise DataError(
        "the function must return a table with one row per point, and was given "
        f"points of shape {xs.shape} but returned shape {values.shape}. For one output "
        "write values[:, None]."
    )
