"""What fits have found, as plain values and in the words of the page."""

from typing import Any

import numpy as np

from ocbnn.core.errors import OcbnnError
from ocbnn.estimators import certify
from ocbnn.estimators.conflict import HeldOut
from ocbnn.estimators.page import block
from ocbnn.metrics.loo import leave_one_out
from ocbnn.metrics.psis import trust_limit
from ocbnn.predictive.pointwise import pointwise_log_likelihood
from ocbnn.projects.fitting import Outcome
from ocbnn.projects.folder import RunFolder
from ocbnn.projects.predicting import load_model
from ocbnn.studio.report import rows_in_words
from ocbnn.studio.sessions import Session
from ocbnn.studio.wording import in_page_words

# Proofs are a bonus: as many boxes as take a moment.
_PROVED_BOXES = 512
# Log likelihoods held at a time, (draws, rows).
_ROOM = 2**25


def found_by(outcome: Outcome) -> dict[str, Any]:
    """What one fit has found."""
    document = outcome.document
    report, scores = document["report"], document["scores"]
    verdict = report["verdict"]
    rules = [
        {
            "rule": one["rule"],
            "text": one["text"],
            "violation": (one["check"] or {}).get("violation"),
            "sentence": in_page_words(" ".join(one.get("advice") or ())),
        }
        for one in report["rules"].values()
    ]
    sentences = [in_page_words(one) for one in verdict["sentences"]]
    return {
        "verdict": {"status": verdict["status"], "sentences": sentences},
        "rules": rules,
        "scores": _numbers(scores["outputs"]),
        "seconds": report["fitted"].get("seconds"),
        "text": in_page_words(outcome.summary),
        "rows": rows_in_words({**document["rows"], "scored": scores["rows"]}),
    }


def broken_without(session: Session) -> list[dict[str, Any]]:
    """How far the rules are broken by the fit that never heard of them."""
    one, other = _models(session)
    return [
        {"rule": check.rule, "violation": check.violation, "sentence": ""}
        for check in other.check_rules(of=one)
    ]


def conflicts(session: Session) -> str:
    """setting rules against the data"""  # noqa: D400, D403, D415 (shown as a stage)
    model, bare = _models(session)
    try:
        return conflicts_between(model, bare)
    except OcbnnError as error:
        return str(error)


def conflicts_between(model: Any, bare: Any) -> str:
    """How rules get on with the data; the fit without them tells what weights cannot.

    Of one rule, the fit without rules is that without the rule.
    """
    rules = model.target_.rules
    if len(rules) == 1:
        model._refits = (model.draws_, {rules[0].bound.name: bare.draws_})
    found = model.conflicts(refit=len(rules) == 1)
    blocks = [
        block(f"{one.rule}: {one.status}", map(in_page_words, one.sentences()))
        for one in found
    ]
    if len(rules) > 1:
        blocks.append(block("All rules together", [_together(model, bare)]))
    return "\n\n".join(blocks)


def certificates(session: Session) -> list[dict[str, Any]]:
    """proving what can be proved"""  # noqa: D400, D403, D415 (shown as a stage)
    model = load_model(RunFolder(session.run("with")).model)
    found = certify(model, boxes=_PROVED_BOXES, progress=False)
    proved = [
        {
            "rule": one.rule,
            "holds": one.holds,
            "broken": one.broken,
            "undecided": one.undecided,
            "sentence": f"{one.holds:.0%} of {len(one.draws)} draws are proved to keep "
            "it at every input." + " Stopped before all were decided." * one.stopped,
        }
        for one in found.rules
    ]
    skipped = [
        {"rule": name, "holds": None, "broken": None, "undecided": None, "sentence": s}
        for name, s in found.skipped.items()
    ]
    return proved + skipped


def _models(session: Session) -> tuple[Any, Any]:
    """The fit with rules, and that without."""
    one, other = (
        load_model(RunFolder(session.run(which)).model) for which in ("with", "without")
    )
    return one, other


def _together(model: Any, bare: Any) -> str:
    """What all rules do to predictions of rows that are left out, one by one."""
    most = max(200, _ROOM // max(1, len(model._X)))
    here, away = (
        leave_one_out(pointwise_log_likelihood(one.target_, one.draws_.thinned(most)))
        for one in (model, bare)
    )
    change = here.rows - away.rows
    error = float(np.sqrt(len(change) * change.var()))
    limit = trust_limit(most)
    rough = float(np.mean((here.pareto_k > limit) | (away.pareto_k > limit)))
    found = HeldOut(float(change.sum()), error, "refitted", rough)
    size = f"{abs(found.change):.2g} ± {found.error:.2g}"
    said = f"Held-out log likelihood is the same with and without them ({size} apart)."
    if found.is_worse:
        said = f"Held-out log likelihood is {size} lower with them than without."
    if found.is_better:
        said = f"Held-out log likelihood is {size} higher with them: they help."
    return said + (" That is rough." if rough > 0.1 else "")


def _numbers(outputs: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Every score by name; those of several outputs are named after them."""
    few = len(outputs) == 1
    return {
        name if few else f"{output} {name}": value
        for output, scores in outputs.items()
        for name, value in scores.items()
        if value is not None
    }
