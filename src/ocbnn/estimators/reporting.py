"""A fitted model's report: what was fitted, whether to trust it, what to do next."""

from typing import Any

import jax
import numpy as np

from ocbnn.core.choices import say_inputs
from ocbnn.estimators.asking import ask_rows
from ocbnn.estimators.explaining import role_from_draws
from ocbnn.estimators.page import listed
from ocbnn.estimators.reference import (
    REFERENCE_INPUTS,
    judged_values,
    reference_inputs,
)
from ocbnn.estimators.report import Report, RuleReport
from ocbnn.estimators.run_numbers import run_numbers
from ocbnn.estimators.without import removal
from ocbnn.inference import judge
from ocbnn.inference.diagnostics import LEAST_DRAWS, Mixing
from ocbnn.inference.verdict import FAIR_RHAT, WANTED_ESS
from ocbnn.metrics.places import find_places
from ocbnn.networks import MLP
from ocbnn.predictive.pointwise import log_parts


def make_report(model: Any) -> Report:
    """Measure a fitted model and say what was found."""
    X = reference_inputs(model)
    values = judged_values(model, X)
    mixing = _mixing(model.draws_, values)
    verdict = judge(model.draws_, values, mixing)
    numbers = run_numbers(model.draws_, mixing)
    places, where = _places(model, X, mixing)
    rules = tuple(_rule_reports(model))
    advice = [number.advice for number in numbers if number.is_good is False]
    advice += where + [one for rule in rules for one in rule.advice]
    if mixing is None and model.draws_.plan.caution:
        advice.append(
            f"{model.draws_.plan.label} cannot check itself: fit NUTS or SMC, on a "
            "part of the data if need be, and compare."
        )
    return Report(
        _fitted(model),
        verdict,
        tuple(numbers),
        tuple(places),
        rules,
        tuple(dict.fromkeys(one for one in advice if one)),
        model.held_,
    )


def output_names(model: Any) -> list[str]:
    """What the columns of function values are called."""
    schema = model.schema_
    if schema.classes is None:
        return list(schema.outputs)
    return [f"{schema.outputs[0]} = {label}" for label in schema.classes]


def _mixing(draws: Any, values: np.ndarray) -> Mixing | None:
    """None where draws have no order and no equals, so that nothing can be compared."""
    compares = draws.plan.is_chain or draws.plan.is_exact
    return Mixing.of(values) if compares and draws.draws >= LEAST_DRAWS else None


def _fitted(model: Any) -> dict[str, Any]:
    draws, target, schema = model.draws_, model.target_, model.schema_
    sizes = [leaf.size for leaf in jax.tree.leaves(target.network.shapes())]
    network = type(target.network).__name__
    if isinstance(target.network, MLP):
        widths = (target.network.inputs, *target.network.hidden, target.network.outputs)
        network = f"MLP {'-'.join(map(str, widths))}, {target.network.activation}"
    kind = ("chain" if draws.plan.is_chain else "set") + "s" * (draws.chains > 1)
    settings = {
        name: value
        for name, value in draws.settings().items()
        if name not in ("algorithm", "chains", "draws")
        and not (name == "thin" and value < 2)
    }
    rows, stored = len(model._X), model._stored_rows
    seen = "" if stored is None else f", {rows:,} of them looked at here,"
    fitted = f"{rows}" if stored is None else f"{stored:,}"
    title = f"{type(model).__name__}, fitted to {fitted} rows{seen}"
    rules = len(model.rules_)
    inputs = say_inputs(schema.inputs, schema.choices)
    return {
        "title": f"{title} and {rules} rule{'s' * (rules != 1)}",
        "data": f"{listed(inputs)} -> {listed(schema.outputs)}"
        + ("" if schema.classes is None else f" (classes {listed(schema.classes)})"),
        "network": f"{network}: {sum(sizes)} weights, prior {model.weight_prior} "
        f"{model.weight_scale:g}{_scales(model.scales)}",
        **_noise(model),
        "inference": f"{draws.plan.label}: {draws.chains} {kind} of {draws.draws} "
        f"draws, {draws.seconds:.1f} s, seed {model.random_state}",
        **({"chosen": model.choice_.reason} if model.choice_.reason else {}),
        "settings": ", ".join(f"{name}={_short(v)}" for name, v in settings.items()),
        "rows": rows if stored is None else stored,
        **({} if stored is None else {"rows_looked_at": rows}),
        "inputs": list(schema.inputs),
        "outputs": list(schema.outputs),
        "weights": int(sum(sizes)),
        "plan": draws.settings(),
        "seconds": draws.seconds,
        "interrupted": draws.interrupted,
    }


def _noise(model: Any) -> dict[str, str]:
    """The noise in words, where there is any."""
    if model.schema_.classes is not None:
        return {}
    rows = np.linspace(0, len(model._X) - 1, REFERENCE_INPUTS).astype(int)
    found = model._predictive.noise_at(model._X[np.unique(rows)], REFERENCE_INPUTS)
    typical = found.mean(axis=0)
    if model.noise_ is None:
        said, ends = (
            "varies with the inputs",
            (typical.min(axis=0), typical.max(axis=0)),
        )
        sizes = [f"{low:.3g} to {high:.3g}" for low, high in zip(*ends, strict=True)]
    else:
        said = "inferred" if isinstance(model.noise, str) else "given"
        sizes = [f"{size:.3g}" for size in typical[0]]
    return {"noise": f"noise {said}: {', '.join(sizes)}"}


def _places(
    model: Any, X: np.ndarray, mixing: Mixing | None
) -> tuple[list[str], list[str]]:
    """Where draws disagree or are few, in words, and what to do about it."""
    if mixing is None:
        return [], []
    names, outputs = model.schema_.inputs, output_names(model)
    choices = model.schema_.choices
    rhat, bulk = (one.reshape(len(X), -1) for one in (mixing.rhat, mixing.bulk))
    is_chain = model.draws_.plan.is_chain
    what = "chains" if is_chain else "populations"
    cure = (
        "use SMC, which keeps several modes, or more chains and warm-up."
        if is_chain
        else "use more particles or moves."
    )
    said, cures = [], []
    for column, output in enumerate(outputs):
        of = "" if len(outputs) == 1 else f" about {output}"
        apart = find_places(X, rhat[:, column] > FAIR_RHAT, names, choices=choices)
        far = float(np.nan_to_num(rhat[:, column]).max())
        for place in apart:
            worst = np.nanmax(rhat[place.holds(X, names), column])
            most = f", and up to {far:.2f} elsewhere" * bool(worst < far)
            said.append(
                f"The {what} disagree{of} {place}: R-hat up to {worst:.2f}{most}."
            )
        if apart:
            where = " and ".join(map(str, apart))
            cures.append(f"The {what} disagree{of} {where}: {cure}")
        for place in find_places(
            X, bulk[:, column] < WANTED_ESS / 4, names, 2, choices
        ):
            least = np.nanmin(bulk[place.holds(X, names), column])
            said.append(
                f"The draws mix slowly{of} {place}: worth {least:.0f} independent ones."
            )
    return said, cures


def _rule_reports(model: Any) -> list[RuleReport]:
    if not model.rules_:
        return []
    draws = model.draws_
    checks = {check.rule: check for check in model.check_rules()}
    parts = log_parts(model.target_, draws.stacked())
    found = []
    for term in model.target_.rules:
        bound = term.bound
        logs = parts[f"rule {bound.name!r}"]
        mixing = _mixing(draws, logs.reshape(draws.chains, draws.draws, 1))
        rhat, ess, words = _mixed(mixing)
        removed = removal(term, logs)
        check = checks.get(bound.name)
        found.append(
            RuleReport(
                rule=bound.name,
                text=str(bound.rule),
                check=check,
                log_g=float(logs.mean()),
                rhat=rhat,
                ess=ess,
                mixing=words,
                pareto_k=removed.pareto_k,
                is_removable=removed.is_trusted,
                advice=tuple(_rule_advice(bound.name, check, rhat)),
                role=role_from_draws(model, bound.name, logs),
            )
        )
    return found


def _mixed(mixing: Mixing | None) -> tuple[float | None, float | None, str]:
    if mixing is None:
        return None, None, ""
    rhat, ess = float(mixing.rhat[0]), float(mixing.bulk[0])
    if not (np.isfinite(rhat) and np.isfinite(ess)):
        return None, None, "it never changes"
    return rhat, ess, f"R-hat {rhat:.3f}, ESS {ess:.0f}"


def _rule_advice(name: str, check: Any, rhat: float | None) -> list[str]:
    advice = []
    if check is not None and check.violation > 0.01:
        advice.append(
            f"Rule {name!r} is broken in {check.violation:.1%} of cases: raise its "
            f"strength or points, or see {ask_rows()} for data that pull against it."
        )
    if check is not None and check.data_violation:
        advice.append(f"Data rows break rule {name!r}: {ask_rows()} names them.")
    if rhat is not None and rhat > FAIR_RHAT:
        advice.append(
            f"Draws disagree on how well rule {name!r} holds (R-hat {rhat:.2f}): run "
            "longer, or use SMC."
        )
    return advice


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _scales(scales: Any) -> str:
    """Where inputs have scales of their own; nothing for most models."""
    return "".join(
        f", {name} from {float(origin):g} in steps of {float(step):g}"
        for name, (origin, step) in (scales or {}).items()
    )
