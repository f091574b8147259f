"""Many rules, compared with one rule that has as many points."""

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
    """The speed of a gradient with many rules, relative to one rule with all points."""
    for count in counts:
        many = target(_WIDTHS, _ROWS, activation="tanh", rules=count, points=_POINTS)
        merged = target(_WIDTHS, _ROWS, activation="tanh", points=count * _POINTS)
        seconds = in_turns(
            {"many": _gradients(many), "merged": _gradients(merged)}, repeats
        )
        setting = f"{count} rule{'s' * (count > 1)}, {count * _POINTS} points"
        gradient = spread(1e6 * seconds["many"] / _TIMES)
        yield Finding(case, setting, "one gradient", gradient, "us")
        relative = spread(seconds["merged"] / seconds["many"])
        yield Finding(case, setting, "speed beside one rule", relative, least=0.8)


_TIMES = 500


def _gradients(target: Target) -> Run:
    position = target.initial(jax.random.key(0))

    @jax.jit
    def gradients(target: Target, position: object) -> object:
        def step_once(position: object, _: None) -> tuple[object, None]:
            slope = jax.grad(target.logdensity)(position)
            step = lambda value, move: value + 1e-6 * move
            return jax.tree.map(step, position, slope), None

        return jax.lax.scan(step_once, position, None, length=_TIMES)[0]

    return lambda: gradients(target, position)
