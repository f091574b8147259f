"""Binding rules: names become columns, conditions become regions and claims."""

import dataclasses

from ocbnn.claims import BoundClaim, bind_claim
from ocbnn.core.advice import Kind
from ocbnn.core.sentences import Sentence
from ocbnn.core.words import listing, shorten
from ocbnn.errors import RuleError
from ocbnn.language.binding import bind_condition, mentioned, refuse_membership
from ocbnn.language.conditions import Condition
from ocbnn.language.normal_form import leaves
from ocbnn.language.schema import Schema
from ocbnn.language.tree import Membership
from ocbnn.rules.bound import BoundRule
from ocbnn.rules.parse import parse_rule
from ocbnn.rules.region import region_of
from ocbnn.rules.rule import Rule


def bind(rule: Rule | str, schema: Schema) -> BoundRule:
    """Resolve a rule's names in a schema, and compile its region and claim.

    Parameters
    ----------
    rule
        A rule, or its text.
    schema
        The names of the columns.

    Returns
    -------
    BoundRule
        The rule, which can now be checked on data.

    Raises
    ------
    RuleError
        When a name, a role or a class does not fit the schema, or a setting has no
        effect on this kind of claim.
    RegionError
        When the region is empty.

    Examples
    --------
    >>> bound = bind("if x > 0 then y <= 3", Schema(("x",), ("y",)))
    >>> [str(atom) for (atom,) in bound.claim.terms]
    ['3 - y < 0']
    """
    rule = parse_rule(rule) if isinstance(rule, str) else rule
    name = rule.name or shorten(str(rule), 60)
    try:
        where = None if rule.where is None else _bind_where(rule.where, schema)
        claim = bind_claim(rule.claim, schema)
        _check_settings(rule, claim)
    except RuleError as error:
        raise RuleError(Sentence(f"rule {name!r}: ", error)) from None
    region = region_of(where, schema.inputs, name, schema.choices)
    return BoundRule(rule, schema, name, region, claim)


def _check_settings(rule: Rule, claim: BoundClaim) -> None:
    """Raise an error for a setting that this kind of claim would silently ignore."""
    if rule.strictness != "soft" and not (claim.can_be_strict and claim.is_searchable):
        needs = (
            f"strength={rule.strictness} needs a claim that outputs keep or violate, "
        )
        lacks = f"but ({rule.claim}) is not one. Say where outputs must lie: "
        raise RuleError(Sentence(needs, lacks, Kind.CLAIM_RANGE, "."))
    claim.check(rule)
    usual = {field.name: field.default for field in dataclasses.fields(Rule)}
    idle, instead = claim.idle_settings(rule)
    for name in idle:
        if name == "strength" and rule.strictness != "soft":
            continue
        if getattr(rule, name) != usual[name]:
            raise RuleError(
                f"{name}={getattr(rule, name)} has no effect on a claim of this kind: "
                f"{instead}. Leave it out."
            )


def _bind_where(where: Condition, schema: Schema) -> Condition:
    for leaf in leaves(where):
        if isinstance(leaf, Membership):
            refuse_membership(leaf, schema)
    bound = bind_condition(where, schema)
    wrong = mentioned(bound, "output")
    if wrong:
        raise RuleError(
            f"the region ({where}) mentions the output {listing(wrong)}, but a region "
            "is made of inputs only. Put it in the claim: "
            "`(if OUTPUT CONDITION then CLAIM)`, or `.implies(...)`."
        )
    return bound
