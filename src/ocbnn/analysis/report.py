"""A fitted model's report: what was fitted, whether to trust it, what to do next."""

import dataclasses
from typing import Any

import jax
import numpy as np

from ocbnn.analysis.checks import check_rules
from ocbnn.analysis.explanation import role_from_draws
from ocbnn.analysis.relevance import relevance
from ocbnn.analysis.rule_removal import removal
from ocbnn.analysis.run_numbers import Number, run_numbers
from ocbnn.core.advice import Advice, Kind, Spelling
from ocbnn.core.choices import say_inputs
from ocbnn.core.page import Page, block
from ocbnn.core.plain import plain
from ocbnn.core.rows import evenly
from ocbnn.core.sentences import Sentence, in_python, spelled
from ocbnn.core.words import listing, share
from ocbnn.fitted import FittedModel
from ocbnn.fitted.record import REFERENCE_INPUTS
from ocbnn.inference import Verdict, judge
from ocbnn.inference.diagnostics import LEAST_DRAWS, Mixing
from ocbnn.inference.verdict import FAIR_RHAT, WANTED_ESS
from ocbnn.metrics.hard_rules import HardRuleRecord
from ocbnn.metrics.places import find_places
from ocbnn.metrics.rules import RuleCheck
from ocbnn.networks import MLP, Network, ScaledNetwork
from ocbnn.networks.scales import shown
from ocbnn.posterior import Target
from ocbnn.predictive.pointwise import log_parts
from ocbnn.refinement.projected import ProjectionRecord
from ocbnn.rules import BoundRule

# The lines about the fit, in this order.
_FIT_LINES = (
    "data",
    "network",
    "relevance",
    "noise",
    "inference",
    "chosen",
    "settings",
)


@dataclasses.dataclass(frozen=True)
class RuleReport:
    """How well one rule holds, how well its penalty mixes, and whether weights undo it.

    Attributes
    ----------
    rule
        The rule's name.
    text
        The rule.
    check
        How well it holds; None for custom rules, which cannot be checked.
    log_g
        Mean over the draws of its share of the log density; NaN if it has none.
    rhat
        R-hat of that share; None if it has no meaning or never changes.
    ess
        Its effective sample size, likewise.
    mixing
        Those two in words; empty if they have no meaning.
    pareto_k
        Pareto k of the weights that would remove the rule from the draws.
    is_removable
        Whether those weights can be trusted.
    advice
        What to do next.
    role
        Its effect on the fit; None if only a second fit can tell.
    is_priced
        Whether the target had a penalty for it; that of projected draws had none.
    """

    rule: str
    text: str
    check: RuleCheck | None
    log_g: float
    rhat: float | None
    ess: float | None
    mixing: str
    pareto_k: float
    is_removable: bool
    advice: tuple[str, ...] = ()
    role: str | None = None
    is_priced: bool = True


@dataclasses.dataclass(frozen=True)
class Report(Page):
    """What was fitted, whether to trust it, and what to do next. Print it.

    Attributes
    ----------
    fitted
        Rows, columns, network, algorithm, settings and time.
    verdict
        The judgement in words.
    numbers
        The numbers behind it.
    places
        Where in input space the draws disagree, in words.
    rules
        How each rule holds.
    advice
        What to do next, for every number that is not good.
    held
        What hard rules have cost; None without any.
    projection
        What a projection onto the rules did; None without one.
    """

    fitted: dict[str, Any]
    verdict: Verdict
    numbers: tuple[Number, ...]
    places: tuple[str, ...]
    rules: tuple[RuleReport, ...]
    advice: tuple[str, ...]
    held: HardRuleRecord | None = None
    projection: ProjectionRecord | None = None

    def to_dict(self, spelling: Spelling = in_python) -> dict[str, Any]:
        """Everything as plain values, ready for JSON; None for NaN."""
        document = {
            "fitted": plain(self.fitted),
            "verdict": plain(dataclasses.asdict(self.verdict)),
            "numbers": {number.key: plain(number.value) for number in self.numbers},
            "places": list(self.places),
            "rules": {
                rule.rule: plain(dataclasses.asdict(rule)) for rule in self.rules
            },
            "advice": list(self.advice),
            **({} if self.held is None else {"held": self.held.to_dict()}),
            **(
                {}
                if self.projection is None
                else {"projection": plain(self.projection.to_dict())}
            ),
        }
        return spelled(document, spelling)

    def to_text(self, spelling: Spelling = in_python) -> str:
        """The page, with advice in the words of some readers."""
        advice = spelled(self.advice, spelling)
        sentences = spelled(self.verdict.sentences, spelling)
        blocks = [
            block(self.fitted["title"], spelled(self._fitted_lines(), spelling)),
            block(f"Verdict: {self.verdict.status}", sentences),
            block("Numbers", [_number_line(n) for n in self.numbers], wrap=False),
            block("Where draws disagree", self.places),
            block("Rules", [line for rule in self.rules for line in _lines_of(rule)]),
            block(
                "Projection",
                [] if self.projection is None else self.projection.lines(),
            ),
            block(
                "Hard rules", [] if self.held is None else str(self.held).split("\n")
            ),
            block("What to do next", [f"{i}. {s}" for i, s in enumerate(advice, 1)]),
        ]
        return "\n\n".join(block for block in blocks if block)

    def _fitted_lines(self) -> list[str]:
        return [self.fitted[key] for key in _FIT_LINES if key in self.fitted]


def _number_line(number: Number) -> str:
    mark = "!" if number.is_good is False else " "
    return f"{mark} {number.name:<36}{number.text:>16}  {number.wanted}".rstrip()


def _lines_of(rule: RuleReport) -> list[str]:
    lines = [rule.text]
    if rule.check is None:
        lines.append("  A custom rule, which cannot be checked.")
    else:
        lines.append(f"  {_holding(rule.check)}")
    if rule.is_priced:
        lines.append(f"  {_price(rule)}")
    if rule.role is not None:
        lines.append(f"  {rule.role}")
    return lines


def _holding(check: RuleCheck) -> str:
    if check.violation == 0:
        sentence = "Holds at every point tried, in every draw."
    else:
        sentence = (
            f"Broken in {share(check.violation)} of (draw, point) pairs, by "
            f"{share(check.draws_violating)} of draws somewhere."
        )
    if check.rows_in_region and check.data_violation is not None:
        count = check.rows_in_region
        sentence += (
            f" {count} data row{'s' * (count > 1)} in its region, "
            f"{share(check.data_violation)} of them break it."
        )
    return sentence if check.remark is None else f"{sentence} ({check.remark}.)"


def _price(rule: RuleReport) -> str:
    mixed = f" ({rule.mixing})" if rule.mixing else ""
    k = (
        "all draws weigh the same without it"
        if np.isneginf(rule.pareto_k)
        else f"Pareto k without it {rule.pareto_k:.2f}"
        + ("" if rule.is_removable else ", and weights cannot take it out")
    )
    return f"Its share log g: {rule.log_g:.3g} on average{mixed}; {k}."


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
        _fitted(model),
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


def _fitted(model: FittedModel) -> dict[str, Any]:
    draws, target, schema = model.draws, model.target, model.schema
    network = _without_scales(target.network)
    sizes = [leaf.size for leaf in jax.tree.leaves(network.shapes())]
    kind = ("chain" if draws.plan.is_chain else "set") + "s" * (draws.chains > 1)
    settings = {
        name: value
        for name, value in draws.settings().items()
        if name not in ("algorithm", "chains", "draws")
        and not (name == "thin" and value < 2)
    }
    rows, stored = len(model.rows), model.rows.stored
    note = "" if stored is None else f", {rows:,} of them looked at here,"
    row_count = f"{rows}" if stored is None else f"{stored:,}"
    title = f"{model.estimator}, fitted to {row_count} rows{note}"
    rules = len(model.rules)
    inputs = say_inputs(schema.inputs, schema.choices)
    return {
        "title": f"{title} and {rules} rule{'s' * (rules != 1)}",
        "data": f"{listing(inputs, 6)} -> {listing(schema.outputs, 6)}"
        + (
            "" if schema.classes is None else f" (classes {listing(schema.classes, 6)})"
        ),
        "network": f"{_network(network)}: {sum(sizes)} weights, prior "
        f"{_prior(target)}{_scales(model.scales)}",
        **_relevance(model),
        **_noise(model),
        "inference": f"{draws.plan.label}: {draws.chains} {kind} of {draws.draws} "
        f"draws, {draws.seconds:.1f} s, seed {model.random_state}",
        **({"chosen": model.choice.reason} if model.choice.reason else {}),
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


def _without_scales(network: Network) -> Network:
    """The network without its scales of weights, which belong to the prior."""
    return network.inner if isinstance(network, ScaledNetwork) else network


def _network(network: Network) -> str:
    """A network's kind and widths."""
    if not isinstance(network, MLP):
        return type(network).__name__
    widths = (network.inputs, *network.hidden, network.outputs)
    return f"MLP {'-'.join(map(str, widths))}, {network.activation}"


def _prior(target: Target) -> str:
    network, prior = target.network, target.weight_prior
    if not isinstance(network, ScaledNetwork):
        return prior.label
    hyper = network.hyper
    weights, biases = shown(hyper.weights), shown(hyper.biases)
    return (
        f"learned (scales of weights {weights} and of biases {biases}, "
        f"give or take a factor of {np.exp(hyper.spread):.2g})"
    )


def _relevance(model: FittedModel) -> dict[str, str]:
    """The relevances of inputs, if they were learned and there are several inputs."""
    relevances = relevance(model)
    if relevances is None or len(relevances.inputs) < 2:
        return {}
    median, lower, upper = relevances.median, relevances.lower, relevances.upper
    names = relevances.inputs
    shares = [
        f"{names[i]} {share(median[i])} ({share(lower[i])} to {share(upper[i])})"
        for i in relevances.order
    ]
    return {"relevance": f"relevance of inputs: {listing(shares, 4)}"}


def _noise(model: FittedModel) -> dict[str, str]:
    """The noise in words; nothing for classes."""
    if model.schema.classes is not None:
        return {}
    rows = evenly(len(model.rows.X), REFERENCE_INPUTS)
    noise = model.predictive.noise_at(model.rows.X[rows], REFERENCE_INPUTS)
    typical = noise.mean(axis=0)
    if model.noise is None:
        how, ends = (
            "varies with the inputs",
            (typical.min(axis=0), typical.max(axis=0)),
        )
        sizes = [f"{low:.3g} to {high:.3g}" for low, high in zip(*ends, strict=True)]
    else:
        how = "given" if model.is_noise_given else "inferred"
        sizes = [f"{size:.3g}" for size in typical[0]]
    return {"noise": f"noise {how}: {', '.join(sizes)}"}


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
        problem = f"Rule {name!r} is broken in {check.violation:.1%} of cases: "
        see_conflicts = Advice(Kind.SEE_CONFLICTS, name)
        advice.append(
            Sentence(problem, f"{bound.claim.remedy}, or ", see_conflicts, ".")
        )
    if check is not None and check.data_violation:
        problem = f"Data rows break rule {name!r}: "
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
            f"Rule {name!r} is broken in {check.violation:.1%} of cases although draws "
            "were moved: give the projection more rounds ("
        )
        remedy = (
            "), or the network more units; or correct the rule, if it contradicts "
            "another one."
        )
        advice.append(Sentence(problem, Kind.MORE_ROUNDS, remedy))
    if check is not None and check.data_violation:
        advice.append(
            f"Data rows break rule {name!r}, and draws were moved away from them: see "
            "by how much under Projection, and correct the rows or the rule."
        )
    return advice


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _scales(scales: Any) -> str:
    """Inputs with scales of their own; empty for most models."""
    return "".join(
        f", {name} from {float(origin):g} in steps of {float(step):g}"
        for name, (origin, step) in (scales or {}).items()
    )
