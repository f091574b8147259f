"""A long study that is stopped continues with the parts it had not finished."""

import json

import pytest

from ocbnn.studies import reproduce, runner
from ocbnn.studies.base import Headline, Outcome, Study
from ocbnn.studies.parts import FOLDER, Parts

NAMES = ("first", "second", "third one: a/b")


class Slow(Study):
    """A study in three parts, which may be stopped before any of them."""

    name = "slow"

    def __init__(self, stop_at=None):
        self.computed, self.stop_at = [], stop_at

    def run(self, request):
        def compute(name):
            if name == self.stop_at:
                raise KeyboardInterrupt
            self.computed.append(name)
            return {"value": request.seed + 0.1 * len(name), "rhat": float("nan")}

        parts = {n: request.parts.get(n, lambda n=n: compute(n)) for n in NAMES}
        models = {"bnn": parts, "ocbnn": parts}
        return Outcome(
            {"models": models, "paper": {"figure": "none"}, "rules": [], "remark": ""},
            {},
            0.0,
        )

    def tables(self, result):
        return []

    def headline(self, result):
        return Headline(None, None)

    def line(self, result):
        return "done"


@pytest.fixture
def run(monkeypatch, tmp_path):
    def call(study, folder="out", **settings):
        monkeypatch.setitem(runner._STUDIES, "slow", study)
        lines = []
        results = reproduce("slow", out=tmp_path / folder, say=lines.append, **settings)
        return results[0]["models"], lines

    return call


def test_a_stopped_study_continues_and_gives_what_a_whole_run_gives(run, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(Slow(stop_at=NAMES[2]))
    kept = tmp_path / "out" / "slow" / FOLDER
    assert len(list(kept.iterdir())) == 2
    again = Slow()
    numbers, lines = run(again)
    assert again.computed == [NAMES[2]]
    assert lines[0].startswith("slow: continuing, 2 parts were finished by an earlier")
    assert f"delete {kept} to start again" in lines[0]
    assert numbers == run(Slow(), "whole")[0]
    assert not kept.exists()


def test_a_study_that_was_finished_is_run_whole_again(run):
    run(Slow())
    again = Slow()
    _, lines = run(again)
    assert again.computed == list(NAMES)
    assert "continuing" not in lines[0]


def test_parts_of_another_seed_are_not_used(run):
    with pytest.raises(KeyboardInterrupt):
        run(Slow(stop_at=NAMES[1]), seed=1)
    other = Slow()
    numbers, _ = run(other, seed=2)
    assert other.computed == list(NAMES)
    assert numbers["bnn"]["first"]["value"] == 2.5


@pytest.mark.parametrize("text", ["", "{", "[]", '{"settings": {"seed": 0}}'])
def test_damaged_parts_are_computed_again(tmp_path, text):
    parts = Parts(tmp_path, {"seed": 0})
    parts.get("first", lambda: {"value": 1.0})
    (path,) = tmp_path.iterdir()
    path.write_text(text)
    assert Parts(tmp_path, {"seed": 0}).count() == 0
    assert parts.get("first", lambda: {"value": 2.0}) == {"value": 2.0}
    assert json.loads(path.read_text())["result"] == {"value": 2.0}


def test_parts_with_alike_names_are_kept_apart(tmp_path):
    parts = Parts(tmp_path)
    assert parts.get("a b", lambda: {"value": 1.0}) == {"value": 1.0}
    assert parts.get("a/b", lambda: {"value": 2.0}) == {"value": 2.0}
    assert parts.get("a/b", lambda: {"value": 3.0}) == {"value": 2.0}
