"""Output of commands: results on stdout, everything else on stderr."""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from ocbnn.errors import InferenceWarning, OcbnnError


def note(text: str) -> None:
    """Print a note on stderr."""
    typer.echo(f"ocbnn: {text}", err=True)


def sentence(error: OcbnnError | OSError) -> str:
    """An error as a sentence for people."""
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or error}"
    return str(error)


def show_json(content: Any) -> None:
    """Print one JSON object, and nothing else, on stdout."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def opened(path: Path) -> Any:
    """Load a fitted model, and print a caution if it needs one."""
    # The library is heavy; `--help` should not wait for it.
    from ocbnn.projects.predictions import caution, load_model  # noqa: PLC0415

    fitted = load_model(path)
    if warning := caution(fitted):
        note(warning)
    return fitted


@contextmanager
def spoken_warnings() -> Iterator[None]:
    """The library's warnings as sentences, without the lines of code they come from."""
    with warnings.catch_warnings():
        # The output contains verdicts; as warnings they would appear twice.
        warnings.simplefilter("ignore", InferenceWarning)
        warnings.showwarning = lambda message, *_, **__: note(str(message))
        yield
