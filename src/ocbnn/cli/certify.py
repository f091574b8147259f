"""`ocbnn certify`: what can be proved about a fitted model's rules."""

from pathlib import Path
from typing import Annotated

import typer

from ocbnn.cli.ending import stop
from ocbnn.cli.predict import RULES_BROKEN, ModelPath
from ocbnn.cli.talk import opened, show_json, spoken_warnings
from ocbnn.core.errors import SettingError


def certify(
    model: ModelPath,
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="A rule's name, or the text of another rule. Left out: every rule.",
            show_default=False,
        ),
    ] = None,
    at: Annotated[
        Path | None,
        typer.Option(
            metavar="DATA",
            help="CSV or Parquet file: prove it around these rows, not everywhere.",
            show_default=False,
        ),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[COLUMN=]NUMBER",
            help="How far from a row an input may lie; with --at, once or per column.",
            show_default=False,
        ),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=LOW:HIGH",
            help="Bounds of an input that the rule leaves unbounded. Left out: those "
            "of the training data.",
            show_default=False,
        ),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(min=1, help="At most so many draws.", show_default="all"),
    ] = None,
    boxes: Annotated[
        int, typer.Option(min=1, help="At most so many boxes for each draw.")
    ] = 4096,
    least: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share of draws that must be proved to hold."),
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
            help="Check a certificate that was written before, and prove nothing new.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object.")
    ] = False,
) -> None:
    """Prove of each draw that it keeps a rule at every input of its region.

    Exit code 3 when a smaller share than --least is proved to.
    """
    try:
        from ocbnn.projects.certifying import (  # noqa: PLC0415
            asked_bounds,
            asked_rows,
            asked_tolerance,
            checked_again,
            prove,
        )

        with spoken_warnings():
            fitted = opened(model)
            if verify is not None:
                if rule or at or tolerance or within or out:
                    raise SettingError(
                        "--verify checks what a certificate says; leave the other "
                        "options out."
                    )
                found = checked_again(fitted, verify)
            else:
                found = prove(
                    fitted,
                    rule,
                    at=None if at is None else asked_rows(fitted, at),
                    tolerance=asked_tolerance(tolerance),
                    within=asked_bounds(within),
                    draws=draws,
                    boxes=boxes,
                )
            if out is not None:
                found.save(out)
    except KeyboardInterrupt:
        stop("stopped. Nothing was written.")
    holds = all(one.holds >= least for one in found) and not found.skipped
    if as_json:
        show_json({"holds": holds, "least": least, **found.to_dict()})
    else:
        typer.echo(str(found))
        if verify is not None:
            typer.echo(f"\n{verify}: every statement was checked again and stands.")
        if out is not None:
            typer.echo(f"\nwritten to {out}")
    if not holds:
        raise typer.Exit(RULES_BROKEN)
