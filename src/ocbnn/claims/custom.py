"""A person's own density: any differentiable `log_g` of a function."""

import dataclasses
import inspect
from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.claims.base import (
    BoundClaim,
    Density,
    Felt,
    OwnFunction,
    Scales,
    Settings,
    Weight,
    WrittenClaim,
)
from ocbnn.core.types import Function, Input, Inputs, Output, Scalar, Site, Slopes
from ocbnn.core.units import Units
from ocbnn.core.words import shorten
from ocbnn.errors import RuleError
from ocbnn.language.schema import Schema


@dataclasses.dataclass(frozen=True, eq=False)
class Custom(WrittenClaim):
    """A person's own `log_g`; equal only when it is the same function."""

    log_g: OwnFunction
    holds: Any = None

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
        """It finds its columns by itself."""
        return CustomTerm(self.log_g, self.holds)


@dataclasses.dataclass(frozen=True, eq=False)
class CustomTerm(BoundClaim):
    """The same; equal only when the functions are the same."""

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
        """Whether its author has said when it holds."""
        return self.own_holds is not None

    @property
    def is_searchable(self) -> bool:
        """A yes or no has no slope to follow."""
        return False

    def holds(self, X: np.ndarray, Y: np.ndarray, slopes: Slopes) -> np.ndarray:
        """What its author says, for each function in turn; else it always holds."""
        if self.own_holds is None:
            return np.ones(len(X), dtype=bool)
        # Class numbers have no axis of outputs.
        rows = 1 if np.issubdtype(Y.dtype, np.integer) else 2
        lead, each = Y.shape[:-rows], Y.reshape(-1, *Y.shape[-rows:])
        kept = [np.asarray(self.own_holds(X, one)) for one in each]
        for one in kept:
            if one.shape != (len(X),) or one.dtype != bool:
                raise RuleError(
                    f"`holds` of a custom rule gives True or False for each of "
                    f"{len(X)} points, got {one.dtype} of shape {one.shape}."
                )
        return np.stack(kept).reshape(*lead, len(X))

    def idle_settings(self, settings: Settings) -> tuple[Sequence[str], str]:
        """All of them: the function says everything."""
        shared = ("strength", "weight", "tolerance", "form", "tau", "literal")
        return (*shared, "allowed", "forbidden", "per"), "put it into `log_g`"

    def check_points(self, name: str, points: Inputs, outputs: int) -> None:
        """It must give one number for all points together."""
        ys = jax.ShapeDtypeStruct((points.shape[0], outputs), points.dtype)
        zero = lambda x: jnp.zeros((outputs,), x.dtype)
        value = jax.eval_shape(lambda xs, ys: self.value(xs, ys, zero), points, ys)
        if getattr(value, "shape", None) != ():
            raise RuleError(
                f"log_g of rule {name!r} must return one number for all the points "
                f"together, got {value}. Sum over the points, for example jnp.sum(...)."
            )

    def value(self, xs: Inputs, ys: jax.Array, function: Function) -> jax.Array:
        """What the author's function gives, which may ask for the function itself."""
        if "function" in inspect.signature(self.log_g).parameters:
            return self.log_g(xs, ys, function=function)
        return self.log_g(xs, ys)

    def weight(self, settings: Settings) -> Weight:
        """Its own."""
        return Weight(1.0)

    def density(
        self, settings: Settings, scales: Scales, units: Units | None
    ) -> "OwnDensity":
        """The function, in the user's own units."""
        return OwnDensity(self, units)


class OwnDensity(Density):
    """The user's own density, which is about the user's own units."""

    claim: CustomTerm = eqx.field(static=True)
    units: Units | None

    is_stackable: ClassVar[bool] = False

    def log_g(self, felt: Felt, weight: Scalar, share: Scalar) -> Scalar:
        """What the function gives."""
        if self.units is None:
            value = self.claim.value(felt.xs, felt.ys, felt.function)
        else:
            outer = self.units.traced(felt.xs, felt.ys)
            value = self.claim.value(*outer, self._outer(self.units, felt.function))
        return jnp.asarray(value).astype(felt.ys.dtype)

    def slack(self, site: Site) -> Scalar:
        """None: it has no notion of being broken by so much."""
        raise TypeError("a custom rule has no slack")

    @staticmethod
    def _outer(units: Units, function: Function) -> Function:
        def outer(x: Input) -> Output:
            return units.traced_outputs(function(units.traced_inputs(x)))

        return outer
