"""Options that can be given once are refused when they are given twice."""

from typing import Any

from typer.core import TyperCommand

from ocbnn.core.errors import SettingError


class OnceCommand(TyperCommand):
    """A command that never takes the last of several values in silence."""

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
