"""Names become columns, conditions become what the paper computes with."""

import dataclasses
from typing import NoReturn

from ocbnn.core.errors import RuleError
from ocbnn.rules.bound import (
    AllowedClasses,
    BoundClaim,
    BoundRule,
    CustomTerm,
    Expectation,
    Forbidden,
)
from ocbnn.rules.columns import category_advice
from ocbnn.rules.conditions import And, Condition, Not, Or
from ocbnn.rules.normal_form import columns, leaves, names, normal_form
from ocbnn.rules.parse import parse_rule
from ocbnn.rules.region import region_of
from ocbnn.rules.rule import Custom, Expect, Rule
from ocbnn.rules.schema import Schema
from ocbnn.rules.slopes import bind_slope, refuse_bent
from ocbnn.rules.tree import (
    Binary,
    Call,
    Column,
    Comparison,
    Expression,
    Membership,
    Name,
    Negate,
    Slope,
)
from ocbnn.rules.words import listing, shorten


def bind(rule: Rule | str, schema: Schema) -> BoundRule:
    """Find a rule's names in a schema, and compile its region and claim.

    >>> bound = bind("if x > 0 then y <= 3", Schema(("x",), ("y",)))
    >>> [str(atom) for (atom,) in bound.claim.terms]
    ['3 - y < 0']

    Raises:
        RuleError: a name, a role or a class does not fit the schema.
        RegionError: the region is empty.
    """
    rule = parse_rule(rule) if isinstance(rule, str) else rule
    name = rule.name or shorten(str(rule), 60)
    try:
        where = None if rule.where is None else _bind_where(rule.where, schema)
        claim = _bind_claim(rule, schema)
        _check_settings(rule, claim)
    except RuleError as error:
        raise RuleError(f"rule {name!r}: {error}") from None
    region = region_of(where, schema.inputs, name, schema.choices)
    return BoundRule(rule, schema, name, region, claim)


_EXACT = "a hard rule gives other classes a probability of zero"


def _check_settings(rule: Rule, claim: BoundClaim) -> None:
    """Refuse a setting that this kind of claim would silently ignore."""
    usual = {field.name: field.default for field in dataclasses.fields(Rule)}
    edge = ("tau", "literal")
    idle = {
        Forbidden: ("weight", "allowed", "forbidden", "per"),
        Expectation: ("strength", "allowed", "forbidden", *edge),
        AllowedClasses: ("strength", "per", *edge),
        CustomTerm: ("strength", "weight", "allowed", "forbidden", "per", *edge),
    }[type(claim)]
    instead = {
        Forbidden: "`strength` says how costly it is to break this rule",
        Expectation: "the sd of `Normal` and `weight` say how strictly it is held",
        AllowedClasses: "`weight`, `allowed` and `forbidden` say how strict it is",
        CustomTerm: "put it into `log_g`",
    }[type(claim)]
    if rule.held != "soft" and isinstance(claim, Expectation | CustomTerm):
        raise RuleError(
            f"strength={rule.held} needs a claim that outputs keep or break, and "
            f"({rule.claim}) is none. Say where outputs must lie: "
            "`require(y.between(a, b), ...)`, in text `a <= y <= b`."
        )
    if rule.held == "hard" and isinstance(claim, Forbidden):
        refuse_bent(claim)
    if rule.held == "hard" and isinstance(claim, AllowedClasses):
        idle, instead = (*idle, "weight", "allowed", "forbidden"), _EXACT
    for name in idle:
        if name == "strength" and rule.held != "soft":
            continue
        if getattr(rule, name) != usual[name]:
            raise RuleError(
                f"{name}={getattr(rule, name)} has no effect on a claim of this kind: "
                f"{instead}. Leave it out."
            )


def _bind_where(where: Condition, schema: Schema) -> Condition:
    for leaf in leaves(where):
        if isinstance(leaf, Membership):
            _refuse_membership(leaf, schema)
    bound = _condition(where, schema)
    wrong = _mentioned(bound, "output")
    if wrong:
        raise RuleError(
            f"the region ({where}) mentions the output {listing(wrong)}, but a region "
            "is made of inputs only. Put it in the claim: "
            "`(if OUTPUT CONDITION then CLAIM)`, or `.implies(...)`."
        )
    return bound


def _bind_claim(rule: Rule, schema: Schema) -> BoundClaim:
    claim = rule.claim
    if isinstance(claim, Custom):
        return CustomTerm(claim.log_g)
    if isinstance(claim, Expect):
        return _expectation(claim, schema)
    if schema.is_classification:
        return _allowed_classes(claim, schema)
    bound = _condition(claim, schema)
    if not _mentioned(bound, "output"):
        _refuse_inputs_only(claim, schema)
    return Forbidden(normal_form(bound, negated=True), bound)


def _expectation(claim: Expect, schema: Schema) -> Expectation:
    if schema.is_classification:
        raise RuleError(
            f"`~ Normal` needs a real output, but {schema.outputs[0]} is a class. "
            f"Write `{schema.outputs[0]} in {{{(schema.classes or ('',))[0]}}}`."
        )
    target = _expression(claim.target, schema)
    means = tuple(_expression(mean, schema) for mean in claim.means)
    if not _mentioned(target, "output"):
        raise RuleError(
            f"({claim.target}) mentions no output, so nothing is expected of the "
            f"function. Write an output first: `{schema.outputs[0]} ~ Normal(...)`."
        )
    for mean in means:
        wrong = _mentioned(mean, "output")
        if wrong:
            raise RuleError(
                f"the mean ({mean}) mentions the output {listing(wrong)}, but a mean "
                f"is made of inputs and numbers. Move it to the left: "
                f"`{claim.target} - ... ~ Normal(...)`."
            )
    return Expectation(target, means, claim.sds, claim.weights)


def _allowed_classes(claim: Condition, schema: Schema) -> AllowedClasses:
    classes = schema.classes or ()
    mask = tuple(_class_truth(claim, schema, index) for index in range(len(classes)))
    if all(mask) or not any(mask):
        every = "every class" if all(mask) else "no class"
        raise RuleError(
            f"the claim ({claim}) allows {every} of {listing(classes)}, so it "
            f"{'says nothing' if all(mask) else 'cannot hold'}. Name some of them."
        )
    return AllowedClasses(mask)


def _class_truth(claim: Condition, schema: Schema, index: int) -> bool:
    match claim:
        case Membership(output, labels):
            if schema.column(output).kind != "output":
                _refuse_membership(claim, schema)
            return index in {schema.class_index(label) for label in labels}
        case Not(part):
            return not _class_truth(part, schema, index)
        case And(parts):
            # A list, so that every part is looked at and every error is found.
            return all([_class_truth(part, schema, index) for part in parts])
        case Or(parts):
            return any([_class_truth(part, schema, index) for part in parts])
    if not _mentioned(_condition(claim, schema), "output"):
        _refuse_inputs_only(claim, schema)
    output, classes = schema.outputs[0], listing(schema.classes or ())
    raise RuleError(
        f"({claim}) compares {output}, which is a class: classes have no order. Write "
        f"`{output} in {{...}}` with some of {classes}."
    )


def _refuse_membership(leaf: Membership, schema: Schema) -> NoReturn:
    for label in leaf.classes:
        if f"{leaf.output.name}={label}" in schema.inputs:
            raise RuleError(category_advice(leaf.output.name, str(label)))
    kind = schema.column(leaf.output).kind
    if kind == "output" and schema.is_classification:
        raise RuleError(
            f"the region mentions the output {leaf.output}, but a region is made of "
            f"inputs only. Put ({shorten(str(leaf))}) in the claim."
        )
    raise RuleError(
        f"({shorten(str(leaf))}) needs a class output, but {leaf.output} is a real "
        f"{kind}. Compare it with numbers: `1 <= {leaf.output} <= 2`."
    )


def _refuse_inputs_only(claim: Condition, schema: Schema) -> NoReturn:
    found = listing(dict.fromkeys(map(str, names(claim))))
    speaks = f"only the inputs {found}" if found else "no column at all"
    raise RuleError(
        f"the claim ({claim}) mentions {speaks}; a claim is about outputs "
        f"({listing(schema.outputs)}). Conditions on inputs go before: "
        f"`if {claim} then ...`, or `where=...`."
    )


def _mentioned(node: Condition | Expression, kind: str) -> list[str]:
    found = (str(column) for column in columns(node) if column.kind == kind)
    return list(dict.fromkeys(found))


def _condition(condition: Condition, schema: Schema) -> Condition:
    match condition:
        case Comparison(op, left, right):
            return Comparison(op, _expression(left, schema), _expression(right, schema))
        case Not(part):
            return Not(_condition(part, schema))
        case And(parts) | Or(parts):
            bound = tuple(_condition(part, schema) for part in parts)
            return type(condition)(bound)
        case Membership():
            _refuse_membership(condition, schema)
    raise RuleError(f"({condition}) is no condition this library knows.")


def _expression(  # noqa: PLR0911 (one per kind of node)
    expr: Expression, schema: Schema
) -> Expression:
    match expr:
        case Name():
            return schema.column(expr)
        case Negate(part):
            return Negate(_expression(part, schema))
        case Binary(op, left, right):
            return Binary(op, _expression(left, schema), _expression(right, schema))
        case Call(_, args):
            bound = tuple(_expression(arg, schema) for arg in args)
            return dataclasses.replace(expr, args=bound)
        case Column():
            return schema.column(Name(expr.name, expr.kind))
        case Slope():
            return bind_slope(expr, schema)
    return expr
