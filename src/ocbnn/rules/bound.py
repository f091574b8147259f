"""A rule bound to columns: compiled for the prior, and checked exactly on data."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ocbnn.core.errors import DataError
from ocbnn.core.types import NO_SLOPES, Along, Slopes
from ocbnn.rules.conditions import Condition
from ocbnn.rules.evaluate import evaluate, truth
from ocbnn.rules.normal_form import Terms, columns, slopes_in
from ocbnn.rules.region import Region
from ocbnn.rules.rule import Rule
from ocbnn.rules.schema import Schema
from ocbnn.rules.tree import Expression


@dataclasses.dataclass(frozen=True)
class Forbidden:
    """What the outputs must not be: a union over j of intersections over k of atoms.

    `condition` is the claim itself, for exact checks; `terms` are its negation, so that
    comparing those is enough.
    """

    terms: Terms
    condition: Condition = dataclasses.field(compare=False)


@dataclasses.dataclass(frozen=True)
class Expectation:
    """`target` is normal around one of `means`, with `sds`, in shares `weights`."""

    target: Expression
    means: tuple[Expression, ...]
    sds: tuple[float, ...]
    weights: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class AllowedClasses:
    """Whether each class is allowed, in the schema's order."""

    mask: tuple[bool, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class CustomTerm:
    """The user's own `log_g(xs, ys)`; equal only when it is the same function."""

    log_g: Callable[..., Any]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CustomTerm) and other.log_g is self.log_g

    def __hash__(self) -> int:
        return hash((CustomTerm, id(self.log_g)))


BoundClaim: TypeAlias = Forbidden | Expectation | AllowedClasses | CustomTerm


@dataclasses.dataclass(frozen=True)
class BoundRule:
    """A rule whose names are columns. Hashable by value: static under `jax.jit`."""

    rule: Rule
    schema: Schema
    name: str
    region: Region = dataclasses.field(compare=False)
    claim: BoundClaim = dataclasses.field(compare=False)

    # Region and claim follow from rule and schema, so comparing those is enough.

    @property
    def is_checkable(self) -> bool:
        """Whether data can break the rule; a custom term has no notion of that."""
        return not isinstance(self.claim, CustomTerm)

    @property
    def has_sides(self) -> bool:
        """Whether it leaves room on several sides, with none in between."""
        match self.claim:
            case Expectation(_, means):
                return len(means) > 1
            case Forbidden(terms):
                # What is forbidden is bounded on two sides, so both are allowed.
                said = ([atom for atom in term if atom.uses_outputs] for term in terms)
                return any(len(atoms) > 1 for atoms in said)
            case _:
                return False

    @functools.cached_property
    def slopes(self) -> tuple[Along, ...]:
        """Along which inputs the claim speaks of slopes; empty for most rules."""
        found = {s.along for node in self._trees() for s in slopes_in(node)}
        return tuple(sorted(found))

    def mentions(self, kind: str) -> list[int]:
        """Positions of the columns that the rule speaks of: "input" or "output"."""
        found = {
            column.index
            for node in self._trees()
            for column in columns(node)
            if column.kind == kind
        }
        if kind == "input":
            found |= set(self.region.columns)
        return sorted(found)

    def _trees(self) -> list[Condition | Expression]:
        """What the claim says, for those who look for something in it."""
        match self.claim:
            case Forbidden(_, condition):
                return [condition]
            case Expectation(target, means):
                return [target, *means]
            case _:
                return []

    def applies(self, X: np.ndarray) -> np.ndarray:
        """Whether each row (n, inputs) lies in the rule's region."""
        return self.region.contains(X)

    def holds(
        self, X: np.ndarray, Y: np.ndarray, slopes: Slopes | None = None
    ) -> np.ndarray:
        """Whether the rule holds at each row, exactly; outside its region it does.

        `Y` is (..., n, outputs), or class indices (..., n); leading axes are kept. An
        expectation holds within 2 sd of any mean. A custom rule always holds. A rule
        about slopes needs those of `self.slopes`, each laid out like `Y`.
        """
        X = np.asarray(X, dtype=np.float64)
        outside = ~self.applies(X)
        Y = self._outputs(np.asarray(Y), len(X))
        return np.broadcast_to(
            outside | self._claim_holds(X, Y, self._known_slopes(slopes, Y.shape)),
            Y.shape if self.schema.is_classification else Y.shape[:-1],
        ).copy()

    def _claim_holds(self, X: np.ndarray, Y: np.ndarray, slopes: Slopes) -> np.ndarray:
        match self.claim:
            case Forbidden(_, condition):
                return truth(condition, X, Y, np, slopes)
            case AllowedClasses(mask):
                return np.array(mask)[Y]
            case Expectation(target, means, sds):
                value = evaluate(target, X, Y, np, slopes)
                near = [
                    np.abs(value - evaluate(mean, X, Y, np)) <= 2 * sd
                    for mean, sd in zip(means, sds, strict=True)
                ]
                return functools.reduce(np.logical_or, near)
            case CustomTerm():
                return np.ones(len(X), dtype=bool)

    def _known_slopes(self, slopes: Slopes | None, shape: tuple[int, ...]) -> Slopes:
        if not self.slopes:
            return NO_SLOPES
        if slopes is None:
            raise DataError(
                f"rule {self.name!r} speaks of slopes, which functions have and rows "
                "of data have not. Pass `slopes`, or check a fitted model with "
                "`check_rules()`."
            )
        known = {along: np.asarray(slopes[along], float) for along in self.slopes}
        for along, values in known.items():
            if values.shape != shape:
                raise DataError(
                    f"slopes for rule {self.name!r} are laid out like the outputs, "
                    f"{shape}, but those along {along} have shape {values.shape}."
                )
        return known

    def _outputs(self, Y: np.ndarray, rows: int) -> np.ndarray:
        if self.schema.classes is not None:
            return self._class_indices(Y, rows, len(self.schema.classes))
        count = len(self.schema.outputs)
        if count == 1 and Y.shape == (rows,):
            Y = Y[:, None]
        if Y.ndim < 2 or Y.shape[-2:] != (rows, count):
            raise DataError(
                f"outputs for rule {self.name!r} have shape (..., {rows}, {count}): "
                f"one row per input row, one column per output, got {Y.shape}."
            )
        return Y.astype(np.float64)

    def _class_indices(self, Y: np.ndarray, rows: int, count: int) -> np.ndarray:
        if Y.ndim < 1 or Y.shape[-1] != rows or not np.issubdtype(Y.dtype, np.integer):
            raise DataError(
                f"classes for rule {self.name!r} are whole numbers of shape "
                f"(..., {rows}), got {Y.dtype} of shape {Y.shape}. Give the position "
                "of each label in `schema.classes`."
            )
        if Y.size and (Y.min() < 0 or Y.max() >= count):
            raise DataError(
                f"classes for rule {self.name!r} are positions 0 to {count - 1}, got "
                f"{Y.min()} to {Y.max()}."
            )
        return Y
