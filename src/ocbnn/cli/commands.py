"""What every command shares: switches, options given once, and errors for programs."""

from collections.abc import Iterable
from typing import Any

from typer.core import TyperCommand, TyperGroup

from ocbnn.cli.console import sentence, show_json
from ocbnn.errors import CertificateError, OcbnnError, SettingError


class Command(TyperCommand):
    """A command that never takes the last of several values in silence.

    Its help shows `--json`, and not `--json <bool>`.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Arguments and options, `--help` among them."""
        return _as_switches(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look at the words before they are taken apart."""
        words = args[: args.index("--")] if "--" in args else args
        for option in self.params:
            if getattr(option, "multiple", True) or getattr(option, "is_flag", True):
                continue
            given = [word for word in words if word.partition("=")[0] in option.opts]
            if len(given) > 1:
                raise SettingError(
                    f"{option.opts[0]} is given {len(given)} times, and is taken once. "
                    "Keep one."
                )
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run it; with `--json`, what went wrong is an object, too."""
        try:
            return super().invoke(ctx)
        except (OcbnnError, OSError) as error:
            if ctx.params.get("as_json") is True:
                show_json(_failure(error, ctx.params))
            raise


def _failure(error: OcbnnError | OSError, given: dict[str, Any]) -> dict[str, Any]:
    """What a program reads when there is nothing else to read."""
    told: dict[str, Any] = {"error": sentence(error)}
    if given.get("verify") is not None and isinstance(error, CertificateError):
        told["verified"] = False
    return told


class Group(TyperGroup):
    """A group of commands, whose help shows switches likewise."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Options, `--help` among them."""
        return _as_switches(super().get_params(ctx))


def _as_switches(params: Iterable[Any]) -> list[Any]:
    found = list(params)
    for one in found:
        if getattr(one, "is_flag", False):
            one.metavar = ""
    return found
