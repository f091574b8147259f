"""Rules from text. Text is read by a parser of our own and never run.

    [name:] [if CONDITION then] CLAIM [ "[" option=value, ... "]" ]

>>> rule = parse_rule("low pressure: if bp < 65 then action in {treat} [points=20]")
>>> rule.name, rule.points, str(rule.claim)
('low pressure', 20, 'action in {treat}')
"""

from typing import Any

from ocbnn.claims import read_claim
from ocbnn.claims.settings import DEFAULT_TAU, check_setting
from ocbnn.core.sentences import Sentence
from ocbnn.core.words import listing, suggest
from ocbnn.errors import RuleError, RuleSyntaxError, SettingError
from ocbnn.language.grammar import Parser
from ocbnn.language.tokens import MOST_CHARACTERS, Token, syntax_error, tokenize
from ocbnn.rules.rule import RULE_NAME, Rule

OPTIONS = (
    "strength", "tolerance", "points", "weight", "per", "allowed", "forbidden",
    "form", "tau0", "tau1", "literal", "sampler",
)  # fmt: skip
# Printing a rule adds digits to weights and repeats the sides of `either`. Shorter
# texts than this cannot exceed the limit.
_SURELY_SHORT = 200
_TAUS = ("tau0", "tau1")
_YES = {"yes": True, "true": True, "no": False, "false": False}


def parse_rule(text: str) -> Rule:
    """Parse one rule; `str` of the result parses back to an equal rule.

    Conditions are chained comparisons (`-1 <= x <= 1`) and `action in {treat, wait}`,
    joined by `and`, `or`, `not`, `either a or b` (exactly one) and `(if a then b)`. A
    claim is a condition, `y ~ Normal(5 - x, 0.5)`, or a mixture of these. A name that
    is not an identifier is written in backticks.

    Parameters
    ----------
    text
        `name: if CONDITION then CLAIM [setting=value, ...]`, of which all but the claim
        may be left out.

    Returns
    -------
    Rule
        The rule, for a model's `rules`, which also take the text itself.

    Raises
    ------
    RuleSyntaxError
        When the text is not a rule; the message points at the place.
    RuleError
        When it is not text.

    Examples
    --------
    >>> print(parse_rule("if -5 ≤ x ≤ -3 then y ~ Normal(5 - x, 0.5)"))
    if -5 <= x <= -3 then y ~ Normal(5 - x, 0.5)
    """
    if not isinstance(text, str):
        raise RuleError(
            f"a rule as text is a string, got {type(text).__name__}. Write "
            '`rule("if x < 0 then y > 1")`, or `require(...)` for expressions.'
        )
    if len(text) > MOST_CHARACTERS:
        raise RuleSyntaxError(
            f"cannot read the rule: a rule has at most {MOST_CHARACTERS} characters, "
            f"got {len(text)}. Split it into several."
        )
    name, start = _name(text)
    if not text[start:].strip():
        raise syntax_error(text, start, "there is no rule: write `if x < 0 then y > 1`")
    try:
        rule = _rule(Parser(text, tokenize(text, start)), name)
        length = len(text) if len(text) < _SURELY_SHORT else len(str(rule))
    except RecursionError:
        raise RuleSyntaxError(
            "cannot read the rule: it is nested too deeply. Split it into several."
        ) from None
    if length > MOST_CHARACTERS:
        raise RuleSyntaxError(
            f"cannot read the rule: written out in full it has {length} characters, "
            f"more than {MOST_CHARACTERS}. Split it into several."
        )
    return rule


def _name(text: str) -> tuple[str | None, int]:
    head, colon, _ = text.partition(":")
    head = head.strip()
    if not colon or not RULE_NAME.fullmatch(head) or head.split()[0] == "if":
        return None, 0
    return head, text.index(":") + 1


def _rule(parser: Parser, name: str | None) -> Rule:
    where = None
    if parser.sees("if"):
        parser.advance()
        where = parser.condition()
        if not parser.sees("then"):
            if parser.sees(")", "="):
                parser.refuse_leftover()
            hint = parser.comma_hint() or parser.spaced_hint()
            raise parser.fail(
                f"`if` without `then`: found {parser.here} where `then` belongs. Write "
                f"`if CONDITION then CLAIM`{'.' if hint else ''}{hint}"
            )
        parser.advance()
    start = parser.here
    claim = read_claim(parser)
    options = _options(parser) if parser.sees("[") else {}
    parser.refuse_leftover()
    try:
        return Rule(claim, where, name, **options)
    except (RuleError, SettingError) as error:
        raise parser.fail(Sentence(error), start) from None


def _options(parser: Parser) -> dict[str, Any]:
    options: dict[str, Any] = {}
    parser.take("[", "options stand in brackets")
    while True:
        key = parser.advance()
        _check_option(parser, key, options)
        parser.take("=", f"write `[{key.text}=VALUE]`")
        at = parser.here
        try:
            options[key.text] = check_setting(key.text, _value(parser, key.text))
        except SettingError as error:
            raise parser.fail(Sentence(error), at) from None
        if not parser.sees(","):
            break
        parser.advance()
    parser.take("]", "options are separated by commas, `[tolerance=0.1, points=50]`")
    taus = [
        options.pop(tau, default)
        for tau, default in zip(_TAUS, DEFAULT_TAU, strict=True)
    ]
    return options | {"tau": tuple(taus)}


def _check_option(parser: Parser, key: Token, options: dict[str, Any]) -> None:
    if key.kind != "name":
        raise parser.fail(
            f"found {key} where an option belongs: brackets hold options, "
            "`[strength=firm]`; there is no indexing: write a column's name",
            key,
        )
    if key.text not in OPTIONS:
        raise parser.fail(
            f"unknown option {key}.{suggest(key.text, OPTIONS)} "
            f"Known: {listing(OPTIONS)}",
            key,
        )
    if key.text in options:
        raise parser.fail(f"the option {key} is given twice: keep one", key)


def _value(parser: Parser, key: str) -> object:
    if key == "literal":
        token = parser.advance()
        if token.text not in _YES:
            raise parser.fail(f"`literal` is `yes` or `no`, found {token}", token)
        return _YES[token.text]
    in_words = key == "strength" and parser.here.kind == "name"
    if key in ("per", "sampler", "form") or in_words:
        word = parser.advance().text
        while parser.sees("-"):
            parser.advance()
            word += "-" + parser.advance().text
        return word
    negative = parser.sees("-")
    if negative:
        parser.advance()
    value = -parser.number() if negative else parser.number()
    return int(value) if key == "points" and value.is_integer() else value
