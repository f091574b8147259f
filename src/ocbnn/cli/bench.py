"""`ocbnn bench`: how fast the library is on this machine."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ocbnn.cli.console import note, spoken_warnings
from ocbnn.cli.exits import stop


def bench(
    suite: Annotated[
        list[str] | None,
        typer.Option(
            "--suite",
            metavar="NAME",
            help="A case; repeat the option for several. Default: all.",
            show_default=False,
        ),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, help="Repetitions, after one that compiles.")
    ] = 5,
    as_json: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            help="Write all numbers to a file.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Compare the library's speed with what the same machine can do, in one run.

    Every number is the median over repetitions, with minimum and maximum.
    Use the machine for nothing else; all cases take about twenty minutes.
    """
    from ocbnn.bench import run_bench  # noqa: PLC0415
    from ocbnn.bench.finding import line  # noqa: PLC0415
    from ocbnn.storage import replace_file  # noqa: PLC0415

    try:
        with spoken_warnings():
            results = run_bench(
                suite or [],
                repeats=repeats,
                say=lambda finding: typer.echo(line(finding)),
            )
    except KeyboardInterrupt:
        stop("stopped. Nothing was written.")
    if as_json is not None:
        replace_file(as_json, (json.dumps(results, indent=2) + "\n").encode())
        note(f"written to {as_json}")
