"""The interface of every kind of claim.

A claim has three forms. As an expert writes it, it is a condition, or a `WrittenClaim`
of another kind: trees with names, and text. Bound to columns it is a `BoundClaim`: it
checks exactly whether outputs keep it and, where possible, states what it forbids. For
compiled code it is a `Density`: its numbers are arrays, and it computes a function's
penalty and its slack.

One file of this room holds all three forms of one kind. Other rooms ask a claim for
what it can do, never which kind it is.
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

from ocbnn.claims.settings import Per, Strictness
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
# The natural size of everything that a claim compares, in the claim's own order.
Scales: TypeAlias = tuple[tuple[Float[Array, ""], ...], ...]
Mask: TypeAlias = tuple[bool, ...]


@runtime_checkable
class Settings(Protocol):
    """How strictly a rule is held; `Rule` implements this."""

    @property
    def points(self) -> int:
        """The number of inputs at which it is evaluated."""
        ...

    @property
    def weight(self) -> float | None:
        """How often its density counts in total; None for the default."""
        ...

    @property
    def tolerance(self) -> float | None:
        """Roughly how far outputs may be beyond the edge; None for the default."""
        ...

    @property
    def is_indicator(self) -> bool:
        """Whether the penalty is the paper's soft indicator."""
        ...

    @property
    def allowed(self) -> float:
        """The Dirichlet concentration of allowed classes."""
        ...

    @property
    def forbidden(self) -> float | None:
        """The Dirichlet concentration of all other classes; None for the default."""
        ...

    @property
    def per(self) -> Per:
        """Whether a mixture chooses its component at each point or once per region."""
        ...

    @property
    def tau(self) -> tuple[float, float]:
        """The steepness of the soft indicator."""
        ...

    @property
    def literal(self) -> bool:
        """Whether the soft indicator is the one printed in the paper."""
        ...

    @property
    def strength(self) -> float | Strictness:
        """The price of a violation, or "soft", "firm" or "hard"."""
        ...

    @property
    def strictness(self) -> Strictness:
        """How strictly the rule is held: "soft", "firm" or "hard"."""
        ...

    @property
    def gamma(self) -> float:
        """The price of a violation, or the initial price if refinement raises it."""
        ...


class Dial(NamedTuple):
    """The setting that controls how strictly a claim is held.

    Attributes
    ----------
    setting
        Its name.
    now
        Its value, or a word such as "firm".
    usual
        Its default value.
    words
        The words it accepts.
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
        A sample of the rule's points.
    ys
        A sample of outputs.
    output_scale
        The scale of each output.
    slopes
        The scale of each slope that the claim uses.
    """

    xs: Float[Array, "points inputs"]
    ys: Float[Array, "rows outputs"]
    output_scale: Float[Array, " outputs"]
    slopes: Slopes = NO_SLOPES


class Evaluation(NamedTuple):
    """A function evaluated at all points of a rule: values, slopes and the function."""

    xs: Inputs
    ys: Outputs
    slopes: Slopes
    function: Function

    def each(self, function: Callable[[Site], Array]) -> Array:
        """Apply a function of one site at every point."""
        return jax.vmap(lambda *site: function(Site(*site)))(
            self.xs, self.ys, self.slopes
        )


class Weight(NamedTuple):
    """The weight of a claim.

    Attributes
    ----------
    value
        The number.
    at_each
        Whether it is the weight of each point, or of all points together.
    """

    value: float
    at_each: bool = False

    @classmethod
    def per_point(cls, settings: Settings) -> "Weight":
        """One per point, as in the paper, unless a weight is given for all points."""
        if settings.weight is None:
            return cls(1.0, at_each=True)
        return cls(settings.weight)


class Density(eqx.Module):
    """A claim's density. Its form is static, and its numbers are arrays.

    So a different threshold, strength or standard deviation needs no compilation.
    """

    # Whether the claim has an edge that points can move to.
    has_edge: ClassVar[bool] = False
    # Whether densities of the same form may be stacked and computed together.
    is_stackable: ClassVar[bool] = True

    @property
    def is_bounded(self) -> bool:
        """Whether the density is bounded above."""
        return True

    def bounded(self) -> "Density":
        """One that is, if the rule's settings leave that open; otherwise, the same."""
        return self

    def sizes(self) -> Scales:
        """The natural size of everything that is compared."""
        return ()

    # Whether the penalty never exceeds the weight, however large the violation.
    is_limited: ClassVar[bool] = False

    @abc.abstractmethod
    def log_g(self, evaluation: Evaluation, weight: Scalar, share: Scalar) -> Scalar:
        """`log g(W|C)`, the claim's share of the log density.

        Parameters
        ----------
        evaluation
            The function at all points of the rule.
        weight
            The value of the claim's `weight`.
        share
            The weight of one point: `weight` itself if each point has it, else its part
            of it.
        """

    @abc.abstractmethod
    def slack(self, site: Site) -> Scalar:
        """How far a function is from violating the claim at one site.

        Parameters
        ----------
        site
            An input, with the function's value and slopes there.

        Returns
        -------
        Scalar
            In natural sizes: zero or more where the claim holds, negative elsewhere.
        """


class BoundClaim(abc.ABC):
    """A claim about columns. Frozen and hashable by value: static under `jax.jit`."""

    # Whether it can be held firm or hard, which a search must be able to check.
    can_be_strict: ClassVar[bool] = False
    # Whether the density is a penalty: zero where the claim holds, else negative.
    is_penalty: ClassVar[bool] = False
    # What to do when draws violate it.
    remedy: ClassVar[str] = "make it stricter"
    # A sentence that says when a draw keeps it; empty where that is obvious.
    kept_where: ClassVar[str] = ""

    # What the claim says.

    @property
    def trees(self) -> Sequence[Tree]:
        """The trees over columns that it is made of, for searches."""
        return ()

    @property
    def has_sides(self) -> bool:
        """Whether it allows outputs on several sides of a forbidden part."""
        return False

    @property
    def required(self) -> Condition | None:
        """The condition that outputs must satisfy; None if there is no such condition.

        An expectation only makes outputs unlikely, so it requires nothing.
        """
        return None

    @property
    def allowed(self) -> Mask | None:
        """Whether each class is allowed; None if it is not about classes."""
        return None

    @property
    def broken(self) -> Terms | None:
        """Where it is violated: a union of intersections of `f <= 0`, for proofs.

        In terms of the network's outputs, which are logits for classes. None where it
        has no such form, so nothing can be proved.
        """
        return None

    @property
    def curves(self) -> tuple[Curve, ...]:
        """Lines on which outputs are expected, for plots."""
        return ()

    # Checks.

    @property
    def is_checkable(self) -> bool:
        """Whether outputs can be checked against it."""
        return True

    @property
    def is_searchable(self) -> bool:
        """Whether it has a slack whose slope leads a search to violations."""
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
            The slopes that it uses, each laid out like `Y`.

        Returns
        -------
        Bool[np.ndarray, "..."]
            True or False for each row, with the leading axes of `Y`.
        """

    # Settings.

    @abc.abstractmethod
    def idle_settings(self, settings: Settings) -> tuple[Sequence[str], str]:
        """Settings that have no effect on this claim; giving one is an error.

        Parameters
        ----------
        settings
            The rule's settings.

        Returns
        -------
        tuple[Sequence[str], str]
            The names of these settings, and a phrase for the error that names those
            which have an effect.
        """

    def check(self, settings: Settings) -> None:  # noqa: B027 (most refuse nothing)
        """Refuse settings that do not fit the claim.

        Parameters
        ----------
        settings
            The rule's settings.

        Raises
        ------
        RuleError
            When they do not fit.
        """

    def dial(self, settings: Settings) -> Dial | None:
        """The setting that controls its strictness; None if the user's code does.

        Parameters
        ----------
        settings
            The rule's settings.
        """
        return None

    def softly(self, settings: Settings) -> bool:
        """Whether its soft density also counts, beside its strict one.

        Parameters
        ----------
        settings
            The rule's settings.
        """
        return False

    def best(self, settings: Settings, points: int) -> float | None:
        """The largest value of its term of the log density; None if unbounded.

        Parameters
        ----------
        settings
            The rule's settings.
        points
            The number of points.
        """
        return None

    # For compiled code.

    def standard(self, units: Units) -> "BoundClaim":
        """The same claim about columns in standard units.

        Parameters
        ----------
        units
            How standard and user's units relate.
        """
        return self

    def unit_scales(self) -> Scales:
        """Natural sizes of one, for problems that are not standardised."""
        return ()

    def measured_scales(self, typical: Typical) -> Scales:
        """The natural size of everything that is compared.

        Parameters
        ----------
        typical
            Typical inputs and outputs, in the units of the claim.
        """
        return ()

    def compared(self, scales: Scales) -> list[tuple[Expression, float]]:
        """Expressions that lose digits to rounding, each with its natural size.

        Parameters
        ----------
        scales
            The natural size of everything that is compared.
        """
        return []

    def check_points(  # noqa: B027 (most refuse nothing)
        self, name: str, points: Inputs, outputs: int
    ) -> None:
        """Refuse points at which the claim cannot be computed.

        Parameters
        ----------
        name
            The rule's name, for the error.
        points
            The rule's points.
        outputs
            The number of outputs.

        Raises
        ------
        RuleError
            When it cannot be computed there.
        """

    @abc.abstractmethod
    def weight(self, settings: Settings) -> Weight:
        """How often its density counts.

        Parameters
        ----------
        settings
            The rule's settings.
        """

    @abc.abstractmethod
    def density(
        self, settings: Settings, scales: Scales, units: Units | None
    ) -> Density:
        """The density for compiled code; `self` is already in `units`.

        Parameters
        ----------
        settings
            The rule's settings.
        scales
            The natural size of everything that is compared.
        units
            Standard units; None if they are the user's own.
        """


class WrittenClaim(abc.ABC):
    """A claim that is not a condition, as an expert writes it. Frozen.

    `str` gives text that parses back to an equal claim, if the kind has text.
    """

    # The sign or word that follows the subject, as `~` does; None for no text.
    sign: ClassVar[str | None] = None
    # The error message where conditions are joined with such a claim.
    whole: ClassVar[str] = ""

    @classmethod
    def read(cls, parser: Parser, target: Expression) -> "WrittenClaim":
        """Parse from the sign on, which has not been consumed yet.

        Parameters
        ----------
        parser
            The parser, at the sign.
        target
            The expression before the sign.

        Raises
        ------
        RuleSyntaxError
            When the text is no such claim.
        """
        raise parser.fail(f"a claim of kind {cls.__name__} has no text")

    @property
    def trees(self) -> Sequence[Tree]:
        """Parts that mention outputs."""
        return ()

    @property
    def input_trees(self) -> Sequence[Expression]:
        """Parts that mention inputs only."""
        return ()

    @abc.abstractmethod
    def bind(self, schema: Schema) -> BoundClaim:
        """The same claim about the columns of a schema.

        Parameters
        ----------
        schema
            The names of the columns.
        """

    def sentence(self, spelled: Callable[[Expression], str]) -> str:
        """The claim as a phrase, such as "y is about 3, give or take 0.5".

        Parameters
        ----------
        spelled
            Spells an expression.
        """
        return str(self)


AnyClaim: TypeAlias = Condition | WrittenClaim
OwnFunction: TypeAlias = Callable[..., Any]
