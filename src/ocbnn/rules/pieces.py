"""The intervals that hard rules allow for each output, at some rows.

A rule forbids a union of terms. A term that mentions one output only, and is affine in
it, forbids one interval at each row; the rest of the line is a union of pieces.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ocbnn.language.affine import affine_rows
from ocbnn.language.normal_form import Atom, columns
from ocbnn.rules.bound import BoundRule

Edges = Float[np.ndarray, " rows"]


class Pieces(NamedTuple):
    """The allowed intervals of every output, which may be open or closed.

    Attributes
    ----------
    low
        Their lower ends, in order, -inf where unbounded; nan pads rows that have
        fewer pieces than others.
    high
        Their upper ends.
    is_joint
        Rows at which rules say more than the pieces do: about several outputs
        jointly, or about one in a way that is not affine.
    """

    low: Float[np.ndarray, "rows outputs pieces"]
    high: Float[np.ndarray, "rows outputs pieces"]
    is_joint: Bool[np.ndarray, " rows"]


def allowed_pieces(
    bounds: Sequence[BoundRule], X: Float[np.ndarray, "rows inputs"], outputs: int
) -> Pieces:
    """The pieces that all rules together allow at each row.

    >>> from ocbnn.rules import Schema, bind
    >>> avoid = bind("if x > 0 then not (-5 <= y <= 3)", Schema(("x",), ("y",)))
    >>> pieces = allowed_pieces([avoid], np.array([[1.0]]), 1)
    >>> pieces.low[0, 0].tolist(), pieces.high[0, 0].tolist()
    ([-inf, 3.0], [-5.0, inf])
    """
    forbidden: list[list[tuple[Edges, Edges]]] = [[] for _ in range(outputs)]
    is_joint = np.zeros(len(X), dtype=bool)
    for bound in bounds:
        if bound.claim.required is None:
            continue
        inside = bound.applies(X)
        for term in bound.claim.broken or ():
            interval = _forbidden(term, X)
            inside_term = inside & interval.is_active
            is_joint |= inside_term & interval.is_joint
            if interval.output is not None:
                excludes = (
                    inside_term & ~interval.is_joint & (interval.low < interval.high)
                )
                # An interval that forbids nothing lies beyond all others.
                low = np.where(excludes, interval.low, np.inf)
                high = np.where(excludes, interval.high, np.inf)
                forbidden[interval.output].append((low, high))
    allowed = [_complement(intervals, len(X)) for intervals in forbidden]
    count = max(low.shape[1] for low, _ in allowed)
    padded = [[_padded(ends, count) for ends in pair] for pair in allowed]
    low, high = (np.stack([pair[i] for pair in padded], axis=1) for i in (0, 1))
    return Pieces(low, high, is_joint)


class _ForbiddenInterval(NamedTuple):
    """The interval of one output that a term forbids; `output` is None if joint."""

    output: int | None
    low: Edges
    high: Edges
    is_active: Bool[np.ndarray, " rows"]
    is_joint: Bool[np.ndarray, " rows"]


def _forbidden(term: Sequence[Atom], X: np.ndarray) -> _ForbiddenInterval:
    count = len(X)
    low, high = np.full(count, -np.inf), np.full(count, np.inf)
    active, joint = np.ones(count, dtype=bool), np.zeros(count, dtype=bool)
    for atom in term:
        if not atom.uses_outputs:
            active &= atom.holds(X, None)
    atoms = [atom for atom in term if atom.uses_outputs]
    lines = [affine_rows(atom.expr, X) for atom in atoms]
    named = {c.index for a in atoms for c in columns(a.expr) if c.kind == "output"}
    if len(named) != 1 or any(line is None for line in lines):
        return _ForbiddenInterval(None, low, high, active, ~joint)
    (output,) = named
    for atom, line in zip(atoms, lines, strict=True):
        assert line is not None
        slope = np.broadcast_to(line.slopes.get(output, 0.0), count)
        constant = np.broadcast_to(line.constant, count)
        joint |= ~(np.isfinite(slope) & np.isfinite(constant))
        with np.errstate(all="ignore"):
            edge = -constant / slope
        high = np.where(slope > 0, np.minimum(high, edge), high)
        low = np.where(slope < 0, np.maximum(low, edge), low)
        flat = constant < 0 if atom.strict else constant <= 0
        # A claim that is NaN is not kept, so its term stays active at that row.
        active &= (slope != 0) | flat | np.isnan(constant)
    joint |= np.isnan(low) | np.isnan(high)
    return _ForbiddenInterval(output, low, high, active, joint)


def _complement(
    forbidden: Sequence[tuple[Edges, Edges]], rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """The line without some intervals."""
    if not forbidden:
        return np.full((rows, 1), -np.inf), np.full((rows, 1), np.inf)
    low, high = (np.stack([pair[i] for pair in forbidden], axis=1) for i in (0, 1))
    order = np.argsort(low, axis=1, kind="stable")
    low, high = (np.take_along_axis(ends, order, axis=1) for ends in (low, high))
    reach = np.maximum.accumulate(high, axis=1)
    ends = np.full((rows, 1), np.inf)
    low, high = np.hstack([-ends, reach]), np.hstack([low, ends])
    is_wide = low < high
    # A single point counts only where nothing else remains.
    is_point = (low == high) & np.isfinite(low) & ~is_wide.any(axis=1, keepdims=True)
    stays = is_wide | is_point
    low, high = np.where(stays, low, np.nan), np.where(stays, high, np.nan)
    used = stays.any(axis=0)
    used[0] |= not used.any()
    return low[:, used], high[:, used]


def _padded(ends: np.ndarray, width: int) -> np.ndarray:
    missing = np.full((len(ends), width - ends.shape[1]), np.nan)
    return np.hstack([ends, missing])
