"""Findings as a page of plain text, 80 columns wide."""

import abc
import html
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar, runtime_checkable

from ocbnn.core.advice import Spelling
from ocbnn.core.sentences import in_python
from ocbnn.core.words import listing

WIDTH = 80


class Page(abc.ABC):
    """Something that prints as a page, also in a notebook."""

    @abc.abstractmethod
    def to_text(self, spelling: Spelling = in_python) -> str:
        """The page, with its advice phrased for one kind of reader."""

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


@runtime_checkable
class OfRule(Protocol):
    """Findings about one rule."""

    @property
    def rule(self) -> str:
        """The rule's name."""
        ...


Finding = TypeVar("Finding", bound=OfRule)


class RulePages(Page, Generic[Finding]):
    """Findings about several rules: go through them, or ask for one by its name."""

    rules: tuple[Finding, ...]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, name: str) -> Finding:
        for rule in self.rules:
            if rule.rule == name:
                return rule
        raise KeyError(
            f"no rule is called {name!r}: {listing((r.rule for r in self), 6)}."
        )


def block(title: str, lines: Iterable[str], *, wrap: bool = True) -> str:
    """A title and indented lines below it; empty without lines."""
    body = [_wrapped(line) if wrap else f"  {line}" for line in lines]
    return "\n".join([_wrapped(title, ""), *body]) if body else ""


def _wrapped(line: str, indent: str = "  ") -> str:
    # A line that begins with blanks belongs to the one above it.
    deeper = indent + " " * (len(line) - len(line.lstrip()))
    is_numbered = re.match(r"\d+\. ", line) is not None
    return textwrap.fill(
        line.strip(),
        WIDTH,
        initial_indent=deeper,
        subsequent_indent=deeper + "   " * is_numbered,
        break_on_hyphens=False,
        # A path broken over two lines cannot be copied.
        break_long_words=False,
    )
