"""A check of rules in words."""

import textwrap

from ocbnn.core.words import share, shorten
from ocbnn.projects.rule_checks import RuleCheckResult


def as_lines(kept: list[RuleCheckResult], most: float) -> str:
    """Two lines for each rule, and the sum of them."""
    if not kept:
        return "There are no rules that could be broken."
    lines = [line for check in kept for line in _lines(check, most)]
    broken = sum(not check.holds(most) for check in kept)
    limit = f"in more than {share(most)} of cases"
    sentence = f"All rules hold: none is broken {limit}."
    if broken:
        sentence = f"{broken} of {len(kept)} rules broken {limit}."
    return "\n".join([*lines, "", sentence])


def _lines(check: RuleCheckResult, most: float) -> tuple[str, str]:
    state = "holds" if check.holds(most) else "BROKEN"
    numbers = f"broken in {share(check.region)} of its region"
    if check.rows == 0:
        numbers += "; no row of the table lies there"
    elif check.rows is not None:
        numbers += f"; of {check.rows} rows there, by {_share(check.predictions)} of "
        numbers += "predictions"
        if check.observations is not None:
            numbers += f" and {share(check.observations)} of observations"
    indent = " " * 8
    wrapped = textwrap.fill(
        numbers, 79, initial_indent=indent, subsequent_indent=indent
    )
    return f"{state:<7} {shorten(check.rule, 71)}", wrapped


def _share(value: float | None) -> str:
    return "an unknown share" if value is None else share(value)
