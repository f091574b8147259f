"""Chains whose density has rules start near what the data suggest."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn import HMC, NUTS, SVGD, OCBNNRegressor, WarmStart
from ocbnn.inference import sample
from ocbnn.posterior import GaussianNoise
from ocbnn.refinement.data_start import data_starts, sample_from_data
from tests.posterior.targets import classification, regression

PLAN = NUTS(chains=2, warmup=40, draws=5, max_depth=5, climb=50)
KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def target():
    return regression("expect", noise=GaussianNoise.inferred(0.3, outputs=2))


def leaves(tree):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def same(one, other):
    pairs = zip(leaves(one), leaves(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def test_a_chain_starts_where_a_run_without_rules_ends(target):
    starts = data_starts(PLAN, target, KEY)
    free = dataclasses.replace(target, rules=())
    density = jax.vmap(free.logdensity)
    drawn = jax.vmap(free.initial)(jax.random.split(KEY, 2))
    assert (density(starts) > density(drawn)).all()
    assert all(leaf.shape[0] == PLAN.chains for leaf in leaves(starts))


def test_an_ensemble_gives_way_to_that_start(target):
    ensemble = WarmStart(sampler=PLAN, iterations=20)
    assert same(data_starts(ensemble, target, KEY), data_starts(PLAN, target, KEY))
    draws = sample_from_data(ensemble, target, KEY)
    assert draws.plan == PLAN


@pytest.mark.parametrize(
    ("plan", "change"),
    [
        (PLAN, {"rules": ()}),
        (PLAN, {"likelihood": GaussianNoise.fixed(0.3, outputs=2)}),
        (dataclasses.replace(PLAN, collapse=False), {}),
        (HMC(chains=2, warmup=10, draws=5), {}),
        (SVGD(particles=4, iterations=5), {}),
    ],
    ids=["no rules", "known noise", "no closed form wanted", "HMC", "SVGD"],
)
def test_elsewhere_a_run_is_what_it_is_without(target, plan, change):
    other = dataclasses.replace(target, **change)
    assert data_starts(plan, other, KEY) is None
    usual, new = sample(plan, other, KEY), sample_from_data(plan, other, KEY)
    assert same(usual.positions, new.positions)


def test_classes_have_no_closed_form_to_start_from():
    assert data_starts(PLAN, classification(), KEY) is None


def test_a_saved_run_goes_on_to_the_same_draws(target, tmp_path):
    first = sample_from_data(PLAN, target, KEY, checkpoint=tmp_path)
    again = sample_from_data(PLAN, target, KEY, checkpoint=tmp_path)
    assert same(first.positions, again.positions)
    assert (tmp_path / "start").is_dir()


def test_a_stop_before_the_rules_are_in_place_gives_no_draws(target):
    class Impatient:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def begin(self, *_):
            pass

        advance = finish = begin

        def is_stopping(self):
            return True

    with pytest.raises(KeyboardInterrupt, match="before anything was drawn"):
        sample_from_data(PLAN, target, KEY, progress=Impatient())


def test_true_rules_do_not_turn_the_data_into_noise():
    # A steep product: functions that vary little obey the rules most easily.
    rng = np.random.default_rng(1)
    X = rng.uniform(0.5, 1.5, (30, 2))
    y = X[:, 0] ** 4 / X[:, 1]
    rules = [
        "low: if 0.5 <= x0 <= 1.5 and 0.5 <= x1 <= 1.5 then y >= 0",
        "up: if 0.5 <= x0 <= 1.5 and 0.5 <= x1 <= 1.5 then y rises with x0",
        "down: if 0.5 <= x0 <= 1.5 and 0.5 <= x1 <= 1.5 then y falls with x1",
    ]
    plan = NUTS(chains=2, warmup=100, draws=20, max_depth=6)
    settings = {"hidden": (8,), "inference": plan, "progress": False}
    with pytest.warns(match="poor|agree|worth"):
        model = OCBNNRegressor(rules, random_state=0, **settings).fit(X, y)
    assert np.median(model.noise_) < 0.2 * y.std()
    share = float(jnp.mean(model.noise_ < 0.5 * y.std()))
    assert share == 1.0
