"""A position in a list of tokens, and errors about the token there."""

import dataclasses
import math

from ocbnn.core.words import shorten, suggest
from ocbnn.errors import RuleSyntaxError
from ocbnn.language.tokens import EQUALITY, Token, syntax_error
from ocbnn.language.words import KEYWORDS

MOST_PARENTHESES = 100


@dataclasses.dataclass
class Reader:
    """A position in a list of tokens; every method reads from there."""

    text: str
    tokens: list[Token]
    position: int = 0
    depth: int = 0

    @property
    def here(self) -> Token:
        """The next token."""
        return self.tokens[self.position]

    def fail(self, message: str, token: Token | None = None) -> RuleSyntaxError:
        """Make an error that points at a token, by default the next one."""
        return syntax_error(self.text, (token or self.here).at, message)

    def advance(self) -> Token:
        """Consume one token, but never the last."""
        token = self.here
        self.position = min(self.position + 1, len(self.tokens) - 1)
        return token

    def sees(self, *words: str) -> bool:
        """Whether the next token is one of these signs or keywords."""
        return self.here.kind in ("sign", "name") and self.here.text in words

    def take(self, word: str, why: str) -> Token:
        """Consume this sign or keyword, or raise an error that says why it is due."""
        if not self.sees(word):
            raise self.fail(f"found {self.here} where `{word}` belongs: {why}")
        return self.advance()

    def number(self) -> float:
        """Consume a number without a sign."""
        token = self.here
        if token.kind != "number":
            raise self.fail(f"found {token} where a number belongs, such as `0.5`")
        value = float(token.text)
        if not math.isfinite(value):
            raise self.fail("this number is too large: leave the bound out instead")
        self.advance()
        return value

    def descend(self, token: Token) -> None:
        """Go one level deeper, up to a limit."""
        self.depth += 1
        if self.depth > MOST_PARENTHESES:
            raise self.fail(
                f"more than {MOST_PARENTHESES} levels inside one another: split the "
                "rule",
                token,
            )

    def refuse_leftover(self) -> None:
        """Raise an error about a token that cannot follow, if there is one."""
        token = self.here
        if token.kind == "end":
            return
        if token.text == "=" and token.kind == "sign":
            raise self.fail(EQUALITY)
        if token.kind == "sign" and token.text == ")":
            raise self.fail("this `)` closes nothing: take it away, or write its `(`")
        if token.kind == "sign" and token.text == "[":
            raise self.fail(
                "brackets hold a rule's options and come last, `[strength=firm]`; "
                "there is no indexing: write a column's name"
            )
        if token.kind == "name" and token.text == "then":
            raise self.fail("`then` without `if`: write `if CONDITION then CLAIM`")
        raise self.fail(
            f"found {token} where the rule should go on with an operator, such as `+`, "
            f"`<=` or `and`, or end.{self._leftover_hint(token)}"
        )

    def comma_hint(self) -> str:
        """Advice where a comma stands in a number, as some languages write it."""
        previous, token = self.tokens[max(self.position - 1, 0)], self.here
        following = self.tokens[min(self.position + 1, len(self.tokens) - 1)]
        is_between_numbers = (
            previous.kind == following.kind == "number" and token.text == ","
        )
        if (
            not is_between_numbers
            or following.at - previous.at != len(previous.text) + 1
        ):
            return ""
        number = shorten(f"{previous.text}.{following.text}")
        return f" A decimal point is a point: write `{number}`, and a thousand `1000`."

    def spaced_hint(self) -> str:
        """Advice where two words in a row may be one column's name."""
        previous, token = self.tokens[max(self.position - 1, 0)], self.here
        if token.kind != "name" or previous.kind != "name":
            return ""
        name = shorten(f"{previous.text} {token.text}")
        return f" A name with a space stands in backticks: `` `{name}` ``."

    def _leftover_hint(self, token: Token) -> str:
        previous = self.tokens[max(self.position - 1, 0)]
        small = previous.text.lower()
        if small in KEYWORDS and small != previous.text:
            return f" Write `{small}` in small letters."
        if token.text == "between":
            return f" Write `2 <= {shorten(previous.text)} <= 3`."
        if token.text == "," and previous.kind == "number":
            return self.comma_hint() or " Write a thousand as `1000`."
        suggestion = suggest(token.text, KEYWORDS) if token.kind == "name" else ""
        return suggestion or self.spaced_hint()
