"""Binding slopes to columns: an output, and the inputs it is differentiated along."""

from ocbnn.core.words import listing
from ocbnn.errors import RuleError
from ocbnn.language.affine import is_straight
from ocbnn.language.conditions import Condition
from ocbnn.language.normal_form import Terms, slopes_in
from ocbnn.language.schema import Schema
from ocbnn.language.tree import Column, Expression, Name, Slope


def bind_slope(slope: Slope, schema: Schema) -> Slope:
    """Bind a slope to columns; the order of the inputs makes no difference.

    >>> slope = Slope(Name("y"), (Name("b"), Name("a")))
    >>> print(bind_slope(slope, Schema(("a", "b"), ("y",))))
    d(y, a, b)
    """
    output = _column(slope.output, schema)
    bound = [_column(part, schema) for part in slope.inputs]
    inputs = sorted(bound, key=lambda column: column.index)
    if output.kind != "output":
        raise RuleError(
            f"({slope}) follows {output}, which is an input: slopes are of outputs "
            f"({listing(schema.outputs)}). Write `d({schema.outputs[0]}, {output})`."
        )
    for column in inputs:
        if column.kind != "input":
            raise RuleError(
                f"({slope}) goes along {column}, which is an output: slopes go along "
                f"inputs ({listing(schema.inputs)}). Write "
                f"`d({output}, {schema.inputs[0]})`."
            )
    if schema.is_classification:
        raise RuleError(
            f"({slope}) is the slope of a class, and classes have no slope. Say which "
            f"classes are allowed where: `if {inputs[0]} > ... then {output} in "
            "{...}`."
        )
    return Slope(output, tuple(inputs))


def refuse_nonconvex(condition: Condition, terms: Terms) -> None:
    """Raise an error unless the allowed slopes are a convex set.

    A model predicts the mean of functions, so if functions keep a hard rule, their mean
    must keep it, too.

    Parameters
    ----------
    condition
        The required condition.
    terms
        Its negation.
    """
    if not any(True for _ in slopes_in(condition)):
        return
    for term in terms:
        exprs = [atom.expr for atom in term if atom.uses_outputs]
        if len(exprs) > 1 or not all(map(is_straight, exprs)):
            joined = " and ".join(f"{expr} <= 0" for expr in exprs)
            raise RuleError(
                f"strength=hard is kept by the mean of functions only where slopes lie "
                f"between straight limits, and this rule forbids ({joined}) as a "
                "whole. Write limits such as `-1 <= d(y, x) <= 1`, joined by `and`, or "
                "strength=firm."
            )


def _column(part: Expression, schema: Schema) -> Column:
    if isinstance(part, Column):
        return schema.column(Name(part.name, part.kind))
    if isinstance(part, Name):
        return schema.column(part)
    raise TypeError(part)
