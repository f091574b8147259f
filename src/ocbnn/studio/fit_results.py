"""Results of fits, as plain values and in the page's words."""

from typing import Any

from ocbnn.analysis.conflict_page import HeldOut
from ocbnn.analysis.projected_rules import left_out
from ocbnn.core.page import block
from ocbnn.core.sentences import spelled
from ocbnn.core.words import share
from ocbnn.errors import OcbnnError
from ocbnn.estimators import certify
from ocbnn.projects.build import Model
from ocbnn.projects.fitting import Outcome
from ocbnn.projects.folder import RunFolder
from ocbnn.projects.predictions import load_model
from ocbnn.studio.page_advice import message, on_page
from ocbnn.studio.report import rows_in_words
from ocbnn.studio.sessions import Session

# Proofs are a bonus, so they get only as many boxes as take a moment.
_PROVED_BOXES = 512
# Largest array of log likelihoods (draws x rows) in memory.
_ROOM = 2**25


def fit_result(outcome: Outcome) -> dict[str, Any]:
    """The result of one fit whose report is already in the page's words."""
    document = outcome.document
    report, scores = document["report"], document["scores"]
    verdict = report["verdict"]
    rules = [
        {
            "rule": rule["rule"],
            "text": rule["text"],
            "violation": (rule["check"] or {}).get("violation"),
            "sentence": " ".join(rule.get("advice") or ()),
        }
        for rule in report["rules"].values()
    ]
    return {
        "verdict": {key: verdict[key] for key in ("status", "sentences")},
        "rules": rules,
        "scores": _numbers(scores["outputs"]),
        "seconds": report["fitted"].get("seconds"),
        "text": outcome.summary,
        "rows": rows_in_words({**document["rows"], "scored": scores["rows"]}),
    }


def broken_without(session: Session) -> list[dict[str, Any]]:
    """How far the fit without rules violates the rules."""
    model, bare = _models(session)
    return [
        {"rule": check.rule, "violation": check.violation, "sentence": ""}
        for check in bare.check_rules(rules=model)
    ]


def conflicts(session: Session) -> str:
    """comparing rules with the data"""  # noqa: D400, D403 (shown as a stage)
    model, bare = _models(session)
    try:
        return conflicts_between(model, bare)
    except OcbnnError as error:
        return message(error)


def conflicts_between(model: Model, bare: Model) -> str:
    """Whether rules and data conflict, also by comparison with the fit without rules.

    With a single rule, the fit without rules is the refit without that rule.
    """
    rules = model.fitted_.terms
    if len(rules) == 1:
        model.fitted_.second_fits[rules[0].bound.name] = bare.draws_
    report = model.conflicts(refit=len(rules) == 1)
    blocks = [
        block(
            f"{conflict.rule}: {conflict.status}",
            spelled(conflict.sentences(), on_page),
        )
        for conflict in report
    ]
    if len(rules) > 1:
        blocks.append(block("All rules together", [_together(model, bare)]))
    return "\n\n".join(blocks)


def certificates(session: Session) -> list[dict[str, Any]]:
    """proving rules where possible"""  # noqa: D400, D403 (shown as a stage)
    model = load_model(RunFolder(session.run("with")).model)
    certificate = certify(model, boxes=_PROVED_BOXES, progress=False)
    proved = [
        {
            "rule": rule.rule,
            "holds": rule.holds,
            "broken": rule.broken,
            "undecided": rule.undecided,
            "sentence": f"{share(rule.holds)} of {len(rule.draws)} draws are proved to "
            "keep it at every input."
            + " Stopped before all were decided."
            * rule.stopped,
        }
        for rule in certificate.rules
    ]
    skipped = [
        {"rule": name, "holds": None, "broken": None, "undecided": None, "sentence": s}
        for name, s in certificate.skipped.items()
    ]
    return proved + skipped


def _models(session: Session) -> tuple[Model, Model]:
    """The fits with rules and without."""
    model, bare = (
        load_model(RunFolder(session.run(which)).model) for which in ("with", "without")
    )
    return model, bare


def _together(model: Model, bare: Model) -> str:
    """What all rules together do to leave-one-out predictions."""
    draws = max(200, _ROOM // max(1, len(model.fitted_.rows)))
    with_rules, without = (left_out(fit.fitted_, draws) for fit in (model, bare))
    held_out = HeldOut.between(with_rules, without, "refitted", draws)
    size = f"{abs(held_out.change):.2g} ± {held_out.error:.2g}"
    sentence = (
        f"Held-out log likelihood is the same with and without them ({size} apart)."
    )
    if held_out.is_worse:
        sentence = f"Held-out log likelihood is {size} lower with them than without."
    if held_out.is_better:
        sentence = f"Held-out log likelihood is {size} higher with them: they help."
    return sentence + (" That is rough." if held_out.rough > 0.1 else "")


def _numbers(outputs: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Every score by name, with the output's name if there are several."""
    is_single = len(outputs) == 1
    return {
        name if is_single else f"{output} {name}": value
        for output, scores in outputs.items()
        for name, value in scores.items()
        if value is not None
    }
