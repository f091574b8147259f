"""Checking a certificate against the model it speaks about."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ocbnn.certificates.arguments import ALL, fitted_of, parse_request
from ocbnn.certificates.certificate import (
    Certificate,
    CertificateRequest,
    RuleCertificate,
)
from ocbnn.certificates.certification import digest
from ocbnn.certificates.question import Question, choose
from ocbnn.core.words import listing, shorten
from ocbnn.errors import CertificateError, DataError, OcbnnError, SettingError
from ocbnn.fitted import FittedModel
from ocbnn.proofs.search import BROKEN, HOLDS, leaves
from ocbnn.rules import BoundRule

# What a certificate calls something, and what to call it.
_FRAME = {
    "rule": "its name",
    "text": "its text",
    "is_own": "whether it is a rule of the model",
    "is_masked": "whether the model masks what it forbids",
    "reading": "what it means to keep it",
    "inputs": "the model's inputs",
    "outputs": "the model's outputs",
    "choices": "which inputs are one choice",
    "cut": "inputs without bounds",
    "narrowed": "inputs of which less was looked at",
    "around": "the rows that were looked at and left out",
    "available": "the number of the model's draws",
    "effective": "the number of effective draws",
    "confidence": "the confidence",
}


def verify(certificate: Any, model: Any, *, at: Any = None) -> Certificate:
    """Check every statement of a certificate anew, from its proofs.

    All that follows from the model and from what was asked is worked out once more
    and compared. No search is needed: every box of every proof is bounded again, the
    boxes are checked to cover what they should, and every counterexample is tried.

    Parameters
    ----------
    certificate
        A certificate, or the path of its file.
    model
        The fitted model that it speaks about: an estimator, or its `fitted_`.
    at
        The rows that it was asked about, to see whether it speaks of just those.

    Raises
    ------
    CertificateError
        At the first statement that does not stand.
    """
    fitted = fitted_of(model)
    if not isinstance(certificate, Certificate):
        # Files need a library that those who fit need not wait for.
        from ocbnn.certificates.file import read  # noqa: PLC0415

        certificate = read(certificate)
    model_digest = digest(fitted)
    if certificate.model != model_digest:
        raise CertificateError(
            "the certificate speaks about another model: it names "
            f"{certificate.model[:16]}, and this one is {model_digest[:16]}. Certify "
            "this model anew."
        )
    verdict = (fitted.verdict.status, *fitted.verdict.sentences)
    if certificate.verdict != verdict:
        raise _fallen(f"the verdict of the fit is {verdict[0]!r}, in other words")
    _check_rules(certificate, fitted)
    if at is not None:
        _compare_rows(certificate.asked.rows, _numbers(at, fitted.schema.inputs))
    return certificate


def _numbers(at: Any, names: Sequence[str]) -> np.ndarray:
    """Rows of the model's inputs, nan where one is missing."""
    try:
        numbers = np.asarray(at[list(names)] if hasattr(at, "columns") else at, float)
    except (TypeError, ValueError, KeyError):
        numbers = np.zeros((0, 0))
    if numbers.ndim != 2 or numbers.shape[1] != len(names):
        raise DataError(
            f"at must be rows of the model's inputs: {listing(names)}. Write at=X, as "
            "for certify."
        )
    return numbers


def _compare_rows(rows: np.ndarray | None, true: np.ndarray) -> None:
    if rows is None:
        raise SettingError(
            "the certificate speaks of no rows, but of whole regions. Leave the table "
            "out."
        )
    if len(rows) != len(true):
        raise _fallen(f"it speaks of {len(rows)} rows, and the table has {len(true)}")
    is_same = (rows == true) | np.isnan(rows) & np.isnan(true)
    others = np.flatnonzero(~is_same.all(axis=1))
    if len(others):
        raise _fallen(f"row {others[0] + 1} is another one in the table")


def _fallen(why: str) -> CertificateError:
    return CertificateError(f"the certificate does not stand: {why}.")


def _check_rules(certificate: Certificate, model: FittedModel) -> None:
    bounds = _asked_about(certificate.asked, model)
    there = [rule.rule for rule in certificate.rules]
    if not there and not certificate.skipped:
        raise _fallen("it says nothing about any rule")
    named = [bound.name for bound in bounds]
    if sorted([*there, *certificate.skipped]) != sorted(named):
        raise _fallen(
            f"it was asked about {listing(map(repr, named))} and speaks about "
            f"{listing(map(repr, [*there, *certificate.skipped]))}"
        )
    answered = {rule.rule: rule for rule in certificate.rules}
    chosen = choose(model, certificate.asked.draws)
    for bound in bounds:
        request = _with_bounds(
            certificate.asked, model, bound, answered.get(bound.name)
        )
        try:
            question = Question(model, bound, request, chosen)
        except OcbnnError as error:
            is_skipped = isinstance(error, CertificateError)
            if not is_skipped or certificate.skipped.get(bound.name) != str(error):
                raise _fallen(
                    f"rule {bound.name!r} cannot be proved: {error}"
                ) from None
            continue
        if bound.name not in answered:
            raise _fallen(f"rule {bound.name!r} can be proved, and is left out")
        for problem in _problems(answered[bound.name], question):
            raise CertificateError(
                f"the certificate does not stand. Rule {bound.name!r}: {problem}."
            )


def _asked_about(
    request: CertificateRequest, model: FittedModel
) -> tuple[BoundRule, ...]:
    if request.rule is not None and not request.is_own:
        names = [bound.name for bound in model.rules]
        if request.rule not in names:
            raise _fallen(
                f"the model has no rule that is called {request.rule!r}, only "
                f"{listing(map(repr, names)) or 'none'}"
            )
    try:
        again, bounds = parse_request(
            model,
            request.rule,
            rows=request.rows,
            tolerance=request.tolerance,
            within=request.within,
            draws=ALL if request.draws is None else request.draws,
            boxes=request.boxes,
            confidence=request.confidence,
        )
    except OcbnnError as error:
        raise _fallen(f"what it was asked makes no sense ({error})") from None
    if request.rows is not None and request.rows.shape[1] != len(model.schema.inputs):
        raise _fallen("its rows have another number of inputs than the model")
    if again.is_own != request.is_own:
        raise _fallen(f"it is wrong about whether {request.rule!r} is the model's rule")
    return bounds


def _with_bounds(
    request: CertificateRequest,
    model: FittedModel,
    bound: BoundRule,
    rule: RuleCertificate | None,
) -> CertificateRequest:
    """Where the model has no data left to bound inputs by, the certificate's bounds."""
    if rule is None or request.rows is not None or model.data is not None:
        return request
    place, names = rule.places[0], bound.schema.inputs
    if len(place.low) != len(names) or len(place.high) != len(names):
        return request
    own = {
        name: (place.low[names.index(name)], place.high[names.index(name)])
        for name in rule.cut
        if name in names and name not in request.within
    }
    return CertificateRequest(**{**vars(request), "within": {**own, **request.within}})


def _problems(rule: RuleCertificate, question: Question) -> Iterator[str]:
    frame = question.frame()
    yield from _other_draws(rule, question)
    yield from _other_places(rule, question)
    for name, spoken in _FRAME.items():
        written, true = getattr(rule, name), frame[name]
        if written != true:
            yield (
                f"{spoken}: it says {shorten(str(written))}, and the model gives "
                f"{shorten(str(true))}"
            )
    yield from _unproved(rule, question)
    yield from _unbroken(rule, question)
    holding = np.argwhere(rule.status == HOLDS).tolist()
    if set(rule.splits) - {(place, rule.draws[column]) for place, column in holding}:
        yield "it has proofs for draws that are not said to keep it"


def _other_draws(rule: RuleCertificate, question: Question) -> Iterator[str]:
    if rule.draws != tuple(question.numbers.tolist()):
        most = question.asked.draws
        yield (
            f"its {len(rule.draws)} draws are not those that were asked for, "
            f"{'all' if most is None else f'at most {most}, evenly chosen,'} of the "
            f"model's {question.available}"
        )


def _other_places(rule: RuleCertificate, question: Question) -> Iterator[str]:
    if rule.places == question.places:
        return
    rows = [place.row for place in question.places]
    if [place.row for place in rule.places] != rows:
        yield "its rows are not those that were asked for"
        return
    for place, true in zip(rule.places, question.places, strict=True):
        if len(place.low) == len(place.high) == len(rule.inputs) == len(true.low):
            ends = zip(
                rule.inputs, place.low, true.low, place.high, true.high, strict=True
            )
            for name, low, least, high, most in ends:
                if low > least or high < most:
                    yield f"it leaves out a part of the region along {name}"
                    return
    yield "it was looked at elsewhere than was asked for"


def _unproved(rule: RuleCertificate, question: Question) -> Iterator[str]:
    """Draws that are said to keep the rule, and whose boxes do not prove it."""
    positions, lows, highs = [], [], []
    for number, place in enumerate(rule.places):
        for column, draw in enumerate(rule.draws):
            if rule.status[number, column] != HOLDS:
                continue
            splits = rule.splits.get((number, draw), [])
            try:
                box = np.array(place.low), np.array(place.high)
                low, high = leaves(splits, *box, question.choices)
            except ValueError as error:
                yield f"draw {draw} has no proof ({error})"
                return
            positions += [column] * len(low)
            lows.append(low)
            highs.append(high)
    if not positions:
        return
    proved = question.prover.judge(
        np.array(positions), np.concatenate(lows), np.concatenate(highs)
    ).holds
    if not proved.all():
        first = rule.draws[positions[int(np.flatnonzero(~proved)[0])]]
        yield f"the bounds of draw {first} do not prove that it holds"


def _unbroken(rule: RuleCertificate, question: Question) -> Iterator[str]:
    """Draws that are said to break the rule where they do not."""
    broken = {
        (number, rule.draws[column])
        for number, column in np.argwhere(rule.status == BROKEN).tolist()
    }
    shown = {(example.place, example.draw) for example in rule.counterexamples}
    for _, draw in sorted(broken - shown):
        yield f"draw {draw} is said to break it, and no input shows that"
    for _, draw in sorted(shown - broken):
        yield f"an input is shown for draw {draw}, which is not said to break it there"
    if len(shown) != len(rule.counterexamples):
        yield "an input is shown twice for one draw"
    if broken == shown and broken:
        yield from _not_shown(rule, question)


def _not_shown(rule: RuleCertificate, question: Question) -> Iterator[str]:
    """Counterexamples that are none."""
    shown = rule.counterexamples
    short = [example.draw for example in shown if len(example.x) != len(rule.inputs)]
    if short:
        yield f"the input shown for draw {short[0]} has not all inputs"
        return
    x = np.array([example.x for example in shown])
    low = np.array([rule.places[example.place].low for example in shown])
    high = np.array([rule.places[example.place].high for example in shown])
    columns = {draw: column for column, draw in enumerate(rule.draws)}
    positions = np.array([columns[example.draw] for example in shown])
    broken = question.prover.is_broken(positions, x)
    broken &= ((x >= low) & (x <= high)).all(axis=1)
    for example, is_broken, position in zip(shown, broken, positions, strict=True):
        if not is_broken:
            yield f"draw {example.draw} does not break it at {list(example.x)}"
        true = question.outputs(int(position), np.array(example.x))
        if len(example.y) != len(true) or not np.allclose(example.y, true, 1e-6, 1e-9):
            yield (
                f"draw {example.draw} is said to give {list(example.y)} at "
                f"{list(example.x)}, and gives {list(true)}"
            )
