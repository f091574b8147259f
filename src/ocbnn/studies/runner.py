"""Running studies: fit, measure, draw, and write what was found."""

import json
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ocbnn.core.errors import SettingError
from ocbnn.estimators import OCBNNClassifier, OCBNNRegressor
from ocbnn.inference import Plan
from ocbnn.plots.style import save
from ocbnn.studies.figures import draw_toy
from ocbnn.studies.measures import measure
from ocbnn.studies.report import write_index
from ocbnn.studies.toys import PRESETS, TOYS, Toy, smaller

STUDIES = (*TOYS, "toys", "all")

Model = OCBNNRegressor | OCBNNClassifier
Result = dict[str, Any]


def names_for(name: str) -> list[str]:
    """The single studies that a name stands for."""
    if name in ("toys", "all"):
        return list(TOYS)
    if name in TOYS:
        return [name]
    raise SettingError(
        f"there is no study {name!r}: write one of {', '.join(STUDIES)}."
    )


def reproduce(
    name: str,
    *,
    preset: str = "best",
    seed: int = 0,
    out: Path = Path("results"),
    quick: bool = False,
    progress: object = False,
    say: Callable[[str], None] = lambda _: None,
) -> list[Result]:
    """Run a study, or several, and write results and figures.

    Args:
        name: A study, or `toys` or `all`.
        preset: `paper` for the paper's settings, `best` for what we would advise.
        seed: Decides every random number.
        out: Folder for `NAME/result.json` and the figures.
        quick: A smaller run, said so in the result.
        progress: True, False, "auto" or a reporter.
        say: Called with a line for people after each study.

    Returns:
        The contents of each `result.json`.

    Raises:
        SettingError: No such study or preset.
        KeyboardInterrupt: Stopped; the studies finished before are written.
    """
    if preset not in PRESETS:
        raise SettingError(
            f"there is no preset {preset!r}: write one of {', '.join(PRESETS)}."
        )
    names = names_for(name)
    out.mkdir(parents=True, exist_ok=True)
    results = []
    for one in names:
        result = _run_toy(TOYS[one], preset, seed, out, quick, progress)
        results.append(result)
        say(summary_line(result))
    if len(names) > 1:
        write_index(out, results)
    return results


def fit_toy(
    toy: Toy, plan: Plan, seed: int, *, with_rules: bool, progress: object
) -> Model:
    """Fit one model of a study, with or without its rules."""
    settings: dict[str, Any] = {
        "rules": toy.rules if with_rules else (),
        "hidden": (10,),
        "activation": "rbf",
        "weight_prior": "isotropic",
        "weight_scale": 1.0,
        "standardize": False,
        "inference": plan,
        "random_state": seed,
        "progress": progress,
    }
    model = (
        OCBNNClassifier(**settings)
        if toy.is_classification
        else OCBNNRegressor(**settings, noise=0.1)
    )
    model.fit(toy.X, toy.y)
    if model.draws_.interrupted:
        # A study cut short would be mistaken for the study.
        raise KeyboardInterrupt(f"stopped while fitting {toy.name}")
    return model


def _run_toy(
    toy: Toy, preset: str, seed: int, out: Path, quick: bool, progress: object
) -> Result:
    started = time.monotonic()
    plan = toy.plans[preset]
    plan = smaller(plan) if quick else plan
    bnn = fit_toy(toy, plan, seed, with_rules=False, progress=progress)
    ocbnn = fit_toy(toy, plan, seed, with_rules=True, progress=progress)
    fitted = time.monotonic() - started
    result: Result = {
        "study": toy.name,
        "preset": preset,
        "quick": quick,
        "seed": seed,
        "seconds": {"fit": fitted},
        "versions": _versions(),
        "paper": {"figure": toy.figure, "claim": toy.claim},
        "rules": [str(rule) for rule in toy.rules],
        "remark": toy.remark,
        "models": {"bnn": measure(toy, bnn), "ocbnn": measure(toy, ocbnn)},
    }
    other = None
    if toy.modes is not None and preset == "best":
        # The paper's inference beside ours, because here they answer differently.
        svgd = toy.plans["paper"]
        svgd = smaller(svgd) if quick else svgd
        other = fit_toy(toy, svgd, seed, with_rules=True, progress=progress)
        result["paper_inference"] = measure(toy, other)
    folder = out / toy.name
    folder.mkdir(parents=True, exist_ok=True)
    figure = draw_toy(toy, bnn, ocbnn, other)
    save(figure, folder / toy.name)
    result["seconds"]["total"] = time.monotonic() - started
    (folder / "result.json").write_text(
        json.dumps(finite(result), indent=2, allow_nan=False) + "\n"
    )
    return result


def summary_line(result: Result) -> str:
    """One line for people: the study, and what its rules achieved."""
    ours, base = result["models"]["ocbnn"], result["models"]["bnn"]
    quick = ", quick" if result["quick"] else ""
    head = f"{result['study']} ({result['preset']}{quick})"
    line = f"{head}: violation {base['violation']:.4g} -> {ours['violation']:.4g}"
    if "train_rmse" in ours:
        line += f", training RMSE {base['train_rmse']:.3g} -> {ours['train_rmse']:.3g}"
    if "allowed_probability" in ours:
        line += f", allowed class {ours['allowed_probability']:.3f}"
    if ours.get("modes"):
        shares = ", ".join(f"{k} {v:.0%}" for k, v in ours["modes"].items())
        line += f", modes {shares}"
    return f"{line} [{result['seconds']['total']:.0f} s]"


def _versions() -> dict[str, str]:
    packages = ("ocbnn", "jax", "jaxlib", "equinox", "blackjax", "optax", "numpy")
    found = {name: version(name) for name in packages}
    return {"python": platform.python_version(), **found}


def finite(value: Any) -> Any:
    """Numbers that JSON can hold: not-a-number becomes null."""
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, list):
        return [finite(v) for v in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
