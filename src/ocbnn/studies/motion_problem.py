"""Human motion as a problem: training reaches, test reaches, and limits."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from sklearn.linear_model import Ridge

from ocbnn.core.types import Inputs, RandomKey
from ocbnn.datasets.kratzer import load_kratzer
from ocbnn.datasets.motion import (
    SENSOR_SD,
    Motions,
    States,
    load_reaches,
    make_states,
)
from ocbnn.errors import DataError
from ocbnn.rules import Rule, parse_rule

HORIZON = 20


@dataclasses.dataclass(frozen=True)
class Problem:
    """One random split.

    Attributes
    ----------
    train
        Training states.
    test
        Test states, with the sensor's error.
    limits
        The least and the greatest angle over all motions.
    joints
        Names of the angles.
    motions
        The test motions, for figures.
    noise
        Error of each angle on a training reach that was left out.
    """

    train: States
    test: States
    limits: tuple[Float[np.ndarray, " joints"], Float[np.ndarray, " joints"]]
    joints: tuple[str, ...]
    motions: Motions
    noise: Float[np.ndarray, " joints"]


def load_motions(folder: str | Path | None = None) -> Motions:
    """The reaches that come with the library, or those in your own folder.

    A folder holds Kratzer's `mocap.hdf5` and `segment.hdf5`, or a `reaches.csv.gz`.
    """
    if folder is None:
        return load_reaches()
    if (Path(folder) / "mocap.hdf5").is_file():
        return load_kratzer(Path(folder) / "mocap.hdf5", Path(folder) / "segment.hdf5")
    if Path(folder).is_dir() and not (Path(folder) / "reaches.csv.gz").is_file():
        raise DataError(
            f"{folder}: no motions here. Expected mocap.hdf5 and segment.hdf5, or "
            "reaches.csv.gz."
        )
    return load_reaches(folder)


def make_problem(motions: Motions, seed: int) -> Problem:
    """Five random reaches for training and five for testing."""
    train, test = motions.split(seed)
    rng = np.random.default_rng([seed, 1])
    return Problem(
        make_states(train, horizon=HORIZON),
        make_states(test, horizon=HORIZON, noise_sd=SENSOR_SD, rng=rng),
        motions.limits(),
        motions.joints,
        test,
        left_out_error(train, rng),
    )


def left_out_error(
    train: Motions, rng: np.random.Generator
) -> Float[np.ndarray, " joints"]:
    """Root mean squared error of each angle on a held-out reach.

    Rows of one reach are alike, so errors on training rows say little about a new
    reach. Each training reach in turn is predicted by ridge regression on the others,
    from states with the sensor's error.
    """
    clean = make_states(train, horizon=HORIZON)
    measured = make_states(train, horizon=HORIZON, noise_sd=SENSOR_SD, rng=rng)
    squares = []
    for number in range(len(train.reaches)):
        left_out = clean.motion == number
        rows = clean.X[~left_out]
        centre, scale = rows.mean(axis=0), rows.std(axis=0)
        fitted = Ridge(1.0).fit((rows - centre) / scale, clean.Y[~left_out])
        predicted = fitted.predict((measured.X[left_out] - centre) / scale)
        squares.append((predicted - clean.Y[left_out]) ** 2)
    return np.sqrt(np.concatenate(squares).mean(axis=0))


def limits_rule(problem: Problem, options: str, sampler: Any = "like-data") -> Rule:
    """The rule that no angle leaves its range over all motions."""
    ranges = [
        f"{low!r} <= {joint} <= {high!r}"
        for joint, low, high in zip(
            problem.joints, *(ends.tolist() for ends in problem.limits), strict=True
        )
    ]
    rule = parse_rule(f"joint limits: {' and '.join(ranges)} [{options}]")
    return dataclasses.replace(rule, sampler=sampler)


def even_states(problem: Problem) -> Callable[[RandomKey, int], Inputs]:
    """A sampler of uniform states in the box around the training states."""
    low = jnp.asarray(problem.train.X.min(axis=0), float)
    high = jnp.asarray(problem.train.X.max(axis=0), float)

    def sample(key: RandomKey, count: int) -> Inputs:
        share = jax.random.uniform(key, (count, low.size), low.dtype)
        return low[None] + (high - low)[None] * share

    return sample
