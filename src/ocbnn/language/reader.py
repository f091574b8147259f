"""A place in a list of tokens, and errors about what was found there."""

import dataclasses
import math

from ocbnn.core.words import shorten, suggest
from ocbnn.errors import RuleSyntaxError
from ocbnn.language.tokens import EQUALITY, Token, syntax_error
from ocbnn.language.words import KEYWORDS

MOST_PARENTHESES = 100


@dataclasses.dataclass
class Reader:
    """A place in a list of tokens; every method reads on from there."""

    text: str
    tokens: list[Token]
    place: int = 0
    depth: int = 0

    @property
    def here(self) -> Token:
        """The token not yet read."""
        return self.tokens[self.place]

    def fail(self, message: str, token: Token | None = None) -> RuleSyntaxError:
        """Make an error that points at a token, or at the one not yet read."""
        return syntax_error(self.text, (token or self.here).at, message)

    def advance(self) -> Token:
        """Read one token; the end is never passed."""
        token = self.here
        self.place = min(self.place + 1, len(self.tokens) - 1)
        return token

    def sees(self, *words: str) -> bool:
        """Whether the next token is one of these signs or keywords."""
        return self.here.kind in ("sign", "name") and self.here.text in words

    def take(self, word: str, why: str) -> Token:
        """Read this sign or keyword, or say why it belongs here."""
        if not self.sees(word):
            raise self.fail(f"found {self.here} where `{word}` belongs: {why}")
        return self.advance()

    def number(self) -> float:
        """Read a number without a sign."""
        token = self.here
        if token.kind != "number":
            raise self.fail(f"found {token} where a number belongs, such as `0.5`")
        value = float(token.text)
        if not math.isfinite(value):
            raise self.fail("this number is too large: leave the bound out instead")
        self.advance()
        return value

    def descend(self, token: Token) -> None:
        """Go one level deeper, where that is still readable."""
        self.depth += 1
        if self.depth > MOST_PARENTHESES:
            raise self.fail(
                f"more than {MOST_PARENTHESES} levels inside one another: split the "
                "rule",
                token,
            )

    def refuse_leftover(self) -> None:
        """Say what is wrong with a token that continues nothing."""
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
        before, token = self.tokens[max(self.place - 1, 0)], self.here
        after = self.tokens[min(self.place + 1, len(self.tokens) - 1)]
        both = before.kind == after.kind == "number" and token.text == ","
        if not both or after.at - before.at != len(before.text) + 1:
            return ""
        number = shorten(f"{before.text}.{after.text}")
        return f" A decimal point is a point: write `{number}`, and a thousand `1000`."

    def spaced_hint(self) -> str:
        """Advice where two words in a row may be one column's name."""
        before, token = self.tokens[max(self.place - 1, 0)], self.here
        if token.kind != "name" or before.kind != "name":
            return ""
        both = shorten(f"{before.text} {token.text}")
        return f" A name with a space stands in backticks: `` `{both}` ``."

    def _leftover_hint(self, token: Token) -> str:
        before = self.tokens[max(self.place - 1, 0)]
        small = before.text.lower()
        if small in KEYWORDS and small != before.text:
            return f" Write `{small}` in small letters."
        if token.text == "between":
            return f" Write `2 <= {shorten(before.text)} <= 3`."
        if token.text == "," and before.kind == "number":
            return self.comma_hint() or " Write a thousand as `1000`."
        near = suggest(token.text, KEYWORDS) if token.kind == "name" else ""
        return near or self.spaced_hint()
