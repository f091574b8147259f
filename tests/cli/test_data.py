"""`ocbnn data` as a newcomer meets it."""

import pytest

from ocbnn.datasets.clinical import read_windows
from tests.cli.test_cli import run


def test_help_reads_well_at_80_columns():
    for command in ("data", "data --help", "data clinical --help"):
        result = run(*command.split())
        assert "clinical" in result.stdout
        assert max(len(line) for line in result.stdout.splitlines()) <= 80


def test_the_demo_is_read_without_a_terminal(tmp_path):
    out = tmp_path / "made" / "for me" / "table.parquet"
    result = run("data", "clinical", "--out", str(out))
    assert result.returncode == 0, result.stderr
    assert "3,347" in result.stdout
    assert str(out) in result.stdout
    assert "reading measurements" in result.stderr
    assert "\x1b" not in result.stdout + result.stderr
    assert len(read_windows(out).y) == 3347


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--mimic", "nowhere"], 1, "nowhere: no such folder"),
        (["--mimic", "."], 1, "no file for ICUSTAYS"),
        (["--out", "table.csv"], 2, "a file name that ends in .parquet"),
        (["--memory", "plenty"], 2, "Write 2GB"),
    ],
)
def test_what_goes_wrong_is_said_in_a_sentence(tmp_path, arguments, code, message):
    result = run("data", "clinical", *arguments, cwd=tmp_path)
    assert result.returncode == code
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []
