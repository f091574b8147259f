"""Slopes find their columns: an output, and the inputs it is followed along."""

from ocbnn.core.errors import RuleError
from ocbnn.rules.schema import Schema
from ocbnn.rules.tree import Column, Expression, Name, Slope
from ocbnn.rules.words import listing


def bind_slope(slope: Slope, schema: Schema) -> Slope:
    """The same slope, of columns; the order of the inputs makes no difference.

    >>> slope = Slope(Name("y"), (Name("b"), Name("a")))
    >>> print(bind_slope(slope, Schema(("a", "b"), ("y",))))
    d(y, a, b)
    """
    output = _column(slope.output, schema)
    found = [_column(part, schema) for part in slope.inputs]
    inputs = sorted(found, key=lambda column: column.index)
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


def _column(part: Expression, schema: Schema) -> Column:
    if isinstance(part, Column):
        return schema.column(Name(part.name, part.kind))
    if isinstance(part, Name):
        return schema.column(part)
    raise TypeError(part)
