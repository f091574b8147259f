"""Reaching motions: shoulder angles over time, and states for forecasting.

Angles are in radians and time is in frames. A state holds the angles at one frame and
how they change, and its target holds the same angles some frames later. Velocities and
accelerations use past frames only: they are the derivatives, at its end, of the
parabola fitted to the last `window` frames. With three frames, the minimum, they are
backward differences.
"""

import csv
import dataclasses
import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ocbnn.datasets.shipped import shipped
from ocbnn.errors import DataError, SettingError

ANGLES = ("lShoulderY", "lShoulderZ", "rShoulderY", "rShoulderZ")
FRAME_RATE = 120.0
SENSOR_SD = float(np.deg2rad(2.0))  # of the wearable sensors in the paper
NOISE_PLACES = ("angles", "recording")

_FILE = "reaches.csv.gz"
# No shoulder turns around twice, so larger numbers must be degrees.
_LARGEST = 4 * np.pi


@dataclasses.dataclass(frozen=True, eq=False)
class Reach:
    """One motion: its name, its label, and its angles frame by frame."""

    name: str
    label: str
    angles: Float[np.ndarray, "frames joints"]


@dataclasses.dataclass(frozen=True, eq=False)
class Motions:
    """Several motions of the same joints.

    Attributes
    ----------
    reaches
        The motions.
    joints
        Names of the columns of angles.
    frame_rate
        Frames per second.
    """

    reaches: tuple[Reach, ...]
    joints: tuple[str, ...] = ANGLES
    frame_rate: float = FRAME_RATE

    def limits(
        self,
    ) -> tuple[Float[np.ndarray, " joints"], Float[np.ndarray, " joints"]]:
        """The least and the greatest angle of each joint over all motions."""
        frames = np.concatenate([reach.angles for reach in self.reaches])
        return frames.min(axis=0), frames.max(axis=0)

    def split(
        self, seed: int, *, label: str = "reachingR", train: int = 5, test: int = 5
    ) -> tuple["Motions", "Motions"]:
        """Random motions of one kind for training, and others for testing.

        The same seed draws the same motions.
        """
        kind = [reach for reach in self.reaches if reach.label == label]
        if min(train, test) < 1 or train + test > len(kind):
            labels = sorted({reach.label for reach in self.reaches})
            raise DataError(
                f"train={train} and test={test} must be at least 1 and at most "
                f"{len(kind)} together, the motions labelled {label!r}. Choose fewer, "
                f"or one of the labels {', '.join(map(repr, labels))}."
            )
        order = np.random.default_rng(seed).permutation(len(kind))
        chosen = [kind[i] for i in order[: train + test]]
        subset = lambda reaches: dataclasses.replace(self, reaches=tuple(reaches))
        return subset(chosen[:train]), subset(chosen[train:])


@dataclasses.dataclass(frozen=True, eq=False)
class States:
    """Inputs and targets of a forecaster, row by row.

    Attributes
    ----------
    X
        Angles, velocities (rad/s) and accelerations (rad/s²) of every joint.
    Y
        The angles `horizon` frames later, as recorded.
    motion
        The index of each row's motion.
    frame
        The index of each row's frame.
    inputs
        Names of the columns of `X`.
    """

    X: Float[np.ndarray, "rows inputs"]
    Y: Float[np.ndarray, "rows joints"]
    motion: np.ndarray
    frame: np.ndarray
    inputs: tuple[str, ...]


def make_states(
    motions: Motions,
    *,
    horizon: int = 20,
    stride: int = 3,
    window: int = 3,
    noise_sd: float = 0.0,
    noise_on: str = "angles",
    rng: np.random.Generator | None = None,
) -> States:
    """States of all motions, one after the other.

    Parameters
    ----------
    motions
        The motions.
    horizon
        Number of frames from a state to its target.
    stride
        Number of frames between states.
    window
        Number of frames, up to the present one, for velocity and acceleration.
    noise_sd
        Standard deviation of the sensor's error in radians.
    noise_on
        What the error affects: the `angles` of a state, when velocities and
        accelerations are measured separately, as by a gyroscope; or the `recording`,
        from which all three are then computed. Targets have no error.
    rng
        Random numbers for the errors.
    """
    _check_counts(horizon=(horizon, 1), stride=(stride, 1), window=(window, 3))
    if noise_on not in NOISE_PLACES:
        raise SettingError(
            f"noise_on={noise_on!r} is not known: write one of "
            f"{', '.join(map(repr, NOISE_PLACES))}."
        )
    if noise_sd > 0 and rng is None:
        raise SettingError(
            "noise needs random numbers: write rng=np.random.default_rng(0)."
        )
    X, Y, motion, frame = [], [], [], []
    for i, reach in enumerate(motions.reaches):
        present = np.arange(window - 1, len(reach.angles) - horizon, stride)
        if not len(present):
            raise DataError(
                f"motion {reach.name!r} has {len(reach.angles)} frames, and a state "
                f"needs at least {window + horizon}: {window} to look back and "
                f"{horizon} to look ahead."
            )
        noise = np.zeros_like(reach.angles)
        if rng is not None:
            noise = noise_sd * rng.standard_normal(reach.angles.shape)
        measured = reach.angles + noise
        source = measured if noise_on == "recording" else reach.angles
        velocity, acceleration = _derivatives(source, window, motions.frame_rate)
        rows = present - (window - 1)
        X.append(np.hstack([measured[present], velocity[rows], acceleration[rows]]))
        Y.append(reach.angles[present + horizon])
        motion.append(np.full(len(present), i))
        frame.append(present)
    kinds = ("", "_velocity", "_acceleration")
    return States(
        np.concatenate(X),
        np.concatenate(Y),
        np.concatenate(motion),
        np.concatenate(frame),
        tuple(f"{joint}{kind}" for kind in kinds for joint in motions.joints),
    )


def _derivatives(
    angles: np.ndarray, window: int, frame_rate: float
) -> tuple[np.ndarray, np.ndarray]:
    """First and second derivative at the end of each window of frames."""
    times = np.arange(1 - window, 1) / frame_rate
    parabola = np.linalg.pinv(np.vander(times, 3, increasing=True))
    windows = np.lib.stride_tricks.sliding_window_view(angles, window, axis=0)
    _, slope, half_bend = np.einsum("cw,fjw->cfj", parabola, windows)
    return slope, 2.0 * half_bend


def _check_counts(**counts: tuple[int, int]) -> None:
    for name, (value, least) in counts.items():
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not whole or value < least:
            raise SettingError(
                f"{name} must be a whole number of frames >= {least}, got {value!r}."
            )


def load_reaches(path: str | Path | None = None) -> Motions:
    """Motions from a table with columns `trajectory`, `frame` and one per joint.

    Parameters
    ----------
    path
        A CSV file, gzipped or not, or a folder with `reaches.csv.gz`; the
        reaches that come with the library by default.
    """
    file = shipped("cmu_reaching") if path is None else Path(path)
    file = file / _FILE if file.is_dir() else file
    if not file.is_file():
        raise DataError(
            f"{file}: there is no such file. Name a CSV file of reaches or a folder "
            f"with {_FILE}, or leave it out to use the shipped ones."
        )
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt") as lines:
        reader = csv.DictReader(lines)
        check_columns(file, ("trajectory", "frame", *ANGLES), reader.fieldnames or ())
        frames = _frames_by_motion(file, reader)
    if not frames:
        raise DataError(f"{file}: the table has no rows.")
    return Motions(
        tuple(
            checked_reach(
                file, Reach(name, name.rpartition("_")[0] or name, np.array(rows))
            )
            for name, rows in frames.items()
        )
    )


def _frames_by_motion(
    file: Path, table: Iterable[dict[str, str]]
) -> dict[str, list[list[float]]]:
    frames: dict[str, list[list[float]]] = {}
    for line, row in enumerate(table, start=2):
        rows = frames.setdefault(row["trajectory"], [])
        try:
            number, *angles = (float(row[name]) for name in ("frame", *ANGLES))
        except (TypeError, ValueError) as error:
            raise DataError(f"{file}, line {line}: not a number: {error}.") from error
        if number != len(rows):
            raise DataError(
                f"{file}, line {line}: frame {number:g} of {row['trajectory']!r} "
                f"should be frame {len(rows)}. Number frames from 0, without "
                "gaps."
            )
        rows.append(angles)
    return frames


def check_columns(
    file: str | Path, wanted: Sequence[str], columns: Sequence[str]
) -> None:
    """Refuse a file that lacks columns."""
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise DataError(
            f"{file}: there is no column {', '.join(map(repr, missing))}; found "
            f"{', '.join(map(repr, columns)) or 'none'}."
        )


def checked_reach(file: str | Path, reach: Reach) -> Reach:
    """The motion, after checking that its angles are numbers in radians."""
    if not np.isfinite(reach.angles).all():
        frame = int(np.argmin(np.isfinite(reach.angles).all(axis=1)))
        raise DataError(
            f"{file}: frame {frame} of {reach.name!r} has an angle that is not finite."
        )
    if np.abs(reach.angles).max() > _LARGEST:
        raise DataError(
            f"{file}: {reach.name!r} reaches {np.abs(reach.angles).max():.4g}, which "
            "is not an angle in radians. Convert degrees first."
        )
    return reach
