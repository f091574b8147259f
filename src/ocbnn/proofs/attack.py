"""Going downhill to an input that breaks a rule, for one draw in one box.

What it finds is a guess in plain arithmetic; whether it breaks the rule is proved
elsewhere. Dividing boxes finds such inputs too, but in many dimensions far later.
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
# The first step goes this share of the box; later ones are shorter and shorter.
_FIRST, _LAST = 0.5, 0.02


def slack(
    weights: tuple[Layer, ...],
    shape: Shape,
    statement: Statement,
    asked: QuestionArrays,
    x: Array,
) -> Array:
    """How far the claim is from being broken at one input; not above zero where it is.

    The least over all forbidden cases of the statement that is furthest from true.
    """
    inner = standard(asked, x)
    network = lambda at: forward(weights, shape, at)
    asks = asked.functionals
    values = asks.outputs @ network(inner) + asks.inputs @ inner + asks.constant
    slots = list(values)
    for output, column in statement.slopes:
        unit = jnp.zeros_like(inner).at[column].set(1.0 / asked.x_scale[column])
        slope = jax.jvp(network, (inner,), (unit,))[1] * asked.y_scale
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
    asked: QuestionArrays,
    low: Float[Array, " inputs"],
    high: Float[Array, " inputs"],
) -> tuple[Float[Array, " inputs"], Array]:
    """The worst input that a few walks downhill in a box find, and its slack there."""
    measure = lambda x: slack(weights, shape, statement, asked, x)
    choices = statement.choices
    width = high - low
    for group in map(np.array, choices):
        width = width.at[group].set(0.0)
    steps = jnp.asarray(np.geomspace(_FIRST, _LAST, _STEPS))
    # Choices take turns with steps, so that both are tried.
    turns = jnp.asarray(np.arange(_STEPS) % 4 == 3)
    starts = np.random.default_rng(0).random((_STARTS, low.shape[0]))
    starts[0] = 0.5

    def walk(start: Array) -> tuple[Array, Array]:
        def step(carry: tuple, now: tuple[Array, Array]) -> tuple[tuple, None]:
            (x, best, least), (size, is_turn) = carry, now
            value, slope = jax.value_and_grad(measure)(x)
            is_less = value < least
            best, least = jnp.where(is_less, x, best), jnp.minimum(value, least)
            moved = jnp.clip(x - size * width * jnp.sign(slope), low, high)
            x = jnp.where(is_turn, switched(moved, slope, choices, high), moved)
            return (x, best, least), None

        # Somewhere in the box, with any of its choices.
        x = switched(low + start * width, start, choices, high)
        carry = (x, x, jnp.full((), jnp.inf, x.dtype))
        (x, best, least), _ = jax.lax.scan(step, carry, (steps, turns))
        value = measure(x)
        is_less = value < least
        return jnp.where(is_less, x, best), jnp.minimum(value, least)

    places, values = jax.vmap(walk)(jnp.asarray(starts))
    worst = jnp.argmin(values)
    return places[worst], values[worst]
