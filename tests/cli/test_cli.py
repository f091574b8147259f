"""The command line as a newcomer meets it."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import ocbnn as library
from tests.studies.tiny import REGRESSION, make_tiny


def run(*arguments, columns="80", **settings):
    environment = {**os.environ, "COLUMNS": columns, "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "ocbnn.cli", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=300,
        **settings,
    )


def test_help_reads_well_at_80_columns_and_needs_no_jax():
    result = run("--help")
    assert result.returncode == 0
    assert "reproduce" in result.stdout
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    for command in ("-h", "reproduce --help"):
        assert run(*command.split()).returncode == 0
    loaded = "import sys, ocbnn.cli.app; print('jax' in sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", loaded],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert out.stdout.strip() == "False"


def test_version_is_the_packages():
    assert run("--version").stdout.strip() == f"ocbnn {library.__version__}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "fig9"], "there is no study 'fig9': write one of fig1-left"),
        (["reproduce"], "Missing argument"),
        (["reproduce", "fig1-left", "--preset", "fast"], "'paper', 'best'"),
        (["reproduce", "fig1-left", "--seed", "-1"], "greater than or equal to 0"),
        (["predikt"], "No such command"),
    ],
)
def test_a_command_written_wrongly_says_what_to_write(
    ocbnn, monkeypatch, arguments, message
):
    monkeypatch.setenv("COLUMNS", "200")
    result = ocbnn(*arguments)
    assert result.code == 2
    assert message in result.err


def test_an_unwritable_folder_is_named(ocbnn, tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    result = ocbnn("reproduce", "fig1-left", "--quick", "--out", blocker)
    assert result.code == 1
    assert str(blocker) in result.err


@pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
def test_a_study_runs_without_a_terminal(ocbnn, monkeypatch, tmp_path):
    make_tiny(monkeypatch)
    out = tmp_path / "made" / "for me"
    outcome = ocbnn(
        *("reproduce", "fig4-right", "--preset", "paper"),
        *("--quick", "--seed", "7", "--out", out),
    )
    assert outcome.code == 0, outcome.err
    assert "fig4-right (paper, quick): violation" in outcome.out
    assert "\x1b" not in outcome.out + outcome.err
    result = json.loads((out / "fig4-right" / "result.json").read_text())
    assert (result["seed"], result["quick"]) == (7, True)
    for model in ("bnn", "ocbnn"):
        assert set(result["models"][model]) >= REGRESSION
    assert result["models"]["ocbnn"]["modes"] is not None
    assert result["models"]["ocbnn"]["rhat_max"] is None  # no meaning for SVGD
    assert (out / "fig4-right" / "fig4-right.png").stat().st_size > 5000
    json.dumps(result, allow_nan=False)


def test_ctrl_c_stops_with_a_sentence(tmp_path):
    out = tmp_path / "made when the first study starts"
    # A background shell switches Ctrl-C off for all it starts; switch it on again.
    listening = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from ocbnn.cli.app import main; main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", listening, "reproduce", "toys", "--out", out],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 300
        while not out.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=200)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "stopped" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("command", ["", "explain", "fit", "data", "data clinical"])
def test_switches_take_no_value_in_the_help(command):
    result = run(*command.split(), "--help")
    assert result.returncode == 0
    assert "--help" in result.stdout
    assert "bool" not in result.stdout.lower()
