"""The interface of a study: running it, and presenting its result.

Tables, lines and pages are made from `result.json` alone, so that a page can be written
for the results of earlier runs.
"""

import abc
import dataclasses
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from matplotlib.figure import Figure

from ocbnn.estimators import OCBNNClassifier, OCBNNRegressor
from ocbnn.inference.progress import Progress
from ocbnn.studies.parts import Parts
from ocbnn.studies.tables import Table

PRESETS = ("paper", "best")

Result = dict[str, Any]
Model = TypeVar("Model", bound=OCBNNClassifier | OCBNNRegressor)


@dataclasses.dataclass(frozen=True)
class Request:
    """The options of a run.

    Attributes
    ----------
    preset
        `paper` for the paper's settings, `best` for those we recommend.
    seed
        The seed of all random numbers.
    quick
        Whether to make a smaller run.
    progress
        True, False, "auto" or a reporter.
    data
        A folder of your own recordings, instead of the shipped ones.
    parts
        Where parts of a long study are kept until it is done.
    """

    preset: str = "best"
    seed: int = 0
    quick: bool = False
    progress: Progress = False
    data: Path | None = None
    parts: Parts = dataclasses.field(default_factory=Parts)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of a study.

    Attributes
    ----------
    numbers
        The content of `result.json`, without the name, versions and times.
    figures
        Figures by file name.
    fit_seconds
        The time of the fits.
    """

    numbers: Result
    figures: dict[str, Figure]
    fit_seconds: float


@dataclasses.dataclass(frozen=True)
class Headline:
    """A study in one row: its violation, and how well draws mixed."""

    bnn: float | None
    ocbnn: float | None
    rhat: float | None = None
    ess: float | None = None


class Study(abc.ABC):
    """One experiment of the paper."""

    name: str

    @abc.abstractmethod
    def run(self, request: Request) -> Outcome:
        """Fit, measure and draw."""

    @abc.abstractmethod
    def tables(self, result: Result) -> list[Table]:
        """The numbers as tables for people, with the paper's if it has any."""

    @abc.abstractmethod
    def headline(self, result: Result) -> Headline:
        """The row of this study in an overview."""

    @abc.abstractmethod
    def line(self, result: Result) -> str:
        """The effect of the rules, in one line for a terminal."""


def models(result: Result) -> tuple[Result, Result]:
    """The numbers without rules, and with them."""
    return result["models"]["bnn"], result["models"]["ocbnn"]


def finished(model: Model) -> Model:
    """The model, after checking that Ctrl-C did not stop its fit.

    The result of a stopped fit could be mistaken for the study's.
    """
    if model.draws_.interrupted:
        raise KeyboardInterrupt("stopped while fitting")
    return model


def summed_up(splits: list[Any]) -> Any:
    """Means and standard deviations over splits of numbers in nested dictionaries.

    >>> summed_up([{"acc": 0.5}, {"acc": 0.7}])
    {'acc': 0.6, 'acc_sd': 0.1414...}
    """
    means: Result = {}
    for key, first in splits[0].items():
        values = [split[key] for split in splits]
        if isinstance(first, dict):
            means[key] = summed_up(values)
        elif all(value is not None for value in values):
            means[key] = float(np.mean(values))
            means[f"{key}_sd"] = (
                float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
            )
        else:
            means[key] = means[f"{key}_sd"] = None
    return means
