"""`ocbnn explain`: what each rule does to a fit."""

from typing import Annotated

import typer

from ocbnn.cli.console import opened, show_json, spoken_warnings
from ocbnn.cli.exits import stop
from ocbnn.cli.predict import ModelPath
from ocbnn.core.sentences import errors_spelled
from ocbnn.errors import SettingError


def explain(
    model: ModelPath,
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="One rule. Default: every rule.", show_default=False
        ),
    ] = None,
    refit: Annotated[
        bool,
        typer.Option(
            "--refit",
            help="Fit again without each rule. Default: only where the draws cannot "
            "tell, for two minutes at most.",
        ),
    ] = False,
    no_refit: Annotated[
        bool, typer.Option("--no-refit", help="Never fit again.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object.")
    ] = False,
) -> None:
    """Show where each rule binds, what it removes, and which rows contradict it."""
    if refit and no_refit:
        raise SettingError("--refit --no-refit: write one of them, or neither.")
    refit_choice = True if refit else False if no_refit else None
    from ocbnn.projects.command_advice import on_command_line  # noqa: PLC0415

    spelling = on_command_line(model)
    try:
        with spoken_warnings(), errors_spelled(spelling):
            explanation = opened(model).explain(rule, refit=refit_choice)
    except KeyboardInterrupt:
        stop("stopped.", as_json=as_json)
    if as_json:
        show_json(explanation.to_dict(spelling))
    else:
        typer.echo(explanation.to_text(spelling))
