"""Switches in `--help`: an option that is there or not takes no value."""

from collections.abc import Iterable
from typing import Any

from typer.core import TyperCommand, TyperGroup


class Command(TyperCommand):
    """A command whose help shows `--json`, and not `--json <bool>`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Arguments and options, `--help` among them."""
        return _as_switches(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands, likewise."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Options, `--help` among them."""
        return _as_switches(super().get_params(ctx))


def _as_switches(params: Iterable[Any]) -> list[Any]:
    found = list(params)
    for one in found:
        if getattr(one, "is_flag", False):
            one.metavar = ""
    return found
