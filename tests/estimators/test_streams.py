"""Estimators on memory-mapped files: the same model, without the rows in memory."""

import jax
import numpy as np
import pytest

from ocbnn import SVGD, VI, OCBNNClassifier, OCBNNRegressor, load
from ocbnn.core.moments import ColumnMoments
from ocbnn.core.stored import Stored
from ocbnn.errors import DataError, SettingError
from ocbnn.fitted import streams

RULES = [
    "low: if 0 <= x0 <= 1 and -2000 <= x1 <= 0 then y >= -2",
    "y <= 9 [sampler=like-data]",
]
PLAN = SVGD(particles=10, iterations=15)
SETTINGS = {"hidden": (4,), "random_state": 0, "inference": PLAN, "batch_size": 16}


def table(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal([5.0, -2000.0], [2.0, 30.0], (rows, 2))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=rows)


def mapped(folder, *arrays):
    found = []
    for number, array in enumerate(arrays):
        np.save(folder / f"{number}.npy", array)
        found.append(np.load(folder / f"{number}.npy", mmap_mode="r"))
    return found


def gap(one, other):
    pairs = zip(
        *(jax.tree.leaves(m.draws_.positions) for m in (one, other)), strict=True
    )
    return max(float(np.abs(a - b).max()) for a, b in pairs)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    X, y = table()
    here = OCBNNRegressor(RULES, **SETTINGS).fit(X, y)
    files = mapped(tmp_path_factory.mktemp("files"), X, y)
    return here, OCBNNRegressor(RULES, **SETTINGS).fit(*files)


def test_a_file_gives_the_model_that_memory_gives(models):
    here, there = models
    assert isinstance(there.target_.X, Stored)
    assert not isinstance(here.target_.X, Stored)
    assert gap(here, there) < 1e-6
    X = table(5, seed=1)[0]
    np.testing.assert_allclose(here.predict(X), there.predict(X), rtol=1e-5)
    assert here.verdict_ == there.verdict_


def test_a_classifier_reads_labels_from_a_file(tmp_path):
    X, y = table()
    labels = np.where(y > 0.3, "high", np.where(y < -0.3, "low", "middle"))
    files = mapped(tmp_path, X, labels)
    here = OCBNNClassifier(**SETTINGS).fit(X, labels)
    there = OCBNNClassifier(**SETTINGS).fit(*files)
    assert gap(here, there) < 1e-6
    assert there.classes_.tolist() == ["high", "low", "middle"]
    assert there.predict(X[:9]).tolist() == here.predict(X[:9]).tolist()


@pytest.mark.slow
def test_what_is_looked_at_is_some_of_the_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "LOOKED_AT", 50)
    X, y = table()
    settings = {**SETTINGS, "batch_size": None}
    model = OCBNNRegressor(RULES, **settings).fit(*mapped(tmp_path, X, y))
    assert model.choice_.batch_size == 512
    assert model.fitted_.rows.X.shape == (50, 2)
    assert model.target_.rows == 120
    np.testing.assert_allclose(model.target_.units.x_mean, X.mean(axis=0))
    np.testing.assert_allclose(model.target_.units.y_scale, [y.std()])
    report = model.report()
    assert "fitted to 120 rows, 50 of them looked at here, and 2" in str(report)
    assert report.to_dict()["fitted"]["rows"] == 120
    assert len(model.check_rules()) == 2


def test_a_saved_model_keeps_the_rows_that_it_looked_at(models, tmp_path):
    _, there = models
    there.save(tmp_path / "m.ocbnn")
    again = load(tmp_path / "m.ocbnn")
    X = table(5, seed=1)[0]
    np.testing.assert_array_equal(again.predict(X), there.predict(X))
    np.testing.assert_array_equal(again.fitted_.rows.X, there.fitted_.rows.X)
    assert again.target_.X is None
    assert again.report().to_dict()["fitted"]["rows"] == 120
    for model in (there, again):
        with pytest.raises(DataError, match="fitted to 120 rows in a file"):
            model.conflicts()
        with pytest.raises(DataError, match="log_density_parts needs the likelihood"):
            model.log_density_parts()
    there.save(tmp_path / "bare.ocbnn", data=False)
    with pytest.raises(DataError, match="saved without them"):
        load(tmp_path / "bare.ocbnn").report()


def test_arviz_gets_all_but_the_likelihood(models):
    result = models[1].to_arviz()
    assert "f" in result.posterior
    assert not hasattr(result, "log_likelihood")


def test_numbers_that_are_missing_are_named(tmp_path):
    X, y = table()
    X[77, 1] = np.nan
    model = OCBNNRegressor(inputs=["a", "b"], **SETTINGS)
    with pytest.raises(DataError, match="row 77 of the file has nan as 'b'"):
        model.fit(*mapped(tmp_path, X, y))
    X[77, 1], y[3] = 0.0, np.inf
    with pytest.raises(DataError, match="row 3 of the file has inf as 'y'"):
        model.fit(*mapped(tmp_path, X, y))
    labels = np.where(np.isinf(y), np.nan, np.sign(y))
    with pytest.raises(DataError, match="row 3 of the file has no class 'y'"):
        OCBNNClassifier(**SETTINGS).fit(*mapped(tmp_path, X, labels))


def test_other_mistakes_are_told_as_those_in_memory_are(tmp_path):
    X, y = table()
    with pytest.raises(DataError, match="output 'y' is 1 in every one of 120 rows"):
        OCBNNRegressor(**SETTINGS).fit(*mapped(tmp_path, X, np.ones(120)))
    rules, y[5] = ["y >= -3 [sampler=like-data]"], -4.0
    with pytest.raises(DataError, match=r"1 of 120 rows .* 'y' is -4 in row 5"):
        OCBNNRegressor(rules, truncate=True, **SETTINGS).fit(*mapped(tmp_path, X, y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        OCBNNRegressor(**SETTINGS).fit(*mapped(tmp_path, X, y[1:]))
    with pytest.raises(DataError, match=r"one class only, '1\.0', in all of its 120"):
        OCBNNClassifier(**SETTINGS).fit(*mapped(tmp_path, X, np.ones(120)))


def test_exact_algorithms_read_a_small_file_and_refuse_a_large_one(tmp_path):
    # Nothing of it is on disk: a file of zeros has no blocks.
    X = np.lib.format.open_memmap(
        tmp_path / "X.npy", "w+", dtype=np.float32, shape=(40_000_000, 4)
    )
    with pytest.raises(SettingError, match="40,000,000 rows, and NUTS needs all") as e:
        OCBNNRegressor(inference="nuts").fit(X, X[:, 0])
    assert "'sgld', 'sghmc', 'svgd', 'vi', 'ensemble'" in str(e.value)
    few = mapped(tmp_path, *table(9))
    assert streams.open_stream(*few, classes=False, inference="nuts") is None
    assert streams.open_stream(*few, classes=False, inference=VI()) is not None


def test_moments_of_blocks_are_those_of_the_whole():
    rng = np.random.default_rng(0)
    whole = rng.normal([1e9, 0.0, 3.0], [1e-2, 1.0, 0.0], (1000, 3))
    result = ColumnMoments.over([whole[:100], whole[100:101], whole[101:]])
    np.testing.assert_allclose(result.mean, whole.mean(axis=0), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(result.scale, [*whole.std(axis=0)[:2], 1.0], rtol=1e-4)
