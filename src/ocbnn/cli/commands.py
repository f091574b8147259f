"""Behaviour of every command: switches, options given once, and errors as JSON."""

from collections.abc import Iterable
from typing import Any

from typer.core import TyperCommand, TyperGroup

from ocbnn.cli.console import sentence, show_json
from ocbnn.errors import CertificateError, OcbnnError, SettingError


class Command(TyperCommand):
    """A command that refuses an option given twice instead of taking the last value.

    Its help shows `--json` instead of `--json <bool>`.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Arguments and options, including `--help`."""
        return _as_switches(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse options that are given twice."""
        words = args[: args.index("--")] if "--" in args else args
        for option in self.params:
            if getattr(option, "multiple", True) or getattr(option, "is_flag", True):
                continue
            repeats = [word for word in words if word.partition("=")[0] in option.opts]
            if len(repeats) > 1:
                raise SettingError(
                    f"{option.opts[0]} is given {len(repeats)} times, but may be given "
                    "once. Keep one."
                )
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; with `--json`, an error is printed as an object, too."""
        try:
            return super().invoke(ctx)
        except (OcbnnError, OSError) as error:
            if ctx.params.get("as_json") is True:
                show_json(_failure(error, ctx.params))
            raise


def _failure(error: OcbnnError | OSError, params: dict[str, Any]) -> dict[str, Any]:
    """The JSON object that is printed instead of a result."""
    failure: dict[str, Any] = {"error": sentence(error)}
    if params.get("verify") is not None and isinstance(error, CertificateError):
        failure["verified"] = False
    return failure


class Group(TyperGroup):
    """A group of commands whose help shows switches in the same way."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Options, including `--help`."""
        return _as_switches(super().get_params(ctx))


def _as_switches(params: Iterable[Any]) -> list[Any]:
    parameters = list(params)
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters
