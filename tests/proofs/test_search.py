"""Proofs against brute force: no answer may be wrong."""

import contextlib

import numpy as np
import pytest

from ocbnn.core.choices import are_choices
from ocbnn.core.units import Units
from ocbnn.errors import CertificateError
from ocbnn.networks import MLP
from ocbnn.networks.mlp import Layer
from ocbnn.proofs.prover import Prover
from ocbnn.proofs.search import (
    BROKEN,
    HOLDS,
    UNDECIDED,
    Roots,
    Search,
    leaves,
    search,
)
from ocbnn.rules import Schema, bind
from tests.proofs.networks import network, random_draws, values

_LOOKS = 300


def broken_somewhere(bound, draws, number, low, high, activation, rng):
    """Whether a draw breaks a rule at some of many places of a box."""
    inputs = len(low)
    X = low + rng.random((_LOOKS, inputs)) * (high - low)
    corners = np.array(np.meshgrid(*[[0, 1]] * inputs)).reshape(inputs, -1).T
    X = np.concatenate([X, low + corners * (high - low)])
    return not bound.holds(X, values(draws, number, X, activation)).all()


SQUARE = "if -9 <= x0 <= 9 and -9 <= x1 <= 9 then "
BALL = "if x0**2 + x1**2 + x2**2 <= 25 then "
CASES = [
    pytest.param(
        (1, 6, 1), "rbf", "if -9 <= x0 <= 9 then y <= 1.5", marks=pytest.mark.slow
    ),
    pytest.param(
        (2, 5, 1), "tanh", SQUARE + "not (-1 <= y <= 0.5)", marks=pytest.mark.slow
    ),
    ((3, 4, 4, 1), "relu", BALL + "y <= 3 + x0**2"),
    ((2, 4, 2), "rbf", SQUARE + "y0 + 2 * y1 <= 1 or abs(y0 - x0) <= 2"),
]


@pytest.mark.parametrize(("widths", "activation", "text"), CASES)
def test_no_proof_and_no_counterexample_is_wrong(widths, activation, text):
    count = 2500
    rng = np.random.default_rng(len(text))
    draws = random_draws(rng, widths, count)
    inputs = [f"x{i}" for i in range(widths[0])]
    outputs = ["y"] if widths[-1] == 1 else [f"y{i}" for i in range(widths[-1])]
    bound = bind(text, Schema(tuple(inputs), tuple(outputs)))
    prover = Prover(network(widths, activation), draws, None, bound)
    middle = rng.uniform(-2, 2, (count, widths[0]))
    half = 10 ** rng.uniform(-2, 0.3, (count, widths[0]))
    low, high = middle - half, middle + half
    result = search(prover, Roots(np.arange(count), low, high), 600)
    for number in range(count):
        if result.status[number] == HOLDS:
            args = (low[number], high[number], activation, rng)
            assert not broken_somewhere(bound, draws, number, *args)
        if result.status[number] == BROKEN:
            x = result.broken_at[number]
            assert np.all(low[number] <= x)
            assert np.all(x <= high[number])
            y = values(draws, number, x[None], activation)
            assert not bound.holds(x[None], y).any()
    # And it is of use: nearly everything is decided, either way.
    assert np.mean(result.status == UNDECIDED) < 0.01
    assert min(np.mean(result.status == HOLDS), np.mean(result.status == BROKEN)) > 0.05


def test_rules_about_slopes_classes_and_expectations_are_decided():
    rng = np.random.default_rng(5)
    draws = random_draws(rng, (1, 5, 2), 200)
    net = network((1, 5, 2), "rbf")
    X = np.linspace(-1, 1, 501)[:, None]
    logits = np.stack([values(draws, n, X, "rbf") for n in range(200)])
    roots = Roots(np.arange(200), np.full((200, 1), -1.0), np.full((200, 1), 1.0))

    slope = bind("if -1 <= x <= 1 then d(a, x) <= 1", Schema(("x",), ("a", "b")))
    result = search(Prover(net, draws, None, slope), roots, 2000)
    steepest = np.diff(logits[..., 0], axis=1).max(axis=1) / (X[1] - X[0])
    assert np.all(steepest[result.status == HOLDS] <= 1)
    assert np.all(steepest[result.status == BROKEN] > 0.98)
    assert np.mean(result.status == UNDECIDED) < 0.02

    classes = Schema(("x",), ("c",), ("low", "high"))
    allowed = bind("if -1 <= x <= 1 then c in {high}", classes)
    result = search(Prover(net, draws, None, allowed), roots, 2000)
    margin = (logits[..., 1] - logits[..., 0]).min(axis=1)
    assert np.all(margin[result.status == HOLDS] > 0)
    assert np.all(margin[result.status == BROKEN] < 1e-4)
    assert np.mean(result.status == UNDECIDED) < 0.02

    near = bind("if -1 <= x <= 1 then a ~ Normal(x, 1)", Schema(("x",), ("a", "b")))
    result = search(Prover(net, draws, None, near), roots, 2000)
    away = np.abs(logits[..., 0] - X[:, 0]).max(axis=1)
    assert np.all(away[result.status == HOLDS] <= 2)
    assert np.all(away[result.status == BROKEN] > 1.999)


def test_units_are_those_of_the_person():
    rng = np.random.default_rng(6)
    draws = random_draws(rng, (1, 5, 1), 100)
    units = Units(*map(np.array, ([2e6], [1e3], [-50.0], [7.0])))
    text = "if 1999000 <= x <= 2001000 then y <= -45"
    prover = Prover(
        network((1, 5, 1), "tanh"), draws, units, bind(text, Schema(("x",), ("y",)))
    )
    low, high = np.full((100, 1), 1.999e6), np.full((100, 1), 2.001e6)
    result = search(prover, Roots(np.arange(100), low, high), 1000)
    X = np.linspace(-1, 1, 301)[:, None]
    top = np.array([values(draws, n, X, "tanh").max() for n in range(100)])
    highest = -50 + 7 * top
    assert np.all(highest[result.status == HOLDS] <= -45)
    assert np.all(highest[result.status == BROKEN] > -45.001)
    assert np.mean(result.status != UNDECIDED) > 0.98


def test_boxes_of_a_proof_cover_the_whole():
    low, high = np.array([0.0, 0.0]), np.array([1.0, 2.0])
    lows, highs = leaves([0, 1, -1, -1, -1], low, high)
    assert np.isclose(np.prod(highs - lows, axis=1).sum(), 2.0)
    assert lows.tolist() == [[0.0, 0.0], [0.0, 1.0], [0.5, 0.0]]
    for wrong in ([], [0, -1], [-1, -1], [5, -1, -1]):
        with pytest.raises(ValueError, match="its splits"):
            leaves(wrong, low, high)


def test_what_cannot_be_bounded_is_refused():
    draws = random_draws(np.random.default_rng(7), (1, 3, 1), 2)
    schema = Schema(("x",), ("y",))
    with pytest.raises(CertificateError, match="curvature"):
        Prover(MLP(1, 3, 1), draws, None, bind("d(y, x, x) >= 0", schema))


def answer(text, layers, activation="tanh", units=None):
    """What is found about one small network on the box of a rule's region."""
    draws = tuple(
        Layer(np.array([weight], float), np.array([bias], float))
        for weight, bias in layers
    )
    widths = (draws[0].weight.shape[1], *(one.weight.shape[2] for one in draws))
    bound = bind(text, Schema(("x",), ("y",)))
    prover = Prover(network(widths, activation), draws, units, bound)
    low, high = bound.region.box()
    return search(prover, Roots(np.array([0]), low[None], high[None]), 500).status[0]


def always(value):
    """A network that has one output whatever its input."""
    return [([[0.0]], [0.0]), ([[0.0]], [value])]


SAME = [([[1.0]], [0.0])]
HERE = "if 0 <= x <= 1 then "


@pytest.mark.parametrize(
    ("text", "layers", "possible"),
    [
        # Sums in which large numbers cancel mean what they say.
        (HERE + "y >= (1e16 + 1) - 1e16", always(0.5), {BROKEN}),
        (HERE + "y + 1e16 + 1 - 1e16 >= 0.5", always(0.0), {HOLDS}),
        (HERE + "1e16 * y + 3 * y - 1e16 * y <= 3.5", always(1.0), {HOLDS}),
        (HERE + "y ~ Normal(1e16 + 1 - 1e16, 0.25)", always(0.0), {BROKEN}),
        ("if x >= (1e16 + 3) - 1e16 and x <= 10 then y >= 3.5", SAME,
         {BROKEN, UNDECIDED}),
        # An input that breaks a claim lies in the region, and not just by rounding.
        ("if x**2 + 1e16 <= 1e16 and -0.9 <= x <= 0.9 then y <= 0.5", SAME,
         {HOLDS, UNDECIDED}),
        ("if (x - 1)**3 + 1e15 <= 1e15 and 0 <= x <= 1.4 then y <= 1.01", SAME,
         {HOLDS, UNDECIDED}),
        # What is too small to be a number is not nothing.
        (HERE + "y * 1e-200 * 1e-200 >= 0", always(-1.0), {BROKEN, UNDECIDED}),
        ("if 1e-300 <= x <= 1e-299 then y <= 0", [([[1e-38]], [0.0])],
         {BROKEN, UNDECIDED}),
        (HERE + "1e-300 * y <= 0", [([[1.0]], [1.0]), ([[1e-12]], [0.0])],
         {BROKEN, UNDECIDED}),
        (HERE + "y * 1e200 * 1e200 <= 1", always(1e-310), {BROKEN, UNDECIDED}),
        # Of what has no value nothing is known, not even its zeroth power.
        (HERE + "log(y)**0 >= 0.5", always(-1.0), {UNDECIDED}),
        (HERE + "log(y)**0 <= 0.5", always(-1.0), {UNDECIDED}),
        # And numbers that are no doubles are bounded all the same.
        (HERE + "y <= 1 / 3", always(0.3), {HOLDS}),
        (HERE + "y <= exp(1)", always(2.0), {HOLDS}),
        (HERE + "y ** (1 / 3) <= 1.1", always(1.0), {HOLDS}),
        (HERE + "2 ** y <= 3", always(2.0), {BROKEN}),
    ],
)  # fmt: skip
def test_rounding_decides_nothing(text, layers, possible):
    assert answer(text, layers) in possible


def test_units_of_any_size_decide_nothing_wrongly():
    units = Units(*map(np.array, ([0.0], [1e300], [0.0], [1e-300])))
    assert answer("if 1 <= x <= 2 then y <= 0", SAME, units=units) != HOLDS
    deep = [([[1e-37]], [0.0])] * 8 + [([[-1e-37]], [0.0])]
    assert answer("if 1 <= x <= 2 then d(y, x) >= 0", deep, "relu") != HOLDS


class _Impatient(Prover):
    """A prover whose owner presses Ctrl-C at some call."""

    def _map_chunks(self, function, draws, low, high):
        self.calls = getattr(self, "calls", 0) + 1
        if self.calls == self.limit:
            raise KeyboardInterrupt
        return super()._map_chunks(function, draws, low, high)


def test_whenever_a_search_is_interrupted_what_it_found_is_true(monkeypatch):
    monkeypatch.setattr("ocbnn.proofs.search._CHUNKS", 1)
    rng = np.random.default_rng(5)
    draws = random_draws(rng, (1, 5, 2), 200)
    bound = bind("if -1 <= x <= 1 then d(a, x) <= 1", Schema(("x",), ("a", "b")))
    args = network((1, 5, 2), "rbf"), draws, None, bound
    # Thousands of boxes around rows, so that not all are begun at once.
    edges = rng.uniform(-1, 1, (1200, 1))
    roots = Roots(np.arange(1200) % 200, edges - 0.2, edges + 0.2)
    complete = search(Prover(*args), roots, 300)
    seen = set()
    for limit in (1, 2, 3, 4, 6, 8, 10, 14, 20):
        prover = _Impatient(*args)
        prover.limit = limit
        run = Search(prover, roots, 300)
        with contextlib.suppress(KeyboardInterrupt):
            while run.new:
                run.glance()
            while True:
                run.divide()
        result = run.result()
        assert not result.is_over
        decided = result.status != UNDECIDED
        assert np.array_equal(result.status[decided], complete.status[decided])
        kept = np.flatnonzero(result.status == HOLDS)
        assert all(result.splits[root] == complete.splits[root] for root in kept)
        seen.add(int(decided.sum()))
    assert len(seen) > 3
    assert min(seen) == 0
    assert complete.is_over


CATEGORY = Schema(("x", "c=a", "c=b", "c=d"), ("y",), choices=((1, 2, 3),))


@pytest.mark.parametrize(
    "text",
    [
        "if -1 <= x <= 1 then y <= 0.8",
        "if -1 <= x <= 1 and `c=b` < 0.5 then y <= 0.8",
        "if x**2 <= 0.5 and -1 <= x <= 1 and `c=d` > 0 then y <= 0.8",
    ],
)
def test_a_category_is_decided_for_its_levels_and_nothing_in_between(text):
    rng = np.random.default_rng(8)
    draws, count = random_draws(rng, (4, 6, 1), 300), 300
    bound = bind(text, CATEGORY)
    prover = Prover(network((4, 6, 1), "tanh"), draws, None, bound)
    low, high = (np.repeat(end[None], count, axis=0) for end in bound.region.box())
    result = search(prover, Roots(np.arange(count), low, high), 2000)
    x = np.linspace(-1, 1, 201)
    X = np.concatenate(
        [np.column_stack([x, np.tile(level, (201, 1))]) for level in np.eye(3)]
    )
    X = X[bound.applies(X)]
    top = np.array([values(draws, n, X, "tanh").max() for n in range(count)])
    assert np.all(top[result.status == HOLDS] <= 0.8)
    assert np.all(top[result.status == BROKEN] > 0.79)
    assert np.mean(result.status == UNDECIDED) < 0.01
    shown = result.broken_at[result.status == BROKEN]
    assert are_choices(shown, CATEGORY.choices).all()
    assert bound.applies(shown).all()
    # Mixtures of levels would refute some that hold, and are no inputs.
    mixed = np.column_stack([rng.uniform(-1, 1, 2000), rng.dirichlet([1, 1, 1], 2000)])
    mixed = mixed[bound.applies(mixed)]
    kept = np.flatnonzero(result.status == HOLDS)
    over = [n for n in kept if values(draws, n, mixed, "tanh").max() > 0.8]
    assert over
    for number in over[:5]:
        at = mixed[values(draws, number, mixed, "tanh")[:, 0].argmax()]
        assert not prover.is_broken(np.array([number]), at[None])[0]
    # And the boxes of a proof hold every level that the region has.
    lows, highs = leaves(result.splits[kept[0]], low[0], high[0], CATEGORY.choices)
    for point in X:
        assert ((point >= lows) & (point <= highs)).all(axis=1).any()
