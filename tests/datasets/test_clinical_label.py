"""What counts as action: vasopressors that run, and fluid that is given fast.

Each case is a patient of its own, so that one table answers all cases of a test. The
label looks ahead: what is given in window 2 makes window 1 an "act".
"""

import pytest

from ocbnn.datasets.clinical import clinical_windows
from tests.datasets.tiny_mimic import LEVOPHED, NOREPINEPHRINE, TinyMimic

SALINE, SALINE_CAREVUE = 225158, 30018
ALBUMIN, ALBUMIN_CAREVUE = 220864, 30008
FREE_WATER, GLUCOSE_CAREVUE = 225797, 30013


@pytest.fixture
def labels(tmp_path):
    """{case: windows labelled act}, where `give(tiny, case, patient)` adds rows."""

    def answer(cases, give):
        tiny = TinyMimic()
        for subject, case in enumerate(cases, start=1000):
            give(tiny.another(subject), case, subject)
        table = clinical_windows(tiny.write(tmp_path / "mimic"))
        acts = table.y == "act"
        return {
            case: (table.hours[acts & (table.subjects == subject)] // 4).tolist()
            for subject, case in enumerate(cases, start=1000)
        }

    return answer


def test_a_metavision_vasopressor_acts_in_the_windows_in_which_it_runs(labels):
    cases = {
        (9, 10, 0.1, "Stopped"): [1],
        (9, 17, 0.1, "FinishedRunning"): [1, 2, 3],
        (8, 12, 0.1, "Changed"): [1],
        (-3, 5, 0.1, "Paused"): [0],
        (9, 10, 0.1, "Rewritten"): [],
        (9, 10, 0, "Stopped"): [],
        (9, 9, "", "Stopped"): [1],
    }

    def give(tiny, case, subject):
        start, end, rate, status = case
        tiny.metavision(
            start, end, NOREPINEPHRINE, 2, "mg", rate, status, subject=subject
        )

    assert labels(cases, give) == cases


def test_a_carevue_rate_holds_until_the_next_one_for_an_hour_at_most(labels):
    cases = {
        ((9, 0.1, ""),): [1],
        ((7.5, 0.1, ""),): [0, 1],
        ((7.5, 0.1, ""), (7.9, 0, "")): [0],
        ((7.5, 0.1, ""), (7.9, "", "Stopped")): [0],
        ((7.5, 0.1, ""), (7.9, "", "")): [0, 1],
        ((7.5, 0.1, ""), (7.5, "", "")): [0, 1],
        ((9, 0.1, "D/C'd"),): [],
        ((9, 0, ""),): [],
    }

    def give(tiny, case, subject):
        for hour, rate, stopped in case:
            tiny.carevue(hour, LEVOPHED, rate=rate, stopped=stopped, subject=subject)

    assert labels(cases, give) == cases


def test_a_metavision_bolus_is_a_volume_given_fast(labels):
    cases = {
        (SALINE, 500, "ml", 1 / 60): [1],
        (SALINE, 249.99999, "mL", 1): [1],
        (SALINE, 0.5, "L", 1): [1],
        (SALINE, 1000, "ml", 4): [1, 2],
        (SALINE, 500, "ml", 4): [],
        (SALINE, 200, "ml", 1 / 60): [],
        (SALINE, 9000, "ml", 1 / 60): [],
        (SALINE, 500, "mg", 1 / 60): [],
        (ALBUMIN, 250, "ml", 1): [1],
        (FREE_WATER, 500, "ml", 1 / 60): [],
    }

    def give(tiny, case, subject):
        item, amount, unit, hours = case
        tiny.metavision(9, 9 + hours, item, amount, unit, subject=subject)

    assert labels(cases, give) == cases


def test_a_carevue_bolus_is_one_large_volume(labels):
    cases = {
        (SALINE_CAREVUE, 500, "ml"): [1],
        (ALBUMIN_CAREVUE, 250, "ml"): [1],
        (SALINE_CAREVUE, 100, "ml"): [],
        (SALINE_CAREVUE, 500, ""): [],
        (GLUCOSE_CAREVUE, 500, "ml"): [],
    }

    def give(tiny, case, subject):
        tiny.carevue(9, *case, subject=subject)

    assert labels(cases, give) == cases
