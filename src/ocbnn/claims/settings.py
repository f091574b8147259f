"""How strictly a rule is held: the values that each setting accepts."""

from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

from ocbnn.core.advice import Kind
from ocbnn.core.sentences import Sentence
from ocbnn.core.words import shorten, suggest
from ocbnn.errors import SettingError

Per: TypeAlias = Literal["point", "region"]
Strictness: TypeAlias = Literal["soft", "firm", "hard"]
Form: TypeAlias = Literal["distance", "indicator"]

SAMPLERS = ("like-data", "box")
# How strictly a rule is held, in words. A number is γ of the paper's indicator, for
# which DEFAULT_GAMMA is used where no number is given.
STRICTNESS: tuple[Strictness, ...] = ("soft", "firm", "hard")
FORMS: tuple[Form, ...] = ("distance", "indicator")
DEFAULT_STRENGTH: Strictness = "soft"
DEFAULT_GAMMA = 10_000.0
DEFAULT_TAU = (15.0, 2.0)
MOST_POINTS, MOST = 1_000_000, 1e20


def check_setting(setting: str, value: object) -> object:
    """Return a rule's setting as a plain value, or raise an error that says the rule.

    >>> check_setting("points", 20)
    20
    """
    checks = {
        "strength": _strength,
        "points": _count,
        "tau": _pair,
        "per": _per,
        "literal": _flag,
        "sampler": _sampler,
        "form": _form,
    }
    if setting in ("weight", "tolerance", "form", "forbidden") and value is None:
        return None
    if setting in checks:
        return checks[setting](value)
    return positive(value, setting)


def positive(value: object, setting: str) -> float:
    """Check a number, and name the setting in the error."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise SettingError(
            f"`{setting}` is a positive number, got {type(value).__name__}: "
            f"{shorten(str(value))}. Write `{setting}=1.0`, say."
        )
    # Single precision can still multiply this by a few other numbers.
    if not 0 < value <= MOST:  # pyright: ignore[reportOperatorIssue]
        reason = f"`{setting}` is a positive finite number of at most {MOST:g}, got "
        raise SettingError(
            Sentence(f"{reason}{shorten(str(value))}. ", Kind.SWITCH_OFF)
        )
    return float(value)


def _strength(value: object) -> object:
    if not isinstance(value, str):
        return positive(value, "strength")
    if value not in STRICTNESS:
        raise SettingError(
            f"`strength` is a positive number or one of {', '.join(STRICTNESS)}, got "
            f"{shorten(value)!r}.{suggest(value, STRICTNESS)} Write `strength=firm`."
        )
    return value


def _form(value: object) -> object:
    if value not in FORMS:
        raise SettingError(
            f"`form` is the form of the penalty, one of {', '.join(FORMS)}, got "
            f"{shorten(str(value))!r}.{suggest(str(value), FORMS)} Leave it out, or "
            "write `form=indicator` for the paper's."
        )
    return value


def check_form(
    form: Form | None,
    strength: float | Strictness,
    tau: tuple[float, float],
    literal: bool,
) -> None:
    """Raise an error for indicator settings of a rule with `form=distance`."""
    indicator_settings = [
        f"`strength={strength}`" * (not isinstance(strength, str)),
        f"`tau={tau}`" * (tau != DEFAULT_TAU),
        "`literal`" * literal,
    ]
    named = next(filter(None, indicator_settings), None)
    if form != "distance" or named is None:
        return
    raise SettingError(
        f"{named} is for the paper's indicator, but `form=distance` was given. Write "
        "`form=indicator`, or say how far outputs may be beyond the edge, in their own "
        "units: `tolerance=0.1`."
    )


def _count(value: Any) -> int:
    is_count = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_count or not 1 <= int(value) <= MOST_POINTS:
        raise SettingError(
            "`points` is how many inputs a rule is evaluated at: a whole number from 1 "
            f"to {MOST_POINTS:,}, got {shorten(str(value))}. Write `points=50`."
        )
    return int(value)


def _pair(value: object) -> tuple[float, float]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise SettingError(
            f"`tau` is the pair (τ0, τ1) of the soft indicator, got "
            f"{shorten(str(value))}. Write `tau=(15, 2)`."
        )
    return positive(value[0], "tau0"), positive(value[1], "tau1")


def _per(value: object) -> object:
    if value not in ("point", "region"):
        raise SettingError(
            "`per` says whether a mixture chooses its component at each point or once "
            f'for the whole region, got {value!r}. Write "point" or "region".'
        )
    return value


def _flag(value: object) -> object:
    if not isinstance(value, bool):
        raise SettingError(f"`literal` is True or False, got {shorten(str(value))}.")
    return value


def _sampler(value: object) -> object:
    if isinstance(value, str) and value not in SAMPLERS:
        raise SettingError(
            f"no sampler is called {shorten(value)!r}.{suggest(value, SAMPLERS)} Write "
            f"one of {', '.join(map(repr, SAMPLERS))}, None for the best fit, a "
            "function or an array of points."
        )
    return value
