"""The arguments of `certify`, checked before anything is proved."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ocbnn.certificates.certificate import CertificateRequest
from ocbnn.core.advice import Advice, Kind
from ocbnn.core.sentences import Sentence
from ocbnn.core.types import Unchecked
from ocbnn.core.words import listing, shorten, suggest
from ocbnn.errors import DataError, OcbnnError, RuleError, SettingError
from ocbnn.fitted import FittedModel
from ocbnn.rules import BoundRule, Rule, bind
from ocbnn.rules.rule import RULE_NAME

# The defaults: draws, boxes for each draw and place, and confidence. If all of 200
# draws keep a rule, a new one does with a probability of at least 98.5 %; the thousands
# of a usual fit take minutes, and are seldom worth more independent ones.
DRAWS, BOXES, CONFIDENCE = 200, 4096, 0.95
ALL = "all"
# The name of a rule, a rule, or its text; None for all rules of a model.
CertifiedRule: TypeAlias = Unchecked[str | Rule | BoundRule | None]
_AT, _TOLERANCE, _WITHIN = (
    Advice(Kind.OPTION, values={"name": name}) for name in ("at", "tolerance", "within")
)


def bounds_of(name: str) -> Advice:
    """Advice how to bound an input."""
    return Advice(Kind.BOUND_INPUT, values={"name": name})


def _around(name: str) -> Advice:
    """Advice how to certify rows."""
    return Advice(Kind.LOOK_AROUND, values={"name": name})


def parse_request(
    model: FittedModel,
    rule: CertifiedRule,
    *,
    rows: np.ndarray | None,
    tolerance: Any,
    within: Any,
    draws: Any,
    boxes: Any,
    confidence: Any,
) -> tuple[CertificateRequest, tuple[BoundRule, ...]]:
    """The request as plain values, and the rules that it is about.

    Parameters
    ----------
    model
        A fitted model.
    rule
        As `certify` takes it, like the other arguments.
    rows
        Rows of inputs; NaN for missing values.
    tolerance
        How far from them inputs may lie.
    within
        Bounds of inputs.
    draws
        The largest number of draws, or "all".
    boxes
        The largest number of boxes for each draw and place.
    confidence
        Confidence of the statement about other draws.

    Raises
    ------
    SettingError
        When an argument is not valid.
    """
    names = model.schema.inputs
    if not (isinstance(draws, str) and draws == ALL):
        _check_count(draws, "draws", DRAWS, ', or draws="all" for every one')
    _check_count(boxes, "boxes", BOXES)
    if isinstance(confidence, bool) or not _is_number(confidence, 0, 1):
        raise SettingError(
            f"confidence must lie between 0 and 1, got {confidence!r}. Write "
            "confidence=0.95."
        )
    _check_pairing(rows, tolerance, within, names)
    bounds, rule_text, is_own = _rules(model, rule)
    request = CertificateRequest(
        rule=rule_text,
        is_own=is_own,
        draws=None if draws == ALL else int(draws),
        boxes=int(boxes),
        confidence=float(confidence),
        within=_bounds(within, names),
        rows=rows,
        tolerance=None if rows is None else _tolerances(tolerance, names),
    )
    return request, bounds


def whole_rows(model: FittedModel, at: Any) -> np.ndarray:
    """Rows of a model's inputs without missing values.

    Raises
    ------
    DataError
        When `at` does not hold such rows.
    """
    try:
        numbers = np.asarray(at, float)
    except (TypeError, ValueError):
        numbers = np.zeros((1, 1))  # `inputs_of` below raises the error.
    if numbers.ndim == 2 and not np.isfinite(numbers).all():
        row, column = np.argwhere(~np.isfinite(numbers))[0].tolist()
        raise DataError(
            f"at must be finite numbers, and row {row + 1} has {numbers[row, column]} "
            f"in column {column + 1}. Leave such rows out."
        )
    try:
        return model.inputs_of(at)
    except OcbnnError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(
            f"at must be rows of the model's inputs ({listing(model.schema.inputs)}), "
            f"as `predict` takes them: {error}"
        ) from None


def _check_count(value: Any, name: str, example: int, otherwise: str = "") -> None:
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < 1:
        raise SettingError(
            f"{name} must be a whole number above zero, got {value!r}. Write "
            f"{name}={example}{otherwise}."
        )


def _is_number(value: Any, low: float, high: float) -> bool:
    try:
        return low < float(value) < high
    except (TypeError, ValueError):
        return False


def _check_pairing(
    rows: Any, tolerance: Any, within: Any, names: Sequence[str]
) -> None:
    if (rows is None) != (tolerance is None):
        problem = (
            " belong together: rows, and how far from each an input may lie. Write "
        )
        raise SettingError(
            Sentence(_AT, " and ", _TOLERANCE, problem, _around(names[0]), ".")
        )
    if rows is not None and within:
        problem = " bounds a whole region. Leave one of them out."
        raise SettingError(Sentence(_AT, " is for rows, and ", _WITHIN, problem))


def _rules(
    model: FittedModel, rule: CertifiedRule
) -> tuple[tuple[BoundRule, ...], str | None, bool]:
    """The rules to certify, their name or text, and whether the user gave them."""
    if rule is None:
        return model.checkable_rules, None, False
    by_name = {bound.name: bound for bound in model.rules}
    if isinstance(rule, BoundRule) and rule in model.rules:
        return (rule,), rule.name, False
    if isinstance(rule, str) and rule in by_name:
        return (by_name[rule],), rule, False
    if not isinstance(rule, (str, Rule, BoundRule)):
        raise SettingError(
            f"rule must be the name of a rule ({listing(by_name)}), a rule, or its "
            f"text, got {type(rule).__name__}."
        )
    if isinstance(rule, BoundRule):
        return (rule,), str(rule.rule), True
    try:
        bound = bind(rule, model.schema)
    except RuleError:
        if isinstance(rule, str) and RULE_NAME.fullmatch(rule.strip()):
            raise SettingError(
                f"no rule of the model is called {rule!r}.{suggest(rule, by_name)} It "
                f"has {listing(map(repr, by_name)) or 'none'}. For another rule, write "
                "its text, such as `if 0 <= x <= 1 then y >= 0`."
            ) from None
        raise
    return (bound,), str(bound.rule), True


def _bounds(within: Any, names: Sequence[str]) -> dict[str, tuple[float, float]]:
    if within is None:
        return {}
    if not isinstance(within, Mapping):
        problem = (
            f" must say for each input where it lies, got {shorten(repr(within))}. "
        )
        raise SettingError(
            Sentence(_WITHIN, problem, "Write ", bounds_of(names[0]), ".")
        )
    bounds = {}
    for name, ends in within.items():
        _check_input(name, names, _WITHIN)
        try:
            low, high = map(float, ends)
        except (TypeError, ValueError):
            low, high = np.nan, np.nan
        if not (np.isfinite(low) and np.isfinite(high)):
            problem = f"the bounds of {name!r} must be two finite numbers, got "
            write = f"{shorten(repr(ends))}. Write "
            raise SettingError(Sentence(problem, write, bounds_of(name), "."))
        bounds[name] = (low, high)
    return bounds


def _check_input(name: object, names: Sequence[str], setting: Advice) -> None:
    if name not in names:
        problem = f" names {name!r}, which is not an input: {listing(names)}."
        raise SettingError(Sentence(setting, problem, suggest(name, names)))


def _tolerances(tolerance: Any, names: Sequence[str]) -> tuple[float, ...]:
    values = tolerance
    if isinstance(tolerance, Mapping):
        for name in tolerance:
            _check_input(name, names, _TOLERANCE)
        values = [tolerance.get(name, 0.0) for name in names]
    try:
        tolerances = np.broadcast_to(np.asarray(values, float), (len(names),))
    except (TypeError, ValueError):
        problem = (
            f" must be a number, one for each of the {len(names)} inputs "
            f"({listing(names)}), or some of them by name, got "
            f"{shorten(repr(tolerance))}. Write "
        )
        raise SettingError(
            Sentence(_TOLERANCE, problem, _around(names[0]), ".")
        ) from None
    if not ((tolerances >= 0) & np.isfinite(tolerances)).all():
        problem = f" must be zero or more for each input, got {tolerances.tolist()}."
        raise SettingError(Sentence(_TOLERANCE, problem))
    return tuple(tolerances.tolist())
