"""Study files and code that are taken away say what they need, and read it."""

import asyncio
import io
import json
import subprocess
import sys
import threading
import tomllib

import polars as pl
import pytest

from ocbnn.studio import controller
from ocbnn.studio.downloads import python_code, study_file
from ocbnn.studio.jobs import Fits, Listeners, PreviewProcess
from ocbnn.studio.session_data import rows_of, study_for
from ocbnn.studio.sessions import Store

TABLE = pl.DataFrame(
    {"dose": [i / 10 for i in range(30)], "who": ["ab"[i % 2] for i in range(30)]}
).with_columns(effect=pl.col("dose") ** 2)


@pytest.fixture(params=["csv", "parquet"])
def session(request, tmp_path):
    content = io.BytesIO()
    getattr(TABLE, f"write_{request.param}")(content)
    store = Store(tmp_path / "studio")
    return store.from_table(f"trial.{request.param}", content.getvalue())


def test_the_code_reads_its_table_with_what_ocbnn_brings(session):
    _, document = session.read()
    study = study_for(session.folder, document)
    rows = rows_of(session.folder, document.data)
    code = python_code(document, study, rows, ",", quick=True)
    assert f"It reads {document.data.file}, which is in study.zip" in code
    assert "quick look was a shorter run" in code
    # Other readers of Parquet may not be installed.
    without = 'import sys; sys.modules["pyarrow"] = None'
    tell = "import json; print(json.dumps([list(X.columns), y.tolist()]))"
    parts = (without, code.partition("model =")[0], tell)
    script = session.folder / "code.py"
    script.write_text("\n".join(parts))
    ran = subprocess.run(
        [sys.executable, script],
        cwd=session.folder,
        capture_output=True,
        check=True,
        timeout=300,
    )
    columns, y = json.loads(ran.stdout)
    assert columns == ["dose", "who=a", "who=b"]
    assert y == TABLE["effect"].to_list()


@pytest.mark.parametrize("name", ["study.zip", "code.py"])
def test_what_reads_the_whole_table_lets_others_be_answered(session, name, monkeypatch):
    waiting, answered = threading.Event(), threading.Event()

    def wait(*_, **__):
        waiting.set()
        assert answered.wait(5), "nobody else was answered meanwhile"
        return "" if name == "code.py" else b""

    monkeypatch.setattr(controller, "study_archive", wait)
    monkeypatch.setattr(controller, "python_code", wait)

    async def ask():
        fits = Fits(Listeners(), 1)
        files = controller.Controller(
            Store(session.folder.parent), fits, PreviewProcess()
        )
        taking = asyncio.create_task(files.file(session, name))
        await asyncio.to_thread(waiting.wait, 5)
        answered.set()
        await taking
        await fits.close()

    asyncio.run(ask())


def test_the_study_file_names_its_table_and_what_gives_a_quick_looks_numbers(session):
    _, document = session.read()
    text = study_file(document, quick=True)
    assert f"# It reads {document.data.file}" in text
    assert "ocbnn fit study.toml --quick" in text
    assert "--quick" not in study_file(document, quick=False)
    assert tomllib.loads(text)["data"]["file"] == document.data.file


HONEST = {
    "a column called as a value": (
        "a,a=b,y",
        lambda i: f"{'uvw'[i % 3]},{i * 3 % 7}.5",
    ),
    "codes with gaps": ("k,x,y", lambda i: f"{i % 3 if i % 7 else ''},{i}.5"),
    "codes as decimals": ("k,x,y", lambda i: f"0{i % 3}.0,{i}.5"),
    "codes with exponents": ("k,x,y", lambda i: f"{['1e3', '2'][i % 2]},{i}.5"),
    "true or false": ("k,x,y", lambda i: f"{['TRUE', 'FALSE'][i % 2]},{i}.5"),
    "spaces": ("k, x,y", lambda i: f"{[' u', 'v '][i % 2]}, {i}.5"),
    "no name": (",x,y", lambda i: f"{'ab'[i % 2]},{i}.5"),
}


def run_beginning(session, task="regression"):
    """What the code makes of the table, beside what the studio does."""
    _, document = session.read()
    chosen = {"categories": document.data.inputs[:1], "missing": "drop", "task": task}
    data = document.data.model_copy(update=chosen)
    document = document.model_copy(update={"data": data})
    study = study_for(session.folder, document)
    rows = rows_of(session.folder, document.data)
    code = python_code(document, study, rows, ",", quick=False)
    beginning, _, rest = code.partition("model =")
    choices = [line.strip() for line in rest.splitlines() if "choices=" in line]
    script = session.folder / "code.py"
    tell = (
        "print(json.dumps([list(X.columns), X.values.tolist(), y.tolist(), choices]))"
    )
    script.write_text("\n".join([beginning, "import json", *choices, tell]))
    ran = subprocess.run(
        [sys.executable, script],
        cwd=session.folder,
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr.decode()[-500:]
    return rows, json.loads(ran.stdout)


@pytest.mark.parametrize("what", HONEST)
def test_the_code_understands_names_codes_and_gaps_as_the_studio_does(tmp_path, what):
    header, row = HONEST[what]
    text = header + "\n" + "".join(f"{row(i)},{i / 8}\n" for i in range(40))
    session = Store(tmp_path / "studio").from_table("t.csv", text.encode())
    rows, (columns, X, y, choices) = run_beginning(session)
    names = rows.schema.inputs
    assert columns == list(names)
    assert rows.X.tolist() == X
    assert y == rows.y[:, 0].tolist()
    assert choices == [[[names[i] for i in group] for group in rows.schema.choices]]


@pytest.mark.parametrize("labels", [("TRUE", "FALSE"), ("1.0", "2"), ("n/a", "yes")])
def test_the_code_has_the_same_classes(tmp_path, labels):
    lines = "".join(f"{'ab'[i % 2]},{i}.5,{labels[i % 3 % 2]}\n" for i in range(40))
    session = Store(tmp_path / "studio").from_table("t.csv", f"k,x,y\n{lines}".encode())
    rows, (_, _, y, _) = run_beginning(session, "classification")
    assert y == rows.y.tolist()
