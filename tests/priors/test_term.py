"""Every rule's density agrees with its equation, written again in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import logsumexp
from scipy.stats import dirichlet, norm

from ocbnn.errors import RuleError
from ocbnn.rules import custom, expect, inputs, outputs
from tests.priors.terms import BOX, CLASSES, log_g, some_values, term_of
from tests.reference import sigma

X0, X1 = inputs("x0"), inputs("x1")
Y0, Y1 = outputs("y0"), outputs("y1")
WHERE = X0.between(-1, 1) & X1.between(0, 2)


# Forbidden regions: -γ mean_i Σ_j Π_k σ(f_jk).


def test_a_required_interval_forbids_both_sides(float64):
    xs, ys = some_values()
    expected = np.mean(sigma(ys[:, 0] - 0.2) + sigma(0.5 - ys[:, 0]))
    term = term_of(f"{BOX} 0.2 <= y0 <= 0.5 [form=indicator]")
    np.testing.assert_allclose(log_g(term, xs, ys), -10_000 * expected, rtol=1e-12)


def test_a_class_that_a_hard_rule_excludes_is_forbidden_like_a_value(float64):
    xs, ys = some_values()
    lead = np.maximum(ys[:, 0], ys[:, 2]) - ys[:, 1]
    term = term_of(f"{BOX} y in {{a, c}} [strength=hard]", CLASSES)
    expected = -0.5 * np.sum(np.maximum(0.12 - lead, 0) ** 2) / 0.03**2
    np.testing.assert_allclose(log_g(term, xs, ys), expected, rtol=1e-12)


@pytest.mark.parametrize("weight", ["", "weight=50", "weight=3, allowed=2"])
def test_a_firm_class_rule_says_what_the_soft_one_does_and_forbids(weight, float64):
    xs, ys = some_values()
    of = lambda held: term_of(f"{BOX} y in {{a, c}} [{held}]", CLASSES)
    parts = [of(weight or "weight=1"), of("strength=hard")]
    firm = of(", ".join(filter(None, ["strength=firm", weight])))
    expected = sum(log_g(term, xs, ys) for term in parts)
    np.testing.assert_allclose(log_g(firm, xs, ys), expected, rtol=1e-12)


def test_a_forbidden_box_multiplies_its_sides(float64):
    xs, ys = some_values()
    inside = sigma(-1 - ys[:, 0]) * sigma(ys[:, 0] - 1) * sigma(ys[:, 1] - 0.5)
    term = term_of(f"{BOX} not (-1 <= y0 <= 1 and y1 <= 0.5) [strength=7]")
    np.testing.assert_allclose(log_g(term, xs, ys), -7 * np.mean(inside), rtol=1e-12)


def test_relations_between_outputs_and_inputs_enter_as_written(float64):
    xs, ys = some_values()
    z = ys[:, 0] * ys[:, 1] - (np.exp(xs[:, 0]) - ys[:, 2])
    term = term_of(f"{BOX} y0 * y1 > exp(x0) - y2 [strength=3]")
    np.testing.assert_allclose(log_g(term, xs, ys), -3 * sigma(z).mean(), rtol=1e-12)


def test_conditions_on_inputs_inside_a_claim_are_exact(float64):
    xs, ys = some_values(40)
    xs[0, 0] = 0.3  # on the edge: `<` is not `<=`
    soft = sigma(ys[:, 0] - 1)
    for op, active in (("<", xs[:, 0] < 0.3), ("<=", xs[:, 0] <= 0.3)):
        term = term_of(f"{BOX} (if x0 {op} 0.3 then y0 > 1) [strength=5]")
        expected = -5 * np.mean(active * soft)
        np.testing.assert_allclose(log_g(term, xs, ys), expected, rtol=1e-12)


def test_tau_and_the_literal_form_are_settings(float64):
    xs, ys = some_values()
    plain = log_g(term_of(f"{BOX} y0 > 1 [form=indicator]"), xs, ys)
    literal = log_g(term_of(f"{BOX} y0 > 1 [literal=yes]"), xs, ys)
    assert literal == pytest.approx(4 * plain, rel=1e-12)
    both = log_g(term_of(f"{BOX} not (y0 < 1 and y1 < 1) [literal=yes]"), xs, ys)
    other = term_of(f"{BOX} not (y0 < 1 and y1 < 1) [form=indicator]")
    half = log_g(other, xs, ys)
    assert both == pytest.approx(16 * half, rel=1e-12)
    blunt = log_g(term_of(f"{BOX} y0 > 1 [tau0=3, tau1=1]"), xs, ys)
    expected = -10_000 * sigma(ys[:, 0] - 1, 3, 1).mean()
    assert blunt == pytest.approx(expected, rel=1e-12)


@settings(max_examples=10)
@given(st.integers(0, 2**16))
def test_looking_at_the_same_points_twice_does_not_strengthen_an_indicator(seed):
    xs, ys = some_values(8, seed)
    term = term_of(f"{BOX} 0.2 <= y0 <= 0.5 [form=indicator]")
    once, twice = log_g(term, xs, ys), log_g(term, *map(_twice, (xs, ys)))
    np.testing.assert_allclose(twice, once, rtol=1e-5)


def test_a_distance_has_a_pull_however_far_and_none_where_the_rule_holds(float64):
    term = term_of(f"{BOX} 0 <= y0 <= 10")
    xs, ys = some_values(1)
    pull = jax.grad(
        lambda y: term.log_g(
            jnp.asarray(xs), jnp.asarray(ys).at[0, 0].set(y), lambda x: x
        )
    )
    pulls = [float(pull(y)) for y in (-1000.0, -1.0, 0.1, 5.0, 9.9, 11.0, 1000.0)]
    assert pulls[0] > pulls[1] > 0 > pulls[5] > pulls[6]
    assert pulls[2:5] == [0.0, 0.0, 0.0]


def _twice(table):
    return np.concatenate([table, table])


# Expectations: Σ_i log N(φ(x_i); y(x_i), σ²).


def test_an_expectation_adds_one_normal_per_point(float64):
    xs, ys = some_values()
    expected = norm.logpdf(ys[:, 1], 5 - xs[:, 0] ** 2, 0.7).sum()
    term = term_of(f"{BOX} y1 ~ Normal(5 - x0^2, 0.7)")
    np.testing.assert_allclose(log_g(term, xs, ys), expected, rtol=1e-12)


def test_points_of_an_expectation_add_up_and_are_not_multiplied(float64):
    # The authors' code broadcasts (n,) against (n, 1), which multiplies the term by n.
    term = term_of(f"{BOX} y1 ~ Normal(x0, 0.7)")
    xs, ys = some_values(11)
    parts = [log_g(term, xs[i : i + 1], ys[i : i + 1]) for i in range(11)]
    np.testing.assert_allclose(log_g(term, xs, ys), sum(parts), rtol=1e-12)


def test_a_weight_counts_as_that_many_points_whatever_their_number(float64):
    xs, ys = some_values(30)
    mean = norm.logpdf(ys[:, 1], xs[:, 0], 0.7).mean()
    term = term_of(f"{BOX} y1 ~ Normal(x0, 0.7) [weight=12]")
    np.testing.assert_allclose(log_g(term, xs, ys), 12 * mean, rtol=1e-12)
    np.testing.assert_allclose(
        log_g(term, _twice(xs), _twice(ys)), 12 * mean, rtol=1e-12
    )


def test_an_expression_of_outputs_may_be_expected(float64):
    xs, ys = some_values()
    expected = norm.logpdf(ys[:, 0] - 2 * ys[:, 1], 0, 0.3).sum()
    term = term_of(f"{BOX} y0 - 2*y1 ~ Normal(0, 0.3)")
    np.testing.assert_allclose(log_g(term, xs, ys), expected, rtol=1e-12)


# Mixtures.

MEANS, SDS, SHARES = [X0, 1 - X1], [0.5, 1.5], [0.2, 0.8]


def mixture(**options):
    return term_of(expect(Y0, MEANS, sd=SDS, weights=SHARES, where=WHERE, **options))


def component_logs(xs, ys):
    means = np.stack([xs[:, 0], 1 - xs[:, 1]], axis=1)
    return norm.logpdf(ys[:, :1], means, SDS)


def test_a_mixture_per_point_chooses_at_each_point(float64):
    xs, ys = some_values()
    per_point = logsumexp(component_logs(xs, ys), b=SHARES, axis=1)
    np.testing.assert_allclose(log_g(mixture(), xs, ys), per_point.sum(), rtol=1e-12)
    np.testing.assert_allclose(
        log_g(mixture(weight=3), xs, ys), 3 * per_point.mean(), rtol=1e-12
    )


def test_a_mixture_per_region_chooses_once(float64):
    xs, ys = some_values()
    logs = component_logs(xs, ys)
    once = logsumexp(logs.sum(axis=0), b=SHARES)
    np.testing.assert_allclose(log_g(mixture(per="region"), xs, ys), once, rtol=1e-12)
    lighter = logsumexp(3 * logs.mean(axis=0), b=SHARES)
    np.testing.assert_allclose(
        log_g(mixture(per="region", weight=3), xs, ys), lighter, rtol=1e-12
    )


def test_switching_between_curves_costs_a_mixture_per_region_and_not_one_per_point():
    xs = np.stack([np.linspace(-1, 1, 20), np.ones(20)], axis=1)
    zeros = np.zeros((20, 2))
    follows = np.column_stack([np.full(20, 3.0), zeros])
    switches = np.column_stack([np.where(xs[:, 0] < 0, 3.0, -3.0), zeros])
    for per, costs in (("point", False), ("region", True)):
        term = term_of(expect(Y0, [3.0, -3.0], sd=0.5, where=WHERE, per=per))
        gap = log_g(term, xs, follows) - log_g(term, xs, switches)
        assert (gap > 100) == costs


def test_a_mixture_far_from_every_mean_stays_finite_in_single_precision():
    xs, ys = some_values()
    for per in ("point", "region"):
        term = mixture(per=per)
        value, slope = jax.value_and_grad(
            lambda y, t=term: t.log_g(jnp.asarray(xs, jnp.float32), y, lambda x: x)
        )(jnp.asarray(ys + 1e4, jnp.float32))
        assert np.isfinite(value)
        assert np.isfinite(slope).all()


# Classes: Σ_i log Dir(softmax φ(x_i); α).


@pytest.mark.parametrize("allowed", [("a",), ("b", "c")])
def test_allowed_classes_are_dirichlet_distributed(allowed, float64):
    xs, ys = some_values()
    alpha = np.where(np.isin(["a", "b", "c"], allowed), 10.0, 0.01)
    p = np.exp(ys - logsumexp(ys, axis=1, keepdims=True))
    expected = dirichlet.logpdf(p.T, alpha).sum()
    text = f"{BOX} y in {{{', '.join(allowed)}}}"
    product = term_of(text + f" [weight={len(xs)}]", CLASSES)
    np.testing.assert_allclose(log_g(product, xs, ys), expected, rtol=1e-9)
    usual = term_of(text, CLASSES)
    np.testing.assert_allclose(log_g(usual, xs, ys), expected / len(xs), rtol=1e-9)
    weighted = term_of(text + " [weight=4]", CLASSES)
    np.testing.assert_allclose(log_g(weighted, xs, ys), 4 * expected / 11, rtol=1e-9)


def test_the_concentrations_are_settings(float64):
    xs, ys = some_values()
    p = np.exp(ys - logsumexp(ys, axis=1, keepdims=True))
    expected = dirichlet.logpdf(p.T, [8.5, 10, 8.5]).sum()
    settings = f"[allowed=10, forbidden=8.5, weight={len(xs)}]"
    term = term_of(f"{BOX} y in {{b}} {settings}", CLASSES)
    np.testing.assert_allclose(log_g(term, xs, ys), expected, rtol=1e-9)


@pytest.mark.parametrize("size", [1e2, 1e4, 1e6])
def test_the_dirichlet_and_its_slope_are_finite_at_a_saturated_softmax(size):
    # Through probabilities, log 0 is infinite and its slope is not a number.
    term = term_of(f"{BOX} y in {{a}}", CLASSES)
    xs = jnp.zeros((4, 2), jnp.float32)
    for ys in size * np.array([[1.0, -1, -1], [-1, 1, -1], [-1, -1, 1], [1, 1, -1]]):
        logits = jnp.asarray(np.tile(ys, (4, 1)), jnp.float32)
        value, slope = jax.value_and_grad(lambda y: term.log_g(xs, y, lambda x: x))(
            logits
        )
        assert np.isfinite(value)
        assert np.isfinite(slope).all()


def test_the_dirichlet_prefers_the_allowed_class_to_any_other():
    # With the authors' (8.5, 10, 8.5) this preference all but vanishes.
    term = term_of(f"{BOX} y in {{b}} [weight=5]", CLASSES)
    xs = np.zeros((5, 2))
    scores = [log_g(term, xs, np.tile(3 * np.eye(3)[k], (5, 1))) for k in range(3)]
    assert scores[1] > max(scores[0], scores[2]) + 50


# Users' own densities.


def test_a_custom_density_gets_all_points_and_outputs_and_is_added_as_it_is(float64):
    xs, ys = some_values()
    own = custom(lambda x, y: -jnp.sum(x[:, 0] * y[:, 2] ** 2), WHERE)
    expected = -np.sum(xs[:, 0] * ys[:, 2] ** 2)
    np.testing.assert_allclose(log_g(term_of(own), xs, ys), expected, rtol=1e-12)


def test_a_custom_density_that_is_no_number_is_refused_with_advice():
    with pytest.raises(RuleError, match=r"one number.*jnp\.sum"):
        term_of(custom(lambda x, y: y[:, 0], WHERE))


def test_a_custom_density_over_classes_gets_one_logit_per_class():
    calls = []
    term_of(custom(lambda x, y: calls.append(y.shape) or jnp.sum(y), WHERE), CLASSES)
    assert calls == [(50, 3)]


# Points of a term.


def test_a_terms_points_are_fixed_and_fresh_ones_follow_their_key():
    term, again = term_of(f"{BOX} y0 > 1 [points=20]"), term_of(f"{BOX} y0 > 1")
    assert term.points.shape == (20, 2)
    assert again.count == 50
    one, two = (term.fresh(jax.random.key(seed)) for seed in (1, 2))
    assert one.shape == (20, 2)
    np.testing.assert_array_equal(one, term.fresh(jax.random.key(1)))
    assert not np.array_equal(one, two)
    assert not np.array_equal(one, term.points)


def test_different_keys_place_different_points():
    one, two = (term_of(f"{BOX} y0 > 1", seed=seed).points for seed in (0, 1))
    assert not np.array_equal(one, two)
