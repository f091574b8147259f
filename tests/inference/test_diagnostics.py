"""R-hat and effective sample size against ArviZ, and the verdict made of them."""

import dataclasses
import warnings
from typing import ClassVar

import numpy as np
import pytest

from ocbnn.inference import NUTS, SMC, SVGD, Draws, judge
from ocbnn.inference.adaptation import FAST, LAST, SLOW, WINDOW_END, schedule
from ocbnn.inference.diagnostics import ess_bulk, ess_tail, rhat, rise


def reference(name, values, **settings):
    """ArviZ's number, from whichever generation of it is installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it announces its own next generation
        try:
            from arviz_stats.base import array_stats as stats
        except ImportError:
            import arviz as stats
        else:
            settings |= {"chain_axis": 0, "draw_axis": 1}
        function = getattr(stats, name)
        return np.array(
            [
                float(function(values[..., i], **settings))
                for i in range(values.shape[2])
            ]
        )


def chains(seed=0, correlation=0.7, shift=0.0):
    """Four autoregressive chains of three quantities; one heavy-tailed, one shifted."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((4, 501, 3))
    values = np.zeros_like(noise)
    for i in range(1, 501):
        values[:, i] = correlation * values[:, i - 1] + noise[:, i]
    values[..., 1] = np.exp(values[..., 1])
    values[0, :, 2] += shift
    return values


@pytest.mark.parametrize("correlation", [0.0, 0.7, -0.4])
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_diagnostics_agree_with_arviz(correlation, shift):
    values = chains(1, correlation, shift)
    assert np.allclose(rhat(values), reference("rhat", values), rtol=1e-6)
    bulk = reference("ess", values, method="bulk")
    assert np.allclose(ess_bulk(values), bulk, rtol=1e-6)
    tail = reference("ess", values, method="tail", prob=(0.05, 0.95))
    assert np.allclose(ess_tail(values), tail, rtol=1e-6)


def test_what_never_changes_has_no_diagnostics():
    constant = np.ones((2, 50, 1))
    assert np.isnan(rhat(constant)).all()
    assert np.isnan(ess_bulk(constant)).all()


def draws(values, plan=None, **stats):
    plan = plan or NUTS()
    return Draws({"w": values}, stats, {}, plan, seconds=1.0)


def test_good_chains_get_a_good_verdict():
    verdict = judge(draws(v := chains(correlation=0.0)), v)
    assert verdict.status == "good"
    assert "agree" in str(verdict)
    assert verdict.rhat_max < 1.01
    assert verdict.ess_min > 400


def test_chains_that_disagree_get_a_poor_verdict_and_a_way_out():
    verdict = judge(draws(v := chains(shift=5.0)), v)
    assert verdict.status == "poor"
    assert "The chains disagree" in verdict.sentences[0]
    assert "SMC" in verdict.sentences[0]


def test_slow_chains_are_told_what_they_are_worth():
    verdict = judge(draws(v := chains(correlation=0.99)), v)
    assert verdict.status == "poor"
    assert any("worth only" in sentence for sentence in verdict.sentences)


def test_a_few_divergences_are_noted_and_many_are_poor():
    values = chains(correlation=0.0)
    few = judge(
        draws(values, divergent=(np.arange(501) < 20) * np.ones((4, 1))), values
    )
    assert few.status == "fair"
    assert few.divergences == 80
    assert "rule" not in str(few)  # there may be none in the density
    assert "80 moves diverged (4.0%)" in str(few)
    many = judge(
        draws(values, divergent=(np.arange(501) < 200) * np.ones((4, 1))), values
    )
    assert many.status == "poor"


def test_too_few_draws_have_no_verdict():
    values = chains()[:1, :3]
    verdict = judge(draws(values), values)
    assert verdict.status == "unknown"
    assert "1 chain(s) of 3" in str(verdict)
    assert verdict.rhat_max is None


def test_particles_are_called_an_approximation_and_one_chain_unsure():
    values = chains(correlation=0.0)[:1]
    assert "approximation" in str(judge(draws(values, SVGD()), values))
    assert "One chain cannot tell" in str(judge(draws(values), values))


def test_populations_and_interrupted_runs_are_named_as_such():
    values = chains(shift=5.0)
    assert "The populations disagree" in str(judge(draws(values, SMC()), values))
    stopped = dataclasses.replace(draws(chains(correlation=0.0)), interrupted=True)
    assert "stopped early" in str(judge(stopped, chains(correlation=0.0)))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Langevin(NUTS):
    """A chain whose target is only roughly right."""

    is_exact: ClassVar[bool] = False
    caution: ClassVar[str] = "its steps are never corrected"


def test_approximate_chains_are_compared_and_still_called_approximate():
    values = chains(correlation=0.0)
    verdict = judge(draws(values, Langevin()), values)
    assert verdict.status == "fair"
    assert verdict.rhat_max < 1.01
    assert "its steps are never corrected" in str(verdict)
    apart = chains(shift=5.0)
    assert judge(draws(apart, Langevin()), apart).status == "poor"


def test_several_sets_of_particles_are_compared():
    values = chains(shift=5.0)
    verdict = judge(draws(values, SVGD(chains=4)), values)
    assert verdict.status == "poor"
    assert "4 runs of SVGD disagree" in verdict.sentences[0]
    assert verdict.ess_min is None


def test_collapsed_particles_are_poor_and_climbing_ones_are_told_to_go_on():
    values = chains(correlation=0.0)[:1]
    steps = np.linspace(1.0, 0.0, 100)[None]
    still = dataclasses.replace(draws(values, SVGD()), warmup={"spread": steps})
    assert "collapsed" in judge(still, values).sentences[0]
    assert judge(still, values).status == "poor"
    rising = {"elbo": np.linspace(-100.0, 0.0, 100)[None]}
    climbing = dataclasses.replace(draws(values, SVGD()), warmup=rising)
    assert "(ELBO) was still rising" in str(judge(climbing, values))
    assert "iterations" in str(judge(climbing, values))


def test_a_flat_noisy_trace_does_not_rise_and_a_slope_does():
    noise = np.random.default_rng(0).standard_normal((2, 1000))
    assert rise(noise) == 0.0
    assert rise(noise + 0.01 * np.arange(1000)[None]) == pytest.approx(1.0, abs=0.5)


def test_energies_that_creep_are_noted_unless_thinned():
    values = chains(correlation=0.0)
    creeping = np.cumsum(np.random.default_rng(0).standard_normal((4, 501)), axis=1)
    verdict = judge(draws(values, energy=creeping), values)
    assert verdict.status == "fair"
    assert "E-BFMI" in str(verdict)
    thinned = judge(draws(values, NUTS(thin=2), energy=creeping), values)
    assert thinned.status == "good"


def test_a_function_that_never_moves_is_poor():
    constant = np.ones((2, 50, 3))
    verdict = judge(draws(constant), constant)
    assert verdict.status == "poor"
    assert "never changes" in verdict.sentences[0]


def test_the_warm_up_ends_fast_and_its_windows_double():
    stages = schedule(1000)
    assert (stages[:75] == FAST).all()
    assert (stages[-50:-1] == FAST).all()
    assert stages[-1] == LAST
    ends = np.flatnonzero(stages == WINDOW_END)
    lengths = np.diff([74, *ends])
    assert lengths[:3].tolist() == [25, 50, 100]
    assert ends[-1] == 949
    assert ((stages == SLOW) | (stages == WINDOW_END)).sum() == 875


@pytest.mark.parametrize("moves", [0, 1, 19, 20, 100, 149, 150, 200, 5000])
def test_warm_ups_of_any_length_have_a_schedule(moves):
    stages = schedule(moves)
    assert len(stages) == moves
    if moves:
        assert stages[-1] == LAST
    if moves >= 20:
        assert (stages == WINDOW_END).any()
