"""Writing rules in Python: require, forbid, expect, custom.

>>> from ocbnn.rules import expect, forbid, inputs, outputs, require
>>> x, y = inputs("x"), outputs("y")
>>> print(require(y.between(2.5, 3), where=x.between(-0.3, 0.3)))
if -0.3 <= x <= 0.3 then 2.5 <= y <= 3
>>> print(forbid(y.between(-5, 3), where=x.between(-1, 1), strength=100))
if -1 <= x <= 1 then not (-5 <= y <= 3) [strength=100]
>>> print(expect(y, [x, -x], sd=0.5))
y ~ 0.5*Normal(x, 0.5) + 0.5*Normal(-x, 0.5)
"""

from collections.abc import Callable
from typing import Any, TypedDict, Unpack

import numpy as np

from ocbnn.claims import Custom, Expect
from ocbnn.claims.settings import Form, Per, Strictness, positive
from ocbnn.core.types import Unchecked
from ocbnn.core.words import shorten, suggest
from ocbnn.errors import SettingError
from ocbnn.language.conditions import Condition, as_condition
from ocbnn.language.tree import as_expression
from ocbnn.rules.rule import Rule, Sampler


class Settings(TypedDict, total=False):
    """How a rule is enforced; every verb takes these, and `Rule` explains them."""

    name: str | None
    strength: float | Strictness
    points: int
    weight: float | None
    tolerance: float | None
    form: Form | None
    allowed: float
    forbidden: float | None
    per: Per
    tau: tuple[float, float]
    literal: bool
    sampler: Sampler


def require(claim: object, where: object = None, **settings: Unpack[Settings]) -> Rule:
    """Say that outputs satisfy `claim` at every input in `where`, or everywhere.

    Parameters
    ----------
    claim
        A condition on outputs, which may compare them with inputs: `y >= x`.
    where
        The region, a condition on inputs; all inputs when left out.
    **settings
        How the rule is enforced, as in `strength="firm"` or `points=100`: the
        parameters of `Rule` from `name` on.

    Returns
    -------
    Rule
        The rule, for a model's `rules`.

    Raises
    ------
    RuleError
        When `claim` or `where` is not a condition.
    SettingError
        When a setting does not exist, or lies outside its range.

    Examples
    --------
    >>> from ocbnn.rules import inputs, outputs
    >>> x, y = inputs("x"), outputs("y")
    >>> print(require(y > 0, where=x <= 1, strength="firm"))
    if x <= 1 then y > 0 [strength=firm]
    """
    condition = as_condition(claim, "require")
    return Rule(condition, _region(where), **_checked(settings))


def forbid(claim: object, where: object = None, **settings: Unpack[Settings]) -> Rule:
    """Say that outputs never satisfy `claim` at an input in `where`, or anywhere.

    Parameters
    ----------
    claim
        The forbidden condition on outputs, such as `y.between(-5, 3)`.
    where
        The region, a condition on inputs; all inputs when left out.
    **settings
        How the rule is enforced, as in `strength="firm"` or `points=100`: the
        parameters of `Rule` from `name` on.

    Returns
    -------
    Rule
        The rule, which requires the opposite of `claim`.

    Raises
    ------
    RuleError
        When `claim` or `where` is not a condition.
    SettingError
        When a setting does not exist, or lies outside its range.
    """
    condition = as_condition(claim, "forbid")
    return Rule(~condition, _region(where), **_checked(settings))


def expect(
    target: object,
    mean: object,
    *,
    sd: object,
    weights: object = None,
    where: object = None,
    **settings: Unpack[Settings],
) -> Rule:
    """Say that an expression of outputs lies around `mean`, or one of several.

    Parameters
    ----------
    target
        An output, or an expression of outputs.
    mean
        Its expected value: a number, an expression of inputs, or a list of these, of
        which one is true (a mixture).
    sd
        Standard deviation around the mean, in the units of `target`: one for all means,
        or a list with one for each.
    weights
        The shares of several means, equal when left out; they need not add up to one.
        How often the whole rule counts is the setting `weight`.
    where
        The region, a condition on inputs; all inputs when left out.
    **settings
        How the rule is enforced, as in `strength="firm"` or `points=100`: the
        parameters of `Rule` from `name` on. `per="region"` lets a function follow one
        mean throughout the region, where it would otherwise choose at each point.

    Raises
    ------
    RuleError
        When the means, standard deviations and weights do not match, or `where` is not
        a condition.
    SettingError
        When a number is not above zero, or a setting does not exist.
    """
    means = _several(mean) or [mean]
    sds = _several(sd) or [sd] * len(means)
    shares = _several(weights) or [1.0] * len(means)
    claim = Expect(
        as_expression(target, "expect"),
        tuple(as_expression(mean, "expect") for mean in means),
        tuple(positive(sd, "sd") for sd in sds),
        tuple(positive(share, "weights") for share in shares),
    )
    return Rule(claim, _region(where), **_checked(settings))


def custom(
    log_g: Callable[..., Any],
    where: object = None,
    *,
    holds: Unchecked[Callable[..., Any] | None] = None,
    **settings: Unpack[Settings],
) -> Rule:
    """Add your own differentiable `log_g(xs, ys)`, possibly improper.

    The rule prints as `custom(name of the function)`, for reading only: a function is
    not text, so it does not parse back.

    Parameters
    ----------
    log_g
        A function of all points of the region at once: `xs` (points, inputs) and `ys`
        (points, outputs), as JAX arrays in your units. It returns a scalar to be added
        to the log density. If it has a parameter called `function`, it is also given
        the function itself, which maps one input to its outputs: for slopes, sums and
        values elsewhere.
    where
        The region, a condition on inputs; all inputs when left out.
    holds
        A function `holds(xs, ys)` of NumPy arrays that says for each point whether the
        outputs keep the rule. Without it, the rule cannot be checked.
    **settings
        How the rule is enforced, as in `strength="firm"` or `points=100`: the
        parameters of `Rule` from `name` on. Points of your own (`sampler=array`) come
        in the order they were given.

    Raises
    ------
    RuleError
        When `log_g` or `holds` is not a function, or `where` is not a condition.
    SettingError
        When a setting does not exist, or lies outside its range.
    """
    return Rule(Custom(log_g, holds), _region(where), **_checked(settings))


def _checked(settings: Settings) -> Settings:
    """Return the settings, or raise an error for one that does not exist."""
    names = list(Settings.__annotations__)
    for name in settings:
        if name in names:
            continue
        hint = " In Python both are one: `tau=(30, 2)`." if name[:3] == "tau" else ""
        raise SettingError(
            f"`{shorten(name)}` is not a setting of a rule."
            f"{hint or suggest(name, names)} The settings are {', '.join(names)}."
        )
    return settings


def _region(where: object) -> Condition | None:
    return None if where is None else as_condition(where, "where")


def _several(value: object) -> list[Any]:
    several = (
        isinstance(value, list | tuple | np.ndarray)
        and getattr(value, "shape", None) != ()
    )
    return list(value) if several else []  # pyright: ignore[reportArgumentType]
