"""What inference asks of a log density, and what it offers to a driver.

A `Plan` is what a person writes down: an algorithm's settings and how long to run it. A
plan meets a log density and becomes an `Algorithm`, whose `init`, `step` and `emit` are
pure functions. Algorithms never loop over steps; `inference.driver` does.
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
    """The one thing an algorithm sees. `ocbnn.posterior.Target` is one."""

    def logdensity(self, position: Position) -> Scalar:
        """The exact log density, up to a constant."""
        ...

    def stochastic_logdensity(self, position: Position, key: RandomKey) -> Scalar:
        """A cheap random estimate of it."""
        ...

    def split(self, position: Position) -> tuple[Scalar, Scalar]:
        """Two summands of it: the first is the density `initial` draws from."""
        ...

    def initial(self, key: RandomKey) -> Position:
        """A place to start."""
        ...

    def shapes(self) -> Position:
        """The structure of a position."""
        ...

    def parts(self, position: Position) -> dict[str, Scalar]:
        """The named summands, to say which one went wrong."""
        ...


# What a plan has of these stands in memory together; of the others, one after another.
_AT_ONCE = ("chains", "particles", "members", "draws")
_MOST_AT_ONCE, _MOST_IN_TURN = 10_000_000, 1_000_000_000


class Algorithm(eqx.Module):
    """Pure functions over a state. The algorithm itself is a pytree."""

    @abc.abstractmethod
    def init(self, key: RandomKey) -> Any:
        """The first state."""

    @abc.abstractmethod
    def step(self, key: RandomKey, state: Any) -> tuple[Any, Any]:
        """One move, and a named tuple of numbers that a person needs to judge it."""

    @abc.abstractmethod
    def emit(self, key: RandomKey, state: Any) -> Position:
        """The positions a state stands for, stacked along a first axis."""

    def warmup(
        self, key: RandomKey, state: Any, index: Int[Array, ""]
    ) -> tuple[Any, Any]:
        """Move number `index` of the warm-up, which may also adapt the state."""
        return self.step(key, state)

    def is_done(self, state: Any) -> Bool[Array, ""]:
        """Whether the warm-up may end before its last move."""
        return jnp.zeros((), bool)


class StartedAlgorithm(Algorithm):
    """A chain that can be told where to start, so that others may find the place."""

    @abc.abstractmethod
    def init_at(self, key: RandomKey, position: Position) -> Any:
        """The first state, at a given position."""


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
        Moves between one kept draw and the next.
    """

    chains: int = 4
    warmup: int = 1000
    draws: int = 1000
    thin: int = 1

    # Whether draws are correlated along a chain (then R-hat and ESS apply).
    is_chain: ClassVar[bool] = True
    # Whether draws come from the exact posterior in the long run.
    is_exact: ClassVar[bool] = True
    # Whether every step sees a batch of rows and fresh points.
    is_batched: ClassVar[bool] = False
    # Whether a state in the middle of the warm-up is worth seeing, and worth keeping
    # when the run is stopped there: particles or a population on their way.
    is_anytime: ClassVar[bool] = False
    # Whether the warm-up has as many moves as it says, so that the remaining time can
    # be estimated.
    is_counted: ClassVar[bool] = True
    # What an approximation may get wrong, for verdicts; nothing for exact samplers.
    caution: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_counts(self, chains=1, warmup=0, draws=1, thin=0)

    @property
    def width(self) -> int:
        """How many positions one chain moves together."""
        return 1

    @property
    def label(self) -> str:
        """The algorithm's name for people."""
        return type(self).__name__

    @abc.abstractmethod
    def bind(self, target: LogDensity) -> Algorithm:
        """The algorithm for this log density."""


def check_counts(plan: Plan, **least: int) -> None:
    """Refuse counts that are not whole numbers, too small, or beyond any machine."""
    for name, minimum in least.items():
        value = getattr(plan, name)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or value < minimum:
            raise SettingError(
                f"{plan.label}({name}=...) must be a whole number of at least "
                f"{minimum}, got {value!r}."
            )
        most = _MOST_AT_ONCE if name in _AT_ONCE else _MOST_IN_TURN
        if value > most:
            raise SettingError(
                f"{plan.label}({name}=...) must be at most {most:,}, got "
                f"{min(value, 10**300):.3g}."
            )


def check_positive(plan: Plan, *names: str) -> None:
    """Refuse settings that must be finite numbers above zero."""
    for name in names:
        value = getattr(plan, name)
        if not isinstance(value, (int, float)) or not 0 < value < float("inf"):
            raise SettingError(
                f"{plan.label}({name}=...) must be a number above zero, got {value!r}."
            )


def check_share(plan: Plan, *names: str) -> None:
    """Refuse settings that must lie between zero and one."""
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
    """Refuse words that are not known."""
    for name, known in choices.items():
        value = getattr(plan, name)
        if value not in known:
            raise SettingError(
                f"{plan.label}({name}=...) must be one of "
                f"{', '.join(map(repr, known))}, got {value!r}."
            )
