"""Windows of the shipped demo: totals, and real stays worked out in plain Python."""

import csv
import gzip
from datetime import datetime, timedelta
from statistics import median

import numpy as np
import pytest

from ocbnn.datasets.clinical import FEATURES, clinical_windows
from ocbnn.datasets.shipped import shipped

WINDOW = timedelta(hours=4)
PRESSURE = {"52", "6702", "456", "443", "220052", "225312", "220181"}
PRESSORS = {"221906", "221289", "221749", "222315", "221662"} | {
    *("30047", "30120", "30044", "30119", "30309", "30127", "30128", "30051"),
    *("30043", "30307"),
}
# Of the fluids in the list, those that were given in the demo.
FLUIDS = {"225158", "225828", "225825", "220864", "225174"} | {
    *("30018", "30021", "30060", "30061", "30008", "30012", "30352"),
}


@pytest.fixture(scope="module")
def demo():
    return clinical_windows()


@pytest.fixture(scope="module")
def raw():
    """Rows of the demo's tables, by patient."""
    found = {}
    for name in ("ICUSTAYS", "CHARTEVENTS", "INPUTEVENTS_MV", "INPUTEVENTS_CV"):
        with gzip.open(shipped(f"mimic3_demo/{name}.csv.gz"), "rt", newline="") as file:
            for row in csv.DictReader(file):
                found.setdefault((name, row["SUBJECT_ID"]), []).append(row)
    return found


def moment(text):
    return datetime.fromisoformat(text)


def number(text):
    return float(text) if text else None


def pressures(rows, start, end):
    return [
        value
        for row in rows
        if row["ITEMID"] in PRESSURE and row["ERROR"] != "1"
        if start <= moment(row["CHARTTIME"]) < end
        if (value := number(row["VALUENUM"])) is not None and 20 <= value <= 200
    ]


def metavision_times(rows):
    for row in rows:
        if row["STATUSDESCRIPTION"] == "Rewritten":
            continue
        start, end = moment(row["STARTTIME"]), moment(row["ENDTIME"])
        if row["ITEMID"] in PRESSORS and (number(row["RATE"]) or 0) > 0:
            yield start, end
        if row["ITEMID"] in FLUIDS and row["AMOUNTUOM"].lower() == "ml":
            hours = (end - start) / timedelta(hours=1)
            if 249 <= float(row["AMOUNT"]) <= 3000 and (
                hours <= 1 or float(row["AMOUNT"]) / hours >= 249
            ):
                yield start, end


def carevue_times(rows):
    rates = {}
    for row in rows:
        when, amount = moment(row["CHARTTIME"]), number(row["AMOUNT"]) or 0
        fluid = row["ITEMID"] in FLUIDS and row["AMOUNTUOM"] == "ml"
        if fluid and 249 <= amount <= 3000:
            yield when, when
        rate = -1 if row["STOPPED"] in ("Stopped", "D/C'd") else number(row["RATE"])
        if row["ITEMID"] in PRESSORS and rate is not None:
            rates.setdefault(row["ITEMID"], {}).setdefault(when, []).append(rate)
    for drug in rates.values():
        times = sorted(drug)
        for when, following in zip(times, [*times[1:], datetime.max], strict=True):
            if min(drug[when]) >= 0 and max(drug[when]) > 0:
                yield when, min(following, when + timedelta(hours=1))


def by_hand(raw, stay):
    """{window: (mean_bp, action)} for one stay, from the raw rows."""
    subject = stay["SUBJECT_ID"]
    start, out = moment(stay["INTIME"]), moment(stay["OUTTIME"])
    chart = raw.get(("CHARTEVENTS", subject), [])
    given = [
        *metavision_times(raw.get(("INPUTEVENTS_MV", subject), [])),
        *carevue_times(raw.get(("INPUTEVENTS_CV", subject), [])),
    ]
    rows = {}
    for window in range((out - start) // WINDOW - 1):
        begin = start + window * WINDOW
        after, end = begin + WINDOW, begin + 2 * WINDOW
        act = any(s < end and (e > after or s >= after) for s, e in given)
        if values := pressures(chart, begin, after):
            rows[window] = (median(values), "act" if act else "not")
    return rows


def test_real_stays_agree_with_plain_python(demo, raw):
    stays = [
        row for (name, _), rows in raw.items() if name == "ICUSTAYS" for row in rows
    ]
    compared = 0
    for stay in stays[::4]:
        mine = demo.stays == int(stay["ICUSTAY_ID"])
        found = {
            int(hour) // 4: (round(float(pressure), 6), str(action))
            for hour, pressure, action in zip(
                demo.hours[mine], demo.X[mine, 0], demo.y[mine], strict=True
            )
        }
        expected = {w: (round(p, 6), a) for w, (p, a) in by_hand(raw, stay).items()}
        assert found == expected, stay["ICUSTAY_ID"]
        compared += len(found)
    assert compared > 500


def test_the_totals_of_the_demo_stay_what_they_are(demo):
    report = demo.report
    assert report.stays["kept"] == 133
    assert report.windows["kept"] == len(demo.y) == 3347
    assert report.windows["no mean_bp"] == 77
    assert report.rows == {
        "patients": 96,
        "stays": 130,
        "act": 845,
        "act, treated already": 740,
        "below 65": 685,
        "below 65, act": 252,
    }
    assert report.measurements["creatinine"]["too high"] == 1
    assert report.measurements["urine"]["too high"] == 1


def test_the_arrays_agree_with_the_report(demo):
    report = demo.report
    missing = np.isnan(demo.X).sum(axis=0)
    assert dict(zip(FEATURES, missing.tolist(), strict=True)) == report.missing
    low = demo.X[:, 0] < 65
    assert (demo.y == "act").sum() == report.rows["act"]
    assert low.sum() == report.rows["below 65"]
    assert (demo.y[low] == "act").sum() == report.rows["below 65, act"]
    assert len(np.unique(demo.subjects)) == report.rows["patients"]
    keys = list(zip(demo.stays.tolist(), demo.hours.tolist(), strict=True))
    assert keys == sorted(set(keys))
    assert not np.isnan(demo.X[:, :2]).any()
    for name, low, high in (("mean_bp", 20, 200), ("gcs", 3, 15), ("spo2", 50, 100)):
        column = demo.X[:, FEATURES.index(name)]
        assert low <= np.nanmin(column) <= np.nanmax(column) <= high
