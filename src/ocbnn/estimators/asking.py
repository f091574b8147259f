"""How a person asks a model again: in Python, or on the command line."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Where a command finds the model, as it is named there; None in Python.
_NAMED: ContextVar[str | None] = ContextVar("named", default=None)


@contextmanager
def on_command_line(model: object) -> Iterator[None]:
    """Advice that is given meanwhile names commands, with the model's own path."""
    token = _NAMED.set(shlex.quote(str(model)))
    try:
        yield
    finally:
        _NAMED.reset(token)


def ask_refit(rule: str) -> str:
    """What explains a rule by a second fit.

    >>> ask_refit("cap")
    "explain('cap', refit=True)"
    >>> with on_command_line("results/dose"):
    ...     ask_refit("soft cap")
    "`ocbnn explain results/dose --rule 'soft cap' --refit`"
    """
    named = _NAMED.get()
    if named is None:
        return f"explain({rule!r}, refit=True)"
    return f"`ocbnn explain {named} --rule {shlex.quote(rule)} --refit`"


def ask_rows() -> str:
    """What names the rows that pull against rules."""
    named = _NAMED.get()
    return "model.conflicts()" if named is None else f"`ocbnn explain {named}`"
