"""Windows from MIMIC-III: every trap of the data, with answers worked out by hand."""

import os
import signal
import threading
import time

import duckdb
import numpy as np
import pytest

from ocbnn.datasets.clinical import (
    FEATURES,
    build as build_module,
    clinical_windows,
    impute,
    read_windows,
)
from ocbnn.errors import DataError, SettingError
from ocbnn.tables.database import database, run
from tests.datasets.tiny_mimic import (
    LEVOPHED,
    NOREPINEPHRINE,
    PATIENT,
    STAY,
    TinyMimic,
)


@pytest.fixture
def build(tmp_path):
    """Windows of a tiny folder."""
    return lambda tiny: clinical_windows(tiny.write(tmp_path / "mimic"))


def feature(table, name, stay=STAY):
    """A feature by window: {index: value}, missing values left out."""
    values = table.X[table.stays == stay, FEATURES.index(name)]
    windows = table.hours[table.stays == stay] // 4
    return {
        int(w): round(float(v), 6)
        for w, v in zip(windows, values, strict=True)
        if not np.isnan(v)
    }


def acted(table, stay=STAY):
    """Windows labelled act."""
    return (table.hours[(table.stays == stay) & (table.y == "act")] // 4).tolist()


def test_a_quiet_stay_gives_a_row_for_each_window_but_the_last(build):
    table = build(TinyMimic(hours=24))
    assert table.names == FEATURES
    assert table.hours.tolist() == [0, 4, 8, 12, 16]
    assert table.y.tolist() == ["not"] * 5
    assert set(table.subjects) == {PATIENT}
    assert set(table.stays) == {STAY}
    assert feature(table, "mean_bp") == dict.fromkeys(range(5), 80.0)
    assert np.isnan(table.X[:, FEATURES.index("lactate")]).all()
    assert table.report.windows["no next window"] == 1


def test_both_charting_systems_are_read(build):
    items = {
        "mean_bp": [52, 6702, 456, 443, 220052, 225312, 220181],
        "heart_rate": [211, 220045],
        "spo2": [646, 220277],
        "gcs": [198],
        "urine": [40055, 40069, 226559, 226560],
    }
    tiny, expected = TinyMimic(), {}
    for name, listed in items.items():
        for item in listed:
            tiny.patient(item).stay(item, item, 0, 8)
            tiny.chart(1, 52, 60, item).chart(1, 211, 60, item)
            record = tiny.output if name == "urine" else tiny.chart
            # Three times, so that the median is theirs.
            for hour in (2, 2.5, 3):
                record(hour, item, 12 if name == "gcs" else 96, item)
            expected[item] = {"gcs": 12.0, "urine": 72.0}.get(name, 96.0)
    table = build(tiny)
    for name, listed in items.items():
        for item in listed:
            assert feature(table, name, stay=item) == {0: expected[item]}


def test_vitals_are_medians_and_a_window_ends_before_its_last_moment(build):
    tiny = TinyMimic(hours=12)
    tiny.chart(2, 220052, 50).chart(3.99, 456, 52).chart(4, 220052, 60)
    pressure = feature(build(tiny), "mean_bp")
    assert pressure == {0: 52.0, 1: 70.0}


def test_impossible_values_are_rejected_and_counted(build):
    tiny = TinyMimic(hours=8)
    for value in (-8, 0, 19.9, 200.1, 326):
        tiny.chart(2, 220052, value)
    tiny.chart(2, 220052, 20).chart(2, 220052, 200)
    tiny.chart(2, 220045, 0).chart(2, 646, 0).chart(2, 646, "")
    tiny.chart(2, 211, 30, error=1).chart(2, 211, "not done").chart(2, 211, "nan")
    tiny.lab(2, 50912, 138).lab(2, 50912, 0).lab(2, 50912, 1.5)
    table = build(tiny)
    assert feature(table, "mean_bp") == {0: 80.0}
    assert feature(table, "heart_rate") == {0: 70.0}
    assert feature(table, "spo2") == {}
    assert feature(table, "creatinine") == {0: 1.5}
    faults = table.report.measurements
    assert list(faults["mean_bp"].values()) == [4, 0, 0, 3, 2]
    assert list(faults["heart_rate"].values()) == [2, 1, 2, 1, 0]
    assert list(faults["spo2"].values()) == [0, 0, 1, 1, 0]
    assert list(faults["creatinine"].values()) == [1, 0, 0, 1, 1]
    assert table.report.missing["spo2"] == 1


def test_coma_scores_add_up_only_parts_charted_together(build):
    tiny = TinyMimic(hours=24)
    tiny.chart(1, 220739, 3).chart(1, 223900, 4).chart(1, 223901, 5)
    tiny.chart(2, 220739, 4).chart(2.5, 223900, 1).chart(3, 223901, 6)
    tiny.chart(17, 220739, 4).chart(17, 223900, 5).chart(17, 223901, 7)
    # 7 is no motor response; what is carried is 8 hours old at most.
    assert feature(build(tiny), "gcs") == {0: 12.0, 1: 12.0, 2: 12.0}


def test_urine_is_summed_and_irrigant_taken_off(build):
    tiny = TinyMimic(hours=24)
    tiny.output(0, 226559, 100).output(3, 40055, 60).output(3, 226559, 7, error=1)
    tiny.output(9, 227489, 3400).output(9, 227488, 3000).output(10, 227489, 28000)
    tiny.output(13, 227488, 3000).output(13, 226559, 50)
    table = build(tiny)
    # 160 ml, carried once; 400 ml; then more irrigant in than out, so 400 ml again.
    assert feature(table, "urine") == {0: 40.0, 1: 40.0, 2: 100.0, 3: 100.0}
    assert table.report.irrigated == 1
    assert table.report.measurements["urine"]["too high"] == 1


def test_blood_results_are_the_latest_and_expire(build):
    tiny = TinyMimic(hours=72)
    tiny.lab(1, 50813, 2.0).lab(3, 50813, 4.0).lab(3, 50813, 3.5)
    tiny.lab(1, 51301, 12.0)
    table = build(tiny)
    assert feature(table, "lactate") == dict.fromkeys(range(7), 4.0)
    assert feature(table, "wbc") == dict.fromkeys(range(13), 12.0)


def test_blood_results_from_before_admission_count_but_vitals_do_not(build):
    tiny = TinyMimic(hours=12)
    tiny.lab(-47, 50912, 1.1).lab(-49, 50885, 9.9).lab(-23, 50813, 5.0)
    tiny.chart(-1, 646, 97)
    table = build(tiny)
    assert feature(table, "creatinine") == {0: 1.1}
    assert feature(table, "bilirubin") == {}
    assert feature(table, "lactate") == {0: 5.0}
    assert feature(table, "spo2") == {}


def test_vitals_are_carried_once_and_mean_bp_never(build):
    tiny = TinyMimic(hours=20, quiet=False)
    for hour in (1, 5, 9, 17):
        tiny.chart(hour, 52, 75)
    tiny.chart(1, 211, 88).chart(2, 646, 95)
    table = build(tiny)
    assert feature(table, "mean_bp") == {0: 75.0, 1: 75.0}
    assert feature(table, "heart_rate") == {0: 88.0, 1: 88.0}
    assert feature(table, "spo2") == {0: 95.0, 1: 95.0}
    assert table.report.windows == {
        "kept": 2,
        "no next window": 1,
        "no mean_bp": 1,
        "no heart_rate": 1,
    }


def test_what_was_already_running_is_reported(build):
    tiny = TinyMimic(hours=24).metavision(9, 14, NOREPINEPHRINE, 2, "mg", 0.1)
    tiny.chart(10, 220052, 40)
    report = build(tiny).report
    assert report.rows == {
        "patients": 1,
        "stays": 1,
        "act": 2,
        "act, treated already": 1,
        "below 65": 1,
        "below 65, act": 1,
    }


def test_every_stay_left_out_is_counted_by_its_reason(build):
    tiny = TinyMimic(hours=24)
    tiny.patient(8, "2140-01-01 00:00:00").stay(80, 8, 0, 24)
    tiny.patient(9, "1850-01-01 00:00:00").stay(90, 9, 0, 24)
    tiny.stay(71, PATIENT, 100, 107.9).stay(72, PATIENT, 200, None)
    tiny.stay(73, PATIENT, 220, 210).stay(100, 10, 0, 24)
    tiny.patient(11, "2134-01-01 00:00:00").stay(110, 11, 0, 8)
    for subject in (8, 9, 11):
        tiny.chart(1, 220052, 90, subject).chart(1, 220045, 60, subject)
    table = build(tiny)
    assert table.report.stays == {
        "kept": 3,
        "no usable times": 2,
        "no birth date": 1,
        "under 16": 1,
        "shorter than two windows": 1,
    }
    # The patient whose birth was moved back 300 years is an adult; so is one of 16.
    assert set(table.stays) == {STAY, 90, 110}
    assert feature(table, "mean_bp", stay=110) == {0: 90.0}


def test_measurements_go_to_the_stay_of_their_time(build):
    tiny = TinyMimic(hours=12).stay(71, PATIENT, 100, 112)
    tiny.chart(101, 220052, 60).chart(101, 220045, 60).chart(50, 220052, 30)
    table = build(tiny)
    assert feature(table, "mean_bp") == {0: 80.0, 1: 80.0}
    assert feature(table, "mean_bp", stay=71) == {0: 60.0}


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
@pytest.mark.parametrize("small", [True, False])
def test_all_forms_of_a_table_read_the_same(tmp_path, form, small):
    tiny = TinyMimic(hours=24).metavision(9, 14, NOREPINEPHRINE, 2, "mg", 0.1)
    tiny.lab(2, 50813, 3.5).output(3, 226559, 80).carevue(17, LEVOPHED, rate=0.1)
    table = clinical_windows(tiny.write(tmp_path / "o'hara", form, small))
    assert acted(table) == [1, 2, 3]
    assert feature(table, "lactate") == dict.fromkeys(range(5), 3.5)
    assert feature(table, "urine") == {0: 20.0, 1: 20.0}


def test_a_missing_folder_table_or_column_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nowhere: no such folder\. Name the folder"):
        clinical_windows(tmp_path / "nowhere")
    folder = TinyMimic().write(tmp_path / "mimic")
    (folder / "LABEVENTS.csv").rename(folder / "LABS.csv")
    with pytest.raises(
        DataError,
        match=r"no file for LABEVENTS\. Expected LABEVENTS\.csv.*found ICUSTAYS\.csv",
    ):
        clinical_windows(folder)
    (folder / "LABEVENTS.csv").write_text("SUBJECT_ID,ITEMID,TIME,VALUENUM\n")
    with pytest.raises(
        DataError,
        match=r"LABEVENTS\.csv: no column CHARTTIME\..* found SUBJECT_ID, ITEMID, TIME",
    ):
        clinical_windows(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"LABEVENTS\.csv: the file is empty"),
        (
            b"SUBJECT_ID,ITEMID,CHARTTIME,VALUENUM\n1,2,3\n1,2,3,4,5\n",
            r"LABEVENTS\.csv: this is not a readable table",
        ),
        (
            b"SUBJECT_ID,ITEMID,CHARTTIME,VALUENUM\n7,50813,\xff\xfe,4\n",
            r"LABEVENTS\.csv, line 2: this is not a readable table.*UTF-8",
        ),
    ],
)
def test_a_broken_file_is_named(tmp_path, content, message):
    folder = TinyMimic().write(tmp_path / "mimic")
    (folder / "LABEVENTS.csv").write_bytes(content)
    with pytest.raises(DataError, match=message):
        clinical_windows(folder)


def test_tables_without_rows_leave_no_window_and_say_so(tmp_path):
    tiny = TinyMimic(quiet=False)
    with pytest.raises(DataError, match=r"no window is left(.|\n)*no mean_bp +5"):
        clinical_windows(tiny.write(tmp_path / "mimic"))


def test_the_file_reads_back_and_a_failure_leaves_the_old_one(tmp_path):
    out = tmp_path / "made" / "for me" / "table.parquet"
    folder = TinyMimic().write(tmp_path / "mimic")
    table = clinical_windows(folder, out=out)
    again = read_windows(out)
    assert again.report == table.report
    np.testing.assert_array_equal(again.X, table.X)
    assert again.y.tolist() == table.y.tolist()
    before = out.read_bytes()
    TinyMimic(quiet=False).write(folder)
    with pytest.raises(DataError):
        clinical_windows(folder, out=out)
    assert out.read_bytes() == before
    assert [path.name for path in out.parent.iterdir()] == ["table.parquet"]


def test_what_is_no_such_table_is_refused(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_windows(tmp_path / "none.parquet")
    other = tmp_path / "other.parquet"
    duckdb.execute(f"COPY (SELECT 1 AS a) TO '{other}'")
    with pytest.raises(DataError, match="it has no report"):
        read_windows(other)
    with pytest.raises(DataError, match="this is a folder"):
        clinical_windows(out=tmp_path)
    with pytest.raises(SettingError, match="'plenty' is not an amount of memory"):
        clinical_windows(memory="plenty")


def test_ctrl_c_ends_a_long_statement_at_once():
    # A background shell switches Ctrl-C off for all it starts; switch it on again.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.monotonic()
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    endless = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a > b"
    with pytest.raises(KeyboardInterrupt), database("500MB") as base:
        run(base.connection, endless)
    assert time.monotonic() - began < 10
    signal.signal(signal.SIGINT, usual)


def test_a_table_larger_than_memory_streams_through(tmp_path, monkeypatch):
    monkeypatch.setattr(build_module, "_BATCH", 300_000)
    folder = TinyMimic(quiet=False).write(tmp_path / "mimic")
    patients, rows = 2000, 2_000_000
    duckdb.execute(f"""
        COPY (SELECT i AS subject_id, '2100-01-01' AS dob FROM range({patients}) t(i))
        TO '{folder}/PATIENTS.csv' (HEADER);
        COPY (
            SELECT i AS subject_id, i AS hadm_id, i AS icustay_id,
                TIMESTAMP '2150-01-01' AS intime, TIMESTAMP '2150-01-05' AS outtime
            FROM range({patients}) t(i)
        ) TO '{folder}/ICUSTAYS.csv' (HEADER);
        COPY (
            SELECT i AS row_id, i // 4 % {patients} AS subject_id,
                [220052, 220045, 220277, 999][1 + i % 4] AS itemid,
                TIMESTAMP '2150-01-01' + to_minutes(i // 8000 * 23) AS charttime,
                60 + i % 40 AS valuenum, 'a remark that takes some room' AS value,
                NULL AS error
            FROM range({rows}) t(i)
        ) TO '{folder}/CHARTEVENTS.parquet';
    """)
    table = clinical_windows(folder, memory="150MB")
    assert table.report.measurements["mean_bp"]["kept"] == rows // 4
    assert len(table.y) == patients * 23


def test_missing_values_are_filled_with_medians_of_the_training_rows():
    train = np.array([[1.0, np.nan], [3.0, 10.0], [np.nan, 20.0]])
    other = np.array([[np.nan, 7.0], [100.0, np.nan]])
    filled, rest = impute(train, other)
    np.testing.assert_array_equal(filled, [[1, 15], [3, 10], [2, 20]])
    np.testing.assert_array_equal(rest, [[2, 7], [100, 15]])
    assert np.isnan(train).sum() == 2
    with pytest.raises(DataError, match="column 1 of the training rows has no value"):
        impute(np.array([[1.0, np.nan]]))
