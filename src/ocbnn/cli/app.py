"""`ocbnn`: the command line. Its exit codes are in `CODES`."""

import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ocbnn import __version__
from ocbnn.cli.bench import bench
from ocbnn.cli.certify import certify
from ocbnn.cli.commands import Command, Group
from ocbnn.cli.console import sentence
from ocbnn.cli.data import data as data_commands
from ocbnn.cli.exits import fail, stop
from ocbnn.cli.explain import explain
from ocbnn.cli.fit import fit, report, resume
from ocbnn.cli.init import init
from ocbnn.cli.predict import check, predict
from ocbnn.cli.studio import studio
from ocbnn.core.compilation_cache import keep_compiled
from ocbnn.core.interrupts import kept_interrupts
from ocbnn.errors import InferenceWarning, OcbnnError, SettingError

CODES = {
    0: "done",
    1: "the work failed: a table or file that cannot be used",
    2: "the command or the study file is invalid",
    3: "check, certify: a rule does not hold",
    130: "stopped by Ctrl-C",
}

app = typer.Typer(
    cls=Group,
    help="Bayesian neural networks that listen to experts: rules about outputs become "
    "a prior.",
    epilog="Exit codes: " + "; ".join(f"{c} {m}" for c, m in CODES.items()) + ".",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    init,
    fit,
    resume,
    report,
    predict,
    check,
    certify,
    explain,
    studio,
    bench,
):
    app.command(cls=Command)(command)
app.add_typer(data_commands, name="data")


class Preset(StrEnum):
    """Whose settings to run."""

    paper = "paper"
    best = "best"


def _show_version(requested: bool) -> bool:
    if requested:
        typer.echo(f"ocbnn {__version__}")
        raise typer.Exit
    return requested


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """Options of every command."""


@app.command(cls=Command)
def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            help="fig1-left, fig1-right, fig2-left, fig2-right, fig3, fig4-left, "
            "fig4-right, table1 (clinical action), table2 (human motion), toys (the "
            "six synthetic figures), all (of these), uci (three tables, beside "
            "published numbers), algorithms, worst-case (firm rules), sure (proofs), "
            "worth-functions, worth-tables or worth (what rules are worth, in rows: on "
            "known functions, on real tables, on both)."
        ),
    ],
    preset: Annotated[
        Preset,
        typer.Option(help="The paper's settings, or what we would advise."),
    ] = Preset.best,
    seed: Annotated[int, typer.Option(min=0, help="Decides every random number.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for results and figures.")] = Path(
        "results"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="A smaller run, said so in the result.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of your own recordings, for table1 (MIMIC-III's tables), "
            "table2 and fig3 (mocap.hdf5 and segment.hdf5)."
        ),
    ] = None,
) -> None:
    """Run an experiment of the paper: numbers, tables, figures and an index.html."""
    try:
        # The library is heavy; `--help` should not wait for it.
        from ocbnn.studies import names_for, reproduce as run  # noqa: PLC0415

        single = len(names_for(name)) == 1
        # Verdicts are in the results; as warnings they would only interrupt the bar.
        warnings.simplefilter("ignore", InferenceWarning)
        run(
            name,
            preset=preset.value,
            seed=seed,
            out=out,
            quick=quick,
            data=data,
            progress=True,
            say=typer.echo,
        )
    except KeyboardInterrupt:
        stop(f"stopped. Studies that were finished are in {out}.")
    where = out / name if single else out / "index.html"
    typer.echo(f"written to {where}")


def main() -> None:
    """Run the command line; errors are sentences, never tracebacks."""
    keep_compiled()
    try:
        with kept_interrupts():
            app(standalone_mode=True)
    except SettingError as error:
        fail(str(error), 2)
    except (OcbnnError, OSError) as error:
        fail(sentence(error), 1)
