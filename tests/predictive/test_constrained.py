"""No answer breaks a hard rule, and what is answered is the truth within it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, reject, settings, strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from ocbnn.core.units import Units
from ocbnn.errors import InferenceError, RuleError
from ocbnn.networks import MLP
from ocbnn.posterior import Categorical, GaussianNoise, Model, TruncatedGaussian
from ocbnn.predictive import Predictive, unions
from ocbnn.predictive.allowed_values import all_hold
from ocbnn.predictive.constrained import ConstrainedPredictive
from ocbnn.priors import WeightPrior
from ocbnn.rules import Schema, bind
from tests.predictive.random_rules import apart_rules, class_rules, rows, tied_rules

DRAWS = 12
NETWORK, LOGITS = MLP(2, (3,), 2, "tanh"), MLP(2, (3,), 3, "tanh")
SCHEMA = Schema(("x", "t"), ("y", "z"))
CLASSES = Schema(("x", "t"), ("y",), ("a", "b", "c"))
UNITS = Units(np.zeros(2), np.ones(2), np.array([1e3, 0.1]), np.array([10.0, 0.7]))
seeds = st.integers(0, 2**20)


def weights(network):
    keys = jax.random.split(jax.random.key(0), DRAWS)
    return jax.vmap(lambda key: WeightPrior().sample(key, network))(keys)


def predictive(units=None, likelihood=None):
    noise = likelihood or GaussianNoise.fixed(0.3, 2)
    return Predictive(NETWORK, noise, Model(weights(NETWORK), {}), units)


def classes():
    return Predictive(LOGITS, Categorical(), Model(weights(LOGITS), {}))


PLAIN, SHIFTED, CHANCES = predictive(), predictive(UNITS), classes()


def guarded(texts, inner=PLAIN, schema=SCHEMA):
    return ConstrainedPredictive(inner, tuple(bind(text, schema) for text in texts))


def answers(guard, X):
    """Everything a regressor may answer with at some rows."""
    summary = guard.summary(X, 0.9)
    return {
        "mean": guard.mean_and_sd(X)[0],
        "summary": summary.mean,
        "functions": guard.functions(X),
        "ends": np.stack([summary.lower, summary.upper]),
        "function ends": np.stack(guard.interval(X, 0.5, observed=False)),
    }


def asked(ask, *args):
    """What is answered; another example where rows are refused for want of an output.

    Hypothesis fails a test that is left with hardly any example.
    """
    messages = ""
    try:
        return ask(*args)
    except (RuleError, InferenceError) as error:
        messages = str(error)
    assert (
        "no output satisfies" in messages or "no output that the hard rules" in messages
    )
    return reject()


@settings(max_examples=40)
@given(apart_rules, seeds, st.sampled_from([PLAIN, SHIFTED]))
def test_what_is_answered_under_rules_about_single_outputs_is_allowed(
    texts, seed, inner
):
    guard, X = guarded(texts, inner), rows(seed)
    for what, values in asked(answers, guard, X).items():
        assert all_hold(guard.rules, X, values).all(), what


@settings(max_examples=20)
@given(tied_rules, seeds)
def test_what_is_answered_under_rules_that_tie_outputs_together_is_allowed(texts, seed):
    guard, X = guarded(texts), rows(seed, 9)
    result = asked(answers, guard, X)
    for what in ("mean", "summary", "functions"):
        assert all_hold(guard.rules, X, result[what]).all(), what


@settings(max_examples=25)
@given(class_rules, seeds)
def test_a_forbidden_class_has_probability_zero_and_is_never_predicted(texts, seed):
    guard, X = guarded(texts, CHANCES, CLASSES), rows(seed)
    chances = asked(guard.probabilities, X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    logits = guard.functions(X)
    for bound in guard.rules:
        assert bound.holds(X, chances.argmax(axis=1)).all()
        assert bound.holds(X, logits.argmax(axis=-1)).all()
        forbidden = np.outer(bound.applies(X), ~np.array(bound.claim.mask))
        assert (chances[forbidden] == 0.0).all()


def test_classes_that_are_left_share_as_each_draws_softmax_says():
    guard, X = guarded(["if x > 0 then y in {a, c}"], CHANCES, CLASSES), rows(0)
    inside = X[:, 0] > 0
    logits = CHANCES.functions(X)[:, inside][..., [0, 2]]
    shares = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    result = guard.probabilities(X)
    np.testing.assert_allclose(result[inside][:, [0, 2]], shares.mean(axis=0), 1e-6)
    np.testing.assert_array_equal(result[~inside], CHANCES.probabilities(X)[~inside])


def test_rows_outside_every_hard_region_are_answered_as_without_the_rule():
    guard, X = guarded(["if x > 5 then y > 9"]), rows(1)
    for one, other in zip(guard.mean_and_sd(X), PLAIN.mean_and_sd(X), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(guard.functions(X), PLAIN.functions(X))


UNION = (np.array([[[-np.inf, 0.4, 2.0]]]), np.array([[[-1.0, 0.9, np.inf]]]))


def by_quadrature(mean, sd, power, low=UNION[0][0, 0], high=UNION[1][0, 0]):
    """Moments of a normal within the union, by adding up its density."""
    density = lambda y: norm.pdf(y, mean, sd)
    ends = [(max(a, -12.0), min(b, 12.0)) for a, b in zip(low, high, strict=True)]
    total = sum(quad(density, a, b)[0] for a, b in ends)
    return sum(quad(lambda y: y**power * density(y), a, b)[0] for a, b in ends) / total


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (-0.3, 0.4), (1.5, 0.3)])
def test_moments_within_a_union_are_those_of_quadrature(mean, sd):
    values, noise = np.full((1, 1, 1), mean), np.full((1, 1, 1), sd)
    result = unions.piece_moments(values, noise, *UNION)
    first = np.sum(result.share * result.mean)
    second = np.sum(result.share * (result.variance + result.mean**2))
    np.testing.assert_allclose(first, by_quadrature(mean, sd, 1), 1e-6)
    np.testing.assert_allclose(second, by_quadrature(mean, sd, 2), 1e-6)


@pytest.mark.parametrize("below", [0.01, 0.3, 0.5, 0.77, 0.999])
def test_quantiles_within_a_union_have_their_share_below_them(below):
    values, noise = np.zeros((1, 1, 1)), np.ones((1, 1, 1))
    result = unions.quantile(values, noise, *UNION, np.full((1, 1, 1), below)).item()
    mass = lambda a, b: max(0.0, norm.cdf(b) - norm.cdf(a))
    pieces = list(zip(UNION[0][0, 0], UNION[1][0, 0], strict=True))
    share = sum(mass(a, min(b, result)) for a, b in pieces)
    np.testing.assert_allclose(share / sum(mass(*p) for p in pieces), below, 1e-9)


@pytest.mark.parametrize("away", [1e2, 1e5, 1e12])
def test_a_draw_far_from_every_piece_still_has_an_answer(away):
    values, noise = np.full((1, 1, 1), -away), np.ones((1, 1, 1))
    low, high = np.array([[[3.0, 8.0]]]), np.array([[[4.0, np.inf]]])
    result = unions.piece_moments(values, noise, low, high)
    np.testing.assert_allclose(result.share[0, 0, 0], [1.0, 0.0], atol=1e-200)
    assert 3.0 <= result.mean[0, 0, 0, 0] < 3.0 + 2.0 / away + 1e-3
    median = unions.quantile(values, noise, low, high, np.full((1, 1, 1), 0.5)).item()
    assert 3.0 <= median <= 4.0


def test_a_mean_that_is_forbidden_gives_way_to_that_of_the_likelier_piece():
    guard = guarded(["not (-1 <= y <= 1)"])
    X = rows(3)
    mean, sd = guard.mean_and_sd(X)
    values = PLAIN.functions(X)[..., 0]
    above = norm.sf(1.0, values, 0.3)
    share = (above / (above + norm.cdf(-1.0, values, 0.3))).mean(axis=0)
    np.testing.assert_array_equal(mean[:, 0] > 1.0, share > 0.5)
    assert (sd[:, 0] > 0).all()


def test_pieces_also_keep_the_limits_of_observations():
    limits = np.array([-0.5, -np.inf]), np.array([0.5, np.inf])
    cut = TruncatedGaussian(GaussianNoise.fixed(0.3, 2), *limits)
    guard, X = guarded(["if x > 0 then y >= 0.2"], predictive(None, cut)), rows(2)
    low, high = guard.interval(X, 0.99, observed=True)
    inside = X[:, 0] > 0
    assert (low[inside, 0] >= 0.2).all()
    assert (high[:, 0] <= 0.5).all()


def test_a_row_is_answered_alike_alone_and_among_others():
    texts = ["if x > 0 then y + z <= 0", "if t > 0 then not (0 <= y <= 1)"]
    guard, X = guarded(texts), rows(5, 8)
    whole = guard.summary(X, 0.9)
    for row in range(len(X)):
        alone = guard.summary(X[[row]], 0.9)
        for one, other in zip(whole, alone, strict=True):
            np.testing.assert_allclose(one[row], other[0], 1e-5, 1e-6)


def test_a_row_that_rules_leave_nothing_to_is_named():
    guard = guarded(["if x > 0 then y > 1", "if t > 0 then y < 0"])
    with pytest.raises(RuleError, match=r"at x = 1, t = 2 no output satisfies all"):
        guard.mean_and_sd(np.array([[-1.0, 0.0], [1.0, 2.0]]))


def test_a_row_where_nothing_allowed_was_found_is_named():
    row = np.array([[3.0, 4.0]])
    narrow = guarded(["(y - 1234.567) ** 2 + z ** 2 <= 0"])
    with pytest.raises(InferenceError, match=r"was found at x = 3, t = 4, where"):
        narrow.mean_and_sd(row)
    never = guarded(["abs(y) + abs(z) <= 0 - 1"])
    with pytest.raises(RuleError, match=r"at x = 3, t = 4 no output satisfies this"):
        never.mean_and_sd(row)


def test_noise_slopes_and_limits_are_those_of_the_draws():
    guard, X = guarded(["y > 0"]), rows(1)
    np.testing.assert_array_equal(guard.noise(), PLAIN.noise())
    np.testing.assert_array_equal(guard.noise_at(X, 3), PLAIN.noise_at(X, 3))
    slopes = guard.slopes(X, [(0,)], 3)[(0,)]
    np.testing.assert_array_equal(slopes, PLAIN.slopes(X, [(0,)], 3)[(0,)])
    assert guard.limits() is None
    assert guard.size == DRAWS
    assert jnp.ndim(guard.noise()) == 2
