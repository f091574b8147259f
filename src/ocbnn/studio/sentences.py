"""Rules in words, where words exist for them; the rest as written."""

import re
from collections.abc import Sequence

from ocbnn.claims import WrittenClaim
from ocbnn.language.conditions import And, Condition, Not, Or
from ocbnn.language.tree import Comparison, Expression, Membership, Name, Number, Slope
from ocbnn.rules import Rule

_OPS = {"<": "is below", "<=": "is at most", ">": "is above", ">=": "is at least"}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TRENDS = {
    (1, ">"): "{} never falls with {}",
    (1, "<"): "{} never rises with {}",
    (2, ">"): "{} bends upwards along {}",
    (2, "<"): "{} bends downwards along {}",
}
_HALF = 0.5
_POWER = re.compile(r" \*\* (\d+)(?![\d.]| \*\*)")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def in_words(rule: Rule) -> str:
    """A rule as a sentence."""
    where = "Everywhere" if rule.where is None else f"Where {_phrase(rule.where)}"
    claim = rule.claim
    sentence = (
        claim.sentence(_plain) if isinstance(claim, WrittenClaim) else _phrase(claim)
    )
    return f"{where}: {sentence}"


def _phrase(condition: Condition) -> str:  # noqa: PLR0911 (one per kind of node)
    match condition:
        case Membership(output, labels):
            return f"{_plain(output)} is {_choice(labels, 'or')}"
        case Not(Membership(output, (label,))):
            return f"{_plain(output)} is not {label}"
        case Not(Membership(output, labels)):
            return f"{_plain(output)} is neither {_choice(labels, 'nor')}"
        case Not(part) if (band := _one_band(part)) is not None:
            return band.replace(" is ", " is never ", 1)
        case Not(part):
            return f"never ({_phrase(part)})"
        case Comparison():
            return _compared(condition)
        case And(parts):
            return " and ".join(_joined(parts))
        case Or(parts) if not str(condition).startswith(("(if ", "either ")):
            return " or ".join(_part(part) for part in parts)
    return _bare(str(condition))


def _one_band(part: Condition) -> str | None:
    """`a <= y <= b`, and nothing else."""
    if isinstance(part, And) and len(part.parts) == 2:
        return _band(*part.parts)
    return None


def _joined(parts: Sequence[Condition]) -> list[str]:
    """The parts of a conjunction, with two bounds of one thing joined."""
    phrases, rest = [], list(parts)
    while rest:
        first = rest.pop(0)
        band = _band(first, rest[0]) if rest else None
        if band is not None:
            rest.pop(0)
        phrases.append(band or _part(first))
    return phrases


def _part(part: Condition) -> str:
    words = _phrase(part)
    is_long = " and " in words or " or " in words
    return f"({words})" if is_long and isinstance(part, And | Or) else words


def _band(lower: Condition, upper: Condition) -> str | None:
    """`a <= y` and `y <= b` as one phrase; strict bounds read the same."""
    if not isinstance(lower, Comparison) or not isinstance(upper, Comparison):
        return None
    if lower.op[0] != "<" or upper.op[0] != "<" or lower.right != upper.left:
        return None
    if isinstance(lower.right, Number):
        return None
    return f"{_subject(lower.right)} is {_plain(lower.left)} to {_plain(upper.right)}"


def _compared(comparison: Comparison) -> str:
    op, left, right = comparison.op, comparison.left, comparison.right
    if isinstance(left, Number):
        op, left, right = _TURNED[op], right, left
    if isinstance(right, Number):
        name = left.name if isinstance(left, Name) else ""
        column, sign, label = name.partition("=")
        if sign and right.value == _HALF:
            return f"{column} is {'' if op[0] == '>' else 'not '}{label}"
        if isinstance(left, Slope) and right.value == 0:
            alike = len({str(column) for column in left.inputs}) == 1
            trend = _TRENDS.get((len(left.inputs), op[0])) if alike else None
            if trend:
                return trend.format(_plain(left.output), _plain(left.inputs[0]))
    return f"{_subject(left)} {_OPS[op]} {_plain(right)}"


def _subject(expr: Expression) -> str:
    if isinstance(expr, Slope) and len(expr.inputs) == 1:
        return f"the slope of {_plain(expr.output)} along {_plain(expr.inputs[0])}"
    return _plain(expr)


def _choice(labels: Sequence[object], word: str) -> str:
    *most, last = map(str, labels)
    return f"{', '.join(most)} {word} {last}" if most else last


def _plain(expr: Expression) -> str:
    return _bare(str(expr))


def _bare(text: str) -> str:
    """Names without backticks, and powers as superscripts."""
    plain = text.replace("``", "\0").replace("`", "").replace("\0", "`")
    return _POWER.sub(lambda match: match.group(1).translate(_RAISED), plain)
