"""Descent to an input that violates a rule, for one draw in one box.

Its result is a guess in plain arithmetic; whether it violates the rule is proved
elsewhere. Dividing boxes finds such inputs, too, but far later in many dimensions.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ocbnn.core.choices import switched
from ocbnn.language.evaluate import evaluate
from ocbnn.networks.mlp import Layer
from ocbnn.proofs.question import QuestionArrays, forward, standard
from ocbnn.proofs.shapes import Shape
from ocbnn.proofs.statement import Statement

_STARTS, _STEPS = 8, 16
# Sizes of the first and the last step, as shares of the box.
_FIRST, _LAST = 0.5, 0.02


def slack(
    weights: tuple[Layer, ...],
    shape: Shape,
    statement: Statement,
    arrays: QuestionArrays,
    x: Array,
) -> Array:
    """How far the claim is from being violated at one input; zero or less if it is.

    The minimum over all forbidden cases of the maximum over their statements.
    """
    inner = standard(arrays, x)
    network = lambda at: forward(weights, shape, at)
    functionals = arrays.functionals
    values = (
        functionals.outputs @ network(inner)
        + functionals.inputs @ inner
        + functionals.constant
    )
    slots = list(values)
    for output, column in statement.slopes:
        unit = jnp.zeros_like(inner).at[column].set(1.0 / arrays.x_scale[column])
        slope = jax.jvp(network, (inner,), (unit,))[1] * arrays.y_scale
        slots.append(slope[output])
    atoms = dict.fromkeys(atom.expr for term in statement.claim for atom in term)
    value_of = {expr: evaluate(expr, x, None, jnp, numbers=slots) for expr in atoms}
    cases = [
        jnp.max(jnp.stack([value_of[atom.expr] for atom in term]))
        for term in statement.claim
    ]
    return jnp.min(jnp.stack(cases))


def descend(
    weights: tuple[Layer, ...],
    shape: Shape,
    statement: Statement,
    arrays: QuestionArrays,
    low: Float[Array, " inputs"],
    high: Float[Array, " inputs"],
) -> tuple[Float[Array, " inputs"], Array]:
    """The worst input that a few descents in a box find, and the slack there."""
    slack_at = lambda x: slack(weights, shape, statement, arrays, x)
    choices = statement.choices
    width = high - low
    for group in map(np.array, choices):
        width = width.at[group].set(0.0)
    steps = jnp.asarray(np.geomspace(_FIRST, _LAST, _STEPS))
    # Some steps try other levels of categories instead.
    is_switch = jnp.asarray(np.arange(_STEPS) % 4 == 3)
    starts = np.random.default_rng(0).random((_STARTS, low.shape[0]))
    starts[0] = 0.5

    def walk(start: Array) -> tuple[Array, Array]:
        def step(carry: tuple, schedule: tuple[Array, Array]) -> tuple[tuple, None]:
            (x, best, least), (size, switches) = carry, schedule
            value, slope = jax.value_and_grad(slack_at)(x)
            is_lower = value < least
            best, least = jnp.where(is_lower, x, best), jnp.minimum(value, least)
            moved = jnp.clip(x - size * width * jnp.sign(slope), low, high)
            x = jnp.where(switches, switched(moved, slope, choices, high), moved)
            return (x, best, least), None

        # A random point of the box, with random levels of its categories.
        x = switched(low + start * width, start, choices, high)
        carry = (x, x, jnp.full((), jnp.inf, x.dtype))
        (x, best, least), _ = jax.lax.scan(step, carry, (steps, is_switch))
        value = slack_at(x)
        is_lower = value < least
        return jnp.where(is_lower, x, best), jnp.minimum(value, least)

    places, values = jax.vmap(walk)(jnp.asarray(starts))
    worst = jnp.argmin(values)
    return places[worst], values[worst]
