"""A rule bound to columns: compiled for the prior, and checked exactly on data."""

import dataclasses
import functools

import numpy as np

from ocbnn.claims import BoundClaim
from ocbnn.core.types import NO_SLOPES, Along, Slopes
from ocbnn.errors import DataError
from ocbnn.language.normal_form import columns, slopes_in
from ocbnn.language.schema import Schema
from ocbnn.rules.region import Region
from ocbnn.rules.rule import Rule


@dataclasses.dataclass(frozen=True)
class BoundRule:
    """A rule whose names are columns. Hashable by value: static under `jax.jit`.

    Attributes
    ----------
    rule
        The rule as written.
    schema
        The columns.
    name
        What reports call it: the rule's name, or its text.
    region
        The inputs at which it applies.
    claim
        Its claim, about columns.
    """

    rule: Rule
    schema: Schema
    name: str
    region: Region = dataclasses.field(compare=False)
    claim: BoundClaim = dataclasses.field(compare=False)

    # Region and claim follow from rule and schema, so comparing those is enough.

    @property
    def is_checkable(self) -> bool:
        """Whether outputs can be checked against the rule."""
        return self.claim.is_checkable

    @property
    def is_searchable(self) -> bool:
        """Whether a search can find inputs at which functions violate the rule."""
        return self.claim.is_searchable

    @functools.cached_property
    def slopes(self) -> tuple[Along, ...]:
        """The inputs along which the claim uses slopes; empty for most rules."""
        alongs = {s.along for node in self.claim.trees for s in slopes_in(node)}
        return tuple(sorted(alongs))

    def mentions(self, kind: str) -> list[int]:
        """Positions of the input or output columns that the rule mentions.

        Parameters
        ----------
        kind
            "input" or "output".
        """
        positions = {
            column.index
            for node in self.claim.trees
            for column in columns(node)
            if column.kind == kind
        }
        if kind == "input":
            positions |= set(self.region.columns)
        return sorted(positions)

    def applies(self, X: np.ndarray) -> np.ndarray:
        """Whether each row lies in the rule's region.

        Parameters
        ----------
        X
            Inputs (n, inputs), in the units of the rule.
        """
        return self.region.contains(X)

    def holds(
        self, X: np.ndarray, Y: np.ndarray, slopes: Slopes | None = None
    ) -> np.ndarray:
        """Whether the rule holds at each row, exactly; outside its region it holds.

        An expectation holds within 2 sd of any mean; a custom rule holds where its
        `holds` is true, or always without one.

        Parameters
        ----------
        X
            Inputs (n, inputs).
        Y
            Outputs (..., n, outputs), or positions of classes (..., n). For one output,
            (n,) will do.
        slopes
            For a rule about slopes: the slopes named by `self.slopes`, each laid out
            like `Y`.

        Returns
        -------
        np.ndarray
            True or False for each row, with the leading axes of `Y`.

        Raises
        ------
        DataError
            When `Y` or `slopes` have another shape, or slopes are missing.
        """
        X = np.asarray(X, dtype=np.float64)
        outside = ~self.applies(X)
        Y = self._outputs(np.asarray(Y), len(X))
        return np.broadcast_to(
            outside | self.claim.holds(X, Y, self._checked_slopes(slopes, Y.shape)),
            Y.shape if self.schema.is_classification else Y.shape[:-1],
        ).copy()

    def _checked_slopes(self, slopes: Slopes | None, shape: tuple[int, ...]) -> Slopes:
        if not self.slopes:
            return NO_SLOPES
        if slopes is None:
            raise DataError(
                f"rule {self.name!r} is about slopes, which functions have but rows of "
                "data do not. Pass `slopes`, or check a fitted model with "
                "`check_rules()`."
            )
        arrays = {along: np.asarray(slopes[along], float) for along in self.slopes}
        for along, values in arrays.items():
            if values.shape != shape:
                raise DataError(
                    f"slopes for rule {self.name!r} are laid out like the outputs, "
                    f"{shape}, but those along {along} have shape {values.shape}."
                )
        return arrays

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
