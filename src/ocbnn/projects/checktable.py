"""A check of rules in words."""

import textwrap

from ocbnn.core.words import shorten
from ocbnn.estimators.page import share
from ocbnn.projects.checking import Kept


def as_lines(kept: list[Kept], most: float) -> str:
    """Two lines for each rule, and the sum of them."""
    if not kept:
        return "There are no rules that could be broken."
    lines = [line for one in kept for line in _lines(one, most)]
    broken = sum(not one.holds(most) for one in kept)
    limit = f"in more than {share(most)} of cases"
    said = f"All rules hold: none is broken {limit}."
    if broken:
        said = f"{broken} of {len(kept)} rules broken {limit}."
    return "\n".join([*lines, "", said])


def _lines(one: Kept, most: float) -> tuple[str, str]:
    state = "holds" if one.holds(most) else "BROKEN"
    numbers = f"broken in {share(one.region)} of its region"
    if one.rows == 0:
        numbers += "; no row of the table lies there"
    elif one.rows is not None:
        numbers += f"; of {one.rows} rows there, by {_share(one.predictions)} of "
        numbers += "predictions"
        if one.observations is not None:
            numbers += f" and {share(one.observations)} of observations"
    indent = " " * 8
    wrapped = textwrap.fill(
        numbers, 79, initial_indent=indent, subsequent_indent=indent
    )
    return f"{state:<7} {shorten(one.rule, 71)}", wrapped


def _share(value: float | None) -> str:
    return "an unknown share" if value is None else share(value)
