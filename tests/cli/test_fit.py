"""`ocbnn fit`, `resume` and `report` on a person's own table."""

import json
import re
import shutil
import sys
import tomllib

import pytest

import ocbnn as library
from ocbnn.inference import lane
from ocbnn.inference.progress import _LineReporter
from tests.cli.conftest import STUDY, write_rows
from tests.ctrl_c import keyboard


@pytest.fixture
def folder(tmp_path):
    write_rows(tmp_path / "rows.csv")
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def test_a_fit_leaves_a_model_and_a_report(fitted):
    out = fitted / "out"
    assert (out / "study.toml").read_text() == STUDY
    model = library.load(out / "model.ocbnn")
    assert model.schema_.inputs == ("x", "colour=blue", "colour=red")
    document = json.loads((out / "report.json").read_text())
    assert document["rows"] == {"fitted": 29, "held_out": 10, "dropped": 1}
    assert document["scores"]["held_out"] is True
    assert set(document["report"]["rules"]) == {"never negative", "high on the right"}
    text = (out / "report.txt").read_text()
    assert "Verdict" in text
    assert "10 held-out rows" in text


def test_the_same_fit_is_read_and_not_run_again(fitted, ocbnn):
    before = (fitted / "out" / "report.json").read_bytes()
    result = ocbnn("fit", fitted / "study.toml", "--out", fitted / "out", "--json")
    assert result.code == 0
    printed = json.loads(result.out)
    assert printed["scores"] == json.loads(before)["scores"]
    assert printed["files"]["model"] == str(fitted / "out" / "model.ocbnn")
    resumed = ocbnn("resume", fitted / "out")
    assert resumed.code == 0
    assert f"written to {fitted / 'out'}" in resumed.out
    assert "never negative" in resumed.out


def test_another_fit_is_not_overwritten_unless_forced(fitted, folder, ocbnn):
    out = folder / "out"
    shutil.copytree(fitted / "out", out)
    study, table = folder / "study.toml", folder / "rows.csv"
    table.write_text(table.read_text() + "099,0.5,red,0.5\n")
    result = ocbnn("fit", study, "--out", out, "--seed", "5")
    assert result.code == 2
    assert "this folder holds another fit" in result.err
    assert "the table and the seed" in result.err
    assert "--force" in result.err
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.tex").write_text("")
    result = ocbnn("fit", study, "--out", folder / "mine", "--force")
    assert (result.code, "not the folder of a fit" in result.err) == (2, True)
    result = ocbnn("fit", study, "--out", table)
    assert (result.code, "this is a file" in result.err) == (2, True)


SMC = """\
[inference]
algorithm = "smc"
particles = 40
moves = 1
steps = 5
"""


@pytest.fixture
def ctrl_c(monkeypatch):
    """Presses Ctrl-C once after the second report of moves, as on a terminal."""
    messages = []

    def advance(self, count, note):
        messages.append(note)
        if len(messages) == 2:
            press()

    def stop(message):  # which ends a process of its own outright
        print(message, file=sys.stderr)
        sys.exit(130)

    monkeypatch.setattr("ocbnn.cli.fit.stop", stop)
    monkeypatch.setattr(_LineReporter, "advance", advance)
    monkeypatch.setattr(lane, "_CHUNK_SECONDS", 0.0)
    with keyboard() as press:
        yield


@pytest.mark.filterwarnings("ignore::ocbnn.errors.CheckpointWarning")
@pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
def test_a_population_that_is_stopped_is_kept_and_goes_on(folder, ocbnn, ctrl_c):
    text = STUDY.partition("[inference]")[0] + SMC
    assert tomllib.loads(text)["inference"]["particles"] == 40
    (folder / "study.toml").write_text(text)
    out = folder / "out"
    stopped = ocbnn("fit", folder / "study.toml", "--out", out)
    assert stopped.code == 130
    assert "Verdict: poor" in stopped.out
    message = " ".join(stopped.out.split())
    (reached,) = re.findall(r"SMC was stopped at temperature (\S+),", message)
    assert 0 < float(reached) < 1
    assert "so these are not draws from the posterior" in message
    assert f"`ocbnn resume {out}` continues" in stopped.err
    assert library.load(out / "model.ocbnn").draws_.draws == 40
    ended = ocbnn("resume", out)
    assert ended.code == 0
    assert "was stopped at" not in ended.out
    assert library.load(out / "model.ocbnn").draws_.temperature == 1.0


def test_a_report_is_shown_again(fitted, tmp_path, ocbnn):
    result = ocbnn("report", fitted / "out")
    assert result.out == (fitted / "out" / "report.txt").read_text()
    assert json.loads(ocbnn("report", fitted / "out", "--json").out)["seed"] == 1
    page = tmp_path / "report.html"
    assert ocbnn("report", fitted / "out", "--html", page).code == 0
    assert "Verdict" in page.read_text()
    result = ocbnn("report", tmp_path)
    assert (result.code, "not the folder of a fit" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("old", "new", "code", "message"),
    [
        ('missing = "drop"', "", 2, r"lack a value: x (1). Write `missing"),
        ('categories = ["colour"]', "", 2, 'Write `categories = ["colour"]`'),
        ('"x", "colour"', '"x", "color"', 1, "Did you mean `colour`?"),
        ('output = "y"', 'output = "z"', 1, "no column 'z', which"),
        ('output = "y"', 'output = "colour"', 2, "is the output, and"),
        ('"rows.csv"', '"row.csv"', 1, "no such file. Files there: rows.csv"),
        ("y >= -0.5", "z >= -0.5", 2, "line 11, rule 1, rule: rule 'never negative'"),
        ("y >= 0.2", "y <= -1", 2, "never negative"),
        ('sampler = "like-data"', "", 2, "has no bounds for"),
        ('"regression"', '"classification"', 2, 'Write `task = "regression"`'),
        ('"x", "colour"', '"x", "x", "colour"', 2, "'x' is named twice"),
        ('"x", "colour"', '"x"', 2, "'colour' is not among the inputs"),
        ("max_depth = 5", "batch_size = 5", 2, "study.toml: NUTS needs all rows"),
    ],
)
def test_what_does_not_fit_the_table_is_said_before_anything_is_written(
    folder, ocbnn, old, new, code, message
):
    study = folder / "study.toml"
    assert old in STUDY
    study.write_text(STUDY.replace(old, new, 1))
    result = ocbnn("fit", study, "--out", folder / "out", "--quick")
    assert message in result.err
    assert result.code == code
    assert not (folder / "out" / "model.ocbnn").exists()


def test_devices_that_are_not_there_are_said_before_anything_is_written(folder, ocbnn):
    result = ocbnn("fit", folder / "study.toml", "--out", folder / "out",
                  "--devices", "99")  # fmt: skip
    assert result.code == 2
    assert "devices=99 asks for 99 devices" in result.err
    result = ocbnn("fit", folder / "study.toml", "--out", folder / "out",
                  "--devices", "abacus")  # fmt: skip
    assert (result.code, "finds no such device here" in result.err) == (2, True)
    assert not (folder / "out").exists()
