"""Interval arithmetic: bounds on the values of an expression, in NumPy or JAX.

Every bound is moved outward by more than the rounding error. Where an expression may be
undefined (a root of a negative number, a division by zero), the bounds of it and of
everything computed from it are NaN, which makes every comparison false.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ocbnn.language.tree import Binary, Call, Expression, Negate, Number, Slot

# Relative errors of elementary functions and of arithmetic are far below this.
_TRUST = 1e-14
# Far above the error of flushing subnormal numbers to zero.
TINY = 1e-290


class Interval(NamedTuple):
    """All numbers from `low` to `high`, which are arrays; unknown where they are NaN.

    An infinite end is not part of the interval.
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
        """Bounds on an expression without columns, given bounds on its slots."""
        range_of_part = lambda part: self.range_of(part, slots)
        match expr:
            case Number(value):
                exact = self.xp.asarray(value, self.xp.float64)
                return Interval(exact, exact)
            case Slot(index):
                return slots[index]
            case Negate(part):
                inner = range_of_part(part)
                return Interval(-inner.high, -inner.low)
            case Binary("**", left, Number(exponent)):
                return self._power(range_of_part(left), exponent)
            case Binary("**", left, right):
                logs = self._log(range_of_part(left))
                return self._exp(self._product(range_of_part(right), logs))
            case Binary(op, left, right):
                join = {
                    "+": self._sum,
                    "-": self._difference,
                    "*": self._product,
                    "/": self._quotient,
                }[op]
                return join(range_of_part(left), range_of_part(right))
            case Call(name, args):
                parts = [range_of_part(arg) for arg in args]
                if name in ("min", "max"):
                    join = self.xp.minimum if name == "min" else self.xp.maximum
                    combine = lambda a, b: Interval(*map(join, a, b))
                    return functools.reduce(combine, parts)
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
        unknown = self.xp.full_like(part.low, math.nan)
        return Interval(unknown, unknown)

    def _defined_where(self, where: Any, interval: Interval) -> Interval:
        """The interval, or NaN where it is undefined."""
        return Interval(*(self.xp.where(where, end, math.nan) for end in interval))

    def _sum(self, a: Interval, b: Interval) -> Interval:
        # The parts may nearly cancel, so rounding is relative to their own size.
        slack = lambda x, y: _TRUST * (abs(x) + abs(y))
        low = a.low + b.low - slack(a.low, b.low)
        high = a.high + b.high + slack(a.high, b.high)
        return outward(low, high)

    def _difference(self, a: Interval, b: Interval) -> Interval:
        return self._sum(a, Interval(-b.high, -b.low))

    def _product(self, a: Interval, b: Interval) -> Interval:
        corners = [x * y for x in a for y in b]
        low = functools.reduce(self.xp.minimum, corners)
        high = functools.reduce(self.xp.maximum, corners)
        return outward(low, high)

    def _quotient(self, a: Interval, b: Interval) -> Interval:
        sound = (b.low > 0) | (b.high < 0)
        low, high = (self.xp.where(sound, end, 1.0) for end in b)
        inverse = outward(1.0 / high, 1.0 / low)
        return self._defined_where(sound, self._product(a, inverse))

    def _power(self, base: Interval, exponent: float) -> Interval:
        if not exponent.is_integer() or abs(exponent) > 64:
            sound = base.low > 0
            low, high = (self.xp.where(sound, end, 1.0) for end in base)
            ends = low**exponent, high**exponent
            low, high = ends if exponent > 0 else ends[::-1]
            return self._defined_where(sound, outward(low - _TRUST, high + _TRUST))
        if exponent < 0:
            one = self.xp.ones_like(base.low)
            return self._quotient(Interval(one, one), self._power(base, -exponent))
        power = int(exponent)
        ends = base.low**power, base.high**power
        low, high = self.xp.minimum(*ends), self.xp.maximum(*ends)
        if power % 2 == 0:
            inside = (base.low <= 0) & (base.high >= 0)
            low = self.xp.where(inside, 1.0 if power == 0 else 0.0, low)
        # NaN to the power of zero is one, but an unknown base must stay unknown.
        return self._defined_where(
            ~self.xp.isnan(base.low + base.high), outward(low, high)
        )

    def _absolute(self, a: Interval) -> Interval:
        ends = abs(a.low), abs(a.high)
        inside = (a.low <= 0) & (a.high >= 0)
        low = self.xp.where(inside, 0.0, self.xp.minimum(*ends))
        return Interval(low, self.xp.maximum(*ends))

    def _exp(self, a: Interval) -> Interval:
        return outward(self.xp.exp(a.low), self.xp.exp(a.high))

    def _log(self, a: Interval) -> Interval:
        return self._where(a, a.low > 0, self.xp.log)

    def _where(
        self, a: Interval, sound: Any, function: Callable[[Any], Any]
    ) -> Interval:
        """An increasing function where it is defined."""
        low, high = (self.xp.where(sound, end, 1.0) for end in a)
        # Near one, a logarithm is small relative to its argument's rounding error.
        bounds = outward(function(low) - _TRUST, function(high) + _TRUST)
        return self._defined_where(sound, bounds)

    def _cosine(self, a: Interval) -> Interval:
        quarter = self.xp.full_like(a.low, 0.5 * math.pi)
        return self._sine(self._sum(a, Interval(quarter, quarter)))

    def _sine(self, a: Interval) -> Interval:
        xp, turn = self.xp, 2 * math.pi
        ends = xp.sin(a.low), xp.sin(a.high)
        # Sine is one at π/2 and minus one at -π/2, and periodic. A margin makes sure
        # that rounding misses no extremum next to an end.
        margin = 1e-12 * (1.0 + abs(a.low) + abs(a.high))

        def contains(angle: float) -> Any:
            turns = xp.ceil((a.low - margin - angle) / turn)
            return angle + turn * turns <= a.high + margin

        low = xp.where(contains(-0.5 * math.pi), -1.0, xp.minimum(*ends) - _TRUST)
        high = xp.where(contains(0.5 * math.pi), 1.0, xp.maximum(*ends) + _TRUST)
        # Large angles are not precise enough relative to a turn.
        is_precise = (abs(a.low) < 1e6) & (abs(a.high) < 1e6)
        bounds = Interval(
            xp.where(is_precise, low, -1.0), xp.where(is_precise, high, 1.0)
        )
        return self._defined_where(~xp.isnan(a.low + a.high), bounds)

    def _tangent(self, a: Interval) -> Interval:
        half = 0.5 * math.pi - 1e-6
        sound = (a.low > -half) & (a.high < half)
        low, high = (self.xp.where(sound, end, 0.0) for end in a)
        # The error is proportional to the derivative, which is 1 + tan².
        error = lambda end: _TRUST * (1.0 + self.xp.tan(end) ** 2)
        bounds = outward(self.xp.tan(low) - error(low), self.xp.tan(high) + error(high))
        return self._defined_where(sound, bounds)
