"""Binding finds every name, and refuses what cannot mean anything."""

import jax
import numpy as np
import pytest

from ocbnn.claims import AllowedClasses, CustomTerm, Expectation
from ocbnn.errors import DataError, RegionError, RuleError
from ocbnn.language.columns import meant_column
from ocbnn.rules import (
    Schema,
    bind,
    custom,
    expect,
    inputs,
    outputs,
    parse_rule,
    require,
)

REAL = Schema(("pressure", "age"), ("dose", "rate"))
WARD = Schema(("mean bp", "sex=female", "sex=male"), ("dose (mg)",))
CLASSES = Schema(("pressure", "age"), ("action",), ("wait", "treat", 3))


def bound(text, schema=REAL):
    return bind(parse_rule(text), schema)


def test_the_forbidden_set_is_the_negation_in_normal_form():
    rule = bound("2 <= dose <= 3")
    assert [[str(a) for a in term] for term in rule.claim.terms] == [
        ["dose - 2 < 0"],
        ["3 - dose < 0"],
    ]
    rule = bound("not (0 <= dose and dose < 3)")
    (term,) = rule.claim.terms
    assert [str(a) for a in term] == ["0 - dose <= 0", "dose - 3 < 0"]
    assert [a.strict for a in term] == [False, True]


def test_atoms_know_whether_they_speak_of_outputs():
    ((first, second),) = bound("(if pressure < 3 then dose > 2)").claim.terms
    assert (first.uses_outputs, second.uses_outputs) == (False, True)


def test_a_bound_rule_is_named_and_hashable_and_static_under_jit():
    text = "if age < 3 then dose < 2"
    one, two = bound(text), bound(text)
    assert one == two
    assert hash(one) == hash(two)
    assert one.name == text
    assert bound("low: dose < 2").name == "low"
    traced = jax.jit(lambda rule, z: z * rule.rule.points, static_argnums=0)
    assert traced(one, 1.0) == traced(two, 1.0) == 50
    assert traced._cache_size() == 1


def test_expectations_and_custom_terms_are_bound():
    age, dose = inputs("age"), outputs("dose")
    claim = bind(expect(dose, [age, 2], sd=1), REAL).claim
    assert isinstance(claim, Expectation)
    assert (claim.sds, claim.weights) == ((1.0, 1.0), (0.5, 0.5))
    rule = bind(custom(len, age < 3), REAL)
    assert rule.claim == CustomTerm(len)
    assert not rule.is_checkable


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("action in {treat}", (False, True, False)),
        ("action not in {treat, 3}", (True, False, False)),
        ("action in {treat} or action in {'3'}", (False, True, True)),
        ("not (action in {wait} and action in {wait, treat})", (False, True, True)),
    ],
)
def test_class_claims_become_a_mask(text, mask):
    assert bound(text, CLASSES).claim == AllowedClasses(mask)


@pytest.mark.parametrize(
    ("text", "schema", "advice"),
    [
        ("presure < 3", REAL, "Did you mean `pressure`.*Inputs: pressure, age"),
        ("age < 3", REAL, "only the inputs age.*if age < 3 then"),
        ("1 < 3", REAL, "no column at all"),
        ("if dose < 3 then rate < 2", REAL, "region is made of inputs only"),
        ("dose in {treat}", REAL, "needs a class output"),
        ("if age in {treat} then dose < 3", REAL, "Compare it with numbers"),
        ("age ~ Normal(3, 1)", REAL, "mentions no output"),
        ("dose ~ Normal(rate, 1)", REAL, "Move it to the left"),
        ("action < 3", CLASSES, "classes have no order"),
        ("action ~ Normal(3, 1)", CLASSES, "is a class"),
        ("action in {teat}", CLASSES, "Did you mean `treat`.*Classes: wait, treat, 3"),
        ("action in {wait, treat, 3}", CLASSES, "every class"),
        ("action in {wait} and action in {treat}", CLASSES, "no class"),
        ("action in {wait} and age < 3", CLASSES, "only the inputs age"),
        ("age in {wait}", CLASSES, "real input"),
        ("if action in {wait} then action in {treat}", CLASSES, "inputs only"),
        ("if sex in {male} then `dose (mg)` > 3", WARD, "write `sex=male` >= 0.5"),
        ("if sex > 1 then `dose (mg)` > 3", WARD, "Did you mean `` `sex=female` >="),
    ],
)
def test_rules_that_do_not_fit_are_refused_with_advice(text, schema, advice):
    with pytest.raises(RuleError, match=advice):
        bound(text, schema)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("if 30 <= mean bp <= 60 then `dose (mg)` > 3", "write `mean bp`."),
        ("if `mean bp` < 60 then dose (mg) > 3", "write `dose (mg)`."),
        ("if sex = male then `dose (mg)` > 3", "write `sex=male` >= 0.5 for male."),
        ('if sex == "male" then `dose (mg)` > 3', "write `sex=male` >= 0.5 for male."),
        ("if `mean bp` < 60 then `dose (mg)` > 3", ""),
    ],
)
def test_columns_that_are_meant_are_found_in_text_that_cannot_be_read(text, advice):
    result = meant_column(text, WARD)
    assert result.endswith(advice)
    assert bool(result) == bool(advice)


def test_a_role_that_contradicts_the_schema_is_refused():
    with pytest.raises(RuleError, match=r'inputs\("age"\)'):
        bind(require(outputs("age") < 3), REAL)


def test_a_claim_with_too_many_pieces_is_refused():
    parts = " or ".join(f"(dose < {i} and rate > {i})" for i in range(12))
    with pytest.raises(RuleError, match="more than 256 pieces"):
        bound(parts)


@pytest.mark.parametrize(
    ("write", "advice"),
    [
        (lambda: Schema(("a", "a"), ("y",)), "twice"),
        (lambda: Schema(("a",), ("a",)), "twice"),
        (lambda: Schema((), ("y",)), "no inputs"),
        (lambda: Schema(("",), ("y",)), "names of columns"),
        (lambda: Schema(("a",), ("y", "z"), (0, 1)), "single output"),
        (lambda: Schema(("a",), ("y",), (0,)), "two or more"),
    ],
)
def test_schemas_check_their_names(write, advice):
    with pytest.raises(RuleError, match=advice):
        write()


@pytest.mark.parametrize(
    ("where", "lower", "upper", "is_box"),
    [
        ("-1 <= age <= 2", [-np.inf, -1], [np.inf, 2], True),
        ("2*age < 3 and pressure > 1", [1, -np.inf], [np.inf, 1.5], True),
        ("-age / 2 + 1 <= 0", [-np.inf, 2], [np.inf, np.inf], True),
        ("0 < age < 1 or 2 < age < 3", [-np.inf, 0], [np.inf, 3], False),
        ("not (age < 0 or age > 1)", [-np.inf, 0], [np.inf, 1], True),
        ("age + pressure < 1 and age > 0", [-np.inf, 0], [np.inf, np.inf], False),
        ("age ** 2 < 4", [-np.inf, -np.inf], [np.inf, np.inf], False),
        ("age < 1 and age < 1 and 1 < 2", [-np.inf, -np.inf], [np.inf, 1], True),
        ("3 < age < 1 or age > 5", [-np.inf, 5], [np.inf, np.inf], True),
        ("exp(0) <= age", [-np.inf, 1], [np.inf, np.inf], True),
    ],
)
def test_boxes_bound_their_regions(where, lower, upper, is_box):
    region = bound(f"if {where} then dose < 3").region
    np.testing.assert_array_equal(region.box(), (lower, upper))
    assert region.is_box == is_box


def test_everywhere_is_a_box_without_bounds():
    region = bound("dose < 3").region
    assert region.is_box
    assert region.columns == ()
    assert not np.isfinite(region.box()).any()
    assert region.contains(np.zeros((3, 2))).all()


@pytest.mark.parametrize(
    "where", ["3 < age < 1", "age < 1 and age >= 1", "2 < 1", "age < age - 1"]
)
def test_empty_regions_are_refused(where):
    with pytest.raises(RegionError, match="'gone' is empty"):
        bound(f"gone: if {where} then dose < 3")


def test_a_region_checks_the_shape_of_its_inputs():
    with pytest.raises(DataError, match=r"shape \(rows, 2\)"):
        bound("dose < 3").applies(np.zeros((3, 1)))


@pytest.mark.parametrize(
    ("text", "has_sides"),
    [
        ("y >= 0", False),
        ("if 0 <= x <= 1 then 0 <= y <= 1", False),
        ("if 0 <= x <= 1 then not (0 <= y <= 1)", True),
        ("if 0 <= x <= 1 then y <= 0 or y >= 1", True),
        ("if 0 <= x <= 1 then (x <= 0.5 or y >= 1)", False),
        ("if 0 <= x <= 1 then y ~ Normal(0, 1)", False),
        ("if 0 <= x <= 1 then y ~ 0.5*Normal(0, 1) + 0.5*Normal(5, 1)", True),
    ],
)
def test_a_rule_knows_whether_it_leaves_room_on_several_sides(text, has_sides):
    assert bind(parse_rule(text), Schema(("x",), ("y",))).claim.has_sides is has_sides
