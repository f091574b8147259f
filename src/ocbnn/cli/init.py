"""`ocbnn init`: a study file from a table."""

from pathlib import Path
from typing import Annotated

import typer

from ocbnn.cli.console import show_json
from ocbnn.cli.exits import stop


def init(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Your table: a CSV or Parquet file.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="STUDY.toml",
            help="Study file to write. Default: in this folder, named after the table.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column to predict. Default: the last one.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing study file.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object.")
    ] = False,
) -> None:
    """Write a study file for a table, with comments on every line."""
    try:
        from ocbnn.projects.scaffold import start_study  # noqa: PLC0415

        path = out or Path(data.name.split(".")[0] or "study").with_suffix(".toml")
        scaffold = start_study(data, path, output=output, force=force)
    except KeyboardInterrupt:
        stop("stopped. Nothing was written.", as_json=as_json)
    if as_json:
        show_json(scaffold.document())
        return
    typer.echo(scaffold.summary())
