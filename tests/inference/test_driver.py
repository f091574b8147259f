"""The driver: thinning, interruption, progress, and runs that cannot go on."""

import dataclasses
import threading
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from ocbnn.errors import InferenceError, SettingError
from ocbnn.inference import HMC, NUTS, SMC, SVGD, judge, lane, loop, sample
from ocbnn.inference.base import Algorithm, Plan
from ocbnn.inference.progress import SubtaskReporter
from tests.ctrl_c import PressAfter
from tests.inference.densities import COVARIANCE, MEAN, Faulty, known_gaussian
from tests.inference.walks import Quiet

KEY = jax.random.key(0)


def test_thinning_keeps_every_nth_move_and_the_density_belongs_to_the_kept_draw():
    draws = sample(HMC(warmup=20, draws=30, thin=4, chains=2), known_gaussian(), KEY)
    assert np.asarray(draws.positions).shape == (2, 30, 2)
    density = jax.vmap(jax.vmap(known_gaussian().logdensity))(draws.positions)
    assert np.allclose(draws.stats["logdensity"], density, atol=1e-4)


def blas_threads():
    """Of every BLAS in the process; SciPy's is the one that JAX calls."""
    return [pool["num_threads"] for pool in threadpool_info() if is_blas(pool)]


def is_blas(pool):
    return pool["user_api"] == "blas"


def test_chains_factorise_matrices_on_their_own_core():
    during = []

    class Look(Quiet):
        def advance(self, count, note):
            during.append(blas_threads())

    with threadpool_limits(2, user_api="blas"):
        plan = HMC(warmup=5, draws=5, chains=2)
        sample(plan, known_gaussian(), KEY, progress=Look())
        assert set(blas_threads()) == {2}
    assert during
    assert {threads for pools in during for threads in pools} == {1}


def test_chains_start_where_they_are_told():
    starts = jnp.array([[3.0, 3.0], [-2.0, 1.0]])
    plan = HMC(chains=2, warmup=0, draws=1, steps=1, step_size=1e-6)
    draws = sample(plan, known_gaussian(), KEY, starts=starts)
    assert np.allclose(draws.positions[:, 0], starts, atol=1e-3)
    with pytest.raises(SettingError, match="one position for each of 3 chains"):
        sample(HMC(chains=3), known_gaussian(), KEY, starts=starts)
    with pytest.raises(SettingError, match="SVGD cannot be told where to start"):
        sample(SVGD(), known_gaussian(), KEY, starts=starts)


def test_a_second_run_of_the_same_shape_compiles_nothing():
    plan = NUTS(warmup=20, draws=20, chains=2)
    sample(plan, known_gaussian(), KEY)
    sizes = [f._cached._cache_size() for f in (loop.init, loop.warm_up, loop.draw)]
    other = eqx.tree_at(lambda g: g.mean, known_gaussian(), jnp.array([3.0, 3.0]))
    sample(NUTS(warmup=20, draws=20, chains=2), other, jax.random.key(5))
    again = [f._cached._cache_size() for f in (loop.init, loop.warm_up, loop.draw)]
    assert sizes == again


def test_ctrl_c_keeps_what_was_drawn(ctrl_c):
    reporter = PressAfter(ctrl_c, 600)
    plan = NUTS(warmup=100, draws=10**5, chains=2)
    draws = sample(plan, known_gaussian(), KEY, progress=reporter)
    assert draws.interrupted
    assert reporter.said == "stopped early"
    assert 0 < draws.draws < 10**5
    assert np.isfinite(draws.positions).all()
    assert np.all(draws.positions != 0)  # no empty room of a buffer is left over


def test_ctrl_c_keeps_particles_where_they_are(ctrl_c):
    plan = SVGD(particles=10, iterations=10**5)
    draws = sample(plan, known_gaussian(), KEY, progress=PressAfter(ctrl_c, 300))
    assert draws.interrupted
    assert draws.draws == 10
    assert len(np.unique(np.asarray(draws.stacked())[:, 0])) == 10


def slow_population(**more):
    """So many temperatures that there is time to stop between them."""
    return SMC(**{"particles": 50, "keep": 0.999, "moves": 1, "steps": 5, **more})


def test_ctrl_c_keeps_a_population_and_says_that_it_is_on_its_way(ctrl_c):
    plan = slow_population(polish=10**5)
    draws = sample(plan, known_gaussian(), KEY, progress=PressAfter(ctrl_c, 2))
    assert draws.interrupted
    assert draws.draws == 50
    reached = draws.warmup["temperature"][:, -1].min()
    assert 0 < reached < 1
    assert draws.log_evidence is None
    verdict = judge(draws, np.asarray(draws.positions))
    assert verdict.status == "poor"
    assert f"stopped at temperature {reached:.3g}" in verdict.sentences[0]
    assert "With a checkpoint, the same fit goes on from there" in str(verdict)
    assert "warmup" not in str(verdict)


class _Asking(Quiet):
    """Asks the run to stop once some moves are done, as another thread would."""

    def __init__(self, after):
        self.left = after

    def advance(self, count, note):
        self.left -= count

    def is_stopping(self):
        return self.left <= 0


def test_a_reporter_stops_a_run_without_any_signal():
    plan = NUTS(warmup=100, draws=10**6, chains=2)
    draws = sample(plan, known_gaussian(), KEY, progress=_Asking(after=600))
    assert draws.interrupted
    assert 0 < draws.draws < 10**6


def test_a_run_that_is_to_stop_before_it_starts_compiles_nothing(monkeypatch):
    monkeypatch.setattr(lane.Lane, "compile", lambda _: pytest.fail("compiled"))
    with pytest.raises(KeyboardInterrupt, match="before anything was drawn"):
        sample(NUTS(warmup=10**7), known_gaussian(), KEY, progress=_Asking(after=0))


def test_what_needs_a_whole_run_is_not_given_half_of_one():
    draws = sample(NUTS(warmup=20, draws=20, chains=2), known_gaussian(), KEY)
    assert draws.whole() is draws
    with pytest.raises(KeyboardInterrupt, match="stopped early"):
        dataclasses.replace(draws, interrupted=True).whole()


def test_smc_that_ran_out_of_temperatures_says_that_it_is_no_posterior():
    draws = sample(SMC(particles=50, warmup=2, keep=0.99), known_gaussian(), KEY)
    verdict = judge(draws, np.asarray(draws.positions))
    assert verdict.status == "poor"
    assert "not draws from the posterior" in str(verdict)


def test_ctrl_c_before_the_first_draw_is_an_interruption(ctrl_c):
    plan = NUTS(warmup=10**7, draws=10, chains=1)
    with pytest.raises(KeyboardInterrupt):
        sample(plan, known_gaussian(), KEY, progress=PressAfter(ctrl_c, 100))


def test_a_start_that_is_not_a_number_names_the_part():
    target = Faulty(*_leaves(), edge=-1e6)
    with pytest.raises(InferenceError, match="cannot start: the part «cliff»"):
        sample(HMC(warmup=10, draws=10, chains=1), target, KEY)


class _NoSlope(Faulty):
    def cliff(self, position):
        return jnp.sqrt(jnp.abs(position[0] * 0.0))


def test_a_slope_that_is_not_a_number_names_the_part():
    with pytest.raises(InferenceError, match="slope of the part «cliff»"):
        sample(HMC(warmup=10, draws=10, chains=1), _NoSlope(*_leaves()), KEY)


class _Runaway(Faulty):
    """Finite where particles start, not a number where the gradient pulls them."""

    def initial(self, key):
        return jnp.array([-1.0, 0.0]) + 0.01 * jax.random.normal(key, (2,))


def test_particles_that_are_lost_name_the_part():
    plan = SVGD(particles=5, iterations=200, learning_rate=0.3)
    with pytest.raises(InferenceError, match=r"SVGD reached a position.*«cliff»"):
        sample(plan, _Runaway(*_leaves(), edge=0.5), KEY)


class _Needle(Faulty):
    """Finite at one place only, so every move ends in nonsense."""

    def initial(self, key):
        return jnp.zeros(2)

    def cliff(self, position):
        return jnp.where(jnp.any(position != 0.0), jnp.nan, 0.0)


@pytest.mark.parametrize("plan", [HMC(warmup=10**6, chains=1, climb=0)])
def test_a_chain_whose_moves_all_end_in_nonsense_names_the_part(plan):
    with pytest.raises(InferenceError, match=r"accepted none.*«cliff»"):
        sample(plan, _Needle(*_leaves()), KEY)


def _leaves():
    return known_gaussian().mean, known_gaussian().precision


def test_progress_without_a_terminal_is_plain_lines(capsys, monkeypatch):
    monkeypatch.setattr("ocbnn.inference.progress._PLAIN_SECONDS", 0.0)
    sample(
        NUTS(warmup=20, draws=20, chains=1),
        known_gaussian(),
        KEY,
        progress=True,
        label="my run",
    )
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert all(line.startswith("my run: ") for line in lines)
    assert "accepts" in lines[0]
    assert "done" in lines[-1]
    assert "\x1b" not in err


def test_progress_of_unknown_length_promises_no_time(capsys, monkeypatch):
    monkeypatch.setattr("ocbnn.inference.progress._PLAIN_SECONDS", 0.0)
    plan = SMC(particles=50, chains=1)
    sample(plan, known_gaussian(), KEY, progress=True)
    err = capsys.readouterr().err
    assert "temperature" in err
    assert "so far" in err
    assert "left" not in err


def test_a_population_is_seen_on_its_way():
    calls = []

    class Watching(Quiet):
        def see(self, target, positions):
            calls.append(np.asarray(positions))

    plan = SMC(particles=50, chains=1)
    draws = sample(plan, known_gaussian(), KEY, progress=Watching())
    assert len(calls) > 1
    assert {one.shape for one in calls} == {(1, 1, 50, 2)}
    last = np.asarray(draws.positions).reshape(calls[-1].shape)
    np.testing.assert_array_equal(calls[-1], last)


def test_progress_on_a_terminal_is_one_bar(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    plan = NUTS(warmup=20, draws=20, chains=2)
    sample(plan, known_gaussian(), KEY, progress="auto", label="bar")
    err = capsys.readouterr().err
    assert "bar" in err
    assert "done" in err
    assert "\x1b[" in err


def test_progress_can_be_off_and_must_be_known(capsys):
    sample(HMC(warmup=5, draws=5, chains=1), known_gaussian(), KEY, progress=False)
    assert capsys.readouterr() == ("", "")
    with pytest.raises(SettingError, match="progress must be True, False"):
        sample(HMC(warmup=5, draws=5), known_gaussian(), KEY, progress="loud")


def test_chains_run_at_the_same_time():
    """Two chains wait for each other, which one thread after another never could."""
    barrier = threading.Barrier(2, timeout=60)

    class Meeting(Quiet):
        met = False

        def advance(self, count, note):
            if not self.met:
                barrier.wait()
                self.met = True
                time.sleep(0.01)

    plan = HMC(warmup=2, draws=2, chains=2)
    sample(plan, known_gaussian(), KEY, progress=Meeting(), threads=2)


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (
            lambda: NUTS(draws=0),
            r"NUTS\(draws=...\) must be a whole number of at least 1",
        ),
        (lambda: NUTS(warmup=True), "whole number"),
        (lambda: HMC(step_size=-1.0), r"HMC\(step_size=...\) must be a number above"),
        (lambda: HMC(steps=0), "at least 1, got 0"),
        (lambda: HMC(thin=0), "at least 1, got 0"),
        (lambda: SVGD(particles=1), "at least 2, got 1"),
        (lambda: SVGD(learning_rate=0.0), "above zero, got 0.0"),
        (lambda: SMC(keep=0.0), "above zero, got 0.0"),
        (lambda: SMC(keep=1.0), "below one, got 1.0"),
        (lambda: NUTS(target_acceptance=1.0), "below one, got 1.0"),
    ],
)
def test_settings_out_of_range_are_refused_with_advice(make, advice):
    with pytest.raises(SettingError, match=advice):
        make()


class _Wanderer(Algorithm):
    """A user's own algorithm: plain random-walk Metropolis."""

    target: eqx.Module

    def init(self, key):
        return self.target.initial(key)

    def step(self, key, state):
        key_move, key_accept = jax.random.split(key)
        proposal = state + jax.random.normal(key_move, state.shape)
        gain = self.target.logdensity(proposal) - self.target.logdensity(state)
        accept = jnp.log(jax.random.uniform(key_accept)) < gain
        info = _Seen(accept.astype(float))
        return jnp.where(accept, proposal, state), info

    def emit(self, key, state):
        return state[None]


class _Seen(tuple):
    __slots__ = ()

    def __new__(cls, acceptance):
        return super().__new__(cls, (acceptance,))

    def _asdict(self):
        return {"acceptance": self[0]}


class _WalkPlan(Plan):
    def bind(self, target):
        return _Wanderer(target)


def test_the_driver_runs_a_users_own_algorithm():
    plan = _WalkPlan(warmup=200, draws=2000, thin=5)
    draws = sample(plan, known_gaussian(), KEY)
    x = np.asarray(draws.positions).reshape(-1, 2)
    assert np.allclose(x.mean(axis=0), MEAN, atol=0.1)
    assert np.allclose(np.cov(x.T), COVARIANCE, atol=0.1)


def test_several_runs_share_one_bar():
    messages = []

    class ProgressBar(Quiet):
        def advance(self, count, note):
            messages.append((count, note))

    bar = ProgressBar()
    plan = SVGD(particles=5, iterations=20, learning_rate=0.3)
    for name in ("first", "second"):
        sample(plan, known_gaussian(), KEY, progress=SubtaskReporter(bar, name))
    assert sum(count for count, _ in messages) == 2 * (plan.warmup + plan.draws)
    assert {note for _, note in messages} == {
        "first", "second", "first: compiling", "second: compiling",
    }  # fmt: skip
