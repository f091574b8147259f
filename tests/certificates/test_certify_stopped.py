"""Certificates that take long: how many draws, how far they are, and Ctrl-C."""

import inspect

import numpy as np
import pytest

import ocbnn
from ocbnn.certificates.arguments import DRAWS
from ocbnn.certificates.proof_run import spread
from ocbnn.errors import CertificateError, SettingError
from ocbnn.projects.command_advice import on_command_line
from tests.certificates.certified import certified_model
from tests.inference.walks import Quiet

# Whether a draw keeps it cannot be seen without dividing.
BUMP = "bump: if -2 <= x <= 2 then y <= 1.3"


@pytest.fixture(scope="module")
def model():
    return certified_model()


class Watch(Quiet):
    """A reporter that remembers, and presses Ctrl-C at some word."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.told: list[tuple] = []
        self.stop_at = stop_at

    def begin(self, label, total):
        self.told.append(("begin", total))

    def advance(self, count, note):
        self.told.append(("advance", count))
        if sum(word == "advance" for word, _ in self.told) == self.stop_at:
            raise KeyboardInterrupt

    def finish(self, note):
        self.told.append(("finish", note))


@pytest.fixture
def small_steps(monkeypatch):
    """A word after every chunk of 16 boxes."""
    monkeypatch.setattr("ocbnn.proofs.search._CHUNKS", 1)
    monkeypatch.setattr("ocbnn.proofs.prover._MAX_CHUNK", 16)


def test_progress_counts_every_draw_once(model, small_steps):
    watch = Watch()
    certificate = ocbnn.certify(model, BUMP, draws=40, progress=watch)
    assert not certificate.stopped
    begun = [n for n, (word, _) in enumerate(watch.told) if word == "begin"]
    assert watch.told[begun[0]][1] == 40
    for start, end in zip(begun, [*begun[1:], None], strict=True):
        told = [n for word, n in watch.told[start:end] if word == "advance"]
        assert sum(told) == watch.told[start][1]
        assert len(told) > 2
    left = watch.told[begun[1]][1]
    assert 0 < left <= 40
    first, last = [note for word, note in watch.told if word == "finish"]
    assert first.startswith(f"{40 - left} of 40 questions decided at first sight")
    assert first.endswith(f"; {left} need a closer look")
    assert last == f"{left} questions looked at more closely"


def test_one_question_is_spoken_of_as_one(model):
    watch = Watch()
    ocbnn.certify(model, BUMP, draws=1, progress=watch)
    notes = [note for word, note in watch.told if word == "finish"]
    assert notes[-1] == "1 question looked at more closely"


@pytest.mark.parametrize("share", [0, 0.3, 0.6, 0.9])
def test_a_certificate_that_was_stopped_says_what_was_decided_and_stands(
    model, small_steps, tmp_path, share
):
    watch = Watch()
    options = {"rule": BUMP, "draws": 40}
    complete = ocbnn.certify(model, **options, progress=watch)
    words = sum(word == "advance" for word, _ in watch.told)
    at = int(1 + share * (words - 1))
    certificate = ocbnn.certify(model, **options, progress=Watch(at))
    assert certificate.stopped
    assert certificate.to_dict()["stopped"] is True
    for rule in certificate:
        decided = rule.status != 0
        assert np.array_equal(rule.status[decided], complete[rule.rule].status[decided])
        assert rule.holds <= complete[rule.rule].holds
        assert rule.probability <= complete[rule.rule].probability
        assert np.isclose(rule.holds + rule.broken + rule.undecided, 1)
    assert "undecided: it was stopped before." in " ".join(str(certificate).split())
    certificate.save(tmp_path / "so far.json")
    again = ocbnn.verify(tmp_path / "so far.json", model)
    assert again.to_dict() == certificate.to_dict()
    assert str(again) == str(certificate)


def test_what_was_not_decided_cannot_be_made_decided_in_the_file(
    model, small_steps, tmp_path
):
    path = tmp_path / "so far.json"
    certificate = ocbnn.certify(model, BUMP, draws=40, progress=Watch(2))
    certificate.save(path)
    (rule,) = certificate
    letters = "".join({1: "h", -1: "b", 0: "u"}[int(one)] for one in rule.status[0])
    assert "u" in letters
    path.write_text(path.read_text().replace(letters, letters.replace("u", "h")))
    with pytest.raises(CertificateError, match="is not valid"):
        ocbnn.verify(path, model)


def test_some_draws_are_looked_at_unless_all_are_asked_for(model):
    assert inspect.signature(ocbnn.certify).parameters["draws"].default == DRAWS == 200
    rule_certificate = ocbnn.certify(model, "up", draws="all")["up"]
    assert (len(rule_certificate.draws), rule_certificate.available) == (200, 200)
    few = ocbnn.certify(model, "up", draws=50)["up"]
    assert (len(few.draws), few.available) == (50, 200)
    page = " ".join(str(few).split())
    assert "Examined 50 of the model's 200 draws, evenly chosen." in page
    assert 'ask for all draws: draws="all".' in page
    assert "ask for all draws" not in str(rule_certificate)
    command = " ".join(few.to_text(on_command_line("model.ocbnn")).split())
    assert "ask for all draws: `--draws all`." in command
    assert "draws=" not in command
    for wrong in ("every", 0, True):
        with pytest.raises(SettingError, match='or draws="all" for every one'):
            ocbnn.certify(model, "up", draws=wrong)


def test_draws_are_taken_from_everywhere_in_turn():
    for count in (1, 2, 7, 40, 200):
        order = spread(count)
        assert sorted(order.tolist()) == list(range(count))
    # Whenever it ends, no quarter of the draws was looked at much more than another.
    order = spread(200)
    for done in (30, 100, 150):
        shares = np.histogram(order[:done], 4, (0, 200))[0] / done
        assert shares.min() > 0.15
        assert shares.max() < 0.35
