"""A verdict on the draws in words, from diagnostics in function space.

The diagnostics depend on the algorithm. Exact chains and populations are compared with
each other. So are approximate chains, but agreement does not make them exact. A single
set of particles has nothing to be compared with, so only its trace is checked.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from ocbnn.core.advice import Advice, Kind, setting
from ocbnn.core.sentences import Sentence
from ocbnn.inference.diagnostics import LEAST_DRAWS, Mixing, Values, rhat
from ocbnn.inference.draws import Draws
from ocbnn.inference.trace_statistics import (
    MANY_DIVERGENCES,
    collapse,
    divergent_share,
    energies,
    gain,
)

GOOD_RHAT, FAIR_RHAT = 1.01, 1.05
WANTED_ESS = 400.0
LEAST_ENERGY = 0.3
_STOPPED = "The run was ", Advice(Kind.STOPPED_EARLY, values={"saved": ""}), "."


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether the draws can be trusted, why, and what to do next.

    Attributes
    ----------
    status
        "good", "fair", "poor", or "unknown" if there are too few draws.
    sentences
        The reasons, worst first; a `Sentence` where it contains advice.
    rhat_max
        Largest R-hat over the reference inputs; None where it is undefined.
    ess_min
        Smallest bulk effective sample size.
    ess_median
        Median bulk effective sample size.
    ess_tail_min
        Smallest tail effective sample size.
    divergences
        Moves whose integration went wrong.
    """

    status: str
    sentences: tuple[str, ...]
    rhat_max: float | None = None
    ess_min: float | None = None
    ess_median: float | None = None
    ess_tail_min: float | None = None
    divergences: int = 0

    def __str__(self) -> str:
        return f"{self.status}: {' '.join(self.sentences)}"


@dataclasses.dataclass
class _Findings:
    """Sentences collected so far, the bad ones separately."""

    bad: list[str] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)

    def add(self, *parts: str | Kind | Advice, is_bad: bool = False) -> None:
        (self.bad if is_bad else self.notes).append(Sentence(*parts))

    def verdict(self, praise: str, **numbers: float | int | None) -> Verdict:
        status = "poor" if self.bad else "fair" if self.notes else "good"
        sentences = (*self.bad, *self.notes) or (praise,)
        return Verdict(status, sentences, **numbers)  # pyright: ignore[reportArgumentType]


def judge(draws: Draws, values: Values, mixing: Mixing | None = None) -> Verdict:
    """Judge draws by the function's values at some reference inputs.

    Parameters
    ----------
    draws
        The draws.
    values
        The function at the reference inputs, for every chain and draw.
    mixing
        The mixing of these values, if it is already computed.
    """
    if draws.draws < LEAST_DRAWS:
        return Verdict(
            "unknown",
            (
                f"Too few draws to judge: {draws.chains} chain(s) of {draws.draws}, "
                f"but at least {LEAST_DRAWS} each are needed. Ask for more draws.",
            ),
        )
    if draws.temperature is not None and draws.temperature < 1:
        return Verdict("poor", (_unfinished(draws, draws.temperature),))
    if draws.plan.is_chain or draws.plan.is_exact:
        return _of_chains(draws, Mixing.of(values) if mixing is None else mixing)
    return _of_particles(draws, values)


def _unfinished(draws: Draws, reached: float) -> str:
    """The sentence about a population that has not reached the posterior."""
    path = "on its way from the prior (0) to the posterior (1)"
    reason = "so these are not draws from the posterior."
    where = f"at temperature {reached:.3g}, {path}, {reason}"
    if draws.interrupted:
        return Sentence(f"{draws.plan.label} was stopped {where} ", Kind.GO_ON)
    limit = ", the maximum number of temperatures."
    name = draws.plan.label
    return Sentence(f"{name} ended {where} Raise ", setting("warmup"), limit)


def _of_chains(draws: Draws, mixing: Mixing) -> Verdict:
    """Judge chains or populations by whether they agree."""
    numbers = {
        "rhat_max": _safe(np.max, mixing.rhat),
        "ess_min": _safe(np.min, mixing.bulk),
        "ess_median": _safe(np.median, mixing.bulk),
        "ess_tail_min": _safe(np.min, mixing.tail),
    }
    findings = _Findings()
    groups = "chains" if draws.plan.is_chain else "populations"
    if draws.chains == 1:
        findings.add(
            f"One {groups[:-1]} cannot tell whether it missed a mode: run several "
            "chains."
        )
    worst, size = numbers["rhat_max"], numbers["ess_min"]
    if worst is None or size is None:
        findings.add(
            "The function never changes, so nothing was sampled: every move was "
            "rejected. Take a smaller ",
            setting("step_size"),
            ", or let it be learned.",
            is_bad=True,
        )
    else:
        _agreement(findings, draws, groups, worst)
        _effective_size(findings, draws, size)
    _moves(findings, draws)
    if not draws.plan.is_exact:
        findings.add(
            f"{draws.plan.label} is an approximation: {draws.plan.caution}. Agreement "
            "does not show that; compare with NUTS or SMC where it matters."
        )
    praise = (
        ""
        if worst is None or size is None
        else f"The {groups} agree (R-hat at most {worst:.3f}) and are worth at least "
        f"{size:.0f} independent draws."
    )
    return findings.verdict(praise, divergences=draws.divergences, **numbers)


def _agreement(findings: _Findings, draws: Draws, groups: str, worst: float) -> None:
    advice = (
        Sentence("Run ", Kind.MORE_WARMUP, ", or use SMC, which keeps several modes.")
        if draws.plan.is_chain
        else Sentence("Use more particles, ", Kind.MORE_MOVES, ".")
    )
    if worst > FAIR_RHAT:
        sentence = f"The {groups} disagree (R-hat up to {worst:.2f}). "
        findings.add(sentence, advice, is_bad=True)
    elif worst > GOOD_RHAT:
        findings.add(f"The {groups} agree roughly (R-hat up to {worst:.3f}).")


def _effective_size(findings: _Findings, draws: Draws, size: float) -> None:
    if size < WANTED_ESS / 4:
        use_more = ("Use more ", Kind.MORE_MOVES, ".")
        findings.add(
            f"The draws are worth only {size:.0f} independent ones where they mix "
            "worst. ",
            *([Kind.RUN_LONGER] if draws.plan.is_chain else use_more),
            is_bad=True,
        )
    elif size < WANTED_ESS:
        findings.add(
            f"The draws are worth {size:.0f} independent ones where they mix worst; "
            f"{WANTED_ESS:.0f} make intervals reliable."
        )


def _moves(findings: _Findings, draws: Draws) -> None:
    share = divergent_share(draws)
    if share > 0.01:
        # Trajectories that run into a steep edge diverge without harm; only if many
        # of them do may parts of the posterior remain unexplored.
        findings.add(
            f"{draws.divergences} moves diverged ({share:.1%}): they ran into a steep "
            "or narrow part of the posterior. Smaller steps follow its edge better: ",
            Kind.SMALLER_STEPS,
            ".",
            is_bad=share > MANY_DIVERGENCES,
        )
    freedom = energies(draws)
    if freedom is not None and np.nanmin(freedom) < LEAST_ENERGY:
        findings.add(
            f"Energies change slowly (E-BFMI down to {np.nanmin(freedom):.2f}, below "
            f"{LEAST_ENERGY}): the tails may be sampled too rarely. Run ",
            Kind.MORE_WARMUP,
            ", or use a tighter prior on weights or noise.",
        )
    if draws.interrupted:
        findings.add(*_STOPPED)


def _of_particles(draws: Draws, values: Values) -> Verdict:
    """Judge an approximation's particles, fits or samples by its trace."""
    plan, findings = draws.plan, _Findings()
    numbers: dict[str, float | None] = {}
    if (remaining := collapse(draws)) is not None:
        findings.add(
            f"The particles of {plan.label} collapsed: they lie {remaining:.1%} as "
            "far apart as at the start, so their spread says nothing. Use more "
            "particles or a smaller ",
            setting("learning_rate"),
            ", or NUTS.",
            is_bad=True,
        )
    if draws.chains > 1:
        # Particles have no order, so only their agreement is meaningful.
        numbers["rhat_max"] = worst = _safe(np.max, rhat(values))
        if worst is not None and worst > FAIR_RHAT:
            findings.add(
                f"The {draws.chains} runs of {plan.label} disagree (R-hat up to "
                f"{worst:.2f}): each found something else. Use NUTS or SMC, or take "
                "all runs together as one rough answer.",
                is_bad=True,
            )
    if (rising := gain(draws)) is not None:
        findings.add(
            f"{rising.name} was still rising at the end, by {rising.value:.3g} over "
            "the last tenth of the run. ",
            Advice(Kind.RUN_MORE, values={"name": rising.setting}),
        )
    if draws.interrupted:
        findings.add(*_STOPPED)
    spread = float(np.mean(values.std(axis=1)))
    findings.add(
        f"{draws.draws} particles of {plan.label}, an approximation without a check of "
        f"its own: {plan.caution} (mean spread of the function {spread:.3g}). Compare "
        "with NUTS or SMC where it matters."
    )
    return findings.verdict("", **numbers)


def _safe(
    summary: Callable[[np.ndarray], np.floating], numbers: np.ndarray
) -> float | None:
    """A summary of the finite numbers; None if there are none."""
    finite = numbers[np.isfinite(numbers)]
    return float(summary(finite)) if finite.size else None
