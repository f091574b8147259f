"""Binding the trees of a rule to a schema: names become columns."""

import dataclasses
from typing import NoReturn

from ocbnn.core.words import listing, shorten
from ocbnn.errors import RuleError
from ocbnn.language.columns import category_advice
from ocbnn.language.conditions import And, Condition, Not, Or
from ocbnn.language.normal_form import columns, names
from ocbnn.language.schema import Schema
from ocbnn.language.slopes import bind_slope
from ocbnn.language.tree import (
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


def refuse_membership(leaf: Membership, schema: Schema) -> NoReturn:
    """Raise an error that says why classes are not possible here."""
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


def refuse_inputs_only(claim: Condition, schema: Schema) -> NoReturn:
    """Raise an error that says where conditions on inputs belong."""
    inputs = listing(dict.fromkeys(map(str, names(claim))))
    subject = f"only the inputs {inputs}" if inputs else "no column at all"
    raise RuleError(
        f"the claim ({claim}) mentions {subject}; a claim is about outputs "
        f"({listing(schema.outputs)}). Conditions on inputs go before: "
        f"`if {claim} then ...`, or `where=...`."
    )


def mentioned(node: Condition | Expression, kind: str) -> list[str]:
    """Columns of a kind that a bound tree mentions, each once."""
    texts = (str(column) for column in columns(node) if column.kind == kind)
    return list(dict.fromkeys(texts))


def bind_condition(condition: Condition, schema: Schema) -> Condition:
    """Bind a condition to the columns of a schema."""
    match condition:
        case Comparison(op, left, right):
            return Comparison(
                op, bind_expression(left, schema), bind_expression(right, schema)
            )
        case Not(part):
            return Not(bind_condition(part, schema))
        case And(parts) | Or(parts):
            bound = tuple(bind_condition(part, schema) for part in parts)
            return type(condition)(bound)
        case Membership():
            refuse_membership(condition, schema)
    raise RuleError(f"({condition}) is not a condition this library knows.")


def bind_expression(  # noqa: PLR0911 (one per kind of node)
    expr: Expression, schema: Schema
) -> Expression:
    """Bind an expression to the columns of a schema."""
    match expr:
        case Name():
            return schema.column(expr)
        case Negate(part):
            return Negate(bind_expression(part, schema))
        case Binary(op, left, right):
            return Binary(
                op, bind_expression(left, schema), bind_expression(right, schema)
            )
        case Call(_, args):
            bound = tuple(bind_expression(arg, schema) for arg in args)
            return dataclasses.replace(expr, args=bound)
        case Column():
            return schema.column(Name(expr.name, expr.kind))
        case Slope():
            return bind_slope(expr, schema)
    return expr
