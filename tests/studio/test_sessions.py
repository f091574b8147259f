"""Sessions on disk, and what a server that dies leaves behind."""

import json
import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import expect

from ocbnn.errors import DataError, OcbnnError
from ocbnn.studio.document import Document, study_text
from ocbnn.studio.examples import EXAMPLES
from ocbnn.studio.session_data import checked
from ocbnn.studio.sessions import StaleError, Store
from tests.studio.browsing import is_ready, needs_chromium, work
from tests.studio.conftest import running


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "studio")


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "clinical"])
def test_every_example_can_be_fitted_as_it_is(store, name):
    session = store.from_document(*EXAMPLES[name].make())
    _, document = session.read()
    assert checked(session.folder, document).problem == ""


def test_what_is_written_is_read_again_and_old_pages_are_refused(store):
    session = store.from_document(*EXAMPLES["fig2-right"].make())
    revision, document = session.read()
    changed = document.model_copy(update={"title": "mine"})
    assert session.write(changed, revision) == revision + 1
    assert session.read() == (revision + 1, changed)
    with pytest.raises(StaleError, match="another tab"):
        session.write(document, revision)
    assert session.study.read_text() == study_text(changed)
    again = Store(store.folder).session(session.id)
    assert again.read() == (revision + 1, changed)


def test_a_study_file_is_taken_over_and_says_the_same(store, tmp_path):
    first = store.from_document(*EXAMPLES["fig4-right"].make())
    second = store.from_study(first.study)
    one, other = (session.read()[1] for session in (first, second))
    assert (one.rules, one.network) == (other.rules, other.network)
    assert (one.inference, one.fit) == (other.inference, other.fit)
    lines = lambda d: study_text(d).split("\n", 1)[1]
    assert lines(one) == lines(other)


NESTED = "[" * 200_000 + "]" * 200_000
DAMAGE = [
    *("{", "[]", "3", NESTED, '{"document": [], "revision": 1}'),
    '{"document": null, "revision": 1, "changed": ""}',
    '{"document": {"title": null}, "revision": 1, "changed": ""}',
    '{"document": {"title": "\\ud800"}, "revision": 1, "changed": ""}',
    f'{{"document": {NESTED}, "revision": 1, "changed": ""}}',
]


@pytest.mark.parametrize("content", DAMAGE, ids=range(len(DAMAGE)))
def test_a_damaged_session_is_named_and_the_others_are_there(store, content):
    good, bad = (store.from_document(*EXAMPLES["fig1-left"].make()) for _ in "ab")
    (bad.folder / "session.json").write_text(content)
    with pytest.raises(DataError, match="damaged"):
        bad.read()
    assert [one["id"] for one in store.listed()] == [good.id]


@pytest.mark.parametrize(
    ("key", "value", "is_listed"),
    [("changed", "5", False), ("revision", "1e999", True), ("revision", "NaN", True)],
)
def test_one_damaged_value_harms_no_other_session(store, key, value, is_listed):
    good, bad = (store.from_document(*EXAMPLES["fig1-left"].make()) for _ in "ab")
    page = bad.folder / "session.json"
    document = json.loads(page.read_text())
    page.write_text(json.dumps({**document, key: "here"}).replace('"here"', value))
    assert {one["id"] for one in store.listed()} == {good.id, *[bad.id] * is_listed}
    if is_listed:
        with pytest.raises(DataError, match="damaged"):
            bad.read()


def test_a_damaged_state_of_a_fit_is_none(store):
    session = store.from_document(*EXAMPLES["fig1-left"].make())
    (session.folder / "fit.json").write_text(NESTED)
    assert session.fit_state() == {"state": "none"}
    assert [one["fit"] for one in store.listed()] == ["none"]


def test_the_studio_starts_beside_damaged_sessions_and_refuses_to_open_them(tmp_path):
    folder = tmp_path / "studio"
    store = Store(folder)
    bad = [store.from_document(*EXAMPLES["fig1-left"].make()) for _ in DAMAGE]
    for session, content in zip(bad, DAMAGE, strict=True):
        (session.folder / "session.json").write_text(content)
    with running(folder) as studio:
        assert studio.json("/api/start")["sessions"] == []
        for session in bad:
            for path in ("", "/events", "/rows", "/files/study.zip"):
                answer = studio.ask(f"/api/sessions/{session.id}{path}")
                assert answer[0] == 422, (path, answer)
                assert "this file is damaged" in json.loads(answer[2])["error"]


def test_what_cannot_be_read_leaves_no_session(store):
    for name, content in (("a.csv", b"x\n"), ("b.txt", b"x,y\n1,2\n")):
        with pytest.raises(OcbnnError):
            store.from_table(name, content)
    assert list(store.folder.iterdir()) == []


def test_titles_cannot_break_the_study_file():
    document, _ = EXAMPLES["fig1-left"].make()
    named = document.model_copy(update={"title": 'a\n[data]\nfile = "x"'})
    assert study_text(named).count("\n[data]\n") == 1
    assert isinstance(named, Document)


def test_nothing_is_lost_when_the_server_is_killed(tmp_path):
    folder = tmp_path / "studio"
    with running(folder) as studio:
        session = studio.long_fit(title="mine")
        os.kill(studio.process.pid, signal.SIGKILL)
        studio.process.wait(60)
    with running(folder) as studio:
        state = studio.json(session)
        assert state["document"]["title"] == "mine"
        assert state["fit"]["state"] == "stopped"
        assert "closed while this ran" in state["fit"]["message"]
        deadline = time.monotonic() + 30
        worker = f"ocbnn.studio.worker {folder}"
        while worker in _processes() and time.monotonic() < deadline:
            time.sleep(0.2)
        assert worker not in _processes()


def _processes():
    """All command lines."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                found.append(file.read().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return "\n".join(found)


def test_ctrl_c_ends_the_studio_and_all_of_its_processes(tmp_path):
    folder = tmp_path / "studio"
    with running(folder) as studio:
        session = studio.example("fig1-left")
        studio.json(f"{session}/fit", {"quick": False})
        with studio.listen(f"{session}/events") as stream:
            stream.readline()
            studio.process.send_signal(signal.SIGINT)
            _, message = studio.process.communicate(timeout=60)
    assert studio.process.returncode == 130
    assert "Traceback" not in message
    assert str(folder) not in _processes()


def test_ctrl_c_is_quiet_while_functions_are_computed(tmp_path):
    with running(tmp_path / "studio") as studio:
        session = studio.example("motion")
        with ThreadPoolExecutor(3) as pool:
            asked = [pool.submit(studio.ask, f"{session}/prior", {}) for _ in range(3)]
            time.sleep(1.0)
            studio.process.send_signal(signal.SIGINT)
            started = time.monotonic()
            _, message = studio.process.communicate(timeout=60)
            assert time.monotonic() - started < 10
            for one in asked:
                one.exception()
    assert studio.process.returncode == 130
    assert "Traceback" not in message


def test_a_column_that_counts_rows_is_an_input_where_there_is_no_other(store):
    lines = ["day,y", *(f"{i},{2 + i * i / 3}" for i in range(1, 7))]
    session = store.from_table("days.csv", "\n".join(lines).encode())
    _, document = session.read()
    assert document.data.inputs == ["day"]
    assert checked(session.folder, document).problem == ""


def test_columns_are_chosen_by_hand_where_none_can_be_proposed(store):
    content = b"site,y\n" + b"a,1.5\n" * 6
    session = store.from_table("same.csv", content)
    _, document = session.read()
    assert (document.data.inputs, document.data.output) == ([], ["y"])
    problem = checked(session.folder, document).problem
    assert problem == "inputs: name at least one column."


def test_a_study_file_that_is_opened_again_keeps_its_title(store):
    document, table = EXAMPLES["fig1-left"].make()
    named = document.model_copy(update={"title": "My trial: dose, 2"})
    first = store.from_document(named, table)
    assert store.from_study(first.study).read()[1].title == "My trial: dose, 2"


@needs_chromium
def test_a_page_goes_on_once_the_address_of_the_next_server_was_opened(
    tmp_path, chromium
):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    context = chromium.new_context()
    page = context.new_page()
    with running(tmp_path / "studio", "--port", port) as studio:
        session = studio.example("fig2-left")
        page.goto(work(studio, session))
        is_ready(page)
    refused = lambda answer: answer.status == 403
    with (
        page.expect_response(refused, timeout=60_000) as answer,
        running(tmp_path / "studio", "--port", port) as studio,
    ):
        # It has the cookie of the server before.
        assert answer.value.url.endswith("/events")
        expect(page.locator("#saved")).to_have_text("No connection")
        context.new_page().goto(studio.entry)
        expect(page.locator("#saved")).to_have_text("Saved", timeout=30_000)
        page.get_by_label("Title of this study").fill("still mine")
        page.get_by_label("Title of this study").blur()
        expect(page.locator("#saved")).to_have_text("Saved")
        assert studio.json(session)["document"]["title"] == "still mine"
    context.close()
