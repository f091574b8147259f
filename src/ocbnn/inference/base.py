"""The interfaces of inference: log densities, plans and algorithms.

A `Plan` is what the user writes: an algorithm's settings and how long to run it. Bound
to a log density it becomes an `Algorithm`, whose `init`, `step` and `emit` are pure
functions. Algorithms never loop over steps; `inference.driver` does.
"""

import abc
import dataclasses
from typing import Any, ClassVar, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from ocbnn.core.types import Position, RandomKey, Scalar
from ocbnn.errors import SettingError


@runtime_checkable
class LogDensity(Protocol):
    """All that an algorithm sees of a model. `ocbnn.posterior.Target` is one."""

    def logdensity(self, position: Position) -> Scalar:
        """The exact log density, up to a constant.

        Parameters
        ----------
        position
            A position, structured like `shapes()`.
        """
        ...

    def stochastic_logdensity(self, position: Position, key: RandomKey) -> Scalar:
        """A cheap random estimate of it.

        Parameters
        ----------
        position
            A position, structured like `shapes()`.
        key
            Chooses rows and points.
        """
        ...

    def split(self, position: Position) -> tuple[Scalar, Scalar]:
        """Two summands of it: the first is the density that `initial` samples.

        Parameters
        ----------
        position
            A position, structured like `shapes()`.
        """
        ...

    def initial(self, key: RandomKey) -> Position:
        """A starting position.

        Parameters
        ----------
        key
            Determines the position.
        """
        ...

    def shapes(self) -> Position:
        """The structure of a position."""
        ...

    def parts(self, position: Position) -> dict[str, Scalar]:
        """The named summands, so that errors can name the faulty one.

        Parameters
        ----------
        position
            A position, structured like `shapes()`.
        """
        ...


# These counts of a plan are in memory at the same time; others run one after another.
_AT_ONCE = ("chains", "particles", "members", "draws")
_MOST_AT_ONCE, _MOST_IN_TURN = 10_000_000, 1_000_000_000


class Algorithm(eqx.Module):
    """Pure functions over a state. The algorithm itself is a pytree."""

    @abc.abstractmethod
    def init(self, key: RandomKey) -> Any:
        """The first state.

        Parameters
        ----------
        key
            Determines the state.

        Returns
        -------
        Any
            A named tuple of arrays: all that the next move needs.
        """

    @abc.abstractmethod
    def step(self, key: RandomKey, state: Any) -> tuple[Any, Any]:
        """One move, compiled and called by the driver.

        Parameters
        ----------
        key
            Determines the move; never used before.
        state
            What `init` or the last move returned.

        Returns
        -------
        tuple[Any, Any]
            The next state, and a named tuple of numbers that describe the move to the
            user. A field called `logdensity`, `acceptance` or `divergent` is used in
            reports.
        """

    @abc.abstractmethod
    def emit(self, key: RandomKey, state: Any) -> Position:
        """The positions of a state.

        Parameters
        ----------
        key
            For algorithms that draw positions from a fitted distribution.
        state
            What `init` or the last move returned.

        Returns
        -------
        Position
            Positions of the density, stacked along a first axis: one for a chain, and
            all particles for a population.
        """

    def warmup(
        self, key: RandomKey, state: Any, index: Int[Array, ""]
    ) -> tuple[Any, Any]:
        """One move of the warm-up, which may adapt the state; by default, a `step`.

        Parameters
        ----------
        key
            Determines the move.
        state
            What `init` or the last move returned.
        index
            The move's number, from 0.

        Returns
        -------
        tuple[Any, Any]
            As `step` returns.
        """
        return self.step(key, state)

    def is_done(self, state: Any) -> Bool[Array, ""]:
        """Whether the warm-up may end before its last move; by default, never.

        Parameters
        ----------
        state
            What `init` or the last move returned.
        """
        return jnp.zeros((), bool)


class StartedAlgorithm(Algorithm):
    """A chain that accepts a starting position, such as an ensemble's member."""

    @abc.abstractmethod
    def init_at(self, key: RandomKey, position: Position) -> Any:
        """The first state, at a given position.

        Parameters
        ----------
        key
            For what else is random about it.
        position
            The position, structured like `shapes()` of the density.
        """


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan(abc.ABC):
    """An algorithm's settings, and how long to run it.

    Attributes
    ----------
    chains
        Independent runs, spread over the processor's cores.
    warmup
        Moves before anything is kept.
    draws
        How often positions are kept, per chain.
    thin
        Moves per kept draw.
    """

    chains: int = 4
    warmup: int = 1000
    draws: int = 1000
    thin: int = 1

    # Whether draws are correlated along a chain (then R-hat and ESS apply).
    is_chain: ClassVar[bool] = True
    # Whether draws come from the exact posterior in the long run.
    is_exact: ClassVar[bool] = True
    # Whether every step uses a batch of rows and fresh points.
    is_batched: ClassVar[bool] = False
    # Whether states during the warm-up can be shown, and kept if the run is stopped
    # there: particles, or a population.
    is_anytime: ClassVar[bool] = False
    # Whether the number of warm-up moves is known, so that the remaining time can be
    # estimated.
    is_counted: ClassVar[bool] = True
    # What an approximation may get wrong, for verdicts; empty for exact samplers.
    caution: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_counts(self, chains=1, warmup=0, draws=1, thin=0)

    @property
    def width(self) -> int:
        """The number of positions that one chain moves together."""
        return 1

    @property
    def label(self) -> str:
        """The algorithm's name in messages."""
        return type(self).__name__

    @abc.abstractmethod
    def bind(self, target: LogDensity) -> Algorithm:
        """The algorithm for this log density.

        Parameters
        ----------
        target
            The log density, such as `model.target_`.
        """


def check_counts(plan: Plan, **minima: int) -> None:
    """Raise an error for counts that are not whole numbers, too small or too large."""
    for name, minimum in minima.items():
        value = getattr(plan, name)
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if not is_whole or value < minimum:
            raise SettingError(
                f"{plan.label}({name}=...) must be a whole number of at least "
                f"{minimum}, got {value!r}."
            )
        maximum = _MOST_AT_ONCE if name in _AT_ONCE else _MOST_IN_TURN
        if value > maximum:
            raise SettingError(
                f"{plan.label}({name}=...) must be at most {maximum:,}, got "
                f"{min(value, 10**300):.3g}."
            )


def check_positive(plan: Plan, *names: str) -> None:
    """Raise an error for settings that are not finite numbers above zero."""
    for name in names:
        value = getattr(plan, name)
        if not isinstance(value, (int, float)) or not 0 < value < float("inf"):
            raise SettingError(
                f"{plan.label}({name}=...) must be a number above zero, got {value!r}."
            )


def check_share(plan: Plan, *names: str) -> None:
    """Raise an error for settings that do not lie between zero and one."""
    check_positive(plan, *names)
    for name in names:
        value = getattr(plan, name)
        if value >= 1:
            raise SettingError(
                f"{plan.label}({name}=...) is a share and must be below one, got "
                f"{value!r}."
            )


def batched_initial(target: LogDensity, key: RandomKey, count: int) -> Position:
    """`count` starting positions, stacked."""
    return jax.vmap(target.initial)(jax.random.split(key, count))


def check_one_of(plan: Plan, **choices: tuple[str, ...]) -> None:
    """Raise an error for values that are not among some words."""
    for name, words in choices.items():
        value = getattr(plan, name)
        if value not in words:
            raise SettingError(
                f"{plan.label}({name}=...) must be one of "
                f"{', '.join(map(repr, words))}, got {value!r}."
            )
