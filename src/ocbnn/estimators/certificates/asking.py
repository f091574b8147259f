"""What a person asks of a certificate, checked before anything is proved."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ocbnn.core.errors import DataError, OcbnnError, RuleError, SettingError
from ocbnn.core.words import listing, shorten, suggest
from ocbnn.estimators.certificates.certificate import Asked
from ocbnn.rules import BoundRule, Rule, bind
from ocbnn.rules.rule import RULE_NAME

# How many draws, boxes for each draw and place, and how sure, where nobody says so. If
# all of 200 draws keep a rule, a new one does in 98.5 % of cases; the thousands of a
# usual fit take minutes, and are seldom worth more independent ones.
DRAWS, BOXES, CONFIDENCE = 200, 4096, 0.95
ALL = "all"


@dataclasses.dataclass(frozen=True)
class Words:
    """How settings are written: in Python, or on the command line."""

    at: str
    tolerance: str
    within: str
    bounded: str
    rows: str

    def around(self, name: str) -> str:
        """How to ask about rows."""
        return self.rows.format(name=name)

    def bounds(self, name: str, low: object = "LOW", high: object = "HIGH") -> str:
        """How to bound an input."""
        return self.bounded.format(name=name, low=low, high=high)


PYTHON = Words(
    at="at",
    tolerance="tolerance",
    within="within",
    bounded="within={{{name!r}: ({low}, {high})}}",
    rows="certify(model, at=X, tolerance={{{name!r}: 0.1}})",
)
COMMAND = Words(
    at="--at",
    tolerance="--tolerance",
    within="--within",
    bounded="--within {name}={low}:{high}",
    rows="--at FILE --tolerance {name}=0.1",
)


def check_model(model: Any) -> None:
    """Refuse what is no fitted model.

    Raises:
        SettingError: When it is something else.
    """
    if not hasattr(model, "check_rules"):
        shown = shorten(repr(model), 60)
        raise SettingError(
            f"model must be a fitted model, got {type(model).__name__}: {shown}. Read "
            'one from its file first: certify(ocbnn.load("model.ocbnn")).'
        )
    check_is_fitted(model, "draws_")


def asked_of(
    model: Any,
    rule: Any,
    *,
    rows: np.ndarray | None,
    tolerance: Any,
    within: Any,
    draws: Any,
    boxes: Any,
    confidence: Any,
    words: Words = PYTHON,
) -> tuple[Asked, tuple[BoundRule, ...]]:
    """What was asked, as plain values, and the rules that it is about.

    Args:
        model: A fitted model.
        rule: As `certify` takes it, like what follows.
        rows: Rows of inputs; nan where one is missing.
        tolerance: How far from them inputs may lie.
        within: Bounds of inputs.
        draws: At most so many, or "all".
        boxes: At most so many for each draw and place.
        confidence: Of the statement about draws that were not looked at.
        words: How settings are written where they were.

    Raises:
        SettingError: When that makes no sense.
    """
    names = model.schema_.inputs
    if not (isinstance(draws, str) and draws == ALL):
        _check_count(draws, "draws", DRAWS, ', or draws="all" for every one')
    _check_count(boxes, "boxes", BOXES)
    if isinstance(confidence, bool) or not _is_number(confidence, 0, 1):
        raise SettingError(
            f"confidence must lie between 0 and 1, got {confidence!r}. Write "
            "confidence=0.95."
        )
    _check_pairing(rows, tolerance, within, names, words)
    bounds, spelled, is_own = _rules(model, rule)
    asked = Asked(
        rule=spelled,
        is_own=is_own,
        draws=None if draws == ALL else int(draws),
        boxes=int(boxes),
        confidence=float(confidence),
        within=_bounds(within, names, words),
        rows=rows,
        tolerance=None if rows is None else _tolerances(tolerance, names, words),
    )
    return asked, bounds


def whole_rows(model: Any, at: Any) -> np.ndarray:
    """Rows of a model's inputs that lack nothing.

    Raises:
        DataError: When they are none.
    """
    try:
        numbers = np.asarray(at, float)
    except (TypeError, ValueError):
        numbers = np.zeros((1, 1))  # What is wrong with it is said below.
    if numbers.ndim == 2 and not np.isfinite(numbers).all():
        row, column = np.argwhere(~np.isfinite(numbers))[0].tolist()
        raise DataError(
            f"at must be finite numbers, and row {row + 1} has {numbers[row, column]} "
            f"in column {column + 1}. Leave such rows out."
        )
    try:
        return model._checked(at)
    except OcbnnError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(
            f"at must be rows of the model's inputs ({listing(model.schema_.inputs)}), "
            f"as `predict` takes them: {error}"
        ) from None


def _check_count(value: Any, name: str, usual: int, otherwise: str = "") -> None:
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < 1:
        raise SettingError(
            f"{name} must be a whole number above zero, got {value!r}. Write "
            f"{name}={usual}{otherwise}."
        )


def _is_number(value: Any, low: float, high: float) -> bool:
    try:
        return low < float(value) < high
    except (TypeError, ValueError):
        return False


def _check_pairing(
    rows: Any, tolerance: Any, within: Any, names: Sequence[str], words: Words
) -> None:
    if (rows is None) != (tolerance is None):
        raise SettingError(
            f"{words.at} and {words.tolerance} belong together: rows, and how far from "
            f"each an input may lie. Write {words.around(names[0])}."
        )
    if rows is not None and within:
        raise SettingError(
            f"{words.at} looks around rows, and {words.within} is for a whole region. "
            "Leave one of them out."
        )


def _rules(model: Any, rule: Any) -> tuple[tuple[BoundRule, ...], str | None, bool]:
    """The rules asked about, how that was said, and whether they are one's own."""
    if rule is None:
        return tuple(model.checkable_rules_), None, False
    named = {bound.name: bound for bound in model.rules_}
    if isinstance(rule, BoundRule) and rule in model.rules_:
        return (rule,), rule.name, False
    if isinstance(rule, str) and rule in named:
        return (named[rule],), rule, False
    if not isinstance(rule, (str, Rule, BoundRule)):
        raise SettingError(
            f"rule must be the name of a rule ({listing(named)}), a rule, or its text, "
            f"got {type(rule).__name__}."
        )
    if isinstance(rule, BoundRule):
        return (rule,), str(rule.rule), True
    try:
        bound = bind(rule, model.schema_)
    except RuleError:
        if isinstance(rule, str) and RULE_NAME.fullmatch(rule.strip()):
            raise SettingError(
                f"no rule of the model is called {rule!r}.{suggest(rule, named)} It "
                f"has {listing(map(repr, named)) or 'none'}. For another rule, write "
                "its text, such as `if 0 <= x <= 1 then y >= 0`."
            ) from None
        raise
    return (bound,), str(bound.rule), True


def _bounds(
    within: Any, names: Sequence[str], words: Words
) -> dict[str, tuple[float, float]]:
    if within is None:
        return {}
    if not isinstance(within, Mapping):
        raise SettingError(
            f"{words.within} must say for each input where it lies, got "
            f"{shorten(repr(within))}. Write {words.bounds(names[0])}."
        )
    found = {}
    for name, ends in within.items():
        _check_input(name, names, words.within)
        try:
            low, high = map(float, ends)
        except (TypeError, ValueError):
            low, high = np.nan, np.nan
        if not (np.isfinite(low) and np.isfinite(high)):
            raise SettingError(
                f"the bounds of {name!r} must be two finite numbers, got "
                f"{shorten(repr(ends))}. Write {words.bounds(name)}."
            )
        found[name] = (low, high)
    return found


def _check_input(name: object, names: Sequence[str], setting: str) -> None:
    if name not in names:
        raise SettingError(
            f"{setting} speaks of {name!r}, which is no input: {listing(names)}."
            f"{suggest(name, names)}"
        )


def _tolerances(
    tolerance: Any, names: Sequence[str], words: Words
) -> tuple[float, ...]:
    given = tolerance
    if isinstance(tolerance, Mapping):
        for name in tolerance:
            _check_input(name, names, words.tolerance)
        given = [tolerance.get(name, 0.0) for name in names]
    try:
        away = np.broadcast_to(np.asarray(given, float), (len(names),))
    except (TypeError, ValueError):
        raise SettingError(
            f"{words.tolerance} must be a number, one for each of the {len(names)} "
            f"inputs ({listing(names)}), or some of them by name, got "
            f"{shorten(repr(tolerance))}. Write {words.around(names[0])}."
        ) from None
    if not ((away >= 0) & np.isfinite(away)).all():
        raise SettingError(
            f"{words.tolerance} must be zero or more for each input, got "
            f"{away.tolist()}."
        )
    return tuple(away.tolist())
