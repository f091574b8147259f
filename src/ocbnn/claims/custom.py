"""The user's own density: any differentiable `log_g` of a function."""

import dataclasses
import inspect
from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.claims.base import (
    BoundClaim,
    Density,
    Evaluation,
    OwnFunction,
    Scales,
    Settings,
    Weight,
    WrittenClaim,
)
from ocbnn.core.types import (
    Function,
    Input,
    Inputs,
    Output,
    Scalar,
    Site,
    Slopes,
    Unchecked,
)
from ocbnn.core.units import Units
from ocbnn.core.words import shorten
from ocbnn.errors import RuleError
from ocbnn.language.schema import Schema


@dataclasses.dataclass(frozen=True, eq=False)
class Custom(WrittenClaim):
    """The user's own `log_g`; equal only when it is the same function."""

    log_g: OwnFunction
    holds: Unchecked[OwnFunction | None] = None

    def __post_init__(self) -> None:
        if not callable(self.log_g):
            raise RuleError(
                f"`custom` needs a function `log_g(xs, ys)` of all points of the "
                f"region at once, got {type(self.log_g).__name__}: "
                f"{shorten(str(self.log_g))}."
            )
        if self.holds is not None and not callable(self.holds):
            raise RuleError(
                "`holds` of a custom rule is a function `holds(xs, ys)` that says for "
                f"each point whether the rule is kept, got {type(self.holds).__name__}:"
                f" {shorten(str(self.holds))}."
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Custom) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return Custom, id(self.log_g), id(self.holds)

    def __str__(self) -> str:
        return f"custom({getattr(self.log_g, '__name__', type(self.log_g).__name__)})"

    def bind(self, schema: Schema) -> "CustomTerm":
        """Nothing to resolve: `log_g` gets all columns."""
        return CustomTerm(self.log_g, self.holds)


@dataclasses.dataclass(frozen=True, eq=False)
class CustomTerm(BoundClaim):
    """A bound custom claim; equal only when its functions are the same."""

    log_g: OwnFunction
    own_holds: OwnFunction | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CustomTerm) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return CustomTerm, id(self.log_g), id(self.own_holds)

    @property
    def is_checkable(self) -> bool:
        """Whether the user gave `holds`."""
        return self.own_holds is not None

    @property
    def is_searchable(self) -> bool:
        """`holds` is yes or no, and a search needs a slope."""
        return False

    def holds(self, X: np.ndarray, Y: np.ndarray, slopes: Slopes) -> np.ndarray:
        """The user's `holds`, called once per function; without it, always True."""
        if self.own_holds is None:
            return np.ones(len(X), dtype=bool)
        # Class numbers have no output axis.
        rows = 1 if np.issubdtype(Y.dtype, np.integer) else 2
        lead, functions = Y.shape[:-rows], Y.reshape(-1, *Y.shape[-rows:])
        results = [np.asarray(self.own_holds(X, values)) for values in functions]
        for result in results:
            if result.shape != (len(X),) or result.dtype != bool:
                raise RuleError(
                    f"`holds` of a custom rule gives True or False for each of "
                    f"{len(X)} points, got {result.dtype} of shape {result.shape}."
                )
        return np.stack(results).reshape(*lead, len(X))

    def idle_settings(self, settings: Settings) -> tuple[Sequence[str], str]:
        """All settings: `log_g` defines the density completely."""
        shared = ("strength", "weight", "tolerance", "form", "tau", "literal")
        return (*shared, "allowed", "forbidden", "per"), "put it into `log_g`"

    def check_points(self, name: str, points: Inputs, outputs: int) -> None:
        """`log_g` must return one number for all points together."""
        ys = jax.ShapeDtypeStruct((points.shape[0], outputs), points.dtype)
        zero = lambda x: jnp.zeros((outputs,), x.dtype)
        value = jax.eval_shape(lambda xs, ys: self.value(xs, ys, zero), points, ys)
        if getattr(value, "shape", None) != ():
            raise RuleError(
                f"log_g of rule {name!r} must return one number for all the points "
                f"together, got {value}. Sum over the points, for example jnp.sum(...)."
            )

    def value(self, xs: Inputs, ys: jax.Array, function: Function) -> jax.Array:
        """The value of `log_g`, which may take the function itself as an argument."""
        if "function" in inspect.signature(self.log_g).parameters:
            return self.log_g(xs, ys, function=function)
        return self.log_g(xs, ys)

    def weight(self, settings: Settings) -> Weight:
        """One: `log_g` contains its own weight."""
        return Weight(1.0)

    def density(
        self, settings: Settings, scales: Scales, units: Units | None
    ) -> "OwnDensity":
        """The user's function, in the user's units."""
        return OwnDensity(self, units)


class OwnDensity(Density):
    """The user's own density, which works in the user's units."""

    claim: CustomTerm = eqx.field(static=True)
    units: Units | None

    is_stackable: ClassVar[bool] = False

    def log_g(self, evaluation: Evaluation, weight: Scalar, share: Scalar) -> Scalar:
        """The value of the user's function."""
        if self.units is None:
            value = self.claim.value(evaluation.xs, evaluation.ys, evaluation.function)
        else:
            outer = self.units.traced(evaluation.xs, evaluation.ys)
            value = self.claim.value(
                *outer, self._outer(self.units, evaluation.function)
            )
        return jnp.asarray(value).astype(evaluation.ys.dtype)

    def slack(self, site: Site) -> Scalar:
        """Raise an error: a custom rule has no measure of violation."""
        raise TypeError("a custom rule has no slack")

    @staticmethod
    def _outer(units: Units, function: Function) -> Function:
        def outer(x: Input) -> Output:
            return units.traced_outputs(function(units.traced_inputs(x)))

        return outer
