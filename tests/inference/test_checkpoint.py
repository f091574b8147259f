"""Runs that are saved, end in the middle, and go on to the same bits."""

import os
import resource
import sys
import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ocbnn.errors import CheckpointError, CheckpointWarning, SettingError
from ocbnn.inference import (
    HMC,
    MCLMC,
    NUTS,
    SGHMC,
    SMC,
    SVGD,
    VI,
    Ensemble,
    Laplace,
    WarmStart,
    lane,
    sample,
)
from ocbnn.storage import write_bundle
from tests.ctrl_c import PressAfter
from tests.inference.densities import known_gaussian
from tests.inference.walks import CrashAfter, CrashError, Quiet, Walk, bits

KEY = jax.random.key(0)
PLANS = [
    NUTS(warmup=12, draws=8, chains=2, max_depth=3, climb=5),
    HMC(warmup=12, draws=8, chains=2, steps=3, thin=2, climb=5, adapt=True),
    SVGD(particles=5, iterations=20),
    SMC(particles=20, moves=1, steps=5, polish=2),
    Walk(),
]
# They are saved by the same code, and each takes seconds to compile.
MORE_PLANS = [
    SGHMC(warmup=12, draws=8, chains=2, thin=2, climb=5),
    VI(iterations=20, draws=8),
    Laplace(over="all", iterations=20, draws=8, chains=2),
    Ensemble(members=3, iterations=20),
    WarmStart(sampler=MCLMC(warmup=8, draws=8, chains=2, thin=2), iterations=6),
]
SLOW_PLANS = [pytest.param(plan, marks=pytest.mark.slow) for plan in MORE_PLANS]


@pytest.fixture
def short_chunks(monkeypatch):
    """One move at a time, so that a run can end after any of them."""
    monkeypatch.setattr(lane, "_CHUNK_SECONDS", 0.0)


def run(folder=None, plan=None, target=None, key=KEY, progress=False):
    target = target or known_gaussian()
    plan = plan or Walk()
    return sample(plan, target, key, progress=progress, checkpoint=folder, every=0.0)


def cut_short(folder, moves, plan=None):
    with pytest.raises(CrashError):
        run(folder, plan, progress=CrashAfter(moves))


@pytest.mark.parametrize("plan", [*PLANS, *SLOW_PLANS], ids=lambda plan: plan.label)
def test_a_run_that_was_cut_short_ends_with_the_same_bits(plan, tmp_path, monkeypatch):
    complete = run(None, plan)
    monkeypatch.setattr(lane, "_CHUNK_SECONDS", 0.0)
    for moves in (3, 5, 5):
        with pytest.raises(CrashError):
            run(tmp_path / "run", plan, progress=CrashAfter(moves))
    received = []

    class Ear(Quiet):
        def advance(self, count, note):
            received.append((count, note))

    again = run(tmp_path / "run", plan, progress=Ear())
    assert received[0][0] >= 3
    assert received[0][1].startswith("resumed at ")
    assert bits(again) == bits(complete)
    assert not again.interrupted
    # Finished: read, and not run.
    monkeypatch.setattr(lane.Lane, "compile", None)
    monkeypatch.setattr(lane.Lane, "run", None)
    read = run(tmp_path / "run", plan)
    assert bits(read) == bits(complete)
    assert 0 < read.seconds <= again.seconds


def test_the_length_of_chunks_does_not_matter(short_chunks, monkeypatch):
    one_by_one = run()
    monkeypatch.setattr(lane, "_CHUNK_SECONDS", 100.0)
    assert bits(run()) == bits(one_by_one)


def test_draws_are_appended_and_never_written_again(short_chunks, tmp_path):
    cut_short(tmp_path, 12)
    before = {p: p.stat().st_mtime_ns for p in tmp_path.glob("chain-*/block-*")}
    assert len(before) > 6
    run(tmp_path)
    blocks = sorted(tmp_path.glob("chain-0/block-*"))
    assert len(blocks) > 6
    kept = {p: when for p, when in before.items() if p.stat().st_mtime_ns == when}
    # The last of each chain may have been written before its state was.
    assert len(kept) >= len(before) - 2
    assert max(p.stat().st_size for p in blocks) < 2 * blocks[0].stat().st_size


class _PowerCut(BaseException):
    pass


def test_a_power_cut_at_any_call_of_the_disk_loses_nothing(
    short_chunks, tmp_path, monkeypatch
):
    plan, cuts = Walk(chains=1, warmup=2, draws=3), 0
    complete = run(None, plan)
    for allowed in range(1, 40):
        left = [allowed]

        def cut_after(call, left=left):
            def counted(*args, **kwargs):
                left[0] -= 1
                if left[0] < 0:
                    raise _PowerCut
                return call(*args, **kwargs)

            return counted

        with monkeypatch.context() as patch:
            for name in ("fsync", "replace", "unlink"):
                patch.setattr(os, name, cut_after(getattr(os, name)))
            try:
                done = run(tmp_path / "run", plan)
            except _PowerCut:
                cuts += 1
                continue
        assert bits(done) == bits(complete)
        break
    assert cuts > 6
    assert bits(run(tmp_path / "run", plan)) == bits(complete)


def test_what_a_killed_process_left_half_written_is_removed(tmp_path, short_chunks):
    cut_short(tmp_path, 5)
    left = [tmp_path / ".run.json.00.tmp", tmp_path / "chain-0" / ".state.00.tmp"]
    for one in left:
        one.write_bytes(b"half")
    run(tmp_path)
    assert not any(one.exists() for one in left)


class _Global:
    value = 1.0


class _Louder(type(known_gaussian())):
    loudness: float = eqx.field(static=True, default=1.0)

    def split(self, position):
        reference, added = super().split(position)
        return reference, added * self.loudness * _Global.value


def _other_target(change):
    target = _Louder(known_gaussian().mean, known_gaussian().precision)
    return {
        "array": eqx.tree_at(lambda t: t.mean, target, jnp.array([1.0, -2.5])),
        "label": _Louder(target.mean, target.precision, 2.0),
        "kind": known_gaussian(),
        None: target,
    }[change]


@pytest.mark.parametrize(
    ("plan", "target", "key", "message"),
    [
        (Walk(draws=7), None, KEY, r"plan\.draws is 7 here and 6 there"),
        (Walk(scale=2.0), None, KEY, r"plan\.scale is 2\.0 here and 1\.0 there"),
        (HMC(), None, KEY, r"plan is ocbnn\.inference\.hmc\.HMC here and .*Walk there"),
        (Walk(), "array", KEY, r"target\.mean is float32\[2\] \w+ here"),
        (Walk(), "label", KEY, r"target\.loudness is 2\.0 here and 1\.0 there"),
        (Walk(), "kind", KEY, r"target is .*Gaussian here and .*Louder there"),
        (Walk(), None, jax.random.key(1), r"key is key<fry> "),
        (Walk(), None, jax.random.key(0, impl="rbg"), r"key is key<rbg> "),
    ],
)
def test_the_folder_of_another_run_is_refused_and_the_error_says_what_differs(
    plan, target, key, message, tmp_path, short_chunks
):
    first = _other_target(None)
    run(tmp_path, target=first)
    with pytest.raises(
        CheckpointError, match=rf"holds another run: .*{message}"
    ) as error:
        run(tmp_path, plan, _other_target(target), key)
    assert "Name another folder, or remove this one" in str(error.value)
    run(tmp_path, target=first)


def test_a_density_that_changed_behind_its_labels_is_another_run(tmp_path, monkeypatch):
    run(tmp_path, target=_other_target(None))
    monkeypatch.setattr(_Global, "value", 3.0)
    jax.clear_caches()
    with pytest.raises(CheckpointError, match=r"target\.parts: added is -?\d"):
        run(tmp_path, target=_other_target(None))


def test_a_run_in_another_precision_is_another_run(tmp_path):
    run(tmp_path)
    with (
        jax.enable_x64(True),
        pytest.raises(CheckpointError, match="precision is double here and single"),
    ):
        run(tmp_path)


def test_other_versions_are_a_warning(tmp_path, short_chunks):
    complete = run()
    cut_short(tmp_path, 5)
    text = (tmp_path / "run.json").read_text()
    (tmp_path / "run.json").write_text(text.replace('"python": "', '"python": "2.'))
    with pytest.warns(CheckpointWarning, match="begun elsewhere: python is "):
        assert bits(run(tmp_path)) == bits(complete)


def test_a_folder_of_something_else_is_never_touched(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(CheckpointError, match=r"other files \('thesis.txt'\)"):
        run(tmp_path)
    assert os.listdir(tmp_path) == ["thesis.txt"]
    with pytest.raises(CheckpointError, match="must name a folder"):
        run(tmp_path / "thesis.txt")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.json").write_text("[1, 2]")
    with pytest.raises(CheckpointError, match="does not describe a run of ocbnn"):
        run(tmp_path / "other")
    assert (tmp_path / "other" / "run.json").read_text() == "[1, 2]"


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("run.json", b"{", "does not describe a run"),
        ("run.json", b'{"format": "ocbnn run", "version": 99, "run": {}, '
                     b'"made_with": {}}', "written by a newer ocbnn"),
        ("chain-0/block-000001.ocbnn", None, "cannot go on: there is nothing at"),
        ("chain-0/block-000001.ocbnn", b"PK", "cannot go on: .* not a readable zip"),
        ("chain-1/state.ocbnn", b"", "cannot go on: "),
    ],
)  # fmt: skip
def test_a_damaged_folder_is_refused(file, content, message, tmp_path, short_chunks):
    cut_short(tmp_path, 10)
    if content is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        run(tmp_path)


@pytest.mark.parametrize(
    ("document", "arrays", "message"),
    [
        ({}, {}, '"warmed" must be a whole number'),
        ({"warmed": 0, "drawn": 0, "blocks": 0, "seconds": "x"}, {}, '"seconds" must'),
        ({"warmed": 9, "drawn": 0, "blocks": 0, "seconds": 1}, {}, "says 0 and 9"),
        ({"warmed": 0, "drawn": 0, "blocks": 0, "seconds": 1}, {}, "is missing"),
        (
            {"warmed": 0, "drawn": 0, "blocks": 0, "seconds": 1},
            {"state 0: .position['here']": np.zeros(3)},
            r"is float64\[3\], and the run needs float32\[2\]",
        ),
    ],
)
def test_a_state_that_does_not_fit_is_refused(
    document, arrays, message, tmp_path, short_chunks
):
    cut_short(tmp_path, 10)
    write_bundle(tmp_path / "chain-0" / "state.ocbnn", document, arrays)
    with pytest.raises(CheckpointError, match=message):
        run(tmp_path)


def test_two_at_once_are_refused(tmp_path, short_chunks):
    complete, refused = run(), []

    class Second(Quiet):
        def advance(self, count, note):
            if not refused:
                refused.append(True)
                with pytest.raises(CheckpointError, match=f"by process {os.getpid()} "):
                    run(tmp_path)

    assert bits(run(tmp_path, progress=Second())) == bits(complete)
    assert refused


def test_ctrl_c_saves_and_says_how_to_go_on(ctrl_c, tmp_path, short_chunks):
    plan, pressed = Walk(warmup=5, draws=100), PressAfter(ctrl_c, 30)
    with pytest.warns(CheckpointWarning, match=f"saved in {tmp_path}: run the same"):
        part = run(tmp_path, plan, progress=pressed)
    assert part.interrupted
    assert part.draws < 100
    assert "run the same again to go on" in pressed.said
    assert bits(run(tmp_path, plan)) == bits(run(None, plan))


def test_ctrl_c_before_the_first_draw_saves_too(ctrl_c, tmp_path, short_chunks):
    plan = Walk(warmup=150, draws=5, chains=1)
    with pytest.raises(KeyboardInterrupt, match=f"drawn; saved in {tmp_path}"):
        sample(
            plan,
            known_gaussian(),
            KEY,
            progress=PressAfter(ctrl_c, 9),
            checkpoint=tmp_path,
        )
    assert bits(run(tmp_path, plan)) == bits(run(None, plan))


def test_particles_shown_after_ctrl_c_are_not_taken_for_the_end(
    ctrl_c, tmp_path, short_chunks
):
    plan = SVGD(particles=5, iterations=100)
    with pytest.warns(CheckpointWarning, match="saved in"):
        part = run(tmp_path, plan, progress=PressAfter(ctrl_c, 20))
    assert part.interrupted
    assert part.draws == 5
    assert bits(run(tmp_path, plan)) == bits(run(None, plan))


def test_a_population_shown_after_ctrl_c_goes_on_from_there(
    ctrl_c, tmp_path, short_chunks
):
    plan = SMC(particles=20, moves=1, steps=5, polish=30)
    with pytest.warns(CheckpointWarning, match="saved in"):
        part = run(tmp_path, plan, progress=PressAfter(ctrl_c, 3))
    assert part.interrupted
    assert part.draws == 20
    assert bits(run(tmp_path, plan)) == bits(run(None, plan))


class _NoSpace:
    """No file may grow beyond a size, as on a full disk; also for root."""

    def __init__(self, size):
        self._size = size

    def __enter__(self):
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._size, self._before[1]))
        return self

    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)


def test_a_full_disk_is_told_once_and_nothing_is_lost(tmp_path, short_chunks):
    complete = run()
    with _NoSpace(3), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert bits(run(tmp_path)) == bits(complete)
    texts = [str(one.message) for one in caught]
    assert len(texts) == 2
    assert "could not be saved" in texts[0]
    assert "File too large" in texts[0]
    assert "the last part of the run is not saved" in texts[1]
    # There is room again.
    assert bits(run(tmp_path)) == bits(complete)


def test_saving_is_tried_again(tmp_path, short_chunks):
    # One chain: of two, one could end while the disk is full.
    plan, disk = Walk(chains=1), _NoSpace(900)
    complete = run(None, plan)

    class Mended(Quiet):
        done = 0

        def advance(self, count, note):
            self.done += count
            if self.done == 4:
                disk.__enter__()
            if self.done == 8:
                disk.__exit__()

    with pytest.warns(CheckpointWarning, match="could not be saved") as caught:
        assert bits(run(tmp_path, plan, progress=Mended())) == bits(complete)
    assert len(caught) == 1
    assert (tmp_path / "chain-0" / "state.ocbnn").exists()
    assert bits(run(tmp_path, plan)) == bits(complete)


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc")
def test_a_folder_that_cannot_be_made_is_a_warning():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        draws = run("/proc/self/fdinfo/run")
    assert bits(draws) == bits(run())
    assert ["could not be saved" in str(one.message) for one in caught] == [True, False]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"checkpoint": 3}, "checkpoint must name a folder, got 3"),
        ({"checkpoint": ""}, "checkpoint must name a folder"),
        ({"checkpoint": "x", "every": -1.0}, "every must be a number of seconds"),
        ({"checkpoint": "x", "every": float("nan")}, "every must be a number"),
    ],
)
def test_settings_are_checked(settings, message, as_users_run_it):
    with pytest.raises(SettingError, match=message):
        sample(Walk(), known_gaussian(), KEY, **settings)


def test_progress_says_where_it_resumed(tmp_path, short_chunks, capsys):
    cut_short(tmp_path, 11)
    run(tmp_path, progress=True)
    first, *_, last = capsys.readouterr().err.splitlines()
    # The other chain may move a little further before it hears of the crash.
    assert first in {f"Walk: resumed at {100 * n // 22} %" for n in range(10, 22)}
    assert last.startswith("Walk: done")


def test_a_bar_starts_where_it_resumed(tmp_path, short_chunks, capsys, monkeypatch):
    cut_short(tmp_path, 11)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    run(tmp_path, progress="auto")
    err = capsys.readouterr().err
    assert "resumed at" in err
    assert "22/22" in err
