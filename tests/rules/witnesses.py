"""Functions, and rules that they are known to keep.

A function is a sum of `a x + b x²` over its inputs and of a number for each name in a
column of names. Its extremes over a box are exact, and with numbers that are sums of
powers of two nothing is rounded.
"""

import dataclasses

import numpy as np

NAMES = ("x", "z", "who=u", "who=v", "who=w")
PLAIN, GROUP = (0, 1), (2, 3, 4)


@dataclasses.dataclass(frozen=True)
class Witness:
    """Constant, linear and square parts, by input; those of names are all linear."""

    constant: float
    linear: np.ndarray
    square: np.ndarray

    def plus(self, other, factor=1.0):
        return Witness(
            self.constant + factor * other.constant,
            self.linear + factor * other.linear,
            self.square + factor * other.square,
        )

    def slope(self, column):
        linear = np.zeros(len(NAMES))
        linear[column] = 2 * self.square[column]
        return Witness(self.linear[column], linear, np.zeros(len(NAMES)))

    def bounds(self, low, high, names):
        """The least and the greatest value over a box, for some of the names."""
        least = most = self.constant
        for i in PLAIN:
            a, b = self.linear[i], self.square[i]
            ends = [low[i], high[i]]
            if b and low[i] < -a / (2 * b) < high[i]:
                ends.append(-a / (2 * b))
            values = [_at(a, b, end) for end in ends]
            least, most = least + min(values), most + max(values)
        offsets = [self.linear[i] for i in names]
        return least + min(offsets), most + max(offsets)


def _at(a, b, x):
    if np.isinf(x):
        return (
            0.0
            if a == b == 0
            else np.sign(b) * np.inf
            if b
            else np.sign(a * x) * np.inf
        )
    return a * x + b * x * x


def random_witness(rng, unit=1.0, far=0.0):
    """With numbers that are halves, in a unit, and values around what is far away."""
    halves = lambda size: unit * rng.integers(-4, 5, size) / 2
    square = np.zeros(len(NAMES))
    square[[0, 1]] = halves(2) * rng.integers(0, 2, 2) / 2
    return Witness(far + float(halves(1)[0]), halves(len(NAMES)), square)


def random_region(rng):
    """Text of a condition, empty for everywhere; the box and names it stands for."""
    low, high = np.full(2, -np.inf), np.full(2, np.inf)
    said, names = [], list(GROUP)
    for i in PLAIN:
        kind = rng.integers(0, 4)
        if kind == 0 or (i == 1 and rng.random() < 0.6):
            continue
        one, two = np.sort(rng.choice(np.arange(-4, 5) / 2, 2, replace=False))
        first, second = rng.choice(["<", "<="], 2)
        if kind in (1, 3):
            low[i] = one
            said.append(f"{one} {first} {NAMES[i]}")
        if kind in (2, 3):
            high[i] = two
            said.append(f"{NAMES[i]} {second} {two}")
    if rng.random() < 0.2:
        chosen = int(rng.choice(GROUP))
        if rng.random() < 0.5:
            names = [chosen]
            said.append(f"`{NAMES[chosen]}` >= 0.5")
        else:
            names.remove(chosen)
            said.append(f"`{NAMES[chosen]}` < 0.5")
    return " and ".join(said), (low, high, names)


def random_rule(rng, witnesses, unit=1.0):
    """Text of a rule that the witnesses, by output, keep; None where none was found."""
    where, box = random_region(rng)
    output = str(rng.choice(list(witnesses)))
    own, said = witnesses[output], output
    kind = rng.integers(0, 7)
    if kind in (1, 2, 6):
        column = int(rng.choice([0, 0, 0, 1]))
        own, said = own.slope(column), f"d({output}, {NAMES[column]})"
        if kind == 2:
            own = own.slope(column)
            said = f"d({output}, {NAMES[column]}, {NAMES[column]})"
    elif kind == 3 and len(witnesses) > 1:
        other = next(name for name in witnesses if name != output)
        factor = float(rng.choice([-1.0, 0.5, 2.0]))
        own, said = own.plus(witnesses[other], factor), f"{output} + {factor}*{other}"
    elif kind == 4:
        one = np.zeros(len(NAMES))
        one[int(rng.choice(PLAIN))] = 1.0
        factor = unit * float(rng.choice([-1.5, 0.5]))
        own = own.plus(Witness(0.0, one, 0 * one), factor)
        said = f"{output} + {factor}*{NAMES[int(np.argmax(one))]}"
    claim = _claim(rng, said, *own.bounds(*box), unit)
    return claim if claim is None or not where else f"if {where} then {claim}"


def _claim(rng, said, least, most, unit):
    """Something that is true of what lies from `least` to `most`, often just so."""
    room = unit * float(rng.choice([0.0, 0.0, 0.5]))
    strict = "<" if room and rng.random() < 0.5 else "<="
    below, above = (
        f"{said} {strict} {most + room}",
        f"{said} {strict.replace('<', '>')} ",
    )
    above += f"{least - room}"
    ends = [text for text, end in ((below, most), (above, least)) if np.isfinite(end)]
    if not ends:
        return None
    if len(ends) == 2 and rng.random() < 0.3:
        far = max(abs(least), abs(most))
        return str(
            rng.choice(
                [
                    f"({said}) * ({said}) <= {far * far}",
                    f"abs({said}) <= {far}",
                    f"tanh({said}) <= 1",
                    f"exp({said} - {most + unit}) <= 1",
                    f"({said}) ** 3 <= {(most + 0.5 * unit) ** 3}",
                ]
            )
        )
    chosen = str(rng.choice(ends))
    if rng.random() < 0.2:
        return (
            f"({chosen} or {said} >= {most + 3 * unit})"
            if np.isfinite(most)
            else chosen
        )
    return " and ".join(ends) if rng.random() < 0.3 else chosen
