"""Motions from the two HDF5 files of Kratzer's recordings."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ocbnn.datasets.motion import (
    ANGLES,
    FRAME_RATE,
    Motions,
    Reach,
    check_columns,
    checked_reach,
)
from ocbnn.errors import DataError


def load_kratzer(
    mocap: str | Path,
    segments: str | Path,
    *,
    joints: Sequence[str] = ANGLES,
    frame_rate: float = FRAME_RATE,
) -> Motions:
    """Motions from the two HDF5 files of Kratzer's recordings.

    Parameters
    ----------
    mocap
        File with a dataset `data` of (frames, joints) in radians, whose
        attribute `description` names the joints.
    segments
        File with a dataset `segments` of (start, end, label); `end` is the
        first frame after the motion.
    joints
        The joints to keep.
    frame_rate
        Frames per second.
    """
    h5py = _h5py()
    with _opened(h5py, mocap) as file:
        data = _dataset(mocap, file, "data")
        if "description" not in data.attrs:
            raise DataError(
                f"{mocap}: dataset 'data' has no attribute 'description', which names "
                f"the joints; found {', '.join(data.attrs) or 'no attributes'}."
            )
        names = _texts(data.attrs["description"])
        check_columns(mocap, joints, names)
        recording = np.asarray(data[()], float)
    if recording.ndim != 2 or recording.shape[1] != len(names):
        raise DataError(
            f"{mocap}: dataset 'data' has shape {recording.shape}, but 'description' "
            f"names {len(names)} joints. It needs one column for each."
        )
    columns = [names.index(joint) for joint in joints]
    with _opened(h5py, segments) as file:
        rows = [tuple(row) for row in _dataset(segments, file, "segments")[()]]
    reaches = tuple(_cut(segments, rows, recording[:, columns]))
    if not reaches:
        raise DataError(f"{segments}: dataset 'segments' has no rows.")
    return Motions(reaches, tuple(joints), frame_rate)


def _cut(file: str | Path, rows: list[tuple], recording: np.ndarray) -> Iterator[Reach]:
    counts: dict[str, int] = {}
    for row in rows:
        if len(row) != 3:
            raise DataError(
                f"{file}: a segment is (start, end, label), got {len(row)} values."
            )
        start, end = int(row[0]), int(row[1])
        (label,) = _texts(row[2])
        if not 0 <= start < end <= len(recording):
            raise DataError(
                f"{file}: segment ({start}, {end}, {label!r}) does not lie within the "
                f"{len(recording)} frames of the recording."
            )
        counts[label] = counts.get(label, 0) + 1
        name = f"{label}_{counts[label]:02d}"
        yield checked_reach(file, Reach(name, label, recording[start:end]))


def _h5py() -> ModuleType:
    try:
        import h5py  # noqa: PLC0415  an extra, so only those who use it need it
    except ImportError as error:
        raise DataError(
            "HDF5 files are read with h5py, which is not installed. Write "
            "`pip install 'ocbnn[studies]'`."
        ) from error
    return h5py


def _opened(h5py: ModuleType, path: str | Path) -> Any:
    if not Path(path).is_file():
        raise DataError(f"{path}: there is no such file.")
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise DataError(f"{path}: this is not an HDF5 file ({error}).") from error


def _dataset(path: str | Path, file: Any, name: str) -> Any:
    if name not in file or not hasattr(file[name], "shape"):
        raise DataError(
            f"{path}: there is no dataset {name!r}; found {', '.join(file) or 'none'}."
        )
    return file[name]


def _texts(value: Any) -> list[str]:
    decode = lambda element: (
        element.decode() if isinstance(element, bytes) else str(element)
    )
    return [decode(element) for element in np.atleast_1d(value).tolist()]
