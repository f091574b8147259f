"""A judgement of the draws in words, from numbers in function space."""

import dataclasses

import numpy as np

from ocbnn.inference.diagnostics import LEAST_DRAWS, Values, ess_bulk, ess_tail, rhat
from ocbnn.inference.draws import Draws

GOOD_RHAT, FAIR_RHAT = 1.01, 1.05
WANTED_ESS = 400.0
MANY_DIVERGENCES = 0.25


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether the draws can be trusted, why, and what to do next.

    Attributes:
        status: "good", "fair", "poor", or "unknown" where nothing can be said.
        sentences: The judgement, worst news first.
        rhat_max: Largest R-hat over the reference inputs; None where it has no meaning.
        ess_min: Smallest bulk effective sample size.
        ess_median: Median bulk effective sample size.
        ess_tail_min: Smallest tail effective sample size.
        divergences: Moves whose integration went wrong.
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


def judge(draws: Draws, values: Values) -> Verdict:
    """Judge draws by the function's values at some reference inputs.

    Args:
        draws: What inference found.
        values: The function at the reference inputs, for every chain and draw.
    """
    if draws.draws < LEAST_DRAWS:
        return Verdict(
            "unknown",
            (
                f"Too few draws to judge: {draws.chains} chain(s) of {draws.draws}, "
                f"but at least {LEAST_DRAWS} each are needed. Ask for more draws.",
            ),
        )
    reached = draws.warmup.get("temperature", np.ones((1, 1)))[:, -1].min()
    if reached < 1:
        return Verdict(
            "poor",
            (
                f"{draws.plan.label} stopped at temperature {reached:.3g}, so these "
                "are not draws from the posterior. Raise warmup, the most temperatures "
                "it may take.",
            ),
        )
    if not draws.plan.is_exact:
        return _of_particles(draws, values)
    numbers = {
        "rhat_max": float(np.nanmax(rhat(values))),
        "ess_min": float(np.nanmin(ess_bulk(values))),
        "ess_median": float(np.nanmedian(ess_bulk(values))),
        "ess_tail_min": float(np.nanmin(ess_tail(values))),
    }
    return _of_chains(draws, numbers)


def _of_chains(draws: Draws, numbers: dict[str, float]) -> Verdict:
    worst, size = numbers["rhat_max"], numbers["ess_min"]
    what = "chains" if draws.plan.is_chain else "populations"
    cure = (
        "Run more warm-up, or use SMC, which keeps several modes."
        if draws.plan.is_chain
        else "Use more particles, moves or polish."
    )
    longer = "Run longer." if draws.plan.is_chain else "Use more moves or polish."
    bad, notes = [], []
    if draws.chains == 1:
        notes.append(
            f"One {what[:-1]} cannot tell whether it missed a mode: run several chains."
        )
    if worst > FAIR_RHAT:
        bad.append(f"The {what} disagree (R-hat up to {worst:.2f}). {cure}")
    elif worst > GOOD_RHAT:
        notes.append(f"The {what} agree roughly (R-hat up to {worst:.3f}).")
    if size < WANTED_ESS / 4:
        bad.append(
            f"The draws are worth only {size:.0f} independent ones where they mix "
            f"worst. {longer}"
        )
    elif size < WANTED_ESS:
        notes.append(
            f"The draws are worth {size:.0f} independent ones where they mix worst; "
            f"{WANTED_ESS:.0f} make intervals reliable."
        )
    share = draws.divergences / max(1, draws.size * max(1, draws.plan.thin))
    if share > 0.01:
        # A strict rule is a cliff, and trajectories that run into one diverge without
        # harm; only when most of them do is something left unseen.
        (bad if share > MANY_DIVERGENCES else notes).append(
            f"{draws.divergences} moves diverged ({share:.1%}): they ran into a strict "
            "rule or a narrow part of the posterior. Smaller steps follow its edge "
            "better: raise target_acceptance, or lower step_size where it is fixed."
        )
    if draws.interrupted:
        notes.append("The run was stopped early.")
    status = "poor" if bad else "fair" if notes else "good"
    if not bad and not notes:
        notes = [
            f"The {what} agree (R-hat at most {worst:.3f}) and are worth at least "
            f"{size:.0f} independent draws."
        ]
    sentences = (*bad, *notes)
    return Verdict(status, sentences, divergences=draws.divergences, **numbers)


def _of_particles(draws: Draws, values: Values) -> Verdict:
    spread = float(np.mean(values.std(axis=1)))
    early = ("The run was stopped early.",) if draws.interrupted else ()
    return Verdict(
        "fair",
        (
            *early,
            f"{draws.draws} particles of {draws.plan.label}, an approximation without "
            f"a check of its own: {draws.plan.caution} (mean spread of the function "
            f"{spread:.3g}). Compare with NUTS or SMC where it matters.",
        ),
    )
