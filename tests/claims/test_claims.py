"""Every kind of claim keeps its promises, and a new one is one file."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import dirichlet, norm

from ocbnn.claims import BoundClaim, Forbidden, register
from ocbnn.core.units import Units
from ocbnn.errors import CertificateError, RuleError, RuleSyntaxError
from ocbnn.priors import make_term
from ocbnn.proofs.statement import statement_of
from ocbnn.refinement.settings import is_strict
from ocbnn.rules import (
    Rule,
    Schema,
    bind,
    custom,
    d,
    expect,
    forbid,
    inputs,
    outputs,
    parse_rule,
    require,
)
from ocbnn.testing import check_claim
from tests.claims.closeness import Near, Nearness
from tests.reference import sigma

X0, X1, Y0, Y1, Y = *inputs("x0", "x1"), *outputs("y0", "y1"), outputs("y")
WHERE = X0.between(-1, 1) & X1.between(0, 2)
BOX = "if -1 <= x0 <= 1 and 0 <= x1 <= 2 then"
ANY = itertools.count()
REAL = Schema(("x0", "x1"), ("y0", "y1"))
CLASSES = Schema(("x0", "x1"), ("y",), ("a", "b", "c"))


def classes_logpdf(xs, ys, slopes):
    p = np.exp(ys - logsumexp(ys, axis=1, keepdims=True))
    p = np.maximum(p, 1e-300)
    logs = [dirichlet.logpdf(one / one.sum(), [10.0, 0.01, 10.0]) for one in p]
    return np.mean(logs)


def curve_of(xs):
    return 2 * xs[:, 0]


def hinge(xs, ys, slopes):
    beyond = np.maximum(np.abs(ys[:, 0] - curve_of(xs)) - 0.5, 0)
    return -0.5 * np.sum(beyond**2)


def squares(z, room=np.inf, tolerance=0.03, tolerances=2):
    """How far z is below a margin of 2 tolerances, or a tenth of the room."""
    margin = min(tolerances * min(tolerance, 0.03), 0.1 * room)
    return (np.maximum(margin - z, 0) / tolerance) ** 2


CASES = {
    "required": (
        require(Y0.between(-1, 1), WHERE, strength=7),
        f"{BOX} -1 <= y0 <= 1 [strength=7]",
        REAL,
        lambda xs, ys, _: -7 * np.mean(sigma(ys[:, 0] + 1) + sigma(1 - ys[:, 0])),
    ),
    "forbidden": (
        forbid((Y0 > X0) & (Y1 < 1), WHERE, form="indicator"),
        f"{BOX} not (y0 > x0 and y1 < 1) [form=indicator]",
        REAL,
        lambda xs, ys, _: (
            -1e4 * np.mean(sigma(xs[:, 0] - ys[:, 0]) * sigma(ys[:, 1] - 1))
        ),
    ),
    "slope": (
        require(d(Y0, X1) >= 0.1, WHERE, form="indicator"),
        f"{BOX} d(y0, x1) >= 0.1 [form=indicator]",
        REAL,
        lambda xs, ys, slopes: -1e4 * np.mean(sigma(slopes[1,][:, 0] - 0.1)),
    ),
    "required, by distance": (
        require(Y0.between(-1, 1), WHERE),
        f"{BOX} -1 <= y0 <= 1",
        REAL,
        lambda xs, ys, _: (
            -0.5 * np.sum(squares(ys[:, 0] + 1, 2) + squares(1 - ys[:, 0], 2))
        ),
    ),
    "narrow, by distance": (
        require(Y0.between(X0, X0 + 0.2), WHERE, tolerance=0.5, weight=7),
        f"{BOX} x0 <= y0 <= x0 + 0.2 [weight=7, tolerance=0.5]",
        REAL,
        lambda xs, ys, _: (
            -3.5
            * np.mean(
                squares(ys[:, 0] - xs[:, 0], 0.2, 0.5)
                + squares(xs[:, 0] + 0.2 - ys[:, 0], 0.2, 0.5)
            )
        ),
    ),
    "alternatives, by distance": (
        forbid((Y0 > X0) & (Y1 < 1), WHERE),
        f"{BOX} not (y0 > x0 and y1 < 1)",
        REAL,
        lambda xs, ys, _: (
            -0.5
            * np.sum(
                np.minimum(squares(xs[:, 0] - ys[:, 0]), squares(ys[:, 1] - 1)),
            )
        ),
    ),
    "where inputs say so, by distance": (
        require((X0 > 0.2).implies((Y0 <= 0) & (Y1 >= 0.5)), WHERE),
        None,
        REAL,
        lambda xs, ys, _: (
            -0.5
            * np.sum((squares(-ys[:, 0]) + squares(ys[:, 1] - 0.5))[xs[:, 0] > 0.2])
        ),
    ),
    "slope, by distance": (
        require(d(Y0, X1) >= 0.1, WHERE),
        f"{BOX} d(y0, x1) >= 0.1",
        REAL,
        lambda xs, ys, slopes: -0.5 * np.sum(squares(slopes[1,][:, 0] - 0.1)),
    ),
    "expected": (
        expect(Y1, [X0, 1 - X1], sd=[0.5, 1.5], weights=[0.2, 0.8], where=WHERE),
        f"{BOX} y1 ~ 0.2*Normal(x0, 0.5) + 0.8*Normal(1 - x1, 1.5)",
        REAL,
        lambda xs, ys, _: np.sum(
            logsumexp(
                norm.logpdf(
                    ys[:, 1:], np.stack([xs[:, 0], 1 - xs[:, 1]], 1), [0.5, 1.5]
                ),
                b=[0.2, 0.8],
                axis=1,
            )
        ),
    ),
    "classes": (
        require(Y.is_in("a", "c"), WHERE),
        f"{BOX} y in {{a, c}}",
        CLASSES,
        classes_logpdf,
    ),
    "firm classes, by distance": (
        require(Y.is_in("a", "c"), WHERE, strength="firm"),
        f"{BOX} y in {{a, c}} [strength=firm]",
        CLASSES,
        lambda xs, ys, _: (
            -0.5
            * np.sum(squares(np.maximum(ys[:, 0], ys[:, 2]) - ys[:, 1], tolerances=4))
        ),
    ),
    "firm classes": (
        require(Y.is_in("a", "c"), WHERE, strength="firm", form="indicator"),
        f"{BOX} y in {{a, c}} [strength=firm, form=indicator]",
        CLASSES,
        lambda xs, ys, _: (
            -1e4 * np.mean(sigma(np.maximum(ys[:, 0], ys[:, 2]) - ys[:, 1]))
        ),
    ),
    "a kind of one's own": (
        Rule(Near(Y0, 2 * X0, 0.5), WHERE),
        f"{BOX} y0 near 2*x0 within 0.5",
        REAL,
        hinge,
    ),
}


@pytest.mark.parametrize("kind", CASES)
def test_every_kind_keeps_its_promises(kind):
    rule, text, schema, reference = CASES[kind]
    check = check_claim(rule, schema, text=text, log_g=reference, functions=30)
    # The functions are of use: some keep the claim, and some do not.
    assert 0.01 < check.kept < 0.99
    assert check.proved + check.refuted > 20


def test_a_custom_claim_keeps_its_promises_with_the_function_itself():
    def smooth(xs, ys, function):
        curvature = jax.vmap(jax.hessian(lambda x: function(x)[0]))(xs)
        return -jnp.sum(curvature[:, 0, 0] ** 2) - jnp.sum(ys[:, 1] ** 2)

    rule = custom(smooth, WHERE, holds=lambda xs, ys: ys[:, 1] > 0)
    check = check_claim(rule, REAL, functions=10)
    assert 0.01 < check.kept < 0.99
    assert (check.proved, check.refuted) == (0, 0)


@pytest.mark.parametrize(
    ("change", "promise"),
    [
        ({"holds": lambda self, X, Y, slopes: Y[..., 0] > 0}, "slack disagrees"),
        ({"broken": property(lambda self: self.terms[:1])}, "terms disagree"),
        ({"standard": lambda self, units: self}, "in standard"),
        ({"__hash__": lambda self: next(ANY)}, "another hash"),
    ],
)
def test_a_broken_promise_is_named(change, promise, monkeypatch):
    for name, value in change.items():
        monkeypatch.setattr(Forbidden, name, value)
    rule = require(Y0.between(-1, 1), WHERE)
    with pytest.raises(RuleError, match=promise):
        check_claim(rule, REAL, functions=10)


def test_a_wrong_density_and_a_wrong_text_are_named():
    rule, _, schema, reference = CASES["required"]
    with pytest.raises(RuleError, match="its equation gives"):
        check_claim(rule, schema, log_g=lambda *at: 2 * reference(*at), functions=3)
    with pytest.raises(RuleError, match="another rule"):
        check_claim(rule, schema, text=f"{BOX} -1 <= y0 <= 2 [strength=7]")


def test_a_kind_of_ones_own_is_checked_drawn_and_refused_like_any_other():
    bound = bind("if 0 <= x <= 1 then y near x within 0.1", Schema(("x",), ("y",)))
    X = np.array([[0.5], [0.5], [3.0]])
    np.testing.assert_array_equal(
        bound.holds(X, np.array([0.55, 0.7, 9])), [True, False, True]
    )
    assert bound.mentions("output") == [0]
    with pytest.raises(RuleError, match=r"strength=5.* has no effect.*`within`"):
        bind("y near x within 0.1 [strength=5]", Schema(("x",), ("y",)))
    with pytest.raises(RuleSyntaxError, match="`within` belongs"):
        parse_rule("y near x")


def test_two_kinds_cannot_share_a_sign():
    @dataclasses.dataclass(frozen=True)
    class Other(Near):
        sign = "~"

    with pytest.raises(RuleError, match="`~` begins a claim of kind Expect already"):
        register(Other)

    class Silent(Near):
        sign = None

    with pytest.raises(RuleError, match="has no text"):
        register(Silent)


# Custom densities.


def test_a_custom_density_sees_points_in_the_order_they_were_given():
    given = np.array([[0.0, 1.0], [0.5, 0.5], [-1.0, 2.0]])
    rule = custom(lambda xs, ys: jnp.sum(xs[0] * ys[0, 0]), WHERE, sampler=given)
    term = make_term(bind(rule, REAL), jax.random.key(3))
    np.testing.assert_array_equal(term.points, given.astype(np.float32))
    np.testing.assert_array_equal(term.fresh(jax.random.key(4)), term.points)


@pytest.mark.usefixtures("float64")
def test_a_custom_density_is_given_the_function_in_a_persons_units():
    calls = {}

    def log_g(xs, ys, function):
        calls["gap"] = jax.vmap(function)(xs) - ys
        calls["slope"] = jax.vmap(jax.jacfwd(function))(xs)
        return jnp.sum(ys)

    units = Units(
        np.array([3.0, 1.0]), np.array([2.0, 0.5]), np.array([7.0, 0.0]), np.ones(2) * 4
    )
    rule = custom(log_g, WHERE, points=5)
    term = make_term(bind(rule, REAL), jax.random.key(0), units=units)
    inner = lambda z: jnp.stack([2 * z[0], z[1] ** 2])
    term.log_g(term.points, jax.vmap(inner)(term.points), inner)
    np.testing.assert_allclose(calls["gap"], 0.0, atol=1e-12)
    # d y0 / d x0 = 4 * 2 / 2.
    np.testing.assert_allclose(calls["slope"][:, 0, 0], 4.0, rtol=1e-12)


def test_a_custom_claim_that_says_when_it_holds_is_checked():
    above = custom(lambda xs, ys: jnp.sum(ys), holds=lambda xs, ys: ys[:, 0] > xs[:, 0])
    bound = bind(above, Schema(("x",), ("y",)))
    assert bound.is_checkable
    X, Y = np.array([[0.0], [1.0]]), np.array([[[1.0], [0.5]], [[-1.0], [2.0]]])
    np.testing.assert_array_equal(bound.holds(X, Y), [[True, False], [False, True]])
    labels = Schema(("x",), ("y",), ("a", "b"))
    second = custom(lambda xs, ys: jnp.sum(ys), holds=lambda xs, ys: ys == 1)
    bound = bind(second, labels)
    np.testing.assert_array_equal(bound.holds(X, np.array([[0, 1]])), [[False, True]])


def test_what_is_no_answer_is_refused():
    with pytest.raises(RuleError, match=r"`holds`.* is a function"):
        custom(lambda xs, ys: 0.0, holds=3)
    odd = custom(lambda xs, ys: 0.0, holds=lambda xs, ys: ys)
    bound = bind(odd, Schema(("x",), ("y",)))
    with pytest.raises(RuleError, match="True or False for each of 2 points"):
        bound.holds(np.zeros((2, 1)), np.zeros(2))


def test_what_cannot_be_searched_cannot_be_firm(monkeypatch):
    monkeypatch.setattr(Nearness, "can_be_strict", True)
    bound = bind(f"{BOX} y0 near x0 within 0.5 [strength=firm]", REAL)
    assert is_strict(bound)
    monkeypatch.setattr(Nearness, "is_searchable", False)
    with pytest.raises(RuleError, match="strength=hard needs a claim"):
        bind(f"{BOX} y0 near x0 within 0.5 [strength=hard]", REAL)
    assert not is_strict(bound)


def test_what_violates_a_custom_rule_cannot_be_bounded():
    above = lambda xs, ys: ys[:, 1] > 0
    rule = custom(lambda xs, ys: 0.0, WHERE, holds=above, name="mine")
    with pytest.raises(
        CertificateError, match="'mine' does not say with an expression"
    ):
        statement_of(bind(rule, REAL))


def test_a_claim_of_any_kind_says_what_to_do_where_it_is_broken():
    for rule, _, schema, _ in CASES.values():
        claim = bind(rule, schema).claim
        assert isinstance(claim, BoundClaim)
        assert claim.remedy
