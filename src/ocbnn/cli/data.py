"""`ocbnn data`: from raw recordings to tables that a study can use."""

from pathlib import Path
from typing import Annotated

import typer

from ocbnn.cli.commands import Command, Group
from ocbnn.cli.exits import stop
from ocbnn.errors import SettingError

data = typer.Typer(
    cls=Group,
    help="Turn raw recordings into tables that a study can use.",
    no_args_is_help=True,
)


@data.callback()
def _root() -> None:
    """Turn raw recordings into tables that a study can use."""


@data.command(cls=Command)
def clinical(
    mimic: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder with the tables of MIMIC-III v1.4, each as TABLE.csv, "
            "TABLE.csv.gz or TABLE.parquet. Default: the demo of 100 patients that "
            "comes with ocbnn.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Parquet file to write.")
    ] = Path("clinical.parquet"),
    memory: Annotated[
        str,
        typer.Option(metavar="SIZE", help="Memory to use; the rest goes to disk."),
    ] = "2GB",
) -> None:
    """Hypotension in intensive care: MIMIC-III as four-hour windows.

    One row per ICU stay and window: nine features, and whether a vasopressor
    or a fluid bolus was given in the next window. Prints what was excluded,
    and why.
    """
    if out.suffix != ".parquet":
        raise SettingError(f"--out {out}: write a file name that ends in .parquet.")
    try:
        # DuckDB and NumPy take a moment; `--help` should not wait for them.
        from ocbnn.datasets.clinical import clinical_windows  # noqa: PLC0415

        table = clinical_windows(
            mimic, out=out, memory=memory, say=lambda step: typer.echo(step, err=True)
        )
    except KeyboardInterrupt:
        stop("stopped. Nothing was written.")
    typer.echo(f"\n{table.report}\n\nwritten to {out}")
