"""Arithmetic of intervals: bounds on what an expression can be, in NumPy or JAX.

Every bound is moved outward by more than rounding can have moved it inward. Where an
expression may be undefined (a root of less than zero, a division by zero) nothing is
known, nor of anything made of it: the bounds are not numbers, which answer every
comparison with no.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ocbnn.language.tree import Binary, Call, Expression, Negate, Number, Slot

# Elementary functions are right to far less than this, and so is arithmetic.
_TRUST = 1e-14
# Far more than flushing tiny numbers to zero may hide.
TINY = 1e-290


class Interval(NamedTuple):
    """All numbers from `low` to `high`, arrays; nothing is known where those are NaN.

    An end may be infinite, and is then not reached.
    """

    low: Any
    high: Any


def outward(low: Any, high: Any) -> Interval:
    """The same interval, widened by more than rounding."""
    return Interval(low - _TRUST * abs(low) - TINY, high + _TRUST * abs(high) + TINY)


@dataclasses.dataclass(frozen=True)
class Arithmetic:
    """Intervals in double precision; `xp` is `numpy` or `jax.numpy`.

    >>> import numpy as np
    >>> y = Interval(np.array([-1.0]), np.array([1.0]))
    >>> low, high = Arithmetic(np).range_of(Slot(0) ** 2 - 4, [y])
    >>> bool(high[0] < -2.9)
    True
    """

    xp: Any

    def range_of(  # noqa: PLR0911 (one per kind of node)
        self, expr: Expression, slots: Sequence[Interval]
    ) -> Interval:
        """Bounds on an expression, given those on its slots; it holds no columns."""
        again = lambda part: self.range_of(part, slots)
        match expr:
            case Number(value):
                exact = self.xp.asarray(value, self.xp.float64)
                return Interval(exact, exact)
            case Slot(place):
                return slots[place]
            case Negate(part):
                inner = again(part)
                return Interval(-inner.high, -inner.low)
            case Binary("**", left, Number(exponent)):
                return self._power(again(left), exponent)
            case Binary("**", left, right):
                logs = self._log(again(left))
                return self._exp(self._product(again(right), logs))
            case Binary(op, left, right):
                join = {
                    "+": self._sum,
                    "-": self._difference,
                    "*": self._product,
                    "/": self._quotient,
                }[op]
                return join(again(left), again(right))
            case Call(name, args):
                parts = [again(arg) for arg in args]
                if name in ("min", "max"):
                    join = self.xp.minimum if name == "min" else self.xp.maximum
                    least = lambda a, b: Interval(*map(join, a, b))
                    return functools.reduce(least, parts)
                return self._call(name, parts[0])
        raise TypeError(expr)

    def _call(self, name: str, part: Interval) -> Interval:
        function: Callable[[Interval], Interval] | None = {
            "exp": self._exp,
            "tanh": lambda a: outward(self.xp.tanh(a.low), self.xp.tanh(a.high)),
            "log": self._log,
            "sqrt": lambda a: self._where(a, a.low >= 0, self.xp.sqrt),
            "abs": self._absolute,
            "sin": self._sine,
            "cos": self._cosine,
            "tan": self._tangent,
        }.get(name)
        if function is not None:
            return function(part)
        nothing = self.xp.full_like(part.low, math.nan)
        return Interval(nothing, nothing)

    def _known(self, where: Any, interval: Interval) -> Interval:
        """The interval where something is known."""
        return Interval(*(self.xp.where(where, end, math.nan) for end in interval))

    def _sum(self, a: Interval, b: Interval) -> Interval:
        # The parts may nearly cancel, so it is their size that rounding is measured by.
        slack = lambda one, two: _TRUST * (abs(one) + abs(two))
        low = a.low + b.low - slack(a.low, b.low)
        high = a.high + b.high + slack(a.high, b.high)
        return outward(low, high)

    def _difference(self, a: Interval, b: Interval) -> Interval:
        return self._sum(a, Interval(-b.high, -b.low))

    def _product(self, a: Interval, b: Interval) -> Interval:
        corners = [one * two for one in a for two in b]
        low = functools.reduce(self.xp.minimum, corners)
        high = functools.reduce(self.xp.maximum, corners)
        return outward(low, high)

    def _quotient(self, a: Interval, b: Interval) -> Interval:
        sound = (b.low > 0) | (b.high < 0)
        low, high = (self.xp.where(sound, end, 1.0) for end in b)
        inverse = outward(1.0 / high, 1.0 / low)
        return self._known(sound, self._product(a, inverse))

    def _power(self, base: Interval, exponent: float) -> Interval:
        if not exponent.is_integer() or abs(exponent) > 64:
            sound = base.low > 0
            low, high = (self.xp.where(sound, end, 1.0) for end in base)
            ends = low**exponent, high**exponent
            least, most = ends if exponent > 0 else ends[::-1]
            return self._known(sound, outward(least - _TRUST, most + _TRUST))
        if exponent < 0:
            one = self.xp.ones_like(base.low)
            return self._quotient(Interval(one, one), self._power(base, -exponent))
        whole = int(exponent)
        ends = base.low**whole, base.high**whole
        low, high = self.xp.minimum(*ends), self.xp.maximum(*ends)
        if whole % 2 == 0:
            inside = (base.low <= 0) & (base.high >= 0)
            low = self.xp.where(inside, 1.0 if whole == 0 else 0.0, low)
        # Of what is unknown no power is known, though NaN to the zeroth is one.
        return self._known(~self.xp.isnan(base.low + base.high), outward(low, high))

    def _absolute(self, a: Interval) -> Interval:
        ends = abs(a.low), abs(a.high)
        inside = (a.low <= 0) & (a.high >= 0)
        least = self.xp.where(inside, 0.0, self.xp.minimum(*ends))
        return Interval(least, self.xp.maximum(*ends))

    def _exp(self, a: Interval) -> Interval:
        return outward(self.xp.exp(a.low), self.xp.exp(a.high))

    def _log(self, a: Interval) -> Interval:
        return self._where(a, a.low > 0, self.xp.log)

    def _where(
        self, a: Interval, sound: Any, function: Callable[[Any], Any]
    ) -> Interval:
        """A rising function where it is defined."""
        low, high = (self.xp.where(sound, end, 1.0) for end in a)
        # Near one a logarithm is small while its argument's rounding is not.
        bounds = outward(function(low) - _TRUST, function(high) + _TRUST)
        return self._known(sound, bounds)

    def _cosine(self, a: Interval) -> Interval:
        quarter = self.xp.full_like(a.low, 0.5 * math.pi)
        return self._sine(self._sum(a, Interval(quarter, quarter)))

    def _sine(self, a: Interval) -> Interval:
        xp, turn = self.xp, 2 * math.pi
        ends = xp.sin(a.low), xp.sin(a.high)
        # It is one at π/2 and minus one at -π/2, and again at every 2π from there. A
        # hair is added so that a place beside the end is not missed by rounding.
        hair = 1e-12 * (1.0 + abs(a.low) + abs(a.high))

        def meets(place: float) -> Any:
            turns = xp.ceil((a.low - hair - place) / turn)
            return place + turn * turns <= a.high + hair

        low = xp.where(meets(-0.5 * math.pi), -1.0, xp.minimum(*ends) - _TRUST)
        high = xp.where(meets(0.5 * math.pi), 1.0, xp.maximum(*ends) + _TRUST)
        # Far out an angle is no longer known to much less than a turn.
        near = (abs(a.low) < 1e6) & (abs(a.high) < 1e6)
        bounds = Interval(xp.where(near, low, -1.0), xp.where(near, high, 1.0))
        return self._known(~xp.isnan(a.low + a.high), bounds)

    def _tangent(self, a: Interval) -> Interval:
        half = 0.5 * math.pi - 1e-6
        sound = (a.low > -half) & (a.high < half)
        low, high = (self.xp.where(sound, end, 0.0) for end in a)
        # Its slope grows as its square.
        grown = lambda end: _TRUST * (1.0 + self.xp.tan(end) ** 2)
        least = self.xp.tan(low) - grown(low)
        most = self.xp.tan(high) + grown(high)
        return self._known(sound, outward(least, most))
