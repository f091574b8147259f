"""One rule held in three ways, and what can be proved about each.

The same data, rule and network, with the rule soft, firm and hard: one figure for each,
and a fourth for a proof. Then certificates for the paper's synthetic problems, and
around test rows of human motion.
"""

import time
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ocbnn.certificates.certificate import RuleCertificate
from ocbnn.errors import InferenceWarning
from ocbnn.estimators import OCBNNClassifier, OCBNNRegressor, certify
from ocbnn.inference import NUTS, SVGD
from ocbnn.language.intervals import Interval
from ocbnn.networks.mlp import MLP, Layer
from ocbnn.plots.shading import shade_rules
from ocbnn.plots.style import BLUE, GREY, HUES, INK, RED, figure, legend, tidy
from ocbnn.proofs.bounds import Functionals, bound_network
from ocbnn.proofs.search import HOLDS, leaves
from ocbnn.proofs.shapes import SHAPES
from ocbnn.studies.base import Headline, Outcome, Request, Result, Study, finished
from ocbnn.studies.motion_problem import limits_rule, load_motions, make_problem
from ocbnn.studies.tables import Table, number
from ocbnn.studies.toy_runs import fit_toy
from ocbnn.studies.toys import TOYS, smaller

_X = np.concatenate([np.linspace(-2.0, -0.6, 8), np.linspace(0.9, 2.0, 6)])[:, None]
_Y = 0.5 + np.cos(1.2 * _X[:, 0])
_RULE = "cap: if -0.5 <= x <= 0.8 then y <= 1.25 [points=4, strength={}]"
_STRENGTHS = {"soft": "20", "firm": "firm", "hard": "hard"}
_PLAN = NUTS(chains=2, warmup=400, draws=200, max_depth=8)
_GRID = np.linspace(-2.2, 2.2, 441)
_VIEW = (-0.4, 1.8)
_ORANGE = HUES[1]
# Desired number of boxes in the proof that is shown.
_BOXES = 15
# Tolerance of a measured joint angle.
_TOLERANCE = np.deg2rad(2.0)
_LABELS = {
    "holds": "holds",
    "broken": "broken",
    "undecided": "undecided",
    "probability": "a new draw holds, at least",
    "boxes": "boxes a draw",
    "seconds": "seconds",
}


class SureStudy(Study):
    """Soft, firm, hard and certified on one problem, and certificates of others."""

    name = "sure"

    def run(self, request: Request) -> Outcome:
        """Fit three models, certify them, and draw the figures."""
        started = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InferenceWarning)
            models = {
                strictness: _fit(strictness, request) for strictness in _STRENGTHS
            }
            proved = {
                strictness: _proved(model)[0] for strictness, model in models.items()
            }
            toys = {} if request.quick else _toys(request)
            motion = {} if request.quick else {"motion": _motion(request)}
        fitted = time.monotonic() - started
        fitted_ = {
            strictness: {**_numbers(proved[strictness]), "train_rmse": _error(model)}
            for strictness, model in models.items()
        }
        numbers: Result = {
            "paper": {"figure": "not in the paper", "claim": ""},
            "remark": "One rule held in three ways, and what can be proved of each.",
            "rules": [_RULE.format(strength) for strength in _STRENGTHS.values()],
            "models": {"bnn": {}, "ocbnn": {**fitted_, **toys, **motion}},
        }
        figures = {
            "sure-soft": _draws(models["soft"], proved["soft"]),
            "sure-firm": _draws(models["firm"], proved["firm"]),
            "sure-hard": _predictions(models["hard"], models["soft"]),
            "sure-certified": _proof(models["soft"], proved["soft"]),
        }
        return Outcome(numbers, figures, fitted)

    def tables(self, result: Result) -> list[Table]:
        """The certificates of every model."""
        rows = tuple(
            (name, *(number(numbers.get(key)) for key in _LABELS))
            for name, numbers in result["models"]["ocbnn"].items()
        )
        return [Table("sure: what was proved", ("", *_LABELS.values()), rows)]

    def headline(self, result: Result) -> Headline:
        """The share of draws that violate the rule somewhere, soft and firm."""
        soft, firm = (
            result["models"]["ocbnn"][strictness] for strictness in ("soft", "firm")
        )
        return Headline(soft["broken"], firm["broken"])

    def line(self, result: Result) -> str:
        """The share of draws proved to keep the rule, for each strength."""
        models = result["models"]["ocbnn"]
        shares = (
            f"{strictness} {models[strictness]['holds']:.0%}"
            for strictness in _STRENGTHS
        )
        return "draws proved to keep the rule everywhere: " + ", ".join(shares)


def _fit(strictness: str, request: Request) -> OCBNNRegressor:
    model = OCBNNRegressor(
        _RULE.format(_STRENGTHS[strictness]),
        hidden=(10,),
        weight_prior="fan-in",
        noise=0.05,
        inference=smaller(_PLAN) if request.quick else _PLAN,
        random_state=request.seed,
        progress=request.progress,
    )
    return finished(model.fit(_X, _Y))


def _numbers(certificate: RuleCertificate) -> Result:
    numbers = {
        **certificate.to_dict(),
        "boxes": certificate.boxes / certificate.status.size,
    }
    return {key: numbers[key] for key in (*_LABELS, "draws", "decided_places")}


def _error(model: OCBNNRegressor) -> float:
    return float(np.sqrt(np.mean((model.predict(_X) - _Y) ** 2)))


def _toys(request: Request) -> Result:
    """Certificates for the paper's synthetic problems."""
    numbers = {}
    for toy in TOYS.values():
        plan = smaller(toy.plans[request.preset])
        model = fit_toy(toy, plan, request, with_rules=True)
        for rule in _proved(model):
            name = toy.name if len(toy.rules) == 1 else f"{toy.name}: {rule.rule}"
            numbers[name] = _numbers(rule)
    return numbers


def _motion(request: Request) -> Result:
    """Certificates around test states, with a tolerance of two degrees."""
    problem = make_problem(load_motions(), request.seed)
    model = OCBNNRegressor(
        limits_rule(problem, "points=50"),
        outputs=problem.joints,
        hidden=(100, 100),
        weight_prior="fan-in",
        inference=SVGD(particles=50, iterations=1000),
        random_state=request.seed,
        progress=request.progress,
    ).fit(problem.train.X, problem.train.Y)
    certificates = _proved(finished(model), at=problem.test.X, tolerance=_TOLERANCE)
    return _numbers(certificates[0])


def _proved(
    model: OCBNNRegressor | OCBNNClassifier, **where: Any
) -> tuple[RuleCertificate, ...]:
    certificate = certify(model, draws="all", **where)
    if certificate.stopped:
        raise KeyboardInterrupt("stopped while proving")
    return certificate.rules


def _axes(model: OCBNNRegressor) -> tuple[Figure, Axes]:
    fig = figure(5.2, 3.4)
    ax = fig.add_subplot()
    ax.set(xlim=(-2.2, 2.2), ylim=_VIEW)
    ax.plot(_X[:, 0], _Y, "o", color=INK, markersize=4, zorder=4, label="data")
    shade_rules(ax, model.rules_, (-2.2, 2.2), _VIEW, with_legend=False)
    return fig, ax


def _draws(model: OCBNNRegressor, certificate: RuleCertificate) -> Figure:
    """Functions that keep the rule everywhere, and functions that do not."""
    fig, ax = _axes(model)
    values = model.fitted_.predictive.functions(_GRID[:, None])[..., 0]
    kept = certificate.status[0] == HOLDS
    for rows, color, width, title in (
        (kept, BLUE, 0.5, "draws proved to keep the rule"),
        (~kept, _ORANGE, 0.8, "draws that break it somewhere"),
    ):
        selected = values[np.array(certificate.draws)[rows]][::8]
        lines = [np.column_stack([_GRID, curve]) for curve in selected]
        label = f"{title}: {rows.mean():.0%}"
        ax.add_collection(
            LineCollection(lines, colors=color, linewidths=width, alpha=0.6)
        )
        ax.plot([], [], color=color, label=label)
    tidy(ax, ("x", "y"))
    legend(ax)
    return fig


def _predictions(model: OCBNNRegressor, soft: OCBNNRegressor) -> Figure:
    """Intervals of a new observation, with the rule hard and soft."""
    fig, ax = _axes(model)
    summary = model.predict_summary(_GRID[:, None])
    ax.fill_between(_GRID, summary.lower, summary.upper, color=BLUE, alpha=0.25, lw=0)
    ax.plot(_GRID, summary.mean, color=BLUE, label="hard: mean and 95 % interval")
    soft_summary = soft.predict_summary(_GRID[:, None])
    dashes = {"color": GREY, "linestyle": "--", "linewidth": 1.0}
    ax.plot(_GRID, soft_summary.upper, **dashes, label="soft: the same interval")
    ax.plot(_GRID, soft_summary.lower, **dashes)
    tidy(ax, ("x", "y"))
    legend(ax)
    return fig


def _proof(model: OCBNNRegressor, certificate: RuleCertificate) -> Figure:
    """The boxes that prove one draw, and the input that refutes another."""
    fig, ax = _axes(model)
    ax.set(xlim=(-0.9, 1.1), ylim=(0.75, 1.45))
    # A draw whose proof has several boxes, but not too many to see.
    sizes = {draw: len(axes) for (_, draw), axes in certificate.splits.items()}
    draw = min(sizes, key=lambda number: abs(sizes[number] - _BOXES))
    values = model.fitted_.predictive.functions(_GRID[:, None])[..., 0]
    ax.plot(_GRID, values[draw], color=BLUE, lw=1.2, label="a draw, proved to keep it")
    place = certificate.places[0]
    boxes = leaves(
        certificate.splits[0, draw], np.array(place.low), np.array(place.high)
    )
    for low, high in zip(*boxes, strict=True):
        least, most = _bounds(model, draw, low, high)
        box = (low[0], least), high[0] - low[0], most - least
        ax.add_patch(Rectangle(*box, fill=False, edgecolor=BLUE, lw=0.8))
    ax.plot([], [], "s", color=BLUE, mfc="none", label="bounds that prove it")
    if certificate.counterexamples:
        example = max(certificate.counterexamples, key=lambda broken: broken.y[0])
        ax.plot(
            _GRID, values[example.draw], color=_ORANGE, lw=1.2, label="another draw"
        )
        where = (example.x[0], example.y[0])
        ax.plot(*where, "X", color=RED, ms=8, zorder=5, label="where it breaks it")
    tidy(ax, ("x", "y"))
    legend(ax)
    return fig


def _bounds(
    model: OCBNNRegressor, draw: int, low: np.ndarray, high: np.ndarray
) -> tuple:
    """Bounds on a draw's output over an interval, in the user's units."""
    predictive = model.fitted_.predictive
    units, network = predictive.units, predictive.network
    assert units is not None
    assert isinstance(network, MLP)
    with jax.enable_x64(True):
        double = lambda a: jnp.asarray(np.asarray(a)[draw], jnp.float64)
        weights = tuple(
            Layer(*map(double, layer)) for layer in predictive.draws.weights
        )
        box = Interval(
            *(jnp.asarray(units.standard_inputs(end)) for end in (low, high))
        )
        zero = jnp.zeros(1)
        functionals = Functionals(jnp.ones((1, 1)), jnp.zeros((1, 1)), zero, zero)
        shape = SHAPES[network.activation]
        bounds = bound_network(weights, shape, box, functionals).range
        ends = [units.outputs(np.asarray(end))[0] for end in bounds]
    return ends[0], ends[1]
