"""Rows in files: the same draws as from memory, read once a step, in little memory."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn import HMC, NUTS, SGHMC, SGLD, SMC, SVGD, VI, Ensemble, Laplace, sample
from ocbnn.bench.problems import target as problem
from ocbnn.core import stored
from ocbnn.core.stored import FileRows, StoredClasses, StoredNumbers
from ocbnn.errors import DataError, SettingError
from ocbnn.inference import PLANS
from ocbnn.inference.identity import identify
from tests.posterior.targets import classification

ROWS, BATCH = 60, 7
SHORT = {"warmup": 12, "draws": 5, "chains": 2}
BATCHED = {
    "svgd": SVGD(particles=4, iterations=12),
    "sgld": SGLD(**SHORT, climb=6, thin=2),
    "sghmc": SGHMC(**SHORT, climb=6, thin=2),
    "vi": VI(iterations=12, draws=5, samples=2),
    "ensemble": Ensemble(members=3, iterations=12),
}


def on_disk(folder, name, array):
    np.save(folder / f"{name}.npy", np.asarray(array))
    return np.load(folder / f"{name}.npy", mmap_mode="r")


def numbers(table):
    columns = table.shape[1]
    return StoredNumbers(FileRows(table), *np.zeros((2, columns)), np.ones(columns))


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The same density with rows in memory and in files."""
    folder = tmp_path_factory.mktemp("rows")
    here = problem((2, 8, 1), ROWS, activation="tanh", batch_size=BATCH)
    X, Y = (on_disk(folder, n, getattr(here, n)) for n in "XY")
    return here, dataclasses.replace(here, X=numbers(X), Y=numbers(Y))


def gap(one, other):
    gaps = jax.tree.map(lambda a, b: float(np.abs(a - b).max()), one, other)
    return max(jax.tree.leaves(gaps))


SIMILAR = {"sgld", "vi", "sghmc", "ensemble"}  # read rows by the code of SVGD


def marked(name):
    return pytest.param(name, marks=[pytest.mark.slow] * (name in SIMILAR))


@pytest.mark.parametrize("name", [*map(marked, BATCHED)])
def test_rows_in_files_give_the_draws_of_rows_in_memory(pair, name):
    one, other = (sample(BATCHED[name], t, jax.random.key(3)) for t in pair)
    assert gap(one.positions, other.positions) < 1e-5
    assert not one.interrupted


def test_every_plan_that_takes_batches_is_tried():
    assert set(BATCHED) == {name for name, plan in PLANS.items() if plan.is_batched}


@pytest.mark.slow
def test_local_noise_reads_files_too(pair):
    mean = jax.tree.map(lambda a: jnp.full(a.shape, 0.1), pair[0].shapes())
    one, other = (t.local_logdensity(mean, mean, jax.random.key(0)) for t in pair)
    assert float(one) == pytest.approx(float(other), rel=1e-5)


@pytest.mark.parametrize(
    "plan", [NUTS(chains=1), HMC(chains=1), SMC(particles=4), Laplace(chains=1)]
)
def test_exact_algorithms_refuse_them_and_name_those_that_can(pair, plan):
    with pytest.raises(SettingError, match="in a file") as caught:
        sample(plan, pair[1], jax.random.key(0))
    for name in BATCHED:
        assert PLANS[name].__name__ in str(caught.value)


@pytest.mark.slow
def test_files_are_read_once_for_all_particles(pair, monkeypatch):
    _, there = pair
    read, original = [], StoredNumbers.take

    def take(self, numbers, kind=None):
        read.append(np.shape(numbers))
        return original(self, numbers, kind)

    monkeypatch.setattr(StoredNumbers, "take", take)
    keys = jax.random.split(jax.random.key(1), 3)
    positions = jax.vmap(there.initial)(keys)
    jax.vmap(there.stochastic_logdensity, (0, None))(positions, keys[0])
    assert read == [(BATCH,)] * 2
    read.clear()
    jax.vmap(there.stochastic_logdensity)(positions, keys)
    assert read == [(3, BATCH)] * 2


def test_a_batch_of_all_rows_is_all_rows(pair):
    here, there = (dataclasses.replace(t, batch_size=ROWS + 1) for t in pair)
    position, key = here.initial(jax.random.key(0)), jax.random.key(1)
    one, other = (t.stochastic_logdensity(position, key) for t in (here, there))
    assert float(one) == pytest.approx(float(other), rel=1e-6)


def test_classes_are_numbered(tmp_path):
    here = classification(batch_size=4)
    labels = np.array(["a", "b", "c"])
    written = on_disk(tmp_path, "Y", labels[np.asarray(here.Y)])
    Y = StoredClasses(FileRows(written), labels)
    there = dataclasses.replace(here, X=numbers(on_disk(tmp_path, "X", here.X)), Y=Y)
    position, key = here.initial(jax.random.key(0)), jax.random.key(1)
    one, other = (t.stochastic_logdensity(position, key) for t in (here, there))
    assert float(one) == pytest.approx(float(other), rel=1e-6)


def test_they_come_in_pairs_and_in_batches(pair):
    here, there = pair
    with pytest.raises(DataError, match="both"):
        dataclasses.replace(here, X=there.X)
    with pytest.raises(SettingError, match="batch_size=512"):
        dataclasses.replace(there, batch_size=None)


def test_equal_means_the_same_rows_of_the_same_file(tmp_path):
    table = on_disk(tmp_path, "X", np.arange(12.0).reshape(6, 2))
    again = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert numbers(table) == numbers(again)
    assert hash(numbers(table)) == hash(numbers(again))
    assert numbers(table[1:]) == numbers(again[1:])
    assert numbers(table[1:]) != numbers(table[:-1])
    assert StoredNumbers(FileRows(table), *np.ones((3, 2))) != numbers(table)
    copied = on_disk(tmp_path, "copy", table)
    assert numbers(copied) != numbers(table)
    assert numbers(copied).fingerprint() == numbers(table).fingerprint()
    assert numbers(table[1:]).fingerprint() != numbers(table[:-1]).fingerprint()


def test_little_of_a_file_is_in_memory_at_a_time(tmp_path, monkeypatch):
    dropped = []
    monkeypatch.setattr(stored, "_drop", lambda _: dropped.append(1))
    monkeypatch.setattr(stored, "_MOST_MAPPED", 10 * 2**21)
    monkeypatch.setattr(stored, "_BLOCK_BYTES", 160)
    for order in "CF":
        array = np.asarray(np.arange(200.0).reshape(100, 2), order=order)
        table = numbers(on_disk(tmp_path, order, array))
        chosen = np.array([[3, 99], [0, 50]])
        np.testing.assert_array_equal(table.take(chosen), array[chosen])
        np.testing.assert_array_equal(table.rows.take(np.arange(100)), array)
        blocks = list(table.rows.blocks())
        assert [start for start, _ in blocks] == list(range(0, 100, 10))
        np.testing.assert_array_equal(np.concatenate([b for _, b in blocks]), array)
        # By hand: each row maps 2 MiB, or that for each column.
        assert len(dropped) == pytest.approx(11 if order == "C" else 36, abs=2)


def test_a_checkpoint_knows_the_rows(pair, tmp_path):
    _, there = pair
    plan, key = BATCHED["svgd"], jax.random.key(0)
    one = identify(plan, there, key)
    assert one["target.X"] == there.X.fingerprint()
    X = numbers(on_disk(tmp_path, "X", 2 * there.X.rows.take(np.arange(ROWS))))
    other = identify(plan, dataclasses.replace(there, X=X), key)
    assert one["target.X"] != other["target.X"]
    assert one["target.Y"] == other["target.Y"]
