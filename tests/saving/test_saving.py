"""A loaded model is the model that was saved, to the bit."""

import dataclasses
import time

import equinox as eqx
import jax
import numpy as np
import optax
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import ocbnn
from ocbnn import HMC, SMC, SVGD, OCBNNClassifier, OCBNNRegressor
from ocbnn.errors import DataError, SettingError, StorageError, StorageWarning
from ocbnn.storage import is_bundle, read_bundle, write_bundle

pytestmark = pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")

X = np.linspace(-2, 2, 12)[:, None]
Y = np.sin(X[:, 0])
NEW = np.linspace(-3, 3, 9)[:, None]
CHAINS = HMC(chains=2, warmup=20, draws=10, steps=3, climb=10)
QUICK = SVGD(particles=6, iterations=5)
BOX = "if 3 <= x <= 5 then y >= 1"


def fitted(rules=BOX, y=Y, **settings):
    usual = {"hidden": (3,), "noise": 0.1, "inference": QUICK, "random_state": 0}
    return OCBNNRegressor(rules, **{**usual, **settings}).fit(X, y)


@pytest.fixture(scope="module")
def model():
    return fitted([BOX, "if x > 1 then y <= 2 [sampler=like-data]"], inference=CHAINS)


def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"age": rng.uniform(20, 80, 30), "bp": rng.uniform(50, 90, 30)})


@pytest.fixture(scope="module")
def classifier():
    data = table()
    action = pd.Series(np.where(data["bp"] < 65, "treat", "wait"), name="action")
    rule = "low: if 40 <= bp <= 50 and 20 <= age <= 80 then action in {treat}"
    model = OCBNNClassifier(rule, hidden=(3,), inference=QUICK, random_state=1)
    return model.fit(data, action)


def same(a, b):
    """Equal to the bit, all the way down."""
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for one, other in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other)


def picture(model):
    canvas = FigureCanvasAgg(model.plot().figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba()).copy()


@pytest.mark.parametrize("name", ["m.ocbnn", "m"])
def test_a_regressor_comes_back_to_the_bit(model, tmp_path, name):
    model.save(tmp_path / name)
    back = ocbnn.load(tmp_path / name)
    assert type(back) is OCBNNRegressor
    assert back.get_params() == model.get_params()
    same(back.predict(NEW, return_std=True), model.predict(NEW, return_std=True))
    same(back.predict_interval(NEW, 0.9), model.predict_interval(NEW, 0.9))
    same(back.sample_functions(NEW), model.sample_functions(NEW))
    same(back.draws_.positions, model.draws_.positions)
    same(back.draws_.stats, model.draws_.stats)
    same(back.draws_.warmup, model.draws_.warmup)
    same(back.noise_, model.noise_)
    assert back.draws_.plan == model.draws_.plan
    assert back.draws_.seconds == model.draws_.seconds
    assert back.verdict_ == model.verdict_
    assert back.schema_ == model.schema_
    assert back.check_rules() == model.check_rules()
    assert back.judge_at(NEW) == model.judge_at(NEW)
    assert back.score(X, Y) == model.score(X, Y)
    assert back.log_density_parts() == model.log_density_parts()
    same(picture(back), picture(model))
    key = jax.random.key(1)
    one = jax.tree.map(lambda a: jax.numpy.asarray(a[0, 0]), model.draws_.positions)
    same(back.target_.logdensity(one), model.target_.logdensity(one))
    estimate = model.target_.stochastic_logdensity(one, key)
    same(back.target_.stochastic_logdensity(one, key), estimate)


def test_a_classifier_comes_back_to_the_bit(classifier, tmp_path):
    path = tmp_path / "m.ocbnn"
    classifier.save(path)
    back = ocbnn.load(path)
    data = table()
    same(back.predict_proba(data), classifier.predict_proba(data))
    assert back.predict(data).tolist() == classifier.predict(data).tolist()
    assert back.classes_.tolist() == ["treat", "wait"]
    assert list(back.feature_names_in_) == ["age", "bp"]
    assert back.check_rules() == classifier.check_rules()
    assert back.score(data, classifier.predict(data)) == 1.0
    same(picture(back), picture(classifier))
    with pytest.raises(ValueError, match="feature names"):
        back.predict(data.rename(columns={"bp": "pressure"}))


def test_a_loaded_model_can_be_cloned_fitted_and_saved_again(model, tmp_path):
    model.save(tmp_path / "a.ocbnn")
    back = ocbnn.load(tmp_path / "a.ocbnn")
    assert clone(back).get_params() == model.get_params()
    back.save(tmp_path / "b.ocbnn")
    first, second = ((tmp_path / f"{n}.ocbnn").read_bytes() for n in "ab")
    assert first == second
    again = clone(back).fit(X, Y)
    same(again.draws_.positions, model.draws_.positions)


@pytest.mark.parametrize("labels", [[0, 1], [-1.0, 2.0], [False, True], ["a", "ß"]])
def test_class_labels_keep_their_type(labels, tmp_path):
    y = np.array(labels)[(X[:, 0] > 0).astype(int)]
    model = OCBNNClassifier(hidden=(2,), inference=QUICK, random_state=0).fit(X, y)
    model.save(tmp_path / "m")
    back = ocbnn.load(tmp_path / "m")
    assert back.classes_.dtype == model.classes_.dtype
    assert back.predict(X).tolist() == model.predict(X).tolist()


def test_every_setting_comes_back(tmp_path):
    x, y = ocbnn.inputs("x"), ocbnn.outputs("a", "b")
    rules = (
        ocbnn.require(y[0] >= -9, sampler="like-data", name="floor"),
        ocbnn.expect(y[1], x, sd=0.5, where=x.between(2, 3), per="region"),
        ocbnn.require(y[1] <= 9, where=x > 0, sampler=np.array([[1.0], [2.5]])),
    )
    plan = SVGD(particles=4, iterations=5, learning_rate=0.1)
    model = fitted(
        rules, np.column_stack([Y, -Y]), outputs=["a", "b"], hidden=[4, 2],
        activation="tanh", noise=np.array([0.1, 0.2]), truncate=True, inference=plan,
        batch_size=np.int64(5), random_state=np.int64(3), weight_scale=np.float64(0.5),
        progress=False,
    )  # fmt: skip
    assert model.target_.batch_size == 5
    model.save(tmp_path / "m")
    back = ocbnn.load(tmp_path / "m")
    same(back.predict(NEW, return_std=True), model.predict(NEW, return_std=True))
    same(back.limits_, model.limits_)
    was, now = model.get_params(), back.get_params()
    assert [str(one) for one in now.pop("rules")] == [str(one) for one in rules]
    same(now.pop("noise"), was.pop("noise"))
    del was["rules"]
    assert now == was
    assert back.inference == plan
    assert back.check_rules() == model.check_rules()


def test_smc_and_unstandardised_columns_come_back(tmp_path):
    plan = SMC(chains=1, particles=8, moves=1, steps=2, polish=1, warmup=5)
    model = fitted((), inference=plan, standardize=False)
    model.save(tmp_path / "m")
    back = ocbnn.load(tmp_path / "m")
    assert back.target_.units is None
    same(back.predict(NEW), model.predict(NEW))
    assert back.judge_at(NEW) == model.judge_at(NEW)


def test_without_data_a_model_predicts_and_says_what_it_cannot_do(model, tmp_path):
    model.save(tmp_path / "m", data=False)
    arrays = read_bundle(tmp_path / "m").arrays
    rows = {float(v) for v in model.fitted_.rows.X[:, 0]}
    for name, array in arrays.items():
        assert not rows & set(np.asarray(array, float).ravel().tolist()), name
    back = ocbnn.load(tmp_path / "m")
    same(back.predict(NEW, return_std=True), model.predict(NEW, return_std=True))
    same(back.predict_interval(NEW), model.predict_interval(NEW))
    with pytest.warns(StorageWarning, match="points are made from data"):
        (check,) = back.check_rules()
    assert check.violation == model.check_rules()[0].violation
    assert check.data_violation is None
    for ask in (back.plot, back.report, back.log_density_parts):
        with pytest.raises(DataError, match="saved without them"):
            ask()
    with pytest.raises(StorageError, match="data=False"):
        back.save(tmp_path / "again")
    back.save(tmp_path / "again", data=False)
    same(ocbnn.load(tmp_path / "again").predict(NEW), model.predict(NEW))


def test_inferred_noise_comes_back(tmp_path):
    model = fitted((), noise="infer")
    model.save(tmp_path / "m")
    back = ocbnn.load(tmp_path / "m")
    same(back.noise_, model.noise_)
    same(back.predict(NEW, return_std=True), model.predict(NEW, return_std=True))


def test_a_network_of_ones_own_is_left_out_and_handed_over_again(tmp_path):
    module = eqx.nn.MLP(1, 1, 3, 1, key=jax.random.key(0))
    model = fitted(network=module)
    path = tmp_path / "m.ocbnn"
    with pytest.raises(StorageError, match=r"leave_out=\['network'\]"):
        model.save(path)
    assert not path.exists()
    model.save(path, leave_out=["network"])
    with pytest.raises(StorageError, match=r"load\(path, network=\.\.\.\)"):
        ocbnn.load(path)
    same(ocbnn.load(path, network=module).predict(NEW), model.predict(NEW))
    other = eqx.nn.MLP(1, 1, 4, 1, key=jax.random.key(0))
    with pytest.raises(StorageError, match="do not fit the model"):
        ocbnn.load(path, network=other)
    deeper = eqx.nn.MLP(1, 1, 3, 2, key=jax.random.key(0))
    with pytest.raises(StorageError, match="cannot be loaded"):
        ocbnn.load(path, network=deeper)
    with pytest.raises(StorageError, match="set_params"):
        ocbnn.load(path, network=module, hidden=(3,))


def test_a_pair_of_functions_and_an_mlp_as_network(tmp_path):
    pair = ocbnn.Applied(
        lambda key: {"w": jax.random.normal(key, (1, 1))},
        lambda weights, x: x @ weights["w"],
        1,
        1,
    )
    model = fitted((), network=pair)
    model.save(tmp_path / "a", leave_out="network")
    same(ocbnn.load(tmp_path / "a", network=pair).predict(NEW), model.predict(NEW))
    model = fitted((), network=ocbnn.MLP(1, (2,), 1, "relu"))
    model.save(tmp_path / "b")
    same(ocbnn.load(tmp_path / "b").predict(NEW), model.predict(NEW))


def test_rules_in_python_code_are_left_out_and_handed_over_again(tmp_path):
    import jax.numpy as jnp

    rules = [
        ocbnn.custom(lambda xs, ys: -jnp.sum(ys**2), ocbnn.inputs("x").between(0, 1))
    ]
    model = fitted(rules)
    with pytest.raises(StorageError, match="Python code"):
        model.save(tmp_path / "m")
    model.save(tmp_path / "m", leave_out=["rules"])
    back = ocbnn.load(tmp_path / "m", rules=rules)
    same(back.predict(NEW), model.predict(NEW))
    with pytest.raises(StorageError, match="not those that the model was fitted to"):
        ocbnn.load(tmp_path / "m", rules=BOX)


def test_a_sampler_of_ones_own_is_left_out_and_handed_over_again(tmp_path):
    sampler = lambda key, count: jax.random.uniform(key, (count, 1))
    x, y = ocbnn.inputs("x"), ocbnn.outputs("y")
    rule = ocbnn.require(y >= 1, where=x.between(0, 1), sampler=sampler)
    model = fitted(rule)
    with pytest.raises(StorageError, match="a sampler of your own"):
        model.save(tmp_path / "m")
    model.save(tmp_path / "m", leave_out=["rules"])
    assert ocbnn.load(tmp_path / "m", rules=rule).check_rules() == model.check_rules()


def test_an_optimiser_is_left_out_and_handed_over_again(tmp_path):
    plan = dataclasses.replace(QUICK, optimiser=optax.adam(0.1))
    model = fitted(inference=plan)
    with pytest.raises(StorageError, match=r"SVGD\.optimiser is"):
        model.save(tmp_path / "m")
    model.save(tmp_path / "m", leave_out=["inference"])
    assert ocbnn.load(tmp_path / "m", inference=plan).draws_.plan is plan
    with pytest.raises(StorageError, match="made by SVGD, not by HMC"):
        ocbnn.load(tmp_path / "m", inference=CHAINS)


def test_a_generator_can_be_replaced_by_a_seed_after_the_fit(tmp_path):
    model = fitted(random_state=np.random.default_rng(0))
    with pytest.raises(StorageError, match=r"set_params\(random_state=\.\.\.\)"):
        model.save(tmp_path / "m")
    model.set_params(random_state=7).save(tmp_path / "m")
    same(ocbnn.load(tmp_path / "m").predict_interval(NEW), model.predict_interval(NEW))


def test_only_models_are_replaced(model, tmp_path):
    model.save(tmp_path / "m")
    model.save(tmp_path / "m", data=False)
    assert read_bundle(tmp_path / "m").document["data"] is False
    write_bundle(tmp_path / "c", {"kind": "something else"}, {})
    with pytest.raises(StorageError, match="is not a model, so it is not replaced"):
        model.save(tmp_path / "c")
    with pytest.raises(StorageError, match="but not a model"):
        ocbnn.load(tmp_path / "c")
    (tmp_path / "letter.ocbnn").write_text("dear")
    with pytest.raises(StorageError, match="cannot be read as a model"):
        model.save(tmp_path / "letter.ocbnn")
    assert is_bundle(tmp_path / "c")


def test_a_model_that_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        OCBNNRegressor().save(tmp_path / "m")


def test_settings_that_are_none_cannot_be_left_out(model, tmp_path):
    with pytest.raises(
        StorageError, match="leave_out must name settings of the model, got 'colour'"
    ):
        model.save(tmp_path / "m", leave_out=["colour"])


@pytest.mark.usefixtures("float64")
@pytest.mark.slow
def test_double_precision_comes_back_or_says_so(tmp_path):
    model = fitted()
    model.save(tmp_path / "m")
    same(ocbnn.load(tmp_path / "m").predict(NEW), model.predict(NEW))
    with jax.enable_x64(False):
        with pytest.warns(StorageWarning, match="double precision"):
            back = ocbnn.load(tmp_path / "m")
        np.testing.assert_allclose(back.predict(NEW), model.predict(NEW), rtol=1e-4)


CHANGES = {
    "estimator": "Spy",
    "settings": {"hidden": {"$eval": "1"}},
    "schema": {},
    "rules": [],
    "units": [],
    "draws": {"plan": {"$plan": {"name": "Plan", "settings": {}}}},
    "verdict": None,
    "double_precision": 3,
    "data": 7,
}


@pytest.mark.parametrize("key", [*CHANGES, None])
def test_a_model_file_that_says_the_impossible_is_refused(model, tmp_path, key):
    model.save(tmp_path / "m")
    bundle = read_bundle(tmp_path / "m")
    document = {**bundle.document}
    if key is None:
        del document["schema"]
    else:
        document[key] = CHANGES[key]
    write_bundle(tmp_path / "m", document, bundle.arrays)
    with pytest.raises(StorageError, match="cannot be loaded"):
        ocbnn.load(tmp_path / "m")


HUGE = "a" * 100_000
MONSTERS = {
    "nested names of settings": {"left_out": [[["network"]]]},
    "names of settings that are objects": {"left_out": [{"network": 1}]},
    "a setting of any length": {"left_out": [HUGE]},
    "inputs of any length": {"schema": {"inputs": [HUGE]}},
    "outputs of any length": {"schema": {"outputs": [HUGE]}},
    "columns of any length": {"schema": {"columns": [HUGE]}},
    "nested inputs": {"schema": {"inputs": [[["x"]]]}},
    "very many inputs": {"schema": {"inputs": [f"x{i}" for i in range(50_000)]}},
    "a missing key of any length": {"schema": {HUGE: 1, "inputs": None}},
}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("estimator", ["x"], "there is no estimator"),
        ("schema", None, "'schema' must be an object of names, got None"),
        ("settings", [1], r"'settings' must be an object .* got \[1\]"),
        ("draws", "many", "'draws' must be an object"),
        ("verdict", 3, "'verdict' must be an object"),
        ("draws/seconds", "long", "'seconds' must be a number.*'long'"),
        ("draws/seconds", True, "'seconds' must be a number"),
    ],
)
def test_what_a_model_file_must_have_is_said(model, tmp_path, key, value, message):
    model.save(tmp_path / "m")
    bundle = read_bundle(tmp_path / "m")
    document, (outer, _, inner) = dict(bundle.document), key.partition("/")
    document[outer] = {**document[outer], inner: value} if inner else value
    write_bundle(tmp_path / "m", document, bundle.arrays)
    with pytest.raises(StorageError, match=message):
        ocbnn.load(tmp_path / "m")


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_divergent_moves_can_be_counted(model, tmp_path, wrong):
    model.save(tmp_path / "m")
    bundle = read_bundle(tmp_path / "m")
    shape = bundle.arrays["stats/divergent"].shape
    changed = {**bundle.arrays, "stats/divergent": np.full(shape, wrong)}
    write_bundle(tmp_path / "m", bundle.document, changed)
    with pytest.raises(StorageError, match="'stats/divergent' must hold finite"):
        ocbnn.load(tmp_path / "m")


@pytest.mark.parametrize("what", MONSTERS)
def test_a_model_file_out_of_all_proportion_is_refused_at_once(model, tmp_path, what):
    model.save(tmp_path / "m")
    bundle = read_bundle(tmp_path / "m")
    document = dict(bundle.document)
    for key, value in MONSTERS[what].items():
        whole = isinstance(document.get(key), dict) and isinstance(value, dict)
        document[key] = {**document[key], **value} if whole else value
    write_bundle(tmp_path / "m", document, bundle.arrays)
    began = time.perf_counter()
    with pytest.raises(StorageError, match="cannot be loaded") as caught:
        ocbnn.load(tmp_path / "m")
    assert time.perf_counter() - began < 20
    assert len(str(caught.value)) < len(str(tmp_path)) + 1100


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_are_refused_when_a_model_is_loaded(
    model, tmp_path, wrong
):
    model.save(tmp_path / "m")
    bundle = read_bundle(tmp_path / "m")
    needed = [n for n in bundle.arrays if not n.startswith(("stats/", "warmup/"))]
    needed = [n for n in needed if bundle.arrays[n].dtype.kind == "f"]
    assert {name.partition("/")[0] for name in needed} >= {"draws", "units", "data"}
    for name in needed:
        array = bundle.arrays[name].copy()
        array.flat[-1] = wrong
        write_bundle(tmp_path / "m", bundle.document, {**bundle.arrays, name: array})
        with pytest.raises(StorageError, match=f"array {name!r} has NaN or infinity"):
            ocbnn.load(tmp_path / "m")


def test_scales_of_units_are_above_zero(model, tmp_path):
    model.save(tmp_path / "m")
    bundle = read_bundle(tmp_path / "m")
    for name in ("units/x_scale", "units/y_scale"):
        changed = {**bundle.arrays, name: np.zeros_like(bundle.arrays[name])}
        write_bundle(tmp_path / "m", bundle.document, changed)
        with pytest.raises(StorageError, match="must all be above zero"):
            ocbnn.load(tmp_path / "m")


def test_arrays_that_do_not_fit_are_named(model, tmp_path):
    model.save(tmp_path / "m")
    bundle = read_bundle(tmp_path / "m")
    for name in bundle.arrays:
        for array in (np.zeros(0), np.zeros((1, 2, 3, 4, 5)), None):
            changed = {**bundle.arrays, name: array}
            if array is None:
                del changed[name]
            write_bundle(tmp_path / "m", bundle.document, changed)
            if name.startswith(("stats/", "warmup/")) and np.ndim(array) != 1:
                continue
            with pytest.raises(StorageError, match="cannot be loaded"):
                ocbnn.load(tmp_path / "m")


def test_unknown_settings_of_a_plan_point_to_a_newer_version():
    from ocbnn.inference.plan_names import plan_from_plain

    with pytest.raises(StorageError, match="update ocbnn"):
        plan_from_plain({"name": "HMC", "settings": {"warp": 9}})
    with pytest.raises(StorageError, match="update ocbnn"):
        plan_from_plain({"name": "Algorithm", "settings": {}})
    with pytest.raises(SettingError):
        plan_from_plain({"name": "HMC", "settings": {"chains": 0}})


@pytest.mark.parametrize(
    ("labels", "kept"),
    [
        (["a", "b"], ["a", "b"]),
        (np.array([7, 3]), [7, 3]),
        (pd.to_datetime(["2026-01-01", "2026-01-02"]), ["2026-01-01 00:00:00"]),
    ],
)
def test_names_of_rows_come_back(tmp_path, labels, kept):
    rows = pd.DataFrame({"x": [0.0, 1.0]}, index=labels)
    model = OCBNNRegressor(hidden=(2,), noise=0.1, inference=QUICK, random_state=0)
    model.fit(rows, [0.0, 1.0]).save(tmp_path / "m.ocbnn")
    assert ocbnn.load(tmp_path / "m.ocbnn").fitted_.rows.names[: len(kept)] == kept
    model.save(tmp_path / "bare.ocbnn", data=False)
    assert ocbnn.load(tmp_path / "bare.ocbnn").fitted_.data is None
