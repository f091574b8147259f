"""The paper's figures, from fitted models."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ocbnn import plots
from ocbnn.estimators import OCBNNClassifier, OCBNNRegressor
from ocbnn.plots.style import BASELINE, CONSTRAINED, figure
from ocbnn.studies.measures import bound_rules
from ocbnn.studies.toys import Toy

_COLUMNS = 301
_SIDE = 101


def draw_toy(
    toy: Toy,
    bnn: Any,
    ocbnn: Any,
    other: Any = None,
) -> Figure:
    """The study's figure; `other`, with the paper's inference, gets a second panel."""
    panels = 1 if other is None else 2
    fig = figure(6.4 * panels, 4.6)
    axes = np.atleast_1d(fig.subplots(1, panels, sharey=True))
    if toy.is_classification:
        _draw_classes(axes[0], toy, bnn, ocbnn)
        axes[0].set_title(f"{toy.figure}: {ocbnn.draws_.plan.label}")
        return fig
    _draw_functions(axes[0], toy, bnn, ocbnn)
    axes[0].set_title(f"{toy.figure}: {ocbnn.draws_.plan.label}")
    if other is not None:
        _draw_functions(axes[1], toy, None, other)
        axes[1].set_title(f"the paper's inference: {other.draws_.plan.label}")
    return fig


def _draw_functions(
    ax: Axes, toy: Toy, bnn: OCBNNRegressor | None, ocbnn: OCBNNRegressor
) -> None:
    grid = np.linspace(*toy.view[0], _COLUMNS)
    values = lambda model: model.sample_functions(grid[:, None], model.draws_.size)
    ax.set_xlim(*toy.view[0])
    ax.set_ylim(*toy.view[1])
    if bnn is not None:
        plots.regression(ax, grid, values(bnn), **BASELINE)
    plots.regression(
        ax,
        grid,
        values(ocbnn),
        X=toy.X[:, 0],
        y=toy.y,
        rules=bound_rules(toy),
        **CONSTRAINED,
        shown=toy.shown,
        bands=not toy.shown,
        mean=not toy.shown,
    )


def _draw_classes(
    ax: Axes, toy: Toy, bnn: OCBNNClassifier, ocbnn: OCBNNClassifier
) -> None:
    gx, gy = (np.linspace(*ends, _SIDE) for ends in toy.view)
    cells = np.stack([m.ravel() for m in np.meshgrid(gx, gy)], axis=1)
    shape = (_SIDE, _SIDE, len(ocbnn.classes_))
    for model, draw in ((ocbnn, plots.class_map), (bnn, plots.class_inset)):
        draw(
            ax,
            gx,
            gy,
            model.predict_proba(cells).reshape(shape),
            classes=[str(label) for label in model.classes_],
            X=toy.X,
            y=np.searchsorted(model.classes_, toy.y),
            rules=bound_rules(toy),
        )
