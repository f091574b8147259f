"""Results of rule checks, as lines of text."""

import textwrap

from ocbnn.core.words import share, shorten
from ocbnn.projects.rule_checks import RuleCheckResult


def as_lines(results: list[RuleCheckResult], most: float) -> str:
    """Two lines for each rule, and a summary."""
    if not results:
        return "There are no rules that could be violated."
    lines = [line for check in results for line in _lines(check, most)]
    violated = sum(not check.holds(most) for check in results)
    limit = f"in more than {share(most)} of cases"
    sentence = f"All rules hold: none is violated {limit}."
    if violated:
        sentence = f"{violated} of {len(results)} rules violated {limit}."
    return "\n".join([*lines, "", sentence])


def _lines(check: RuleCheckResult, most: float) -> tuple[str, str]:
    state = "holds" if check.holds(most) else "VIOLATED"
    numbers = f"violated in {share(check.region)} of its region"
    if check.rows == 0:
        numbers += "; it contains no row of the table"
    elif check.rows is not None:
        numbers += f"; of {check.rows} rows there, by {_share(check.predictions)} of "
        numbers += "predictions"
        if check.observations is not None:
            numbers += f" and {share(check.observations)} of observations"
    indent = " " * 10
    wrapped = textwrap.fill(
        numbers, 79, initial_indent=indent, subsequent_indent=indent
    )
    return f"{state:<9} {shorten(check.rule, 69)}", wrapped


def _share(value: float | None) -> str:
    return "an unknown share" if value is None else share(value)
