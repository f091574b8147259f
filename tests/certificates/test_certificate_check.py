"""Certificates in files, and what does not stand when they are checked."""

import dataclasses
import json

import numpy as np
import pytest

import ocbnn
from ocbnn.certificates.certificate import Place
from ocbnn.certificates.certification import digest, prove
from ocbnn.certificates.file import read
from ocbnn.errors import CertificateError, DataError, SettingError, StorageError
from tests.certificates.certified import certified_model

HIGH = "high: if 3 <= x <= 4 then y >= 0.3"


@pytest.fixture(scope="module")
def model():
    return certified_model()


@pytest.fixture(scope="module")
def high(model):
    """Of a rule that only some draws keep."""
    return ocbnn.certify(model, HIGH)


@pytest.fixture(scope="module")
def every(model):
    """Of every rule of the model, from some draws."""
    return ocbnn.certify(model, draws=13)


@pytest.fixture(scope="module")
def local(model):
    """Around rows: one outside the region, one without a value."""
    rows = np.array([[3.1], [0.0], [3.5], [np.nan], [3.9]])
    return prove(
        model.fitted_,
        "up",
        rows=rows,
        tolerance=0.05,
        within=None,
        draws=8,
        boxes=4096,
        confidence=0.95,
    )


def test_a_certificate_is_checked_again_from_its_file(
    model, high, every, local, tmp_path
):
    for result in (high, every, local):
        path = tmp_path / "certificate.json"
        result.save(path)
        again = ocbnn.verify(path, model)
        assert str(again) == str(result)
        assert again.to_dict() == result.to_dict()
        assert np.array_equal(again.rules[0].status, result.rules[0].status)


def test_a_saved_model_has_the_digest_of_the_model(model, tmp_path):
    model.save(tmp_path / "model.ocbnn")
    assert digest(ocbnn.load(tmp_path / "model.ocbnn").fitted_) == digest(model.fitted_)


def test_without_data_a_certificate_still_stands(model, every, tmp_path):
    model.save(tmp_path / "model.ocbnn", data=False)
    ocbnn.verify(every, ocbnn.load(tmp_path / "model.ocbnn"))


def test_the_digest_tells_strengths_of_rules_apart(model):
    firm = tuple(
        ocbnn.bind(str(b.rule).split(" [")[0] + " [strength=firm]", model.schema_)
        for b in model.rules_
    )
    other = dataclasses.replace(model.fitted_, rules=firm)
    assert digest(other) != digest(model.fitted_)


def _changed(certificate, **changes):
    """The first rule with other values: a forger who is careful about the rest."""
    first = dataclasses.replace(certificate.rules[0], **changes)
    return dataclasses.replace(certificate, rules=(first, *certificate.rules[1:]))


def _asked(certificate, **changes):
    asked = dataclasses.replace(certificate.asked, **changes)
    return dataclasses.replace(certificate, asked=asked)


def _all_hold(certificate):
    rule = certificate.rules[0]
    return _changed(
        certificate,
        status=np.ones_like(rule.status),
        splits={(0, draw): [-1] for draw in rule.draws},
        counterexamples=(),
    )


def _smaller_region(certificate):
    return _changed(certificate, places=(Place((3.5,), (4.0,)),))


def _unshown_break(certificate):
    status = certificate.rules[0].status.copy()
    status[0, np.flatnonzero(status[0] == 1)[0]] = -1
    return _changed(certificate, status=status)


def _with_counterexample(certificate, **changes):
    first, *others = certificate.rules[0].counterexamples
    return _changed(
        certificate, counterexamples=(dataclasses.replace(first, **changes), *others)
    )


def _cut_proof(certificate):
    splits = dict(certificate.rules[0].splits)
    splits[next(iter(splits))] = [0, -1]
    return _changed(certificate, splits=splits)


def _only_good_draws(certificate):
    rule = certificate.rules[0]
    good = rule.status[0] == 1
    return _changed(
        certificate,
        draws=tuple(np.array(rule.draws)[good].tolist()),
        status=rule.status[:, good],
        counterexamples=(),
    )


def _as_few_as_asked(certificate):
    """As many draws as are said to be asked for, but the good ones."""
    few = _only_good_draws(certificate)
    return _asked(few, draws=len(few.rules[0].draws))


def _twice(certificate):
    draws = certificate.rules[0].draws
    return _changed(certificate, draws=(draws[1], *draws[1:]))


def _double_counterexample(certificate):
    shown = certificate.rules[0].counterexamples
    return _changed(certificate, counterexamples=(*shown, shown[0]))


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (_all_hold, "do not prove that it holds"),
        (_smaller_region, "leaves out a part of the region along x"),
        (_unshown_break, "without a counterexample"),
        (lambda c: _with_counterexample(c, x=(99.0,)), "does not violate it at"),
        (lambda c: _with_counterexample(c, x=(3.5, 1.0)), "does not have all inputs"),
        (
            lambda c: _with_counterexample(c, y=(55.0,)),
            "outputs of draw .* are listed as .*, and are",
        ),
        (lambda c: _with_counterexample(c, place=7), "without a counterexample"),
        (_double_counterexample, "two counterexamples at one place"),
        (_cut_proof, "has no proof"),
        (
            _only_good_draws,
            "not the requested ones, at most 200, .* model's 200",
        ),
        (_as_few_as_asked, "not the requested ones, at most"),
        (_twice, "not the requested ones"),
        (lambda c: _changed(c, effective=200.0), "number of effective draws"),
        (lambda c: _changed(c, available=199), "number of the model's draws"),
        (lambda c: _changed(c, confidence=0.5), "the confidence"),
        (lambda c: _changed(c, rule="never harmful"), "request is about 'high'"),
        (lambda c: _changed(c, text="y >= -9"), "its text"),
        (lambda c: _changed(c, cut=("x",)), "inputs without bounds"),
        (lambda c: _changed(c, is_own=False), "whether it is a rule of the model"),
        (lambda c: _changed(c, is_masked=True), "whether the model masks"),
        (lambda c: _asked(c, is_own=False), "no rule that is called"),
        (lambda c: _asked(c, rule="cap"), "wrong about whether 'cap' is the model's"),
        (lambda c: _asked(c, draws=0), "request is not valid"),
        (
            lambda c: dataclasses.replace(c, verdict=("good",)),
            "verdict differs from that of the fit",
        ),
        (lambda c: dataclasses.replace(c, model="0" * 64), "another model"),
        (lambda c: dataclasses.replace(c, rules=()), "it has no rule"),
    ],
)
def test_a_statement_that_is_not_true_does_not_stand(
    model, high, tmp_path, forge, message
):
    path = tmp_path / "certificate.json"
    forge(high).save(path)
    with pytest.raises(CertificateError, match=message):
        ocbnn.verify(path, model)


def test_proofs_that_nothing_is_said_about_do_not_stand(model, high):
    rule = high.rules[0]
    broken = next(one for one in rule.draws if (0, one) not in rule.splits)
    extra = _changed(high, splits={**rule.splits, (0, broken): [-1]})
    with pytest.raises(CertificateError, match="does not list as keeping the rule"):
        ocbnn.verify(extra, model)


def test_a_rule_cannot_be_left_out_for_reasons_that_end_a_proof(model, tmp_path):
    """Bounds that leave nothing of a region end the command; they skip no rule."""
    certificate = ocbnn.certify(model, "cap", within={"x": (0, 1)}, draws=5)
    why = "the bounds of 'x', 0 and 1, leave nothing of the region of rule 'up'. Give "
    why += "others: within={'x': (LOW, HIGH)}."
    forged = dataclasses.replace(_asked(certificate, rule=None), skipped={"up": why})
    with pytest.raises(CertificateError, match="rule 'up' cannot be proved"):
        ocbnn.verify(forged, model)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"version": 3', '"version": 3.0'),
        ('"kind"', '"model": "another", "kind"'),
        ('"holds": ', '"holds": 1' + "0" * 400 + ', "held": '),
        ('"splits": {"0 ', '"splits": {"0 0'),
        ('": ".', '": "-1'),
    ],
)
def test_every_number_and_key_is_written_in_one_way(model, high, tmp_path, old, new):
    path = tmp_path / "certificate.json"
    high.save(path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(CertificateError):
        ocbnn.verify(path, model)


@pytest.mark.parametrize("path", [None, 3, "nowhere.json"])
def test_what_is_no_file_is_said_to_be_none(model, path):
    with pytest.raises(CertificateError, match="file"):
        ocbnn.verify(path, model)


def _rule_dropped(certificate):
    return dataclasses.replace(certificate, rules=certificate.rules[1:])


def _rule_skipped(certificate):
    return dataclasses.replace(_rule_dropped(certificate), skipped={"up": "too hard"})


def _rule_renamed(certificate):
    return _asked(_changed(_rule_dropped(certificate), rule="safe"), rule="safe")


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (_rule_dropped, "request is about 'up', 'cap', and it certifies 'cap'"),
        (_rule_skipped, "can be proved, and is left out"),
        (_rule_renamed, "no rule that is called 'safe'"),
    ],
)
def test_every_rule_that_was_asked_about_must_be_there(model, every, forge, message):
    with pytest.raises(CertificateError, match=message):
        ocbnn.verify(forge(every), model)


def _without_a_row(certificate):
    rule = certificate.rules[0]
    splits = {
        (place, draw): axes for (place, draw), axes in rule.splits.items() if place < 2
    }
    return _changed(
        certificate, places=rule.places[:2], status=rule.status[:2], splits=splits
    )


def _renumbered(certificate):
    first, *others = certificate.rules[0].places
    return _changed(certificate, places=(dataclasses.replace(first, row=2), *others))


def _fewer_left_out(certificate):
    around = dataclasses.replace(
        certificate.rules[0].around, rows=3, outside=(), missing=()
    )
    return _changed(certificate, around=around)


def _other_tolerance(certificate):
    around = dataclasses.replace(certificate.rules[0].around, tolerance=(9.0,))
    return _changed(certificate, around=around)


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (_without_a_row, "rows are not the requested ones"),
        (_renumbered, "rows are not the requested ones"),
        (_fewer_left_out, "the rows that were examined and left out"),
        (_other_tolerance, "the rows that were examined and left out"),
        (lambda c: _asked(c, tolerance=(0.06,)), "leaves out a part of the region"),
    ],
)
def test_rows_are_those_that_were_asked_for(model, local, forge, message):
    with pytest.raises(CertificateError, match=message):
        ocbnn.verify(forge(local), model)


def test_rows_can_be_compared_with_the_table_they_came_from(model, high, local):
    rows = local.asked.rows
    ocbnn.verify(local, model, at=rows)
    with pytest.raises(CertificateError, match="row 3 differs from the table's"):
        ocbnn.verify(local, model, at=rows + np.array([[0], [0], [1], [1], [0]]))
    with pytest.raises(CertificateError, match="about 5 rows, and the table has 4"):
        ocbnn.verify(local, model, at=rows[:4])
    with pytest.raises(DataError, match="rows of the model's inputs: x"):
        ocbnn.verify(local, model, at=[[1.0, 2.0]])
    with pytest.raises(SettingError, match="about whole regions, not about rows"):
        ocbnn.verify(high, model, at=rows)


def _edited(certificate, path, edit):
    certificate.save(path)
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("key", "value"),
    [("holds", 0.99), ("probability", 0.99), ("effective_draws", 200.0), ("x", 1)],
)
def test_a_summary_that_does_not_sum_up_does_not_stand(high, tmp_path, key, value):
    path = _edited(
        high, tmp_path / "c", lambda c: c["rules"][0]["summary"].update({key: value})
    )
    with pytest.raises(CertificateError, match=f"its summary has .* as '{key}'"):
        read(path)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda c: c.update(version=2), "format 2, .* Make a new one"),
        (lambda c: c.update(version=4), "a newer ocbnn wrote it"),
        (lambda c: c.pop("version"), "lacks 'version'"),
        (lambda c: c.update(note="approved"), "has 'note', which no certificate has"),
        (lambda c: c["rules"][0].pop("splits"), "lacks 'rules.0.splits'"),
        (
            lambda c: c["rules"][0].update(draws="ab"),
            "value of 'rules.0.draws' is not valid",
        ),
        (lambda c: c["rules"][0].update(status=["q"]), "its values are not consistent"),
    ],
)
def test_a_file_that_is_none_is_refused_in_words(high, tmp_path, edit, message):
    with pytest.raises(CertificateError, match=message):
        read(_edited(high, tmp_path / "c.json", edit))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is not JSON, or incomplete"),
        (b'{"kind": ', "it is not JSON, or incomplete"),
        (b"[1, 2]", "it is JSON, but not an object"),
        (b"\xff\xfe", "it is not a text file"),
    ],
)
def test_a_file_that_is_no_json_is_refused_in_words(tmp_path, content, message):
    (tmp_path / "c.json").write_bytes(content)
    with pytest.raises(CertificateError, match=message) as caught:
        read(tmp_path / "c.json")
    assert "pydantic" not in str(caught.value)
    with pytest.raises(CertificateError, match="this is a folder"):
        read(tmp_path)


def test_where_no_file_can_be_written_is_said(high, tmp_path):
    (tmp_path / "model.ocbnn").write_text("hours of work")
    with pytest.raises(StorageError, match="exists and is not a certificate"):
        high.save(tmp_path / "model.ocbnn")
    high.save(tmp_path / "twice.json")
    high.save(tmp_path / "twice.json")
    with pytest.raises(StorageError, match=r"this is a folder\. Name a file in it"):
        high.save(tmp_path)
    with pytest.raises(StorageError, match=r"no folder .*Make it first: mkdir"):
        high.save(tmp_path / "none" / "c.json")


def test_what_is_no_model_cannot_be_asked(high):
    with pytest.raises(SettingError, match="must be a fitted model, got str"):
        ocbnn.verify(high, "m.ocbnn")
