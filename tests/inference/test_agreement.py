"""With rules, samplers that share no code path must still agree with each other.

Nobody knows these posteriors in closed form, so the samplers are compared by the mean
functions that they find, within 4.5 standard errors at each of ten inputs. Two that are
right then differ in one of 60 comparisons for about four seeds in ten thousand.
"""

from functools import cache
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.inference import HMC, NUTS, SMC, sample
from ocbnn.inference.diagnostics import ess_bulk
from ocbnn.networks import MLP
from ocbnn.posterior import GaussianNoise, Target
from ocbnn.priors import WeightPrior
from ocbnn.studies.toys import TOYS
from tests.posterior.targets import LINE, fig1_left, terms

ASKED = jnp.linspace(-3.0, 3.0, 10)[:, None]
# A rule for one side of the box is, on that side, the box's own rule.
SIDES = {"both": "not (-5 <= y <= 3)", "below": "y <= -5", "above": "y >= 3"}
# Enough for evidences that differ by tens, and for shares that differ as much.
ROUGH = SMC(particles=200, moves=1, steps=100, polish=1, chains=2)


class Together(Target):
    """A target whose data and rules are switched on together.

    Functions that fit the data all pass above the box. A rule that leaves only those
    below, switched on last, costs each of them the same, and nothing pulls them down.
    """

    def stages(self, position):
        return self.split(position)


def fig2_right(side):
    toy = TOYS["fig2-right"]
    kind = Together if side == "below" else Target
    return kind(
        MLP(1, (10,), 1),
        WeightPrior(),
        GaussianNoise.fixed(0.1),
        terms([f"box: if -1 <= x <= 1 then {SIDES[side]}"], LINE),
        jnp.asarray(toy.X, float),
        jnp.asarray(toy.y, float)[:, None],
    )


def values(target, positions, inputs=ASKED):
    """Function values (chain, draw, input)."""
    one = lambda position: target.network.batch(position.weights, inputs)[:, 0]
    return np.asarray(jax.jit(jax.vmap(jax.vmap(one)))(positions), float)


def mean_and_error(plan, target):
    """Mean function and its standard error, by whichever estimate is larger."""
    draws = values(target, sample(plan, target, jax.random.key(0)).positions)
    size = ess_bulk(draws)
    assert size.min() > 50
    within = draws.var(axis=(0, 1)) / size
    # Particles of one population have much in common that no draw of it can show.
    between = draws.mean(axis=1).var(axis=0, ddof=1) / len(draws)
    error = np.sqrt(np.maximum(within, between))
    print(plan, *map(np.array2string, (draws.mean(axis=(0, 1)), error, size)), sep="\n")
    return draws.mean(axis=(0, 1)), error


def assert_agree(target, *plans):
    result = [mean_and_error(plan, target) for plan in plans]
    for (mean, error), (other, other_error) in combinations(result, 2):
        assert np.all(np.abs(mean - other) < 4.5 * np.hypot(error, other_error))


@cache
def rough(side):
    return sample(ROUGH, fig2_right(side), jax.random.key(1))


def test_every_density_that_is_compared_can_be_drawn_from():
    few = SMC(particles=8, moves=1, steps=2, polish=1, chains=2)
    for side in SIDES:
        draws = sample(few, fig2_right(side), jax.random.key(0))
        assert np.isfinite(draws.log_evidence).all()
        assert np.isfinite(values(fig2_right(side), draws.positions)).all()


@pytest.mark.slow
def test_smc_nuts_and_long_hmc_agree_between_two_forbidden_regions():
    assert_agree(
        fig1_left(),
        NUTS(warmup=1000, draws=1000),
        HMC(adapt=True, jitter=True, steps=1500, warmup=1000, draws=1000),
        SMC(particles=400, moves=2, polish=10),
    )


@pytest.mark.slow
def test_smc_nuts_and_long_hmc_agree_on_functions_above_the_box():
    assert_agree(
        fig2_right("above"),
        NUTS(warmup=800, draws=1000),
        HMC(adapt=True, jitter=True, steps=1500, warmup=1000, draws=1000),
        SMC(particles=300, moves=2, polish=5),
    )


@pytest.mark.slow
def test_a_rule_for_one_side_is_the_boxs_rule_on_that_side():
    for side in ("below", "above"):
        positions = rough(side).stacked()
        own, both = (
            np.asarray(jax.vmap(fig2_right(name).logdensity)(positions))
            for name in (side, "both")
        )
        assert np.allclose(own, both, atol=0.01)


@pytest.mark.slow
def test_nearly_all_mass_around_the_box_is_above_it():
    above, below = rough("above").log_evidence, rough("below").log_evidence
    print("log evidence above", above, "below", below)
    assert np.min(above) > np.max(below) + 30


@pytest.mark.slow
def test_smc_finds_the_side_of_the_box_that_has_the_mass():
    middle = values(fig2_right("both"), rough("both").positions, jnp.zeros((1, 1)))
    shares = (middle[..., 0] > 3).mean(axis=1)
    print("share above", shares, "log evidence", rough("both").log_evidence)
    assert np.all(shares > 0.5)
