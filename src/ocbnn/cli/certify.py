"""`ocbnn certify`: what can be proved about a fitted model's rules."""

import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from ocbnn.cli.console import opened, show_json, spoken_warnings
from ocbnn.cli.exits import stop
from ocbnn.cli.predict import RULES_BROKEN, ModelPath
from ocbnn.core.sentences import errors_spelled
from ocbnn.errors import SettingError


def certify(
    model: ModelPath,
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="A rule's name, or the text of another rule. Default: every rule.",
            show_default=False,
        ),
    ] = None,
    at: Annotated[
        Path | None,
        typer.Option(
            metavar="DATA",
            help="CSV or Parquet file: prove rules around these rows only. With "
            "--verify: the table whose rows the certificate must be about.",
            show_default=False,
        ),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[COLUMN=]NUMBER",
            help="With --at, how far an input may be from a row: once for all columns, "
            "or repeated for some; the others must equal the row.",
            show_default=False,
        ),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=LOW:HIGH",
            help="Restrict an input to this range. Default: the rule's bounds or, if "
            "it sets none, the range of the training data.",
            show_default=False,
        ),
    ] = None,
    draws: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Largest number of draws, evenly chosen, or `all`.",
            show_default="200",
        ),
    ] = None,
    boxes: Annotated[
        int | None,
        typer.Option(
            min=1, help="Largest number of boxes for each draw.", show_default="4096"
        ),
    ] = None,
    least: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Share of draws that must be proved to keep each rule."
        ),
    ] = 0.99,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the certificate with its proofs as JSON.",
            show_default=False,
        ),
    ] = None,
    verify: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Check an existing certificate instead of proving anything.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object.")
    ] = False,
) -> None:
    """Prove for each draw that it keeps a rule at every input of its region.

    Exit code 3 if a smaller share of draws than --least is proved. After Ctrl-C,
    the results so far are printed and written.
    """
    settings = {"rule": rule, "tolerance": tolerance, "within": within}
    settings |= {"draws": draws, "boxes": boxes}
    from ocbnn.projects.command_advice import on_command_line  # noqa: PLC0415

    spelling = on_command_line(model)
    try:
        with spoken_warnings(), errors_spelled(spelling):
            if verify is None:
                certificate = _proved(model, {**settings, "at": at}, out)
            else:
                certificate = _checked(model, verify, at, {**settings, "out": out})
    except KeyboardInterrupt:
        stop("stopped. Nothing was written.", as_json=as_json)
    is_complete = not (certificate.skipped or certificate.stopped)
    holds = is_complete and all(rule.holds >= least for rule in certificate)
    if as_json:
        answer = {"holds": holds, "least": least, "verified": verify is not None}
        show_json({**answer, **certificate.to_dict()})
    else:
        typer.echo(certificate.to_text(spelling))
        if verify is not None:
            typer.echo(f"\n{_verified(verify, certificate, at)}")
        if out is not None:
            typer.echo(f"\nwritten to {out}")
    if verify is None and certificate.stopped:
        stop("stopped early; the results so far are above.")
    if not holds:
        raise typer.Exit(RULES_BROKEN)


def _proved(model: Path, settings: dict[str, Any], out: Path | None) -> Any:
    # The library is heavy; `--help` should not wait for it.
    from ocbnn.projects.certificates import check_out, proved  # noqa: PLC0415

    if out is not None:
        check_out(out)
    certificate = proved(opened(model), **settings, progress=True)
    if out is not None:
        certificate.save(out)
    return certificate


def _checked(model: Path, path: Path, at: Path | None, options: dict[str, Any]) -> Any:
    from ocbnn.projects.certificates import checked_again  # noqa: PLC0415

    for name, value in options.items():
        if value:
            raise SettingError(
                f"--verify checks a certificate as it is, and takes no --{name}. "
                "Leave it out."
            )
    return checked_again(opened(model), path, at)


def _verified(path: Path, certificate: Any, at: Path | None) -> str:
    unchecked = "how many boxes and seconds it took, and what stayed undecided"
    if certificate.asked.rows is not None and at is None:
        unchecked += ", and that its rows are those of a table (--at compares them)"
    sentence = "every statement was checked again and is valid. Not checked:"
    return textwrap.fill(f"{path}: {sentence} {unchecked}.", 80, break_on_hyphens=False)
