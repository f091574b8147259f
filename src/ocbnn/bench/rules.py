"""Many rules, beside one rule with as many points."""

from collections.abc import Iterator

import jax

from ocbnn.bench.finding import Finding
from ocbnn.bench.problems import target
from ocbnn.bench.timing import Run, in_turns, spread
from ocbnn.posterior import Target

_WIDTHS, _ROWS, _POINTS = (4, 50, 1), 200, 20


def cost_of_rules(
    case: str, counts: tuple[int, ...], repeats: int
) -> Iterator[Finding]:
    """How fast a gradient with many rules is, beside one rule with all their points."""
    for count in counts:
        many = target(_WIDTHS, _ROWS, activation="tanh", rules=count, points=_POINTS)
        one = target(_WIDTHS, _ROWS, activation="tanh", points=count * _POINTS)
        seconds = in_turns({"many": _gradients(many), "one": _gradients(one)}, repeats)
        setting = f"{count} rule{'s' * (count > 1)}, {count * _POINTS} points"
        gradient = spread(1e6 * seconds["many"] / _TIMES)
        yield Finding(case, setting, "one gradient", gradient, "us")
        relative = spread(seconds["one"] / seconds["many"])
        yield Finding(case, setting, "speed beside one rule", relative, least=0.8)


_TIMES = 500


def _gradients(made: Target) -> Run:
    position = made.initial(jax.random.key(0))

    @jax.jit
    def gradients(made: Target, position: object) -> object:
        def one(place: object, _: None) -> tuple[object, None]:
            slope = jax.grad(made.logdensity)(place)
            step = lambda value, move: value + 1e-6 * move
            return jax.tree.map(step, place, slope), None

        return jax.lax.scan(one, position, None, length=_TIMES)[0]

    return lambda: gradients(made, position)
