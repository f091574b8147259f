"""A firm rule about classes: walls where points walk to, the rest where they are."""

import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.networks import MLP
from ocbnn.posterior import Categorical, Target
from ocbnn.priors import WeightPrior, make_term
from ocbnn.priors.refined_terms import with_reach, with_room
from ocbnn.rules import Schema, bind
from ocbnn.rules.parse import parse_rule

SCHEMA = Schema(("x0", "x1"), ("y",), ("a", "b", "c"))


def term_for(options):
    text = f"if 0 <= x0 <= 1 and 0 <= x1 <= 1 then y in {{a}} [{options}]"
    return make_term(bind(parse_rule(text), SCHEMA), jax.random.key(0))


def walking(term):
    return with_reach(with_room(term, 6, jax.random.key(1)), 4)


def target(*terms):
    network = MLP(2, (7,), 3, "tanh")
    return Target(network, WeightPrior("isotropic", 1.0), Categorical(), terms)


def test_what_a_firm_rule_says_softly_is_felt_at_its_own_points(float64):
    firm = target(walking(term_for("strength=firm, weight=5")))
    both = target(term_for("weight=5"), walking(term_for("strength=hard")))
    assert jnp.shape(firm.rules[0].points)[0] == both.rules[0].count + 6
    for seed in range(5):
        position = firm.initial(jax.random.key(seed))
        result, slope = jax.value_and_grad(firm.logdensity)(position)
        expected, slope_there = jax.value_and_grad(both.logdensity)(position)
        np.testing.assert_allclose(result, expected, rtol=1e-10)
        pairs = zip(jax.tree.leaves(slope), jax.tree.leaves(slope_there), strict=True)
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)
        (log,) = [v for k, v in firm.parts(position).items() if k.startswith("rule")]
        rest = firm.parts(position)["weights"]
        np.testing.assert_allclose(log + rest, result, rtol=1e-10)
