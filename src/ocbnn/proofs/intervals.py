"""Arithmetic of intervals: bounds on what an expression can be.

Every bound is moved outward by more than rounding can have moved it inward. Where an
expression may be undefined (a root of less than zero, a division by zero) nothing is
known, nor of anything made of it: the bounds are no numbers, which answer every
comparison with no.
"""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from ocbnn.rules import Binary, Call, Expression, Negate, Number
from ocbnn.rules.tree import Slot

# Elementary functions are right to far less than this, and so is arithmetic.
_TRUST = 1e-14
# Far more than flushing tiny numbers to zero may hide.
TINY = 1e-290


class Interval(NamedTuple):
    """All numbers from `low` to `high`; nothing is known where those are NaN."""

    low: Float[Array, "..."]
    high: Float[Array, "..."]


def outward(low: Array, high: Array) -> Interval:
    """The same interval, widened by more than rounding."""
    return Interval(
        low - _TRUST * jnp.abs(low) - TINY, high + _TRUST * jnp.abs(high) + TINY
    )


def range_of(  # noqa: PLR0911 (one per kind of node)
    expr: Expression, slots: Sequence[Interval]
) -> Interval:
    """Bounds on an expression, given those on its slots; it holds no columns."""
    match expr:
        case Number(value):
            exact = jnp.asarray(value, jnp.float64)
            return Interval(exact, exact)
        case Slot(place):
            return slots[place]
        case Negate(part):
            inner = range_of(part, slots)
            return Interval(-inner.high, -inner.low)
        case Binary("**", left, Number(exponent)):
            return _power(range_of(left, slots), exponent)
        case Binary("**", left, right):
            logs = _FUNCTIONS["log"](range_of(left, slots))
            return _FUNCTIONS["exp"](_product(range_of(right, slots), logs))
        case Binary(op, left, right):
            return _BINARY[op](range_of(left, slots), range_of(right, slots))
        case Call(name, args):
            parts = [range_of(arg, slots) for arg in args]
            if name in ("min", "max"):
                join = jnp.minimum if name == "min" else jnp.maximum
                return functools.reduce(lambda a, b: Interval(*map(join, a, b)), parts)
            return _FUNCTIONS[name](parts[0]) if name in _FUNCTIONS else _unknown(parts)
    raise TypeError(expr)


def _unknown(parts: Sequence[Interval]) -> Interval:
    nothing = jnp.full_like(parts[0].low, jnp.nan)
    return Interval(nothing, nothing)


def _known(where: Array, interval: Interval) -> Interval:
    """The interval where something is known."""
    return Interval(*(jnp.where(where, end, jnp.nan) for end in interval))


def _sum(a: Interval, b: Interval) -> Interval:
    # The parts may nearly cancel, so it is their size that rounding is measured by.
    slack = lambda one, two: _TRUST * (jnp.abs(one) + jnp.abs(two))
    low = a.low + b.low - slack(a.low, b.low)
    high = a.high + b.high + slack(a.high, b.high)
    return outward(low, high)


def _difference(a: Interval, b: Interval) -> Interval:
    return _sum(a, Interval(-b.high, -b.low))


def _product(a: Interval, b: Interval) -> Interval:
    corners = [one * two for one in a for two in b]
    low = functools.reduce(jnp.minimum, corners)
    high = functools.reduce(jnp.maximum, corners)
    return outward(low, high)


def _quotient(a: Interval, b: Interval) -> Interval:
    sound = (b.low > 0) | (b.high < 0)
    safe = Interval(jnp.where(sound, b.low, 1.0), jnp.where(sound, b.high, 1.0))
    return _known(sound, _product(a, outward(1.0 / safe.high, 1.0 / safe.low)))


def _power(base: Interval, exponent: float) -> Interval:
    if not exponent.is_integer() or abs(exponent) > 64:
        sound = base.low > 0
        low, high = (jnp.where(sound, end, 1.0) for end in base)
        ends = low**exponent, high**exponent
        least, most = ends if exponent > 0 else ends[::-1]
        return _known(sound, outward(least - _TRUST, most + _TRUST))
    if exponent < 0:
        one = jnp.ones_like(base.low)
        return _quotient(Interval(one, one), _power(base, -exponent))
    whole = int(exponent)
    ends = base.low**whole, base.high**whole
    low, high = jnp.minimum(*ends), jnp.maximum(*ends)
    if whole % 2 == 0:
        inside = (base.low <= 0) & (base.high >= 0)
        low = jnp.where(inside, 1.0 if whole == 0 else 0.0, low)
    # Of what is unknown no power is known, though NaN to the zeroth is one.
    return _known(~jnp.isnan(base.low + base.high), outward(low, high))


def _absolute(a: Interval) -> Interval:
    ends = jnp.abs(a.low), jnp.abs(a.high)
    inside = (a.low <= 0) & (a.high >= 0)
    return Interval(jnp.where(inside, 0.0, jnp.minimum(*ends)), jnp.maximum(*ends))


def _rising(function: Callable[[Array], Array]) -> Callable[[Interval], Interval]:
    return lambda a: outward(function(a.low), function(a.high))


def _where_positive(
    function: Callable[[Array], Array], *, or_zero: bool
) -> Callable[[Interval], Interval]:
    def bounds(a: Interval) -> Interval:
        sound = a.low >= 0 if or_zero else a.low > 0
        low, high = (jnp.where(sound, end, 1.0) for end in a)
        # Near one a logarithm is small while its argument's rounding is not.
        return _known(sound, outward(function(low) - _TRUST, function(high) + _TRUST))

    return bounds


def _cosine(a: Interval) -> Interval:
    quarter = jnp.full_like(a.low, 0.5 * jnp.pi)
    return _sine(_sum(a, Interval(quarter, quarter)))


def _sine(a: Interval) -> Interval:
    ends = jnp.sin(a.low), jnp.sin(a.high)
    # The sine is one at π/2 and minus one at -π/2, and again at every 2π from there.
    # A hair is added so that a place beside the end is not missed by rounding.
    hair = 1e-12 * (1.0 + jnp.abs(a.low) + jnp.abs(a.high))

    def meets(place: float) -> Array:
        turns = jnp.ceil((a.low - hair - place) / (2 * jnp.pi))
        return place + 2 * jnp.pi * turns <= a.high + hair

    low = jnp.where(meets(-0.5 * jnp.pi), -1.0, jnp.minimum(*ends) - _TRUST)
    high = jnp.where(meets(0.5 * jnp.pi), 1.0, jnp.maximum(*ends) + _TRUST)
    # Far out an angle is no longer known to much less than a turn.
    near = (jnp.abs(a.low) < 1e6) & (jnp.abs(a.high) < 1e6)
    bounds = Interval(jnp.where(near, low, -1.0), jnp.where(near, high, 1.0))
    return _known(~jnp.isnan(a.low + a.high), bounds)


def _tangent(a: Interval) -> Interval:
    half = 0.5 * jnp.pi - 1e-6
    sound = (a.low > -half) & (a.high < half)
    low, high = (jnp.where(sound, end, 0.0) for end in a)
    # Its slope grows as its square.
    grown = lambda end: _TRUST * (1.0 + jnp.tan(end) ** 2)
    bounds = outward(jnp.tan(low) - grown(low), jnp.tan(high) + grown(high))
    return _known(sound, bounds)


_BINARY = {"+": _sum, "-": _difference, "*": _product, "/": _quotient}
_FUNCTIONS: dict[str, Callable[[Interval], Interval]] = {
    "exp": _rising(jnp.exp),
    "tanh": _rising(jnp.tanh),
    "log": _where_positive(jnp.log, or_zero=False),
    "sqrt": _where_positive(jnp.sqrt, or_zero=True),
    "abs": _absolute,
    "sin": _sine,
    "cos": _cosine,
    "tan": _tangent,
}
