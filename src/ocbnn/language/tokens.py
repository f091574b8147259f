"""Splitting rule text into tokens, and errors that point at a position in the text."""

import dataclasses
import re
from typing import Literal

from ocbnn.core.sentences import Sentence
from ocbnn.core.words import shorten
from ocbnn.errors import RuleSyntaxError

MOST_CHARACTERS = 20_000

Kind = Literal["number", "name", "quoted name", "string", "sign", "end"]

_BAND = (
    "equality on a real output has probability zero. Write a band, "
    "`2.9 <= y <= 3.1`, or `y ~ Normal(3, 0.1)`; for a class write `y in {treat}`"
)
EQUALITY = f"`=` is not part of a condition: {_BAND}"
# Spellings from other languages, and what to write instead.
_FOREIGN = {
    "==": f"`==` is not part of a condition: {_BAND}",
    "!=": "`!=` is not part of a condition: write `y < 3 or y > 3`, or `y not in {a}`",
    "<>": "`<>` is not part of a condition: write `y < 3 or y > 3`",
    ":=": "rules assign nothing: write the expression itself",
    "->": "`->` is not known: write `if CONDITION then CLAIM`",
    "=>": "`=>` is not known: write `if CONDITION then CLAIM`, or `>=`",
    "=<": "`=<` is not known: write `<=`",
    "+=": "rules assign nothing: write the expression itself",
    "-=": "rules assign nothing: write the expression itself",
    "&&": "`&&` is not known: write `and`",
    "||": "`||` is not known: write `or`",
    "//": "`//` is not known: write `/`",
    "&": "`&` is not known in text: write `and`",
    "|": "`|` is not known in text: write `or`, or `abs(y)` for an absolute value",
    "!": "`!` is not known: write `not`",
    ";": "one text is one rule: write two rules, or join them with `and`",
    ":": "`:` ends a rule's name, which is made of letters, digits, spaces, - and _; "
    "after a condition write `then`",
    ".": "names have no parts: write a column's name, in backticks if it has a dot: "
    "`` `blood.pressure` ``",
    "%": "`%` is not known: write the number, 0.05 for 5%",
    "@": "`@` is not known: write products and sums out, `2*a + 3*b`",
}
_PLAIN = {"≤": "<=", "≥": ">=", "−": "-", "×": "*", "^": "**"}  # noqa: RUF001

_SPACE = re.compile(r"\s+")
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_NAME = re.compile(r"[^\W\d]\w*")
_SIGN = re.compile(r"\*\*|<=|>=|[-+*/<>(){}\[\],~=≤≥−×^]")  # noqa: RUF001
_QUOTED_NAME = re.compile(r"`(?:[^`]|``)*`")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|' r"'(?:[^'\\]|\\.)*'", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Token:
    """One word, number or sign, and where it begins."""

    kind: Kind
    text: str
    at: int

    def __str__(self) -> str:
        quoted = f"`{shorten(self.text)}`"
        return "the end of the text" if self.kind == "end" else quoted


def syntax_error(text: str, at: int, message: str) -> RuleSyntaxError:
    """Make an error that shows the line, with a caret under the position.

    >>> print(syntax_error("y == 3", 2, "write a band"))
    cannot read the rule: write a band
      y == 3
        ^
    """
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line = text[start : len(text) if end < 0 else end]
    caret = at - start
    # Long lines are cut so that they do not wrap in a terminal.
    left, right = max(0, caret - 50), caret + 30
    window = line[left:right].replace("\t", " ").replace("\r", " ")
    head = "…" if left else ""
    tail = "…" if right < len(line) else ""
    pointer = " " * (caret - left + len(head)) + "^"
    picture = f"\n  {head}{window}{tail}\n  {pointer}"
    sentence = Sentence("cannot read the rule: ", message, picture)
    return RuleSyntaxError(sentence, at, message)


def tokenize(text: str, start: int = 0) -> list[Token]:
    """All tokens from `start` on, the last of kind "end".

    >>> [token.text for token in tokenize("y ≤ 2.5")]
    ['y', '<=', '2.5', '']
    """
    tokens: list[Token] = []
    at = start
    while at < len(text):
        if space := _SPACE.match(text, at):
            at = space.end()
            continue
        token, at = _next_token(text, at)
        tokens.append(token)
    tokens.append(Token("end", "", len(text)))
    return tokens


def _next_token(text: str, at: int) -> tuple[Token, int]:
    for foreign, advice in _FOREIGN.items():
        number_follows = foreign == "." and _NUMBER.match(text, at)
        if text.startswith(foreign, at) and not number_follows:
            raise syntax_error(text, at, advice)
    if number := _NUMBER.match(text, at):
        return _number(text, at, number.end())
    if name := _NAME.match(text, at):
        return Token("name", name.group(), at), name.end()
    if sign := _SIGN.match(text, at):
        spelled = _PLAIN.get(sign.group(), sign.group())
        return Token("sign", spelled, at), sign.end()
    if quoted := _QUOTED_NAME.match(text, at):
        name = quoted.group()[1:-1].replace("``", "`")
        if not name:
            raise syntax_error(text, at, "the backticks contain no name")
        return Token("quoted name", name, at), quoted.end()
    if string := _STRING.match(text, at):
        label = re.sub(r"\\(.)", r"\1", string.group()[1:-1], flags=re.DOTALL)
        return Token("string", label, at), string.end()
    if text[at] in "`\"'":
        raise syntax_error(text, at, f"this {text[at]} is never closed")
    raise syntax_error(text, at, f"the character {text[at]!r} has no meaning here")


def _number(text: str, at: int, end: int) -> tuple[Token, int]:
    following = text[end : end + 1]
    if following == ".":
        raise syntax_error(text, end, "a number has one decimal point, as in `1.25`")
    if following == "_" or following.isalnum():
        raise syntax_error(
            text, end, "a number runs into a word: write `2 * x`, not `2x`"
        )
    return Token("number", text[at:end], at), end
