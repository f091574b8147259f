"""Findings as a page of plain text, 80 columns wide, and as plain values."""

import abc
import html
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np

WIDTH = 80


class Page(abc.ABC):
    """Something that prints as a page, also in a notebook."""

    @abc.abstractmethod
    def __str__(self) -> str: ...

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
        raise KeyError(f"no rule is called {name!r}: {listed(r.rule for r in self)}.")


def block(title: str, lines: Iterable[str], *, wrap: bool = True) -> str:
    """A title and indented lines below it; nothing without lines."""
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
        # A path that is broken cannot be copied.
        break_long_words=False,
    )


def share(number: float) -> str:
    """A share as a percentage that never rounds something to nothing.

    >>> share(0.0), share(0.00001), share(0.1234)
    ('0 %', '< 0.01 %', '12.3 %')
    """
    if number == 0:
        return "0 %"
    return "< 0.01 %" if number < 1e-4 else f"{100 * number:.3g} %"


def listed(words: Iterable[object], most: int = 6) -> str:
    """Some words in a row.

    >>> listed("abc", most=2)
    'a, b and 1 more'
    """
    all_words = [str(word) for word in words]
    more = len(all_words) - most
    return ", ".join(all_words[:most]) + (f" and {more} more" if more > 0 else "")


def plain(value: Any) -> Any:
    """Values that JSON knows; None for what is no number.

    >>> plain({"a": np.array([1.0, np.nan])})
    {'a': [1.0, None]}
    """
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value
