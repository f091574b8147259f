"""A model's diagnostics as figures, with inputs chosen from its data and rules."""

import textwrap
from typing import Any

import numpy as np

from ocbnn.analysis.pictures import axis_limits, column_index
from ocbnn.core.choices import choose_along, say_point, typical
from ocbnn.core.words import listing
from ocbnn.errors import SettingError
from ocbnn.fitted import FittedModel
from ocbnn.inference.diagnostics import LEAST_DRAWS, rhat

KINDS = ("mixing", "trace", "energy", "progress")
_COLUMNS = 101
# Traces of the warm-up, and their titles.
_PROGRESS = {
    "elbo": "ELBO",
    "logdensity": "log density",
    "temperature": "temperature",
    "spread": "distance between particles",
    "log_evidence": "log evidence",
    "step_size": "step size",
}
_MAX_PANELS = 3


def plot_diagnostics(
    model: FittedModel, kind: str, along: Any, output: Any, at: Any
) -> Any:
    """One figure of a kind; `at` is the input of a trace, one row."""
    model.need_data("plot_diagnostics")
    if kind not in KINDS:
        raise SettingError(
            f"kind is one of {', '.join(map(repr, KINDS))}, got {kind!r}."
        )
    target = column_index(output, tuple(model.output_names), "output")
    match kind:
        case "mixing":
            return _mixing(model, along, target, at)
        case "trace":
            return _trace(model, target, at)
        case "energy":
            return _energy(model)
    return _progress(model)


def _mixing(model: FittedModel, along: Any, target: int, at: Any) -> Any:
    from ocbnn import plots  # noqa: PLC0415  (slow to import)

    _refuse_particles(model)
    column = column_index(along, model.schema.inputs, "input")
    x = np.linspace(*axis_limits(model.rows.X, model.rules, column), _COLUMNS)
    rows = np.tile(_row(model, at), (_COLUMNS, 1))
    rows[:, column] = x
    rows = choose_along(rows, (column,), model.schema.choices)
    values = _output(model, rows, target)
    name = model.schema.inputs[column]
    fig = plots.figure(5.5, 6.2)
    upper, lower = fig.subplots(2, 1)
    plots.rhat_profile(upper, x, values, name=name)
    plots.ess_profile(lower, x, values, name=name)
    return fig


def _trace(model: FittedModel, target: int, at: Any) -> Any:
    from ocbnn import plots  # noqa: PLC0415
    from ocbnn.plots.style import literal  # noqa: PLC0415

    _refuse_particles(model)
    X = model.reference_inputs()
    if at is None:
        numbers = rhat(_output(model, X, target))
        row = X[int(np.argmax(np.nan_to_num(numbers)))]
    else:
        row = _row(model, at)
    values = _output(model, row[None], target)[..., 0]
    schema, widths = model.schema, np.ptp(X, axis=0).tolist()
    coordinates = say_point(
        schema.inputs, row.tolist(), schema.choices, widths, digits=4
    )
    place = listing(coordinates, 3)
    name = model.output_names[target]
    fig = plots.figure(5.5, 6.2)
    title = textwrap.fill(literal(f"{name} at {place}"), 60)
    fig.suptitle(title, fontsize="medium")
    upper, lower = fig.subplots(2, 1)
    plots.chain_trace(upper, values, name=name)
    plots.rank_bars(lower, values, name=name)
    return fig


def _energy(model: FittedModel) -> Any:
    from ocbnn import plots  # noqa: PLC0415

    energy = model.draws.stats.get("energy")
    if energy is None or model.draws.plan.thin != 1:
        raise SettingError(
            f"{model.draws.plan.label} did not store the energy of every move. NUTS "
            "and HMC do, with thin=1."
        )
    fig = plots.figure(5.0, 3.8)
    plots.energy_histogram(fig.add_subplot(), energy)
    return fig


def _progress(model: FittedModel) -> Any:
    from ocbnn import plots  # noqa: PLC0415

    warmup = model.draws.warmup
    names = [n for n in _PROGRESS if warmup.get(n, np.zeros((0, 0))).shape[-1] > 1]
    if not names:
        raise SettingError(
            f"{model.draws.plan.label} stored no traces of its warm-up, so there is "
            "nothing to plot. Fit with warmup moves."
        )
    names = names[:_MAX_PANELS]
    fig = plots.figure(5.5, 0.6 + 2.4 * len(names))
    for ax, name in zip(np.ravel(fig.subplots(len(names), 1)), names, strict=True):
        plots.progress_trace(ax, warmup[name], name=_PROGRESS[name])
    return fig


def _output(model: FittedModel, X: np.ndarray, target: int) -> np.ndarray:
    """One output's values (chains, draws, rows)."""
    draws = model.draws
    values = model.drawn.functions(np.asarray(X, float))
    return values[..., target].reshape(draws.chains, draws.draws, len(X))


def _row(model: FittedModel, at: Any) -> np.ndarray:
    if at is None:
        return typical(model.rows.X, model.schema.choices)
    names = model.schema.inputs
    if hasattr(at, "keys"):  # a dictionary or a row of a data frame
        at = [at[name] if name in at.keys() else np.nan for name in names]  # noqa: SIM118
    try:
        row = np.asarray(at, float).ravel()
    except (TypeError, ValueError):
        row = np.zeros(0)
    if row.shape != (len(names),) or not np.isfinite(row).all():
        raise SettingError(
            f"at must hold one number for each of {len(names)} inputs "
            f"({listing(names, 6)}), in their order or by name, got {at!r}."
        )
    return row


def _refuse_particles(model: FittedModel) -> None:
    draws = model.draws
    compares = draws.plan.is_chain or draws.plan.is_exact
    if not compares or draws.draws < LEAST_DRAWS:
        raise SettingError(
            f"{draws.chains} x {draws.draws} draws of {draws.plan.label} are not "
            'chains that can be compared. Write kind="progress" to see how the run '
            "went."
        )
