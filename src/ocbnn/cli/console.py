"""What commands say: results on stdout, all else on stderr."""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from ocbnn.errors import InferenceWarning, OcbnnError


def note(text: str) -> None:
    """Say something that is no result."""
    typer.echo(f"ocbnn: {text}", err=True)


def sentence(error: OcbnnError | OSError) -> str:
    """An error as a person reads it."""
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or error}"
    return str(error)


def show_json(content: Any) -> None:
    """One JSON object, and nothing else, on stdout."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def opened(path: Path) -> Any:
    """A fitted model; what a person should know before using it is said."""
    # The library is heavy; `--help` should not wait for it.
    from ocbnn.projects.predictions import caution, load_model  # noqa: PLC0415

    fitted = load_model(path)
    if said := caution(fitted):
        note(said)
    return fitted


@contextmanager
def spoken_warnings() -> Iterator[None]:
    """The library's warnings as sentences, without the lines of code they come from."""
    with warnings.catch_warnings():
        # Verdicts are in what is printed; as warnings they would be said twice.
        warnings.simplefilter("ignore", InferenceWarning)
        warnings.showwarning = lambda message, *_, **__: note(str(message))
        yield
