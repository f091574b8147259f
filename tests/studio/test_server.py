"""The server, asked over HTTP as its page asks it."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.studio.conftest import open_to_others

BOX = "box: if -1 <= x <= 1 then not (-5 <= y <= 3)"


@pytest.fixture(scope="module")
def toy(studio):
    return studio.example("fig2-right")


def test_the_start_page_offers_examples_and_sessions(studio, toy):
    answer = studio.json("/api/start")
    names = {one["name"] for one in answer["examples"]}
    assert {"fig1-left", "fig2-right", "clinical", "motion"} <= names
    assert len(names) == 8
    assert toy.rpartition("/")[2] in {one["id"] for one in answer["sessions"]}
    assert answer["limit"] == 2 * 2**20


def test_a_session_says_all_that_its_page_shows(studio, toy):
    state = studio.json(toy)
    assert state["table"]["rows"] == 12
    assert [one["name"] for one in state["table"]["columns"]] == ["x", "y"]
    (rule,) = state["rules"]
    assert rule["words"] == "Where x is -1 to 1: y is never -5 to 3"
    assert rule["shape"] == {"kind": "forbid", "x": [-1, 1], "y": [-5, 3]}
    assert state["problem"] is None
    assert state["fit"]["state"] == "none"
    rows = studio.json(f"{toy}/rows")
    assert rows["shown"] == 12
    assert len(rows["columns"]["y"]) == 12


def test_rules_are_drawn_moved_and_checked(studio, toy):
    view = studio.json(toy)["document"]["view"]
    drawing = {"kind": "band", "view": view, "x": [2, 3], "y": [-10, 5]}
    text = studio.json(f"{toy}/drawn", drawing)["text"]
    assert text == "if 2 <= x <= 3 then -10 <= y <= 5"
    shape = {"kind": "band", "x": [2, 2.5], "y": [-10, 0]}
    moved = studio.json(f"{toy}/moved", {"text": text, "shape": shape, "view": view})
    assert moved["text"] == "if 2 <= x <= 2.5 then -10 <= y <= 0"
    edited = studio.json("/api/rules/edit", {"text": text, "strength": "hard"})
    assert edited["text"] == f"{text} [strength=hard]"


def test_a_wrong_rule_is_kept_and_its_place_is_told(studio):
    session = studio.example("fig1-left")
    wrong = {"id": "r9", "text": "if 1 <= x then y >> 2", "on": True, "colour": 1}
    state = studio.save(session, lambda d: d["rules"].append(wrong))
    error = state["rules"][1]["error"]
    assert error["start"] == wrong["text"].index(">>") + 1
    assert "a column, a number" in error["message"]
    assert state["problem"]
    status, _, content = studio.ask(f"{session}/fit", {})
    assert status == 422
    assert "cannot be read" in json.loads(content)["error"]
    state = studio.save(session, lambda d: d["rules"][1].update(on=False))
    assert state["problem"] is None
    assert len(studio.json(f"{session}/layers", {})["layers"]) == 1


def test_contradictions_and_unknown_columns_are_told_while_writing(studio):
    session = studio.example("fig1-left")
    extra = {"id": "r2", "text": "if 0 <= x <= 1 then y >= 5", "on": True, "colour": 1}
    state = studio.save(session, lambda d: d["rules"].append(extra))
    assert "no output satisfies all of these rules" in state["problem"]
    state = studio.save(session, lambda d: d["rules"][1].update(text="z >= 1"))
    assert "z" in state["rules"][1]["error"]["message"]


def test_a_change_from_an_old_page_is_refused(studio):
    session = studio.example("fig2-left")
    state = studio.json(session)
    body = {"revision": state["revision"], "document": state["document"]}
    studio.json(session, body, "PUT")
    status, _, content = studio.ask(session, body, "PUT")
    assert status == 409
    document = json.loads(content)
    assert "another tab" in document["error"]
    assert document["state"]["revision"] == state["revision"] + 1


def test_a_page_chooses_columns_but_no_files(studio):
    session = studio.example("fig2-left")
    other = "../../../etc/passwd"
    state = studio.save(session, lambda d: d["data"].update(file=other))
    assert state["document"]["data"]["file"] == "data.csv"
    assert state["problem"] is None


def table(rows):
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def test_tables_are_uploaded_and_looked_at(studio):
    rows = [["dose", "who", "effect"]]
    rows += [[i / 10, "ab"[i % 2], i % 7] for i in range(40)] + [["", "a", 1]]
    answer = studio.json("/api/upload?name=../my%20trial.csv", table(rows))
    state = studio.json(f"/api/sessions/{answer['id']}")
    data = state["document"]["data"]
    assert state["document"]["title"] == "my trial"
    assert data["file"] == "my trial.csv"
    assert (data["inputs"], data["categories"]) == (["dose", "who"], ["who"])
    assert data["missing"] == "drop"
    assert state["problem"] is None
    assert "who=a" in state["document"]["view"]["at"]


def test_parquet_files_are_taken_as_well(studio):
    content = io.BytesIO()
    rows = {"dose": [i / 10 for i in range(30)], "effect": [i % 7 for i in range(30)]}
    pl.DataFrame(rows).write_parquet(content)
    answer = studio.json("/api/upload?name=trial.parquet", content.getvalue())
    state = studio.json(f"/api/sessions/{answer['id']}")
    assert state["table"]["rows"] == 30
    assert state["document"]["data"]["file"] == "trial.parquet"


@pytest.mark.parametrize(
    ("name", "content", "status", "said"),
    [
        ("picture.png", b"\x89PNG", 422, "a table is a .csv or a .parquet"),
        ("empty.csv", b"", 422, "empty"),
        ("words.csv", b"a,b\n", 422, "no rows"),
        ("broken.parquet", b"PAR1 and no more", 422, "broken.parquet"),
        ("large.csv", b"a,b\n" + b"1,2\n" * 600_000, 413, "at most 2 MiB"),
    ],
)
def test_bad_files_are_refused_with_a_reason(studio, name, content, status, said):
    before = len(studio.json("/api/start")["sessions"])
    code, _, answer = studio.ask(f"/api/upload?name={name}", content)
    assert code == status
    message = json.loads(answer)["error"]
    assert said in message
    assert "/tmp" not in message
    assert len(studio.json("/api/start")["sessions"]) == before


def test_functions_before_the_data_obey_the_rules(studio, toy):
    answer = studio.json(f"{toy}/prior", {})
    x, functions = np.array(answer["x"]), np.array(answer["functions"])
    inside = functions[:, (x >= -1) & (x <= 1)]
    broken = ((inside > -4.9) & (inside < 2.9)).any(axis=1)
    assert broken.mean() <= 0.05
    free = studio.save(toy, lambda d: d["rules"][0].update(on=False))
    assert free["rules"][0]["on"] is False
    functions = np.array(studio.json(f"{toy}/prior", {})["functions"])
    inside = functions[:, (x >= -1) & (x <= 1)]
    assert ((inside > -4.9) & (inside < 2.9)).any(axis=1).mean() > 0.5
    studio.save(toy, lambda d: d["rules"][0].update(on=True))


def small(document):
    plan = {"algorithm": "nuts", "chains": 2, "warmup": 300, "draws": 100}
    document.update(inference=plan)


@pytest.fixture(scope="module")
def fitted(studio):
    session = studio.example("fig1-left")
    studio.save(session, small)
    return session, *studio.fitted(session, quick=False)


def test_a_fit_is_told_of_and_shown_as_it_goes(fitted):
    _, seen, state = fitted
    assert state["fit"]["state"] == "done", state["fit"]
    assert state["fit"]["stale"] is False
    assert {"fit", "bands", "result"} <= set(seen)
    one, other = state["result"]["with"], state["result"]["without"]
    assert one["rules"][0]["violation"] < 0.01
    assert other["rules"][0]["violation"] > 0.2
    assert one["scores"]["rmse"] < 0.3
    assert "gap" in state["result"]["conflicts"]
    assert "refit" not in state["result"]["conflicts"]
    assert state["result"]["rows"].startswith("Fitted to 6 rows.")
    (proved,) = state["result"]["certificates"]
    assert proved["holds"] > 0.9


def test_both_posteriors_are_shown_and_only_one_obeys(studio, fitted):
    session, *_ = fitted
    answer = studio.json(f"{session}/posterior", {})
    x = np.array(answer["with"]["x"])
    inside = np.abs(x) <= 0.3
    shares = {}
    for which in ("with", "without"):
        values = np.array(answer[which]["functions"])[:, inside]
        shares[which] = ((values >= 2.49) & (values <= 3.01)).all(axis=1).mean()
    assert shares["with"] > 0.95
    assert shares["without"] < 0.5


def test_a_fit_is_stale_once_a_rule_has_changed(studio, fitted):
    session, *_ = fitted
    state = studio.save(session, lambda d: d["rules"][0].update(on=False))
    assert state["fit"]["stale"] is True
    state = studio.save(session, lambda d: d["rules"][0].update(on=True))
    assert state["fit"]["stale"] is False


def test_the_study_that_is_taken_away_gives_the_same_numbers(studio, fitted, tmp_path):
    session, _, state = fitted
    _, headers, content = studio.ask(f"{session}/files/study.zip")
    assert "study.zip" in headers["content-disposition"]
    zipfile.ZipFile(io.BytesIO(content)).extractall(tmp_path)
    subprocess.run(
        [sys.executable, "-m", "ocbnn.cli", "fit", "study.toml", "--out", "out"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=300,
    )
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    ours = state["result"]["with"]["scores"]["rmse"]
    assert report["scores"]["outputs"]["y"]["rmse"] == ours


def test_the_code_that_is_taken_away_gives_the_same_numbers(studio, fitted, tmp_path):
    session, _, state = fitted
    _, _, archive = studio.ask(f"{session}/files/study.zip")
    zipfile.ZipFile(io.BytesIO(archive)).extractall(tmp_path)
    code = studio.ask(f"{session}/files/code.py")[2].decode()
    code += "print('RMSE', ((model.predict(X) - y) ** 2).mean() ** 0.5)\n"
    (tmp_path / "code.py").write_text(code)
    completed = subprocess.run(
        [sys.executable, "-W", "ignore", "code.py"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=300,
        text=True,
    )
    rmse = float(completed.stdout.rpartition("RMSE ")[2])
    np.testing.assert_allclose(rmse, state["result"]["with"]["scores"]["rmse"])


def test_figures_and_the_report_are_taken_away(studio, fitted):
    session, *_ = fitted
    png = studio.ask(f"{session}/files/figure.png")[2]
    assert png.startswith(b"\x89PNG")
    assert b"<svg" in studio.ask(f"{session}/files/figure.svg")[2]
    page = studio.ask(f"{session}/files/report.html")[2].decode()
    assert "With rules: The draws" in page
    assert "gap: if -0.3" in page
    assert "violated without" in page
    assert "typical error (RMSE)" in page
    assert "data:image/png;base64," in page
    assert "http" not in page.replace("http-equiv", "")
    assert studio.ask(f"{session}/files/model.ocbnn")[0] == 200


def test_sessions_are_their_owner_s_alone(studio, fitted):
    session, *_ = fitted
    studio.json("/api/upload?name=mine.csv", b"x,y\n" + b"1,2\n3,4\n5,7\n" * 4)
    assert studio.ask(f"{session}/files/figure.png")[0] == 200
    here = studio.folder / session.rpartition("/")[2]
    assert {"model.ocbnn", "report.json"} <= {one.name for one in here.rglob("*")}
    assert (here / "figure.svg").is_file()
    assert open_to_others(studio.folder) == []


def test_a_fit_that_is_stopped_too_early_leaves_the_one_before(studio, fitted):
    session, _, before = fitted
    assert before["fit"]["old"] is False
    slow = {"algorithm": "nuts", "chains": 1, "warmup": 1_000_000, "draws": 10}
    studio.save(session, lambda d: d.update(inference=slow, rules=[]))
    studio.json(f"{session}/fit", {"quick": False})
    assert studio.json(session)["fit"]["old"] is True
    time.sleep(3.0)
    studio.json(f"{session}/cancel", {})
    _, after = studio.heard(session)
    assert after["fit"]["state"] == "stopped"
    assert "previous fit is kept and shown" in after["fit"]["message"]
    assert after["fit"]["old"] is True
    assert after["result"] == before["result"]
    assert studio.json(f"{session}/posterior", {})["with"]["mean"]
    page = studio.ask(f"{session}/files/report.html")[2].decode()
    assert "were changed after this fit" in page
    assert "gap: if -0.3" in page
    studio.save(session, lambda d: d.update(before["document"]))


def test_what_needs_a_fit_says_so(studio):
    session = studio.example("fig4-left")
    status, _, content = studio.ask(f"{session}/files/figure.png")
    assert status == 422
    assert "Fit first" in json.loads(content)["error"]


def children(studio, module):
    """Numbers of the server's processes that run a module."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_text().split("\0")
            parent = (path / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if f"ocbnn.studio.{module}" in words and int(parent) == studio.process.pid:
            found.append(int(path.name))
    return found


def test_a_fit_that_crashes_is_told_and_the_server_lives(studio):
    session = studio.long_fit()
    (worker,) = children(studio, "worker")
    os.kill(worker, signal.SIGKILL)
    _, state = studio.heard(session)
    assert state["fit"]["state"] == "failed"
    assert "SIGKILL" in state["fit"]["message"]
    (preview,) = children(studio, "preview_worker")
    os.kill(preview, signal.SIGKILL)
    time.sleep(1.0)
    statuses = [studio.ask(f"{session}/prior", {})[0] for _ in range(2)]
    assert statuses[1] == 200


def test_a_fit_that_is_stopped_keeps_what_there_is(studio):
    session = studio.long_fit()
    status, _, content = studio.ask(f"{session}/fit", {})
    assert status == 422
    assert "already" in json.loads(content)["error"]
    studio.json(f"{session}/cancel", {})
    _, state = studio.heard(session)
    assert state["fit"]["state"] == "stopped"
    assert state["result"]["with"]["scores"]["rmse"] < 0.5
    assert studio.json(f"{session}/posterior", {})["with"]["mean"]


def test_a_fit_that_cannot_be_done_is_told_and_the_server_lives(studio, toy):
    session = studio.example("fig1-left")
    # Rules that can be read, but nothing satisfies the hard one where data are.
    rule = "if -1 <= x <= 1 then y ~ Normal(1 / (x - x), 0.1)"
    studio.save(session, lambda d: d["rules"][0].update(text=rule))
    _, state = studio.fitted(session)
    assert state["fit"]["state"] == "failed"
    assert "not a number" in state["fit"]["message"]
    assert studio.json(toy)["table"]["rows"] == 12


def test_sessions_are_deleted(studio):
    session = studio.example("fig4-left")
    studio.json(session, {}, "DELETE")
    assert studio.ask(session)[0] == 404


def test_who_opens_a_study_that_is_gone_sees_a_page(studio):
    for path in ("/s/nonsense", "/s/000000000000", "/s/a/b"):
        status, headers, content = studio.ask(path)
        assert (status, headers.get_content_type()) == (404, "text/html")
        assert b"Page not found" in content


def test_an_example_that_is_opened_twice_is_numbered(studio):
    titles = [
        studio.json(studio.example("motion"))["document"]["title"] for _ in range(2)
    ]
    assert titles[0].startswith("Human motion")
    assert titles[1] != titles[0]


def test_first_rows_are_the_file_s_own_with_their_gaps(studio):
    rows = [["dose", "who", "effect"], ["", "a", 1], ["2.5", "b", 3], ["1", "b", 2]]
    rows += [[i, "ab"[i % 2], i % 3] for i in range(20)]
    answer = studio.json("/api/upload?name=gaps.csv", table(rows))
    state = studio.json(f"/api/sessions/{answer['id']}")
    assert state["table"]["first"][:2] == [[None, "a", "1"], ["2.5", "b", "3"]]


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("if who in {b} then effect > 0", "write `who=b` >= 0.5"),
        ("if who = b then effect > 0", "write `who=b` >= 0.5"),
        ("if 0 <= my dose <= 1 then effect > 0", "write `my dose`."),
    ],
)
def test_columns_that_rules_mean_are_told_as_rules_write_them(studio, text, advice):
    rows = [["my dose", "who", "effect"]]
    rows += [[i / 10, "ab"[i % 2], i % 7 / 3] for i in range(40)]
    answer = studio.json("/api/upload?name=trial.csv", table(rows))
    session = f"/api/sessions/{answer['id']}"
    rule = {"id": "r1", "text": text}
    state = studio.save(session, lambda d: d.update(rules=[rule]))
    assert advice in state["rules"][0]["error"]["message"]
