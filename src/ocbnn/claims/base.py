"""What every kind of claim knows about itself.

A claim has three shapes. As an expert writes it, it is a condition, or a `WrittenClaim`
of another kind: trees with names, and text. Bound to columns it is a `BoundClaim`: it
tells exactly whether outputs keep it and, if that can be said, what it forbids. For
compiled code it is a `Density`: its numbers are arrays, and it tells what a function
pays for it and how far the function is from breaking it.

One file of this room holds all three shapes of one kind. Other rooms ask a claim for
what it can do, and never which kind it is.
"""

import abc
from collections.abc import Callable, Sequence
from typing import (
    Any,
    ClassVar,
    NamedTuple,
    Protocol,
    TypeAlias,
    runtime_checkable,
)

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Bool, Float

from ocbnn.claims.settings import Held, Per
from ocbnn.core.types import (
    NO_SLOPES,
    Function,
    Inputs,
    Outputs,
    Scalar,
    Site,
    Slopes,
)
from ocbnn.core.units import Units
from ocbnn.language.conditions import Condition
from ocbnn.language.grammar import Parser
from ocbnn.language.normal_form import Terms
from ocbnn.language.schema import Schema
from ocbnn.language.tree import Expression

Tree: TypeAlias = Condition | Expression
# The natural size of everything that a claim compares, in an order of its own.
Scales: TypeAlias = tuple[tuple[Float[Array, ""], ...], ...]
Mask: TypeAlias = tuple[bool, ...]


@runtime_checkable
class Settings(Protocol):
    """How a rule is held; `Rule` has these."""

    @property
    def points(self) -> int:
        """At how many inputs it is evaluated."""
        ...

    @property
    def weight(self) -> float | None:
        """How often its density counts in all; None: as often as is usual."""
        ...

    @property
    def tolerance(self) -> float | None:
        """How far outputs may be beyond the edge, give or take; None: as is usual."""
        ...

    @property
    def is_indicator(self) -> bool:
        """Whether the paper's indicator says what a broken rule costs."""
        ...

    @property
    def allowed(self) -> float:
        """The Dirichlet concentration of allowed classes."""
        ...

    @property
    def forbidden(self) -> float:
        """That of the others."""
        ...

    @property
    def per(self) -> Per:
        """Whether a mixture chooses at each point or once."""
        ...

    @property
    def tau(self) -> tuple[float, float]:
        """How steep the soft indicator is."""
        ...

    @property
    def literal(self) -> bool:
        """Whether it is as the paper prints it."""
        ...

    @property
    def strength(self) -> float | Held:
        """The price of a violation, or a word."""
        ...

    @property
    def held(self) -> Held:
        """How strictly, in a word."""
        ...

    @property
    def gamma(self) -> float:
        """The price of a violation; where it is found, what it starts at."""
        ...


class Dial(NamedTuple):
    """The setting that says how strictly a claim is held.

    Attributes
    ----------
    setting
        Its name.
    now
        Its value, or a word.
    usual
        Its value when it is left out.
    words
        Words that it may be.
    """

    setting: str
    now: float | str
    usual: float
    words: tuple[str, ...]


class Curve(NamedTuple):
    """A line on which a claim expects outputs: where `target` equals `mean`."""

    target: Expression
    mean: Expression
    sd: float


class Typical(NamedTuple):
    """Typical inputs and outputs, and the natural size of each column.

    Attributes
    ----------
    xs
        Some of the rule's points.
    ys
        Some outputs.
    output_scale
        The size of each output.
    slopes
        That of each slope the claim speaks of.
    """

    xs: Float[Array, "points inputs"]
    ys: Float[Array, "rows outputs"]
    output_scale: Float[Array, " outputs"]
    slopes: Slopes = NO_SLOPES


class Felt(NamedTuple):
    """A function at all points of a rule: values, slopes, and the function itself."""

    xs: Inputs
    ys: Outputs
    slopes: Slopes
    function: Function

    def each(self, one: Callable[[Site], Array]) -> Array:
        """What a function of one site gives at every point."""
        return jax.vmap(lambda *site: one(Site(*site)))(self.xs, self.ys, self.slopes)


class Weight(NamedTuple):
    """How much a claim counts.

    Attributes
    ----------
    value
        The number.
    at_each
        Whether every point has it, or all of them together.
    """

    value: float
    at_each: bool = False


class Density(eqx.Module):
    """What a claim costs a function. Its form is static, its numbers are arrays.

    So another threshold, strength or standard deviation needs no compilation.
    """

    # Whether the claim has an edge that points may walk to.
    has_edge: ClassVar[bool] = False
    # Whether several of one form may be computed together.
    is_stackable: ClassVar[bool] = True

    @property
    def is_bounded(self) -> bool:
        """Whether no function, however steep, is rewarded without limit."""
        return True

    def sizes(self) -> Scales:
        """The natural size of everything that is compared."""
        return ()

    # Whether no function pays more than the weight, however far it breaks the claim.
    is_limited: ClassVar[bool] = False

    @abc.abstractmethod
    def log_g(self, felt: Felt, weight: Scalar, share: Scalar) -> Scalar:
        """`log g(W|C)`, given the weight of all points and the share of one."""

    @abc.abstractmethod
    def slack(self, site: Site) -> Scalar:
        """What is left at one site before the claim is broken; below zero, it is.

        In the natural sizes of the claim. Zero or more exactly where it holds.
        """


class BoundClaim(abc.ABC):
    """A claim about columns. Frozen and hashable by value: static under `jax.jit`."""

    # Whether it may be held firmly, or without exception.
    can_be_strict: ClassVar[bool] = False
    # Whether it costs nothing where it holds, and never rewards.
    is_penalty: ClassVar[bool] = False
    # What helps where functions break it.
    remedy: ClassVar[str] = "make it stricter"
    # Where a draw keeps it, in a sentence; empty where that needs no words.
    kept_where: ClassVar[str] = ""

    # What it says.

    @property
    def trees(self) -> Sequence[Tree]:
        """What is said about columns, for those who look for something in it."""
        return ()

    @property
    def has_sides(self) -> bool:
        """Whether it leaves room on several sides, with none in between."""
        return False

    @property
    def required(self) -> Condition | None:
        """The condition that outputs must keep; None where it is about something else.

        An expectation makes outputs unlikely, and requires nothing.
        """
        return None

    @property
    def allowed(self) -> Mask | None:
        """Whether each class is allowed; None where it is not about classes."""
        return None

    @property
    def broken(self) -> Terms | None:
        """How it is broken: a union of intersections of `f <= 0`, for bounds.

        Of outputs as a network gives them, logits for classes. None where that cannot
        be said, and nothing can be proved.
        """
        return None

    @property
    def curves(self) -> tuple[Curve, ...]:
        """Lines that outputs are expected on, for pictures."""
        return ()

    # Whether it holds.

    @property
    def is_checkable(self) -> bool:
        """Whether outputs can break it."""
        return True

    @property
    def is_searchable(self) -> bool:
        """Whether it has a slack that leads to where it is broken."""
        return self.is_checkable

    @abc.abstractmethod
    def holds(
        self, X: np.ndarray, Y: np.ndarray, slopes: Slopes
    ) -> Bool[np.ndarray, "..."]:
        """Whether it holds, exactly.

        Parameters
        ----------
        X
            Rows of inputs, (n, inputs).
        Y
            Outputs (..., n, outputs), or class numbers (..., n).
        slopes
            Those that it speaks of, each laid out like `Y`.
        """

    # How it is held.

    @abc.abstractmethod
    def idle_settings(self, settings: Settings) -> tuple[Sequence[str], str]:
        """Settings that have no effect on it, and what has one instead."""

    def check(self, settings: Settings) -> None:  # noqa: B027 (most refuse nothing)
        """Refuse settings that do not fit what is said."""

    def dial(self, settings: Settings) -> Dial | None:
        """What says how strictly it is held; None where the user's own code does."""
        return None

    def softly(self, settings: Settings) -> bool:
        """Whether what the claim says softly counts beside its strict density."""
        return False

    def best(self, settings: Settings, points: int) -> float | None:
        """The most that its share of the log density can be; None: it has no limit."""
        return None

    # For compiled code.

    def standard(self, units: Units) -> "BoundClaim":
        """The same claim about columns in standard units."""
        return self

    def unit_scales(self) -> Scales:
        """Sizes of one, for problems that are not standardised."""
        return ()

    def measured_scales(self, typical: Typical) -> Scales:
        """The natural size of everything that is compared."""
        return ()

    def compared(self, scales: Scales) -> list[tuple[Expression, float]]:
        """Expressions whose digits matter, each with its natural size."""
        return []

    def check_points(  # noqa: B027 (most refuse nothing)
        self, name: str, points: Inputs, outputs: int
    ) -> None:
        """Refuse what cannot be computed at these points."""

    @abc.abstractmethod
    def weight(self, settings: Settings) -> Weight:
        """How much it counts."""

    @abc.abstractmethod
    def density(
        self, settings: Settings, scales: Scales, units: Units | None
    ) -> Density:
        """What compiled code computes; `self` is in `units` already."""


class WrittenClaim(abc.ABC):
    """A claim that is not a condition, as an expert writes it. Frozen.

    `str` gives text that reads back as an equal claim, where the kind has text.
    """

    # The sign or word that follows what is spoken of, as `~` does; None: no text.
    sign: ClassVar[str | None] = None
    # Said where conditions are joined with such a claim.
    whole: ClassVar[str] = ""

    @classmethod
    def read(cls, parser: Parser, target: Expression) -> "WrittenClaim":
        """Read on from the sign, which was not taken yet."""
        raise parser.fail(f"a claim of kind {cls.__name__} has no text")

    @property
    def trees(self) -> Sequence[Tree]:
        """Parts that speak of outputs."""
        return ()

    @property
    def input_trees(self) -> Sequence[Expression]:
        """Parts that speak of inputs alone."""
        return ()

    @abc.abstractmethod
    def bind(self, schema: Schema) -> BoundClaim:
        """The same claim about the columns of a schema."""

    def sentence(self, spelled: Callable[[Expression], str]) -> str:
        """The claim in words, given how expressions are spelled."""
        return str(self)


AnyClaim: TypeAlias = Condition | WrittenClaim
OwnFunction: TypeAlias = Callable[..., Any]
