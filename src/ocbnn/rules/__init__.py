"""What experts say: rules, written in Python or as text, bound to columns."""

from ocbnn.rules import functions as functions
from ocbnn.rules.bind import bind as bind
from ocbnn.rules.bound import (
    AllowedClasses as AllowedClasses,
    BoundClaim as BoundClaim,
    BoundRule as BoundRule,
    CustomTerm as CustomTerm,
    Expectation as Expectation,
    Forbidden as Forbidden,
)
from ocbnn.rules.conditions import (
    And as And,
    Condition as Condition,
    Not as Not,
    Or as Or,
)
from ocbnn.rules.conflicts import Conflict as Conflict, find_conflict as find_conflict
from ocbnn.rules.evaluate import evaluate as evaluate
from ocbnn.rules.form import take_out as take_out
from ocbnn.rules.limits import output_limits as output_limits
from ocbnn.rules.naming import d as d, inputs as inputs, outputs as outputs
from ocbnn.rules.normal_form import Atom as Atom
from ocbnn.rules.parse import parse_rule as parse_rule
from ocbnn.rules.redundant import (
    Redundancy as Redundancy,
    find_redundant as find_redundant,
)
from ocbnn.rules.region import Region as Region
from ocbnn.rules.rule import Custom as Custom, Expect as Expect, Rule as Rule
from ocbnn.rules.schema import Schema as Schema
from ocbnn.rules.tree import (
    Binary as Binary,
    Call as Call,
    Column as Column,
    Comparison as Comparison,
    Expression as Expression,
    Membership as Membership,
    Name as Name,
    Negate as Negate,
    Number as Number,
    Slope as Slope,
)
from ocbnn.rules.verbs import (
    custom as custom,
    expect as expect,
    forbid as forbid,
    require as require,
)
