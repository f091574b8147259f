"""`--distributed`: several processes that fit one study together."""

import json
import re
import signal
import time

import jax
import numpy as np
import pytest

import ocbnn as library
from ocbnn.cli.distributed import ADDRESS, COUNT, NUMBER, settings
from ocbnn.errors import SettingError
from tests.cli.conftest import STUDY, write_rows
from tests.cli.test_cli import run
from tests.cli.test_processes import LISTENING
from tests.inference.in_processes import finish, start
from tests.limits import within

STEIN = """\
[inference]
algorithm = "svgd"
particles = 8
iterations = 200
batch_size = 10

"""


@pytest.fixture
def study(tmp_path):
    write_rows(tmp_path / "rows.csv")
    before, _, after = STUDY.partition("[inference]")
    text = before + STEIN + after[after.index("[fit]") :]
    (tmp_path / "study.toml").write_text(text)
    return tmp_path / "study.toml"


def lengthened(study):
    text = study.read_text().replace("iterations = 200", "iterations = 1000000")
    study.write_text(text)
    return study


def begin(count, study, out, *words, slurm=False):
    command = ["-c", LISTENING, "fit", study, "--out", out, "--distributed", *words]
    return start(count, command, slurm=slurm)


def wait_for(process, word):
    """Read what a process says until a word comes."""
    received = ""
    while word not in received:
        line = within(300, process.stderr.readline)
        assert line, received
        received += line


def draws(out):
    with jax.enable_x64(True):
        return jax.tree.leaves(library.load(out / "model.ocbnn").draws_.positions)


def files(out):
    """What was written, whatever the number of blocks that a run is saved in.

    A block is written every few seconds, so slower processes write more of them.
    """
    result = sorted(str(path.relative_to(out)) for path in out.rglob("*"))
    blocks = [int(n) for n in re.findall(r"block-(\d+)", " ".join(result))]
    assert blocks == [*range(len(blocks))]
    return {re.sub(r"block-\d+", "block", name) for name in result}


@pytest.mark.slow
def test_two_processes_write_what_one_writes_once(study, tmp_path):
    both = finish(begin(2, study, tmp_path / "both", "--json"))
    assert [end[0] for end in both] == [0, 0], both
    document = json.loads(both[0][1])
    assert both[1][1] == ""
    assert "work together" in both[0][2]
    assert "work together" not in both[1][2]
    (one,) = finish(begin(1, study, tmp_path / "one"))
    assert one[0] == 0, one
    pairs = zip(draws(tmp_path / "one"), draws(tmp_path / "both"), strict=True)
    assert all(np.allclose(a, b, rtol=1e-8, atol=1e-8) for a, b in pairs)
    here = json.loads((tmp_path / "one" / "report.json").read_text())
    assert document["scores"]["rows"] == here["scores"]["rows"]
    assert files(tmp_path / "one") == files(tmp_path / "both")


def test_two_processes_fit_together_and_the_first_tells(study, tmp_path):
    (small := tmp_path / "small.toml").write_text(study.read_text().replace("200", "5"))
    ends = finish(begin(2, small, tmp_path / "out", "--json"))
    assert [code for code, _, _ in ends] == [0, 0], ends
    (_, told, noted), (_, nothing, _) = ends
    assert json.loads(told)["scores"]["rows"] == 10
    assert "2 processes with 2 devices work together" in noted
    assert nothing == ""
    assert {"model.ocbnn", "report.json"} <= files(tmp_path / "out")


@pytest.mark.slow
def test_slurm_says_enough(study, tmp_path):
    for code, _, said in finish(begin(2, study, tmp_path / "out", slurm=True)):
        assert code == 0, said


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_a_lost_process_is_told_of(study, tmp_path, victim):
    processes = begin(2, lengthened(study), tmp_path / "out")
    wait_for(processes[0], "SVGD")
    processes[victim].kill()
    started = time.monotonic()
    code, _, said = finish(processes)[1 - victim]
    assert code == 1
    assert time.monotonic() - started < 60
    assert "ocbnn: " in said
    assert "was lost" in said
    assert str(tmp_path / "out") in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_ctrl_c_in_one_stops_all(study, tmp_path):
    processes = begin(2, lengthened(study), tmp_path / "out")
    wait_for(processes[0], "SVGD")
    processes[1].send_signal(signal.SIGINT)
    for code, _, said in finish(processes):
        assert code == 130, said
        assert f"ocbnn resume {tmp_path / 'out'}" in said
        assert "Traceback" not in said
    assert (tmp_path / "out" / "report.json").exists()


@pytest.mark.slow
def test_others_that_do_not_come_are_told_of(study):
    hasty = f"import ocbnn.cli.distributed as d; d._PATIENCE = 5; {LISTENING}"
    first, other = start(2, ["-c", hasty, "fit", study, "--distributed"])
    other.kill()
    other.communicate(timeout=60)
    ((code, _, said),) = finish([first])
    assert code != 0
    assert "waiting for the other processes" in said
    assert "did not find each other in 5 seconds" in said.splitlines()[-1]


def test_without_others_it_says_what_to_set(study):
    result = run("fit", str(study), "--distributed")
    assert result.returncode == 2
    for name in ("srun", ADDRESS, COUNT, NUMBER):
        assert name in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({COUNT: "2"}, f"{ADDRESS} is not set"),
        ({ADDRESS: "a:1", COUNT: "2"}, f"{NUMBER} is not set"),
        ({ADDRESS: "a:1", COUNT: "two", NUMBER: "0"}, "whole number, got 'two'"),
        ({ADDRESS: "a:1", COUNT: "2", NUMBER: "2"}, "from 0 to"),
        ({ADDRESS: "a", COUNT: "2", NUMBER: "0"}, "must be host:port, got 'a'"),
    ],
)
def test_what_is_set_wrongly_is_named(environment, message):
    with pytest.raises(SettingError, match=message):
        settings(environment)
