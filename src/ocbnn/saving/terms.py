"""Rules' points on disk, so that a loaded model has the same ones."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.core.points import (
    BoxPoints,
    GivenPoints,
    OwnPoints,
    PointSampler,
    PoolPoints,
    RefinedPoints,
)
from ocbnn.core.units import Units
from ocbnn.errors import StorageError
from ocbnn.priors import RuleTerm
from ocbnn.priors.refined_terms import with_reach
from ocbnn.rules import BoundRule

Arrays = Mapping[str, np.ndarray]
# The folder of arrays in standard units.
_STANDARD = "standard"


def write_term(
    place: str, term: RuleTerm, arrays: dict[str, Any], *, data: bool
) -> str | None:
    """Add a term's arrays, and return the kind of its sampler.

    Points that are data rows moved into the region are not written without the data;
    then it returns None.
    """
    sampler, choice = term.sampler, term.bound.rule.sampler
    if isinstance(choice, str) and choice == "like-data" and not data:
        return None
    if term.units is not None:
        place = f"{place}/{_STANDARD}"
    arrays[f"{place}/points"] = term.points
    if isinstance(sampler, RefinedPoints):
        arrays[f"{place}/found"] = sampler.added
        arrays[f"{place}/weight"] = term.law.weight
        if term.reach is not None:
            arrays[f"{place}/steps"] = np.asarray(term.reach.steps)
            arrays[f"{place}/ends"] = np.stack([term.reach.lower, term.reach.upper])
        sampler = sampler.base
    for number, scale in enumerate(jax.tree.leaves(term.scales)):
        arrays[f"{place}/scales/{number}"] = scale
    match sampler:
        case BoxPoints():
            arrays[f"{place}/lower"] = sampler.lower
            arrays[f"{place}/upper"] = sampler.upper
            arrays[f"{place}/net"] = sampler.net
            return "box"
        case PoolPoints():
            arrays[f"{place}/pool"] = sampler.pool
            return "pool"
        case GivenPoints():
            arrays[f"{place}/given"] = sampler.points
            return "given"
        case OwnPoints():
            return "own"
    raise StorageError(
        f"the points of rule {term.bound.name!r} come from {type(sampler).__name__}, "
        "which a file cannot hold. Name another sampler for this rule."
    )


def read_term(
    place: str, kind: object, bound: BoundRule, arrays: Arrays, units: Units | None
) -> RuleTerm:
    """The term that was written, for a network in these units."""
    width = len(bound.schema.inputs)
    if units is not None:
        place = f"{place}/{_STANDARD}"
    points = take(arrays, f"{place}/points", (None, width))
    structure = jax.tree.structure(bound.claim.unit_scales())
    leaves = [
        take(arrays, f"{place}/scales/{number}", ())
        for number in range(structure.num_leaves)
    ]
    scales = jax.tree.unflatten(structure, map(jnp.asarray, leaves))
    sampler = _sampler(place, kind, bound, arrays, units)
    term = RuleTerm(bound, sampler, jnp.asarray(points), scales, units)
    if f"{place}/found" not in arrays:
        return term
    return _refined(place, term, arrays)


def _refined(place: str, term: RuleTerm, arrays: Arrays) -> RuleTerm:
    """A term with the points that a refinement added, and the weight it set."""
    new_points = take(arrays, f"{place}/found", (None, term.points.shape[1]))
    if len(new_points) >= term.count:
        raise StorageError(
            f"rule {term.bound.name!r} has {term.count} points, of which "
            f"{len(new_points)} were added: some must be its own."
        )
    weight = take(arrays, f"{place}/weight", ())
    if not weight > 0:
        raise StorageError(
            f"the weight of rule {term.bound.name!r} must be above zero, got {weight}."
        )
    sampler = RefinedPoints(term.sampler, jnp.asarray(new_points))
    leaves = lambda term: (term.sampler, term.law.weight)
    term = eqx.tree_at(leaves, term, (sampler, jnp.asarray(weight)))
    if f"{place}/steps" not in arrays:
        return term
    steps = int(take(arrays, f"{place}/steps", (), "i"))
    ends = take(arrays, f"{place}/ends", (2, term.points.shape[1]))
    return with_reach(term, steps, (ends[0], ends[1]))


def _sampler(
    place: str, kind: object, bound: BoundRule, arrays: Arrays, units: Units | None
) -> PointSampler:
    width = len(bound.schema.inputs)
    if kind == "box":
        lower = take(arrays, f"{place}/lower", (width,))
        upper = take(arrays, f"{place}/upper", (width,))
        net = take(arrays, f"{place}/net", (None, width))
        box = BoxPoints(lower, upper, 1, 0, bound.schema.choices)
        return eqx.tree_at(lambda box: box.net, box, jnp.asarray(net))
    if kind == "pool":
        return PoolPoints(take(arrays, f"{place}/pool", (None, width)))
    if kind == "given":
        return GivenPoints(take(arrays, f"{place}/given", (None, width)))
    if kind == "own" and callable(bound.rule.sampler):
        return OwnPoints(bound.rule.sampler, units)  # pyright: ignore[reportArgumentType]
    raise StorageError(f"rule {bound.name!r} has points of an unknown kind, {kind!r}.")


def take(
    arrays: Arrays, name: str, shape: tuple[int | None, ...], kinds: str = "f"
) -> np.ndarray:
    """An array of this name, shape (None: any length above zero) and kind of number.

    Raises
    ------
    StorageError
        When it is missing or does not fit, or has NaN or infinity.
    """
    if name not in arrays:
        raise StorageError(f"the array {name!r} is missing.")
    array = arrays[name]
    fits = len(array.shape) == len(shape) and all(
        length == expected if expected is not None else length > 0
        for length, expected in zip(array.shape, shape, strict=True)
    )
    if not fits or array.dtype.kind not in kinds:
        shown = tuple("any" if n is None else n for n in shape)
        raise StorageError(
            f"the array {name!r} has shape {array.shape} and type {array.dtype}, which "
            f"do not fit the model: shape {shown} is needed."
        )
    if "f" in kinds and not np.isfinite(array).all():
        raise StorageError(
            f"the array {name!r} has NaN or infinity, and all its numbers must be "
            "finite. Take the file from a backup, or save again."
        )
    return array
