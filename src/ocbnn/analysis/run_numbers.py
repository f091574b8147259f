"""The numbers of a report, each with its desired range and advice if it is outside.

Which numbers there are depends on the algorithm and its traces.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from ocbnn.core.advice import Kind, setting
from ocbnn.core.sentences import Sentence
from ocbnn.inference import Draws
from ocbnn.inference.diagnostics import Mixing
from ocbnn.inference.trace_statistics import (
    climbing,
    collapse,
    divergent_share,
    energies,
    gain,
)
from ocbnn.inference.verdict import GOOD_RHAT, LEAST_ENERGY, WANTED_ESS

_LEAST_ACCEPTANCE = 0.5
_MAX_DIVERGENT = 0.01
_MAX_CUT_OFF = 0.1
# Populations whose log evidence differs by more have explored different modes.
_MAX_EVIDENCE_RANGE = 1.0


@dataclasses.dataclass(frozen=True)
class Number:
    """One number about the draws.

    Attributes
    ----------
    key
        Its name in `to_dict`.
    name
        Its name on the page.
    value
        The number, or several.
    text
        How it is printed.
    wanted
        The desired value, in words; empty if there is none.
    is_good
        Whether it is as desired; None if that cannot be judged.
    advice
        What to do next if it is not.
    """

    key: str
    name: str
    value: float | tuple[float, ...]
    text: str
    wanted: str = ""
    is_good: bool | None = None
    advice: str = ""


def run_numbers(
    draws: Draws, mixing: Mixing | None, *, has_rules: bool = False
) -> list[Number]:
    """All numbers of this run; advice on rules only if its density has some."""
    numbers = [] if mixing is None else list(_mixing(draws, mixing))
    return [*numbers, *_moves(draws, has_rules), *_climb(draws), *_tempering(draws)]


def _mixing(draws: Draws, mixing: Mixing) -> Iterator[Number]:
    warmup = Kind.MORE_WARMUP
    longer = (
        Sentence("Run longer: more draws, and ", warmup, " if R-hat is high too.")
        if draws.plan.is_chain
        else Sentence("Use more particles, ", Kind.MORE_MOVES, ".")
    )
    worst = _largest(mixing.rhat)
    yield Number(
        "rhat_max",
        "R-hat of f(x), largest",
        worst,
        f"{worst:.3f}",
        f"at most {GOOD_RHAT}",
        bool(worst <= GOOD_RHAT),
        Sentence(
            "R-hat is above 1.01: run ",
            warmup,
            " and more chains; if it stays, there are several modes, and SMC keeps "
            "them.",
        )
        if draws.plan.is_chain
        else longer,
    )
    for key, name, sizes in (
        ("ess_bulk", "bulk ESS of f(x), least / median", mixing.bulk),
        ("ess_tail", "tail ESS of f(x), least / median", mixing.tail),
    ):
        least, median = -_largest(-sizes), _median(sizes)
        yield Number(
            key,
            name,
            (least, median),
            f"{least:.0f} / {median:.0f}",
            f"at least {WANTED_ESS:.0f}",
            bool(least >= WANTED_ESS),
            longer,
        )


def _moves(draws: Draws, has_rules: bool) -> Iterator[Number]:
    if "divergent" in draws.stats:
        share = divergent_share(draws)
        yield Number(
            "divergences",
            "divergent moves",
            draws.divergences,
            f"{draws.divergences} ({share:.1%})",
            f"below {_MAX_DIVERGENT:.0%}",
            share <= _MAX_DIVERGENT,
            Sentence(
                "Moves diverge: ",
                Kind.SMALLER_STEPS,
                ", or give strict rules a larger tolerance." if has_rules else ".",
            ),
        )
    rate = draws.acceptance
    if rate is not None:
        yield Number(
            "acceptance",
            "acceptance, mean",
            rate,
            f"{rate:.2f}",
            f"at least {_LEAST_ACCEPTANCE}",
            rate >= _LEAST_ACCEPTANCE,
            "Most moves are rejected: let the step size be learned, or lower it.",
        )
    ebfmi = energies(draws)
    if ebfmi is not None:
        yield Number(
            "ebfmi",
            "E-BFMI (energy) of chains, least",
            tuple(float(value) for value in ebfmi),
            f"{np.nanmin(ebfmi):.2f}",
            f"at least {LEAST_ENERGY}",
            bool(np.nanmin(ebfmi) >= LEAST_ENERGY),
            Sentence(
                "Energies change slowly: run ",
                Kind.MORE_WARMUP,
                ", or use a tighter prior on weights or noise.",
            ),
        )
    yield from _cut_off(draws)


def _cut_off(draws: Draws) -> Iterator[Number]:
    """The share of NUTS trajectories that were stopped by their longest length."""
    depth = getattr(draws.plan, "max_depth", None)
    if depth is None or "steps" not in draws.stats or draws.plan.thin != 1:
        return
    share = float(np.mean(draws.stats["steps"] >= 2**depth - 1))
    yield Number(
        "cut_off",
        "trajectories cut off by max_depth",
        share,
        f"{share:.1%}",
        f"at most {_MAX_CUT_OFF:.0%}",
        share <= _MAX_CUT_OFF,
        Sentence(
            "Trajectories are cut off: raise ",
            setting("max_depth"),
            f" above {depth}, or run ",
            Kind.MORE_WARMUP,
            ".",
        ),
    )


def _climb(draws: Draws) -> Iterator[Number]:
    spread = draws.warmup.get("spread")
    if spread is not None and spread.size:
        first, last = float(spread[:, 0].mean()), float(spread[:, -1].mean())
        yield Number(
            "spread",
            "particles' distance, first -> last",
            (first, last),
            f"{first:.3g} -> {last:.3g}",
            "not collapsed",
            collapse(draws) is None,
            Sentence(
                "The particles collapsed: use more of them or a smaller ",
                setting("learning_rate"),
                ".",
            ),
        )
    traced = climbing(draws)
    if traced is not None:
        name, trace = traced
        count = max(1, trace.shape[1] // 10)
        last, rise = float(trace[:, -count:].mean()), gain(draws)
        yield Number(
            name,
            {"elbo": "ELBO"}.get(name, "log density") + ", mean of last tenth",
            last,
            f"{last:.5g}",
            "no longer rising",
            rise is None,
            ""
            if rise is None
            else Sentence(
                f"{rise.name} still rises: run more ",
                setting(rise.setting),
                ".",
            ),
        )


def _tempering(draws: Draws) -> Iterator[Number]:
    last = draws.temperature
    if last is not None:
        warmup = setting("warmup")
        cure = Sentence("raise ", warmup, ", the most temperatures.")
        yield Number(
            "temperature",
            f"temperature after {draws.warmup['temperature'].shape[1]} steps",
            last,
            f"{last:.3g}",
            "1",
            last >= 1,
            Sentence(
                "The posterior was not reached: ",
                "the run was stopped before." if draws.interrupted else cure,
            ),
        )
    evidence = draws.log_evidence
    if evidence is not None:
        spread = float(np.ptp(evidence))
        yield Number(
            "log_evidence",
            "log evidence, mean and range",
            tuple(float(value) for value in evidence),
            f"{evidence.mean():.2f} / {spread:.2f}",
            f"range at most {_MAX_EVIDENCE_RANGE:g}",
            spread <= _MAX_EVIDENCE_RANGE if len(evidence) > 1 else None,
            "The populations disagree on the evidence: use more particles or moves, or "
            "a higher keep.",
        )


def _largest(numbers: np.ndarray) -> float:
    finite = numbers[np.isfinite(numbers)]
    return float(finite.max()) if finite.size else float("nan")


def _median(numbers: np.ndarray) -> float:
    finite = numbers[np.isfinite(numbers)]
    return float(np.median(finite)) if finite.size else float("nan")
