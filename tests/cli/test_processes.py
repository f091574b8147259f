"""The commands for one's own table, in processes of their own: Ctrl-C, pipes, width."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.conftest import STUDY, write_rows
from tests.cli.test_cli import run

LISTENING = (
    # A background shell switches Ctrl-C off for all it starts; switch it on again.
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from ocbnn.cli.app import main; main()"
)


def test_help_reads_well_at_80_columns():
    for command in ("init", "fit", "resume", "report", "predict", "check"):
        result = run(command, "--help")
        assert result.returncode == 0
        assert max(len(line) for line in result.stdout.splitlines()) <= 80


def test_starting_needs_neither_jax_nor_duckdb():
    heavy = "jax", "duckdb", "pydantic", "matplotlib", "sklearn"
    code = f"import sys, ocbnn.cli.app; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert out.stdout.strip() == "[]"


def test_ctrl_c_stops_and_resume_goes_on(tmp_path):
    write_rows(tmp_path / "rows.csv")
    long = STUDY.replace("warmup = 60", "warmup = 100000")
    (tmp_path / "study.toml").write_text(long)
    out = tmp_path / "out"
    words = ("fit", tmp_path / "study.toml", "--out", out, "--json")
    process = subprocess.Popen(
        [sys.executable, "-c", LISTENING, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 300
    while not (out / "checkpoint").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    message, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert f"ocbnn resume {out}" in err
    assert "Traceback" not in err
    assert json.loads(message) == {"error": f"stopped. `ocbnn resume {out}` continues."}
    assert not (out / "report.json").exists()
    result = run("report", str(out))
    assert result.returncode == 2
    assert f"ocbnn resume {out}" in result.stderr


def test_predictions_can_be_cut_off_by_head(fitted):
    command = (
        f"'{sys.executable}' -m ocbnn.cli predict '{fitted}/out' '{fitted}/rows.csv' "
        "| head -n 2"
    )
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.stdout.splitlines()[0] == "id,x,colour,y,y_mean,y_sd,y_lower,y_upper"
    assert len(result.stdout.splitlines()) == 2
    assert "Traceback" not in result.stderr
    assert "Exception" not in result.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_named(tmp_path, ocbnn):
    write_rows(tmp_path / "rows.csv")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    result = ocbnn("init", tmp_path / "rows.csv", "--out", closed / "study.toml")
    assert (result.code, "closed" in result.err) == (1, True)
