"""`ocbnn predict` and `ocbnn check`: a model's predictions and rule checks."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from ocbnn.cli.console import note, opened, show_json, spoken_warnings
from ocbnn.cli.exits import stop
from ocbnn.errors import SettingError

RULES_BROKEN = 3

ModelPath = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="The folder of a fit, or a model file."),
]


def predict(
    model: ModelPath,
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="CSV or Parquet file with the inputs."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A .csv or .parquet file to write. Default: CSV on stdout.",
            show_default=False,
        ),
    ] = None,
    interval: Annotated[
        float, typer.Option(help="Probability between lower and upper.")
    ] = 0.95,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object; needs --out.")
    ] = False,
) -> None:
    """Predict every row of a table, and add the predictions to its columns.

    For a number: mean, sd, and lower and upper end of an interval for a new
    measurement. For a class: the class, and the probability of each class.
    """
    if as_json and out is None:
        raise SettingError(
            "--json: with it, the predictions need a file. Add --out FILE."
        )
    try:
        from ocbnn.projects.predictions import predict_table  # noqa: PLC0415

        with spoken_warnings(), tempfile.TemporaryDirectory() as scratch:
            path = out or Path(scratch) / "predictions.csv"
            fitted = opened(model)
            predictions = predict_table(fitted, data, path, interval)
            if predictions.skipped:
                note(
                    f"{predictions.skipped} of {predictions.rows} rows lack an input; "
                    "their predictions are left empty."
                )
            if out is None:
                _copy_to_stdout(path)
    except KeyboardInterrupt:
        stop("stopped. Nothing was written.", as_json=as_json)
    if out is None:
        return
    if as_json:
        show_json({"file": str(out), **vars(predictions)})
        return
    columns = ", ".join(predictions.columns)
    typer.echo(f"{predictions.rows} rows with {columns}\nwritten to {out}")


def check(
    model: ModelPath,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]",
            help="CSV or Parquet file: check its rows, too.",
            show_default=False,
        ),
    ] = None,
    most: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="A rule holds if it is violated in at most this share."
        ),
    ] = 0.01,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object.")
    ] = False,
) -> None:
    """Check how well each rule holds; exit code 3 if one does not."""
    try:
        from ocbnn.projects.check_table import as_lines  # noqa: PLC0415
        from ocbnn.projects.rule_checks import check as check_rules  # noqa: PLC0415

        with spoken_warnings():
            results = check_rules(opened(model), data)
    except KeyboardInterrupt:
        stop("stopped.", as_json=as_json)
    holds = all(result.holds(most) for result in results)
    if as_json:
        rules = [{**vars(result), "holds": result.holds(most)} for result in results]
        show_json({"holds": holds, "most": most, "rules": rules})
    else:
        typer.echo(as_lines(results, most))
    if not holds:
        raise typer.Exit(RULES_BROKEN)


def _copy_to_stdout(path: Path) -> None:
    with path.open(encoding="utf-8") as file:
        shutil.copyfileobj(file, sys.stdout)
