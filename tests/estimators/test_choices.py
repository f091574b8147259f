"""A category is one choice: in points, searches, proofs, words and files."""

import json
import warnings

import jax
import numpy as np
import pytest

import ocbnn
from ocbnn.certificates.certification import digest
from ocbnn.core.choices import are_choices
from ocbnn.errors import DataError, InferenceWarning, RegionError, RuleError
from ocbnn.metrics import find_worst
from ocbnn.priors import make_term
from ocbnn.priors.refined_terms import with_reach
from ocbnn.rules import Schema, bind, find_conflict

PLAN = ocbnn.NUTS(chains=2, warmup=60, draws=50, max_depth=4)
NAMES = ["x", "clinic=east", "clinic=north", "clinic=west"]
RULES = [
    "right: if 3 <= x <= 4 then y >= -1",
    "east: if -2 <= x <= 2 and `clinic=east` >= 0.5 then y <= 1.3",
    "ball: if -2 <= x <= 2 and x**2 <= 3 and `clinic=east` < 0.5 then y <= 2.5",
    "cap: y <= 3 [sampler=like-data]",
    "moved: if x >= 2.5 and `clinic=north` > 0 then y >= -2 [sampler=like-data]",
]


def table(rows=60):
    rng = np.random.default_rng(0)
    x, level = rng.uniform(-2, 2, rows), rng.integers(3, size=rows)
    X = np.column_stack([x, np.eye(3)[level]])
    return X, np.sin(x) + 0.5 * level - 0.5 + 0.1 * rng.standard_normal(rows)


def unfitted(**settings):
    known = {"inputs": NAMES, "choices": [NAMES[1:]], "noise": 0.1, "hidden": (5,)}
    known |= {"inference": PLAN, "random_state": 0, "rules": RULES}
    return ocbnn.OCBNNRegressor(**{**known, **settings})


@pytest.fixture(scope="module")
def model():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        return unfitted().fit(*table())


def test_every_point_of_every_rule_is_one_choice(model):
    choices = model.schema_.choices
    assert choices == ((1, 2, 3),)
    for term in model.target_.rules:
        for points in (term.places, term.many(jax.random.key(5), 500)):
            assert are_choices(points, choices).all()
            assert term.bound.applies(points).mean() > 0.9
    assert are_choices(model.fitted_.reference_inputs(), choices).all()
    east, moved = (model.target_.rules[i].places for i in (1, 4))
    assert (east[:, 1] == 1).all()
    assert (moved[:, 2] == 1).all()


def test_points_that_walk_stay_what_they_chose(model):
    term = with_reach(model.target_.rules[0], 4)
    weights = jax.tree.map(lambda a: a[0], model.fitted_.predictive.draws.weights)
    function = lambda x: model.fitted_.predictive.network.apply(weights, x)
    arrived = term.evaluation_points(term.points, function)
    assert not np.allclose(arrived[:, 0], term.points[:, 0])
    assert np.allclose(arrived[:, 1:], term.points[:, 1:], atol=1e-6)


def test_a_search_tries_choices_and_finds_the_worst_one(model):
    choices, levels = model.schema_.choices, np.eye(3)
    for number in (0, 2):
        term = model.target_.rules[number]
        worst = find_worst(model.fitted_.predictive, term, jax.random.key(0), starts=16)
        assert are_choices(worst.points, choices).all()
        assert term.bound.applies(worst.points).all()
        x = np.linspace(*(end[0] for end in term.ends()), 201)
        grid = np.concatenate(
            [np.column_stack([x, np.tile(one, (201, 1))]) for one in levels]
        )
        grid = grid[term.bound.applies(grid)]
        values = model.fitted_.predictive.functions(grid)[..., 0]
        at = model.fitted_.predictive.functions(worst.points)[..., 0].diagonal()
        # The first rule bounds from below, the other from above.
        gap = at - values.min(1) if number == 0 else values.max(1) - at
        assert np.quantile(gap, 0.95) < 0.02


def test_a_certificate_agrees_with_every_level_and_no_mixture_refutes_it(
    model, tmp_path
):
    x = np.linspace(-2, 2, 401)
    grid = np.concatenate(
        [np.column_stack([x, np.tile(one, (401, 1))]) for one in np.eye(3)]
    )
    top = model.sample_functions(grid, model.draws_.size).max(axis=1)
    edge = float(np.median(top))
    certificate = ocbnn.certify(model, f"low: if -2 <= x <= 2 then y <= {edge}")
    (low,) = certificate
    assert 0.05 < low.holds < 0.95
    assert low.undecided < 0.02
    assert np.all(top[low.status[0] == 1] <= edge + 1e-5)
    assert np.all(top[low.status[0] == -1] >= edge - 1e-2)
    shown = np.array([one.x for one in low.counterexamples])
    assert are_choices(shown, model.schema_.choices).all()
    page = " ".join(str(certificate).split())
    assert "clinic is any of east, north, west" in page
    assert "clinic=" not in page.replace("`clinic=", "")
    path = tmp_path / "low.json"
    certificate.save(path)
    ocbnn.verify(path, model)
    # An input between two levels is none, and shows nothing.
    content = json.loads(path.read_text())
    (one, *_) = content["rules"][0]["counterexamples"]
    one["x"][1:] = [0.5, 0.5, 0.0]
    one["y"] = [9.0]
    path.write_text(json.dumps(content))
    with pytest.raises(ocbnn.errors.CertificateError, match="does not violate it"):
        ocbnn.verify(path, model)


def test_around_rows_a_category_stays_what_it_is(model):
    rows = [[1.0, 0, 1, 0], [1.0, 1, 0, 0]]
    rule = "if `clinic=north` > 0.5 and -2 <= x <= 2 then y <= 9"
    (near,) = ocbnn.certify(model, rule, at=rows, tolerance=0.2, draws=10)
    assert near.around.outside == (2,)
    assert near.places[0].low == (0.8, 0.0, 1.0, 0.0)
    assert near.places[0].high == (1.2, 0.0, 1.0, 0.0)
    assert "exactly as in the row: clinic." in " ".join(str(near).split())


def test_a_saved_model_knows_its_choices_and_one_of_before_has_none(model, tmp_path):
    model.save(tmp_path / "model.ocbnn")
    again = ocbnn.load(tmp_path / "model.ocbnn")
    assert again.schema_ == model.schema_
    assert digest(again.fitted_) == digest(model.fitted_)
    for one, other in zip(again.target_.rules, model.target_.rules, strict=True):
        key = jax.random.key(1)
        assert np.array_equal(one.many(key, 100), other.many(key, 100))
    assert Schema(tuple(NAMES), ("y",)).choices == ()


def test_contradictions_are_found_where_a_category_can_be():
    schema = Schema(tuple(NAMES), ("y",), choices=((1, 2, 3),))
    high = "if `clinic=east` >= 0.5 and 0 <= x <= 1 then y >= 2"
    low = "if `clinic=north` >= 0.5 and 0 <= x <= 1 then y <= 1"
    both = [bind(text, schema) for text in (high, low)]
    X = table()[0]
    # Nobody is in both clinics at once.
    assert find_conflict(both, X) is None
    there = [
        *both,
        bind("if `clinic=west` < 0.5 and 0 <= x <= 1 then y <= 1.5", schema),
    ]
    conflict = find_conflict(there, X)
    assert conflict is not None
    assert are_choices(np.array([conflict.x]), schema.choices).all()
    assert "clinic = east" in conflict.message()
    assert "clinic=north =" not in conflict.message()


def test_a_region_that_no_category_meets_is_empty():
    schema = Schema(tuple(NAMES), ("y",), choices=((1, 2, 3),))
    for text in (
        "if `clinic=east` > 0.5 and `clinic=north` > 0.5 then y > 0",
        "if `clinic=east` < 1 and `clinic=north` < 1 and `clinic=west` <= 0 then y > 0",
        "if 0.2 < `clinic=east` < 0.8 then y > 0",
    ):
        with pytest.raises(RegionError, match="clinic is one of east, north, west"):
            bind(text, schema)


def test_points_of_ones_own_must_choose(model):
    point = np.array([[3.5, 0.5, 0.5, 0.0]])
    rule = ocbnn.require(
        ocbnn.outputs("y") >= 0, where=ocbnn.inputs("x").between(3, 4), sampler=point
    )
    with pytest.raises(
        RegionError, match="do not choose exactly one level of each category"
    ):
        make_term(bind(rule, model.schema_), jax.random.key(0))


def test_what_is_no_choice_is_refused():
    X, y = table()
    X[3, 1:] = 0.0
    with pytest.raises(DataError, match=r"exactly one must be 1 .* row 3"):
        unfitted().fit(X, y)
    for wrong, said in (
        ([["clinic=east", "clinic=south"]], "not an input: x, clinic=east"),
        ([["clinic=east"]], "two or more inputs"),
        ([["clinic=east", "clinic=west"], ["clinic=east", "x"]], "one group only"),
        (["clinic=east"], "is a list"),
        ("clinic", "are groups of inputs"),
    ):
        with pytest.raises(RuleError, match=said):
            unfitted(choices=wrong).fit(*table())


def test_pictures_show_nothing_between_the_values_of_a_category(model, monkeypatch):
    calls = []
    known = model.fitted_.answering.functions
    keep = lambda X, *rest: calls.append(X) or known(X, *rest)
    monkeypatch.setattr(
        type(model.fitted_.answering), "functions", lambda _, *a: keep(*a)
    )
    model.plot()
    model.plot(along="clinic=north")
    assert len(calls) > 1
    for X in calls:
        assert are_choices(X, model.schema_.choices).all()
    assert {*calls[-1][:, 2]} == {0.0, 1.0}


def test_what_is_said_about_places_names_the_category(model):
    text = str(model.report())
    assert "x, clinic (east, north, west) -> y" in text
    assert " clinic=" not in text.replace("`clinic=", "")
