"""What experts say: rules, written in Python or as text, bound to columns."""

from ocbnn.language import functions as functions
from ocbnn.language.conditions import (
    And as And,
    Condition as Condition,
    Not as Not,
    Or as Or,
)
from ocbnn.language.evaluate import evaluate as evaluate
from ocbnn.language.naming import (
    d as d,
    derivative as derivative,
    inputs as inputs,
    outputs as outputs,
)
from ocbnn.language.normal_form import Atom as Atom
from ocbnn.language.schema import Schema as Schema
from ocbnn.language.tree import (
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
from ocbnn.rules.bind import bind as bind
from ocbnn.rules.bound import BoundRule as BoundRule
from ocbnn.rules.conflicts import Conflict as Conflict, find_conflict as find_conflict
from ocbnn.rules.limits import output_limits as output_limits
from ocbnn.rules.parse import parse_rule as parse_rule
from ocbnn.rules.redundant import (
    Redundancy as Redundancy,
    find_redundant as find_redundant,
)
from ocbnn.rules.region import Region as Region
from ocbnn.rules.rule import Rule as Rule
from ocbnn.rules.verbs import (
    custom as custom,
    expect as expect,
    forbid as forbid,
    require as require,
)
