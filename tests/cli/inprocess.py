"""The command line called in this process, as `main` would be by a shell."""

import dataclasses
import sys

import pytest

from ocbnn.cli.app import main


@dataclasses.dataclass(frozen=True)
class Shown:
    """What a command left behind."""

    code: int
    out: str
    err: str


def make_caller(monkeypatch, capfd):
    """A function that runs `ocbnn` with some words and gives what was shown."""

    def call(*words: object) -> Shown:
        monkeypatch.setattr(sys, "argv", ["ocbnn", *map(str, words)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as caught:
            main()
        result = capfd.readouterr()
        assert "Traceback" not in result.err
        return Shown(int(caught.value.code or 0), result.out, result.err)

    return call
