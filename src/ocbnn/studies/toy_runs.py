"""Runs of a synthetic problem, with rules and without: figure and numbers."""

import dataclasses
import time
from typing import Any

from ocbnn.estimators import OCBNNClassifier, OCBNNRegressor
from ocbnn.inference import Plan
from ocbnn.studies.base import (
    Headline,
    Outcome,
    Request,
    Result,
    Study,
    finished,
    models,
)
from ocbnn.studies.figures import draw_toy
from ocbnn.studies.measures import measure
from ocbnn.studies.tables import Table, number
from ocbnn.studies.toys import Toy, smaller

Model = OCBNNRegressor | OCBNNClassifier

_ROWS = {
    "train_rmse": "training RMSE",
    "train_accuracy": "training accuracy",
    "violation": "violation",
    "draws_violating": "draws violating",
    "allowed_probability": "probability of the allowed classes",
    "in_region_sd": "spread of the function in the regions",
    "modes": "modes",
    "modes_by_run": "modes, run by run",
    "rhat_max": "R-hat, largest",
    "ess_min": "effective sample size, least",
    "ess_median": "effective sample size, median",
    "acceptance": "acceptance",
    "log_evidence": "log evidence, run by run",
    "seconds": "seconds",
}
_HEADS = {"bnn": "BNN", "ocbnn": "OC-BNN"}


class ToyStudy(Study):
    """One of the six synthetic figures."""

    def __init__(self, toy: Toy) -> None:
        self.toy, self.name = toy, toy.name

    def run(self, request: Request) -> Outcome:
        """Fit both models; on bimodal problems also with the paper's inference."""
        toy, started = self.toy, time.monotonic()
        plan = _sized(toy.plans[request.preset], request.quick)
        bnn = fit_toy(toy, plan, request, with_rules=False)
        ocbnn = fit_toy(toy, plan, request, with_rules=True)
        numbers: Result = {
            "paper": {"figure": toy.figure, "claim": toy.claim},
            "rules": [str(rule) for rule in toy.rules_of(request.preset)],
            "remark": toy.remark,
            "models": {"bnn": measure(toy, bnn), "ocbnn": measure(toy, ocbnn)},
        }
        other = None
        if toy.modes is not None and request.preset == "best":
            # Also the paper's inference, because here the results differ.
            svgd = _sized(toy.plans["paper"], request.quick)
            paper_request = dataclasses.replace(request, preset="paper")
            other = fit_toy(toy, svgd, paper_request, with_rules=True)
            numbers["paper_inference"] = measure(toy, other)
        fitted = time.monotonic() - started
        figures = {toy.name: draw_toy(toy, bnn, ocbnn, other)}
        return Outcome(numbers, figures, fitted)

    def tables(self, result: Result) -> list[Table]:
        """All numbers of both models, and of the paper's inference if it ran."""
        shown = dict(zip(_HEADS.values(), models(result), strict=True))
        if "paper_inference" in result:
            shown["OC-BNN, the paper's inference"] = result["paper_inference"]
        rows = tuple(
            (label, *(number(numbers.get(key)) for numbers in shown.values()))
            for key, label in _ROWS.items()
            if any(numbers.get(key) is not None for numbers in shown.values())
        )
        return [Table(f"{self.name}: {self.toy.figure}", ("", *shown), rows)]

    def headline(self, result: Result) -> Headline:
        """Violation of both models, and mixing of the one with rules."""
        base, ours = models(result)
        return Headline(
            base["violation"], ours["violation"], ours["rhat_max"], ours["ess_min"]
        )

    def line(self, result: Result) -> str:
        """Violation without and with rules, and the cost in accuracy."""
        base, ours = models(result)
        line = f"violation {base['violation']:.4g} -> {ours['violation']:.4g}"
        if "train_rmse" in ours:
            before, after = base["train_rmse"], ours["train_rmse"]
            line += f", training RMSE {before:.3g} -> {after:.3g}"
        if "allowed_probability" in ours:
            line += f", allowed class {ours['allowed_probability']:.3f}"
        if ours.get("modes"):
            shares = ", ".join(f"{k} {v:.0%}" for k, v in ours["modes"].items())
            line += f", modes {shares}"
        return line


def fit_toy(toy: Toy, plan: Plan, request: Request, *, with_rules: bool) -> Model:
    """Fit one model of a study, with or without its rules."""
    settings: dict[str, Any] = {
        "rules": toy.rules_of(request.preset) if with_rules else (),
        "hidden": (10,),
        "activation": "rbf",
        "weight_prior": "isotropic",
        "weight_scale": 1.0,
        "standardize": False,
        "inference": plan,
        "random_state": request.seed,
        "progress": request.progress,
    }
    model = (
        OCBNNClassifier(**settings)
        if toy.is_classification
        else OCBNNRegressor(**settings, noise=0.1)
    )
    model.fit(toy.X, toy.y)
    return finished(model)


def _sized(plan: Plan, quick: bool) -> Plan:
    return smaller(plan) if quick else plan
