"""Models whose fit goes on where it was."""

import numpy as np
import pytest

import ocbnn
from ocbnn import HMC, OCBNNClassifier, OCBNNRegressor
from ocbnn.errors import CheckpointError, SettingError
from ocbnn.inference import lane
from tests.inference.walks import CrashAfter, CrashError, bits

X = np.linspace(-1.0, 1.0, 8)[:, None]
PLAN = HMC(chains=2, warmup=10, draws=10, steps=2, climb=0)


def make(kind, folder, **settings):
    claim = "y >= -1" if kind is OCBNNRegressor else "y in {0}"
    given = {"hidden": (2,), "inference": PLAN, "random_state": 0, "progress": False}
    return kind(
        f"if 2 <= x <= 3 then {claim}", **{**given, **settings}, checkpoint=folder
    )


@pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
@pytest.mark.parametrize(
    "kind",
    [OCBNNRegressor, pytest.param(OCBNNClassifier, marks=pytest.mark.slow)],
)
def test_a_fit_that_was_cut_short_goes_on_to_the_same_draws(
    kind, tmp_path, monkeypatch
):
    y = X[:, 0] ** 2 if kind is OCBNNRegressor else (X[:, 0] > 0).astype(int)
    whole = make(kind, None).fit(X, y)
    monkeypatch.setattr(lane, "_CHUNK_SECONDS", 0.0)
    with pytest.raises(CrashError):
        make(kind, tmp_path, progress=CrashAfter(12)).fit(X, y)
    states = list(tmp_path.glob("chain-*/state.ocbnn"))
    assert states  # the chain that did not crash saved itself
    again = make(kind, str(tmp_path)).fit(X, y)
    assert bits(again.draws_) == bits(whole.draws_)
    assert np.array_equal(again.predict(X), whole.predict(X))
    again.set_params(checkpoint=tmp_path).save(tmp_path.with_suffix(".ocbnn"))
    assert ocbnn.load(tmp_path.with_suffix(".ocbnn")).checkpoint is None
    with pytest.raises(CheckpointError, match=r"holds another run: .*target\.X is"):
        make(kind, tmp_path).fit(2.0 * X[:-1], y[:-1])
    with pytest.raises(CheckpointError, match="key is"):
        make(kind, tmp_path, random_state=1).fit(X, y)


@pytest.mark.parametrize("seed", [None, np.random.RandomState(0), True])
def test_a_fit_that_could_not_be_asked_for_again_is_refused(seed, tmp_path):
    model = make(OCBNNRegressor, tmp_path / "run", random_state=seed)
    with pytest.raises(SettingError, match="checkpoint needs a random_state that is"):
        model.fit(X, X[:, 0] ** 2)
    assert not (tmp_path / "run").exists()
