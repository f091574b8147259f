"""Motions: states look back only, and files in two formats are read or refused."""

import gzip

import h5py
import numpy as np
import pytest

from ocbnn.datasets.kratzer import load_kratzer
from ocbnn.datasets.motion import (
    ANGLES,
    Motions,
    Reach,
    load_reaches,
    make_states,
)
from ocbnn.errors import DataError, SettingError

HEADER = ",".join(("trajectory", "frame", *ANGLES))


def motions(*tables, rate=10.0):
    reaches = tuple(
        Reach(f"reachingR_{i}", "reachingR", np.asarray(table, float))
        for i, table in enumerate(tables)
    )
    return Motions(reaches, ("a", "b"), rate)


def parabola(frames=8, rate=10.0):
    t = np.arange(frames) / rate
    return np.stack([1 + 2 * t - 3 * t**2, t**2], axis=1)


@pytest.fixture(scope="module")
def reaches():
    return load_reaches()


def test_the_shipped_reaches_are_all_there(reaches):
    labels = [reach.label for reach in reaches.reaches]
    counts = {label: labels.count(label) for label in set(labels)}
    assert counts == {"reachingR": 35, "reachingL": 31, "pickupR": 12}
    assert sum(len(reach.angles) for reach in reaches.reaches) == 15_752
    first = reaches.reaches[0]
    assert first.name == "reachingR_01"
    assert first.angles[0].tolist() == [0.07409, -0.35297, 0.11755, -0.38050]


def test_limits_are_the_extremes_over_all_motions(reaches):
    low, high = reaches.limits()
    assert low.tolist() == [-0.09576, -0.77438, -0.02553, -0.67597]
    assert high.tolist() == [0.85841, 1.70509, 1.14751, 2.26711]


def test_states_of_a_parabola_are_its_derivatives_and_its_future():
    states = make_states(motions(parabola()), horizon=2, stride=2, window=3)
    assert states.frame.tolist() == [2, 4]
    assert states.inputs == (
        "a", "b", "a_velocity", "b_velocity", "a_acceleration", "b_acceleration",
    )  # fmt: skip
    # At t = 0.2 and t = 0.4: a = 1 + 2t - 3t², b = t².
    expected = [[1.28, 0.04, 0.8, 0.4, -6, 2], [1.32, 0.16, -0.4, 0.8, -6, 2]]
    np.testing.assert_allclose(states.X, expected, atol=1e-9)
    np.testing.assert_allclose(states.Y, [[1.32, 0.16], [1.12, 0.36]], atol=1e-12)


def test_three_frames_are_backward_differences():
    table = np.random.default_rng(0).normal(size=(3, 2))
    ahead = np.vstack([table, table[-1:]])
    states = make_states(motions(ahead), horizon=1, stride=1)
    bend = (table[2] - 2 * table[1] + table[0]) * 100
    slope = (3 * table[2] - 4 * table[1] + table[0]) / 2 * 10
    np.testing.assert_allclose(states.X[0], [*table[2], *slope, *bend], rtol=1e-9)


@pytest.mark.parametrize("window", [3, 5])
def test_a_state_knows_nothing_of_later_frames(window):
    table = np.random.default_rng(0).normal(size=(12, 2))
    other = table.copy()
    other[7:] += 1.0
    make = lambda t: make_states(motions(t), horizon=2, stride=1, window=window)
    before = make(table).frame < 7
    assert (make(table).X[before] == make(other).X[before]).all()
    assert (make(table).X[~before] != make(other).X[~before]).any()


def test_a_wider_window_smooths():
    noise = np.random.default_rng(0).normal(size=(400, 2))
    spread = lambda window: make_states(motions(noise), window=window).X[:, 4:].std()
    assert spread(3) > 3 * spread(7) > 9 * spread(15)


def test_motions_are_not_joined_at_their_ends():
    states = make_states(motions(parabola(), parabola() + 5), horizon=2, stride=1)
    assert states.motion.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert states.frame.tolist() == [2, 3, 4, 5, 2, 3, 4, 5]
    np.testing.assert_allclose(states.X[4:, 2:], states.X[:4, 2:], atol=1e-9)


def test_the_sensor_spoils_angles_alone_or_everything_computed_from_them():
    clean = make_states(motions(parabola(300)))
    noisy = lambda place: make_states(
        motions(parabola(300)),
        noise_sd=0.1,
        noise_on=place,
        rng=np.random.default_rng(1),
    )
    angles, recording = noisy("angles"), noisy("recording")
    assert (angles.X[:, :2] == recording.X[:, :2]).all()
    assert 0.08 < (angles.X[:, :2] - clean.X[:, :2]).std() < 0.12
    assert (angles.X[:, 2:] == clean.X[:, 2:]).all()
    # A second difference of independent errors has √6 of their spread, times rate².
    assert (
        0.8 < (recording.X[:, 4:] - clean.X[:, 4:]).std() / (0.1 * 6**0.5 * 100) < 1.2
    )
    assert (angles.Y == clean.Y).all()
    assert (recording.Y == clean.Y).all()


def test_a_seed_decides_the_split(reaches):
    train, test = reaches.split(0)
    names = lambda motions: [reach.name for reach in motions.reaches]
    assert names(train) == names(reaches.split(0)[0])
    assert names(train) != names(reaches.split(1)[0])
    assert len({*names(train), *names(test)}) == 10
    assert {reach.label for reach in (*train.reaches, *test.reaches)} == {"reachingR"}


def test_a_split_asks_for_no_more_than_there_is(reaches):
    with pytest.raises(
        DataError, match=r"train=10 and test=3 .*12 together.*'pickupR'"
    ):
        reaches.split(0, label="pickupR", train=10, test=3)
    with pytest.raises(DataError, match=r"at most 0 .*'reachingL', 'reachingR'"):
        reaches.split(0, label="reaching")


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"window": 2}, "window must be a whole number of frames >= 3, got 2"),
        ({"stride": 0}, "stride"),
        ({"horizon": 1.5}, "horizon"),
        ({"noise_on": "targets"}, "'angles', 'recording'"),
        ({"noise_sd": 0.1}, "default_rng"),
    ],
)
def test_settings_that_make_no_states_are_refused(wrong, match, as_users_run_it):
    with pytest.raises(SettingError, match=match):
        make_states(motions(parabola(40)), **wrong)


def test_a_motion_too_short_for_one_state_is_named():
    with pytest.raises(DataError, match=r"'reachingR_0' has 8 frames.*at least 23"):
        make_states(motions(parabola()))


@pytest.mark.parametrize("name", ["own.csv", "reaches.csv.gz"])
def test_a_table_of_ones_own_is_read_plain_or_zipped(tmp_path, name):
    text = f"{HEADER}\nmine_1,0,0,1,2,3\nmine_1,1,4,5,6,7\nyours_2,0,1,1,1,1\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if "gz" in name else text.encode())
    read = load_reaches(tmp_path if "gz" in name else path)
    assert [(reach.name, reach.label) for reach in read.reaches] == [
        ("mine_1", "mine"),
        ("yours_2", "yours"),
    ]
    assert read.reaches[0].angles.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("trajectory,frame,lShoulderY\n", "no column 'lShoulderZ', 'rShoulderY'"),
        (f"{HEADER}\n", "no rows"),
        (f"{HEADER}\na_1,0,0,0,0,0\na_1,2,0,0,0,0\n", "line 3: frame 2 of 'a_1'"),
        (f"{HEADER}\na_1,0,0,x,0,0\n", "line 2: not a number"),
        (f"{HEADER}\na_1,0,0,0\n", "line 2: not a number"),
        (f"{HEADER}\na_1,0,0,nan,0,0\n", "frame 0 of 'a_1' has an angle"),
        (f"{HEADER}\na_1,0,0,0,0,90\n", "90, which is not an angle in radians"),
    ],
)
def test_a_table_that_is_no_recording_is_refused(tmp_path, text, match):
    path = tmp_path / "own.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=match):
        load_reaches(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"reaches\.csv\.gz.*no such file"):
        load_reaches(tmp_path / "reaches.csv.gz")


# Kratzer's files.

JOINTS = ("pelvisX", *reversed(ANGLES), "rElbow")
SEGMENTS = [(0, 4, "reachingR"), (4, 9, "reachingL"), (10, 12, "reachingR")]


@pytest.fixture
def kratzer(tmp_path):
    """Writes the two files, and tells what was written into the first."""
    data = np.random.default_rng(0).normal(size=(12, len(JOINTS)))

    def write(description=JOINTS, segments=SEGMENTS, kind="fields", dataset="data"):
        with h5py.File(tmp_path / "mocap.hdf5", "w") as file:
            made = file.create_dataset(dataset, data=data)
            if description is not None:
                made.attrs["description"] = np.array(description, "S")
        with h5py.File(tmp_path / "segment.hdf5", "w") as file:
            dtype = [("start", "i8"), ("end", "i8"), ("label", "S16")]
            table = np.array(
                segments, dtype=dtype if kind == "fields" else h5py.string_dtype()
            )
            file.create_dataset("segments", data=table)
        return tmp_path / "mocap.hdf5", tmp_path / "segment.hdf5", data

    return write


@pytest.mark.parametrize("kind", ["fields", "texts"])
def test_kratzers_files_are_cut_into_motions(kratzer, kind):
    texts = [tuple(map(str, row)) for row in SEGMENTS]
    mocap, segments, data = kratzer(
        segments=SEGMENTS if kind == "fields" else texts, kind=kind
    )
    read = load_kratzer(mocap, segments)
    assert [(reach.name, reach.label, len(reach.angles)) for reach in read.reaches] == [
        ("reachingR_01", "reachingR", 4),
        ("reachingL_01", "reachingL", 5),
        ("reachingR_02", "reachingR", 2),
    ]
    # The joints come in our order, whatever theirs is.
    assert (read.reaches[1].angles == data[4:9, [4, 3, 2, 1]]).all()
    assert load_kratzer(mocap, segments, joints=["rElbow"]).joints == ("rElbow",)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"dataset": "poses"}, r"mocap\.hdf5: there is no dataset 'data'; found poses"),
        ({"description": None}, "no attribute 'description'.*found no attributes"),
        ({"description": JOINTS[:4]}, "no column 'lShoulderY'; found 'pelvisX'"),
        ({"description": (*JOINTS, "x")}, r"shape \(12, 6\).*names 7 joints"),
        ({"segments": [(8, 13, "reachingR")]}, r"segment \(8, 13, 'reachingR'\).*12"),
        ({"segments": []}, "no rows"),
    ],
)
def test_what_is_missing_in_kratzers_files_is_named(kratzer, wrong, match):
    mocap, segments, _ = kratzer(**wrong)
    with pytest.raises(DataError, match=match):
        load_kratzer(mocap, segments)


def test_files_that_are_no_hdf5_are_refused(tmp_path, kratzer):
    mocap, segments, _ = kratzer()
    with pytest.raises(DataError, match=r"none\.hdf5: there is no such file"):
        load_kratzer(tmp_path / "none.hdf5", segments)
    segments.write_text("start,end,label")
    with pytest.raises(DataError, match=r"segment\.hdf5: this is not an HDF5 file"):
        load_kratzer(mocap, segments)


def test_without_h5py_the_extra_is_named(kratzer, monkeypatch):
    mocap, segments, _ = kratzer()
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(DataError, match=r"ocbnn\[studies\]"):
        load_kratzer(mocap, segments)
