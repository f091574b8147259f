"""Making a fitted model's report: what to trust, and what to do next."""

from typing import Any

import numpy as np

from ocbnn.analysis.checks import check_rules
from ocbnn.analysis.explanation import role_from_draws
from ocbnn.analysis.fit_summary import fit_summary
from ocbnn.analysis.report_page import Report, RuleReport
from ocbnn.analysis.rule_removal import removal
from ocbnn.analysis.run_numbers import run_numbers
from ocbnn.core.advice import Advice, Kind
from ocbnn.core.sentences import Sentence
from ocbnn.core.words import share
from ocbnn.fitted import FittedModel
from ocbnn.inference import judge
from ocbnn.inference.diagnostics import LEAST_DRAWS, Mixing
from ocbnn.inference.verdict import FAIR_RHAT, WANTED_ESS
from ocbnn.metrics.places import find_places
from ocbnn.metrics.rules import RuleCheck
from ocbnn.predictive.pointwise import log_parts
from ocbnn.rules import BoundRule


def make_report(model: FittedModel) -> Report:
    """Measure a fitted model and report the results."""
    model.need_data("report")
    X = model.reference_inputs()
    values = model.judged_values(X)
    mixing = _mixing(model.draws, values)
    verdict = judge(model.draws, values, mixing)
    numbers = run_numbers(model.draws, mixing, has_rules=bool(model.target.rules))
    places, where = _places(model, X, mixing)
    rules = tuple(_rule_reports(model))
    advice = [number.advice for number in numbers if number.is_good is False]
    advice += where + [sentence for rule in rules for sentence in rule.advice]
    if mixing is None and model.draws.plan.caution:
        advice.append(
            f"{model.draws.plan.label} cannot check itself: fit NUTS or SMC, on a "
            "part of the data if need be, and compare."
        )
    return Report(
        fit_summary(model),
        verdict,
        tuple(numbers),
        tuple(places),
        rules,
        tuple(dict.fromkeys(sentence for sentence in advice if sentence)),
        model.hard_rules,
        model.projection,
    )


def _mixing(draws: Any, values: np.ndarray) -> Mixing | None:
    """How well draws mix; None if there are no chains or populations to compare."""
    is_comparable = draws.plan.is_chain or draws.plan.is_exact
    return Mixing.of(values) if is_comparable and draws.draws >= LEAST_DRAWS else None


def _places(
    model: FittedModel, X: np.ndarray, mixing: Mixing | None
) -> tuple[list[str], list[str]]:
    """Where draws disagree or are few, in words, and what to do about it."""
    if mixing is None:
        return [], []
    names, outputs = model.schema.inputs, model.output_names
    choices = model.schema.choices
    rhat, bulk = (numbers.reshape(len(X), -1) for numbers in (mixing.rhat, mixing.bulk))
    is_chain = model.draws.plan.is_chain
    what = "chains" if is_chain else "populations"
    cure = (
        "use SMC, which keeps several modes, or more chains and warm-up."
        if is_chain
        else "use more particles or moves."
    )
    sentences, cures = [], []
    for column, output in enumerate(outputs):
        of = "" if len(outputs) == 1 else f" about {output}"
        apart = find_places(X, rhat[:, column] > FAIR_RHAT, names, choices=choices)
        far = float(np.nan_to_num(rhat[:, column]).max())
        for place in apart:
            worst = np.nanmax(rhat[place.holds(X, names), column])
            most = f", and up to {far:.2f} elsewhere" * bool(worst < far)
            sentences.append(
                f"The {what} disagree{of} {place}: R-hat up to {worst:.2f}{most}."
            )
        if apart:
            where = " and ".join(map(str, apart))
            cures.append(f"The {what} disagree{of} {where}: {cure}")
        for place in find_places(
            X, bulk[:, column] < WANTED_ESS / 4, names, 2, choices
        ):
            least = np.nanmin(bulk[place.holds(X, names), column])
            sentences.append(
                f"The draws mix slowly{of} {place}: worth {least:.0f} independent ones."
            )
    return sentences, cures


def _rule_reports(model: FittedModel) -> list[RuleReport]:
    if not model.rules:
        return []
    draws = model.draws
    checks = {check.rule: check for check in check_rules(model)}
    if model.projected_onto:
        bounds = [term.bound for term in model.projected_onto]
        return [_unpriced(bound, checks.get(bound.name)) for bound in bounds]
    parts = log_parts(model.target, draws.stacked())
    reports = []
    for term in model.target.rules:
        bound = term.bound
        logs = parts[f"rule {bound.name!r}"]
        check = checks.get(bound.name)
        mixing = _mixing(draws, logs.reshape(draws.chains, draws.draws, 1))
        rhat, ess, words = _mixed(mixing)
        weights = removal(term, logs)
        reports.append(
            RuleReport(
                rule=bound.name,
                text=str(bound.rule),
                check=check,
                log_g=float(logs.mean()),
                rhat=rhat,
                ess=ess,
                mixing=words,
                pareto_k=weights.pareto_k,
                is_removable=weights.is_trusted,
                advice=tuple(_rule_advice(bound, check, rhat)),
                role=role_from_draws(model, bound.name, logs),
            )
        )
    return reports


def _unpriced(bound: BoundRule, check: RuleCheck | None) -> RuleReport:
    """A rule that draws obey by projection, without a penalty in the target."""
    return RuleReport(
        rule=bound.name,
        text=str(bound.rule),
        check=check,
        log_g=float("nan"),
        rhat=None,
        ess=None,
        mixing="",
        pareto_k=float("nan"),
        is_removable=False,
        advice=tuple(_projected_advice(bound, check)),
        is_priced=False,
    )


def _mixed(mixing: Mixing | None) -> tuple[float | None, float | None, str]:
    if mixing is None:
        return None, None, ""
    rhat, ess = float(mixing.rhat[0]), float(mixing.bulk[0])
    if not (np.isfinite(rhat) and np.isfinite(ess)):
        return None, None, "it never changes"
    return rhat, ess, f"R-hat {rhat:.3f}, ESS {ess:.0f}"


def _rule_advice(
    bound: BoundRule, check: RuleCheck | None, rhat: float | None
) -> list[str]:
    name, advice = bound.name, []
    if check is not None and check.violation > 0.01:
        problem = f"Rule {name!r} is violated in {share(check.violation)} of cases: "
        see_conflicts = Advice(Kind.SEE_CONFLICTS, name)
        advice.append(
            Sentence(problem, f"{bound.claim.remedy}, or ", see_conflicts, ".")
        )
    if check is not None and check.data_violation:
        problem = f"Data rows violate rule {name!r}: "
        advice.append(Sentence(problem, Advice(Kind.NAME_ROWS, name), "."))
    if rhat is not None and rhat > FAIR_RHAT:
        advice.append(
            f"Draws disagree on how well rule {name!r} holds (R-hat {rhat:.2f}): run "
            "longer, or use SMC."
        )
    return advice


def _projected_advice(bound: BoundRule, check: RuleCheck | None) -> list[str]:
    """What to do about a projected rule, whose strength does not matter."""
    name, advice = bound.name, []
    if check is not None and check.violation > 0.01:
        problem = (
            f"Rule {name!r} is violated in {share(check.violation)} of cases although "
            "draws were moved: give the projection more rounds ("
        )
        remedy = (
            "), or the network more units; or correct the rule, if it contradicts "
            "another one."
        )
        advice.append(Sentence(problem, Kind.MORE_ROUNDS, remedy))
    if check is not None and check.data_violation:
        advice.append(
            f"Data rows violate rule {name!r}, and draws were moved away from them: "
            "see by how much under Projection, and correct the rows or the rule."
        )
    return advice
