"""`ocbnn fit`, `ocbnn resume` and `ocbnn report`: a folder for every fit."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ocbnn.cli.console import note, show_json, spoken_warnings
from ocbnn.cli.distributed import join_others
from ocbnn.cli.exits import stop

if TYPE_CHECKING:
    from ocbnn.projects.fitting import Outcome

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Devices = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        help="Number of JAX devices to use, or `all`, `cpu`, `gpu`.",
        show_default=False,
    ),
]
Distributed = Annotated[
    bool,
    typer.Option(
        "--distributed",
        help="Run as one of several processes, which Slurm, Open MPI or "
        "JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID describe.",
    ),
]


def fit(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY.toml", help="Your study file.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder for the model and the report. Default: results/STUDY.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Replaces the study's seed.", show_default=False),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A short run, to see that everything works.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace another fit in the folder.")
    ] = False,
    devices: Devices = None,
    distributed: Distributed = False,
    as_json: Json = False,
) -> None:
    """Fit a model to a table and rules, as described in a study file.

    Writes model.ocbnn, report.txt, report.json, a copy of the study file, and
    checkpoints: after Ctrl-C, `ocbnn resume DIR` continues the run.
    """
    out = out or Path("results") / study.stem
    try:
        if distributed:
            join_others(out)
        from ocbnn.projects.fitting import fit_study  # noqa: PLC0415

        with spoken_warnings():
            outcome = fit_study(
                *(study, out),
                seed=seed,
                quick=quick,
                force=force,
                devices=_as_devices(devices),
                progress=True,
                say=note,
            )
    except KeyboardInterrupt:
        stop(f"stopped. `ocbnn resume {out}` continues.", as_json=as_json)
    _show(outcome, as_json=as_json)


def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a fit.")],
    devices: Devices = None,
    distributed: Distributed = False,
    as_json: Json = False,
) -> None:
    """Continue a fit that was stopped; it ends with the same numbers."""
    try:
        if distributed:
            join_others(folder)
        from ocbnn.projects.fitting import resume as resume_fit  # noqa: PLC0415

        with spoken_warnings():
            outcome = resume_fit(
                folder, devices=_as_devices(devices), progress=True, say=note
            )
    except KeyboardInterrupt:
        stop(f"stopped. `ocbnn resume {folder}` continues.", as_json=as_json)
    _show(outcome, as_json=as_json)


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a fit.")],
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write it as a web page.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the report of a fit again."""
    from ocbnn.projects.reports import read_report, write_html  # noqa: PLC0415

    text, document = read_report(folder)
    if html is not None:
        write_html(html, folder, text)
        note(f"written to {html}")
    if as_json:
        show_json(document)
    elif html is None:
        typer.echo(text, nl=False)


def _as_devices(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isdecimal() else text


def _show(outcome: "Outcome | None", *, as_json: bool) -> None:
    if outcome is None:
        return  # Another process reports for all.
    if as_json:
        show_json(outcome.document)
    else:
        typer.echo(outcome.summary)
        typer.echo(f"\nwritten to {outcome.folder.path}")
    if outcome.interrupted:
        stop(
            "stopped early; the draws so far are written. "
            f"`ocbnn resume {outcome.folder.path}` continues."
        )
