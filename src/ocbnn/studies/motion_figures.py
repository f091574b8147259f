"""Figure 3: the predictions of both models for one joint, and for a whole reach."""

import dataclasses
import time
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import norm

from ocbnn.datasets.motion import SENSOR_SD, Motions, States, make_states
from ocbnn.estimators import OCBNNRegressor
from ocbnn.metrics import mass_outside
from ocbnn.plots.style import (
    BASELINE,
    CONSTRAINED,
    HATCHES,
    INK,
    RED,
    SMALL,
    TEXT,
    Look,
    figure,
    legend,
    tidy,
)
from ocbnn.predictive.truncated import log_mass
from ocbnn.studies.motion import (
    Models,
    Numbers,
    fit_models,
    measure,
    preset_rule,
    split_seed,
)
from ocbnn.studies.motion_problem import (
    HORIZON,
    Problem,
    load_motions,
    make_problem,
)

JOINT = "rShoulderZ"
POINTS, APART = 5, 10
_LOOKS: dict[str, Look] = {"bnn": BASELINE, "ocbnn": CONSTRAINED}
_NAMES = {
    "rShoulderZ": "right shoulder flexion\nrShoulderZ [rad]",
    "rShoulderY": "right shoulder abduction\nrShoulderY [rad]",
}
_GRID = 600
_LEVEL = 0.95


@dataclasses.dataclass(frozen=True, eq=False)
class Scene:
    """One test reach, and the five of its frames that the figure shows."""

    problem: Problem
    models: Models
    name: str
    states: States
    rows: np.ndarray

    @property
    def seconds(self) -> np.ndarray:
        """The time of each target, from the start of the reach."""
        return (self.states.frame + HORIZON) / self.problem.motions.frame_rate


def run_fig3(
    preset: str,
    seed: int,
    quick: bool,
    progress: object,
    data: str | Path | None = None,
) -> tuple[Numbers, dict[str, Figure]]:
    """Figure 3 and a whole reach, with the numbers that they show."""
    problem = make_problem(load_motions(data), split_seed(seed, 0))
    started = time.monotonic()
    models = fit_models(problem, preset, seed, quick=quick, progress=progress)
    seconds = time.monotonic() - started
    scene = choose_scene(problem, models, seed)
    figures = {"fig3": draw_densities(scene), "fig3-reach": draw_reach(scene)}
    return {**_numbers(scene, preset), "seconds": {"fit": seconds}}, figures


def choose_scene(problem: Problem, models: Models, seed: int) -> Scene:
    """The five test points, ten frames apart, at which the baseline is most wrong.

    There it predicts with the highest probability that the joint is beyond its limits;
    elsewhere the two models hardly differ.
    """
    column = problem.joints.index(JOINT)
    largest, scene = -1.0, None
    for number, reach in enumerate(problem.motions.reaches):
        motion = dataclasses.replace(problem.motions, reaches=(reach,))
        states = sensed_states(motion, seed, number)
        outside = _outside(models["bnn"], problem, states, column)
        starts = np.arange(len(outside) - (POINTS - 1) * APART)
        rows = starts[:, None] + APART * np.arange(POINTS)
        total = outside[rows].sum(axis=1)
        if total.max() > largest:
            largest = float(total.max())
            scene = Scene(problem, models, reach.name, states, rows[total.argmax()])
    assert scene is not None  # there is at least one test reach
    return scene


def sensed_states(motion: Motions, seed: int, number: int) -> States:
    """Every frame of a test reach, with the sensor's error."""
    rng = np.random.default_rng([seed, 2, number])
    return make_states(motion, horizon=HORIZON, stride=1, noise_sd=SENSOR_SD, rng=rng)


def density(
    model: OCBNNRegressor, x: np.ndarray, column: int, angles: np.ndarray
) -> np.ndarray:
    """The predictive density of one angle at one state, over a grid of angles."""
    values = model.sample_functions(x[None], model.draws_.size)[:, 0, column, None]
    sd = model.sample_noise(x[None], model.draws_.size)[:, 0, column, None]
    heights = norm.pdf(angles[None], values, sd)
    if model.limits_ is not None:
        low, high = (ends[column : column + 1] for ends in model.limits_)
        inside = (angles >= low) & (angles <= high)
        heights = inside * heights / np.exp(log_mass(low, high, values, sd))
    return heights.mean(axis=0)


def _outside(
    model: OCBNNRegressor, problem: Problem, states: States, column: int
) -> np.ndarray:
    """The probability, state by state, that one angle is beyond its limits."""
    selected = slice(column, column + 1)
    select = lambda ends: (ends[0][selected], ends[1][selected])
    values = model.sample_functions(states.X, model.draws_.size)[..., selected]
    noise = model.sample_noise(states.X, model.draws_.size)[..., selected]
    model_limits = None if model.limits_ is None else select(model.limits_)
    return mass_outside(values, noise, select(problem.limits), model_limits)


def _numbers(scene: Scene, preset: str) -> Numbers:
    problem, column = scene.problem, scene.problem.joints.index(JOINT)
    models: Numbers = {}
    for name, model in scene.models.items():
        mean, sd = model.predict(scene.states.X[scene.rows], return_std=True)
        outside = _outside(model, problem, scene.states, column)
        models[name] = {
            "mean": mean[:, column].tolist(),
            "sd": sd[:, column].tolist(),
            "outside": (100 * outside[scene.rows]).tolist(),
            "train": measure(model, problem, problem.train),
            "test": measure(model, problem, problem.test),
            "verdict": str(model.verdict_),
        }
    return {
        "models": models,
        "joint": JOINT,
        "reach": scene.name,
        "frames": scene.states.frame[scene.rows].tolist(),
        "truth": scene.states.Y[scene.rows, column].tolist(),
        "limits": [float(ends[column]) for ends in problem.limits],
        "paper": {
            "figure": "Figure 3",
            "claim": "predictions of an OC-BNN stay within the joint's limits",
        },
        "rules": [str(preset_rule(problem, preset))],
        "remark": "The five points are those at which the baseline expects the joint "
        "to be beyond its limits with most probability.",
    }


def draw_densities(scene: Scene) -> Figure:
    """Predictive densities along the angle's axis, at five points ten frames apart."""
    problem, column = scene.problem, scene.problem.joints.index(JOINT)
    low, high = (float(ends[column]) for ends in problem.limits)
    truth = scene.states.Y[scene.rows, column]
    reach = 0.2 * (high - low)
    angles = np.linspace(low - reach, high + reach, _GRID)
    fig = figure(7.2, 4.2)
    ax = fig.add_subplot()
    curves = {
        name: [density(model, x, column, angles) for x in scene.states.X[scene.rows]]
        for name, model in scene.models.items()
    }
    # One scale for all curves, so that equal areas mean equal probabilities.
    tallest = max(curve.max() for heights in curves.values() for curve in heights)
    for name, heights in curves.items():
        for place, curve in enumerate(heights):
            _draw_density(ax, place, curve / tallest, angles, _LOOKS[name])
    places = np.arange(POINTS)
    ax.plot(places, truth, "o", color=INK, ms=5, label="what the arm did", zorder=6)
    _draw_limits(ax, low, high)
    shown = np.concatenate([truth, *_visible(curves, angles)])
    margin = 0.06 * (high - low)
    ax.set_ylim(
        max(angles[0], min(shown.min(), low) - margin),
        min(angles[-1], shown.max() + margin),
    )
    ax.set_xlim(-0.25, POINTS)
    ax.set_xticks(places, [f"{t:.2f} s" for t in scene.seconds[scene.rows]])
    ax.set_title(
        f"Predicted {HORIZON} frames ahead, five points of {scene.name}", fontsize=TEXT
    )
    tidy(ax, ("time in the reach", _NAMES[JOINT]))
    legend(ax)
    return fig


def _draw_density(
    ax: Axes, place: int, heights: np.ndarray, angles: np.ndarray, look: Look
) -> None:
    width = place + 0.8 * heights
    visible = heights > 1e-3
    ax.fill_betweenx(
        angles, place, width, where=visible, color=look["color"], alpha=0.22, lw=0
    )
    ax.plot(
        np.where(visible, width, np.nan),
        angles,
        color=look["color"],
        ls=look["linestyle"],
        lw=1.6,
        label=look["label"],
    )


def _visible(curves: dict[str, list[np.ndarray]], angles: np.ndarray) -> list:
    return [
        angles[curve > 0.02 * curve.max()] for each in curves.values() for curve in each
    ]


def _draw_limits(ax: Axes, low: float, high: float) -> None:
    for edge, beyond in ((low, low - 10.0), (high, high + 10.0)):
        ax.axhline(edge, color=RED, lw=1.2)
        ax.axhspan(
            min(edge, beyond),
            max(edge, beyond),
            facecolor="none",
            edgecolor=RED,
            hatch=HATCHES[0],
            alpha=0.35,
            lw=0,
            label="beyond the limits",
        )


def draw_reach(scene: Scene) -> Figure:
    """A whole test reach: predicted means, their intervals, and the truth."""
    fig = figure(7.2, 5.6)
    axes = fig.subplots(2, 1, sharex=True)
    for ax, joint in zip(axes, ("rShoulderY", JOINT), strict=True):
        column = scene.problem.joints.index(joint)
        shown = [scene.states.Y[:, column]]
        for name, model in scene.models.items():
            ends = model.predict_interval(scene.states.X, _LEVEL)
            shown += [_draw_band(ax, scene, model, column, ends, _LOOKS[name])]
        ax.plot(
            scene.seconds,
            scene.states.Y[:, column],
            color=INK,
            lw=1.4,
            ls=":",
            label="what the arm did",
            zorder=6,
        )
        low, high = (float(ends[column]) for ends in scene.problem.limits)
        _draw_limits(ax, low, high)
        values = np.concatenate(shown)
        margin = 0.08 * np.ptp(values)
        ax.set_ylim(min(values.min(), low) - margin, values.max() + margin)
        tidy(ax, ("", _NAMES[joint]))
    axes[0].set_title(
        f"{scene.name}, predicted {HORIZON} frames ahead: means and "
        f"{_LEVEL:.0%} intervals",
        fontsize=TEXT,
    )
    axes[1].set_xlabel("time in the reach [s]", fontsize=TEXT)
    axes[1].tick_params(labelsize=SMALL)
    legend(axes[1])
    return fig


def _draw_band(
    ax: Axes,
    scene: Scene,
    model: OCBNNRegressor,
    column: int,
    ends: tuple[np.ndarray, np.ndarray],
    look: Look,
) -> np.ndarray:
    low, high = (end[:, column] for end in ends)
    mean = model.predict(scene.states.X)[:, column]
    color, style = look["color"], look["linestyle"]
    if look is CONSTRAINED:
        ax.fill_between(scene.seconds, low, high, color=color, alpha=0.25, lw=0)
    else:
        # Two overlapping filled bands would be indistinguishable.
        for end in (low, high):
            ax.plot(scene.seconds, end, color=color, ls=style, lw=0.9, zorder=4)
    ax.plot(scene.seconds, mean, color=color, ls=style, label=look["label"])
    return np.concatenate([low, high])
