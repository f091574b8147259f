"""`ocbnn explain`: what each rule does to a fit."""

from typing import Annotated

import typer

from ocbnn.cli.ending import stop
from ocbnn.cli.predict import ModelPath
from ocbnn.cli.talk import opened, show_json, spoken_warnings


def explain(
    model: ModelPath,
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="One rule. Left out: every rule.", show_default=False
        ),
    ] = None,
    refit: Annotated[
        bool | None,
        typer.Option(
            "--refit/--no-refit",
            help="Fit again without each rule, or never. Left out: where the draws "
            "cannot tell, for two minutes at most.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object.")
    ] = False,
) -> None:
    """Say where each rule binds, what it removes, and which rows contradict it."""
    try:
        with spoken_warnings():
            found = opened(model).explain(rule, refit=refit)
    except KeyboardInterrupt:
        stop("stopped.")
    if as_json:
        show_json(found.to_dict())
    else:
        typer.echo(str(found))
