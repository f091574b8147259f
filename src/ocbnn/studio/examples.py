"""Example studies: the paper's six figures and its two applications."""

import csv
import dataclasses
import io
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ocbnn.datasets.clinical import FEATURES, clinical_windows, impute
from ocbnn.inference import PLANS, Plan
from ocbnn.studies.clinical import SETTINGS
from ocbnn.studies.motion_problem import limits_rule, load_motions, make_problem
from ocbnn.studies.toys import TOYS, Toy
from ocbnn.studio.document import (
    RULE_COLOURS,
    DataChoice,
    Document,
    RuleLine,
    View,
)

_TABLE = "data.csv"
_SMALL = {"hidden": [10], "weight_prior": "isotropic", "standardize": False}


@dataclasses.dataclass(frozen=True)
class Example:
    """A study with its table, made on demand.

    Attributes
    ----------
    name
        Its name in addresses.
    title
        Its name for people.
    about
        What it shows.
    make
        Makes its document and its table.
    """

    name: str
    title: str
    about: str
    make: Callable[[], tuple[Document, bytes]]


def _toy(toy: Toy) -> tuple[Document, bytes]:
    inputs = ["x"] if toy.X.shape[1] == 1 else ["x0", "x1"]
    (xlim, ylim), labels = toy.view, list(toy.y)
    ranges: dict[str, tuple[float, float]] = {inputs[0]: xlim}
    ranges[inputs[1] if toy.is_classification else "y"] = ylim
    fit: dict[str, Any] = {"seed": 0}
    if not toy.is_classification:
        fit["noise"] = 0.1
    task = "classification" if toy.is_classification else "regression"
    document = Document(
        title=toy.name,
        data=DataChoice(
            file=_TABLE,
            inputs=inputs,
            output=["y"],
            task=task,
        ),
        rules=_lines(map(str, toy.rules), task),
        network=_SMALL,
        inference=_plan_settings(toy.plans["best"]),
        fit=fit,
        view=View(along=inputs, ranges=ranges),
    )
    rows = [[*row, label] for row, label in zip(toy.X.tolist(), labels, strict=True)]
    return document, _csv([*inputs, "y"], rows)


def _clinical() -> tuple[Document, bytes]:
    table = clinical_windows(None)
    (X,) = impute(table.X)
    document = Document(
        title="clinical action",
        data=DataChoice(
            file=_TABLE, inputs=list(FEATURES), output=["action"], task="classification"
        ),
        rules=_lines([SETTINGS["best"].rule], "classification"),
        network={"hidden": [50]},
        inference={"algorithm": "svgd", "particles": 50, "iterations": 500},
        view=View(along=["mean_bp"]),
    )
    rows = [[*row, label] for row, label in zip(X.tolist(), table.y, strict=True)]
    return document, _csv([*FEATURES, "action"], rows)


def _motion() -> tuple[Document, bytes]:
    problem = make_problem(load_motions(), 0)
    X, Y = problem.train.X, problem.train.Y
    # The same angles are inputs now and outputs later.
    inputs = [
        f"{name}_now" if name in problem.joints else name
        for name in problem.train.inputs
    ]
    rule = limits_rule(problem, "points=50")
    document = Document(
        title="human motion",
        data=DataChoice(
            file=_TABLE, inputs=inputs, output=list(problem.joints), task="regression"
        ),
        rules=_lines([str(rule)], "regression"),
        network={"hidden": [50]},
        inference={"algorithm": "svgd", "particles": 50, "iterations": 500},
        view=View(along=inputs[:1]),
    )
    rows = [[*row, *out] for row, out in zip(X.tolist(), Y.tolist(), strict=True)]
    return document, _csv([*inputs, *problem.joints], rows)


EXAMPLES = {
    example.name: example
    for example in (
        *(
            Example(toy.name, toy.figure, toy.claim, lambda toy=toy: _toy(toy))
            for toy in TOYS.values()
        ),
        Example(
            "clinical",
            "Clinical action",
            "low blood pressure means that something must be done",
            _clinical,
        ),
        Example(
            "motion", "Human motion", "joints turn only so far, at every input", _motion
        ),
    )
}


def _lines(texts: Iterable[str], task: str) -> list[RuleLine]:
    colours = itertools.cycle(RULE_COLOURS[task])
    return [
        RuleLine(id=f"r{i + 1}", text=text.strip(), colour=colour)
        for i, (text, colour) in enumerate(zip(texts, colours, strict=False))
    ]


def _plan_settings(plan: Plan) -> dict[str, Any]:
    """A plan as study files write it: the settings that differ from the defaults."""
    name = next(name for name, kind in PLANS.items() if kind is type(plan))
    defaults = {f.name: f.default for f in dataclasses.fields(plan)}
    settings = {key: getattr(plan, key) for key in defaults}
    changed = {k: v for k, v in settings.items() if v != defaults[k] and v is not None}
    return {"algorithm": name, **changed}


def _csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue().encode()
