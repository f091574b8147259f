"""Checking a certificate against the model it speaks about."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ocbnn.certificates.arguments import ALL, parse_request
from ocbnn.certificates.certificate import (
    Certificate,
    CertificateRequest,
    RuleCertificate,
)
from ocbnn.certificates.certification import digest
from ocbnn.certificates.question import Question, choose
from ocbnn.core.types import Unchecked
from ocbnn.core.words import listing, shorten
from ocbnn.errors import CertificateError, DataError, OcbnnError, SettingError
from ocbnn.fitted import FittedModel
from ocbnn.fitted.estimator_record import ModelOrRecord, fitted_of
from ocbnn.proofs.search import BROKEN, HOLDS, leaves
from ocbnn.rules import BoundRule

# A certificate's fields, and their names in messages.
_FRAME_NAMES = {
    "rule": "its name",
    "text": "its text",
    "is_own": "whether it is a rule of the model",
    "is_masked": "whether the model masks the classes that it forbids",
    "reading": "what it means to keep it",
    "inputs": "the model's inputs",
    "outputs": "the model's outputs",
    "choices": "which inputs are one category",
    "cut": "inputs without bounds",
    "narrowed": "inputs along which less was examined",
    "around": "the rows that were examined and left out",
    "available": "the number of the model's draws",
    "effective": "the number of effective draws",
    "confidence": "the confidence",
}


def verify(
    certificate: Unchecked[Certificate | str | Path],
    model: ModelOrRecord,
    *,
    at: Any = None,
) -> Certificate:
    """Check every statement of a certificate again, from its proofs.

    Everything that follows from the model and the request is recomputed and compared.
    No search is needed: every box of every proof is bounded again, the boxes are
    checked to cover the region, and every counterexample is evaluated.

    Parameters
    ----------
    certificate
        A certificate, or the path of its file.
    model
        The fitted model that it is about: an estimator, or its `fitted_`.
    at
        The rows that it is about, to check that it is about exactly these.

    Returns
    -------
    Certificate
        The certificate, read from its file if a path was given.

    Raises
    ------
    CertificateError
        At the first statement that is not true.
    """
    fitted = fitted_of(model)
    if not isinstance(certificate, Certificate):
        # Files need pydantic, which is slow to import.
        from ocbnn.certificates.file import read  # noqa: PLC0415

        certificate = read(certificate)
    model_digest = digest(fitted)
    if certificate.model != model_digest:
        raise CertificateError(
            "the certificate is about another model: it names "
            f"{certificate.model[:16]}, and this one is {model_digest[:16]}. Certify "
            "this model again."
        )
    verdict = (fitted.verdict.status, *fitted.verdict.sentences)
    if certificate.verdict != verdict:
        raise _invalid(
            f"its verdict differs from that of the fit, which is {verdict[0]!r}"
        )
    _check_rules(certificate, fitted)
    if at is not None:
        _compare_rows(certificate.asked.rows, _numbers(at, fitted.schema.inputs))
    return certificate


def _numbers(at: Any, names: Sequence[str]) -> np.ndarray:
    """Rows of the model's inputs, NaN for missing values."""
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


def _compare_rows(rows: np.ndarray | None, given: np.ndarray) -> None:
    if rows is None:
        raise SettingError(
            "the certificate is about whole regions, not about rows. Leave the table "
            "out."
        )
    if len(rows) != len(given):
        raise _invalid(f"it is about {len(rows)} rows, and the table has {len(given)}")
    is_same = (rows == given) | np.isnan(rows) & np.isnan(given)
    differing = np.flatnonzero(~is_same.all(axis=1))
    if len(differing):
        raise _invalid(f"row {differing[0] + 1} differs from the table's")


def _invalid(reason: str) -> CertificateError:
    return CertificateError(f"the certificate is not valid: {reason}.")


def _check_rules(certificate: Certificate, model: FittedModel) -> None:
    bounds = _rules_of_request(certificate.asked, model)
    certified = [rule.rule for rule in certificate.rules]
    if not certified and not certificate.skipped:
        raise _invalid("it has no rule")
    names = [bound.name for bound in bounds]
    if sorted([*certified, *certificate.skipped]) != sorted(names):
        raise _invalid(
            f"its request is about {listing(map(repr, names))}, and it certifies "
            f"{listing(map(repr, [*certified, *certificate.skipped]))}"
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
                raise _invalid(
                    f"rule {bound.name!r} cannot be proved: {error}"
                ) from None
            continue
        if bound.name not in answered:
            raise _invalid(f"rule {bound.name!r} can be proved, and is left out")
        for problem in _problems(answered[bound.name], question):
            raise CertificateError(
                f"the certificate is not valid. Rule {bound.name!r}: {problem}."
            )


def _rules_of_request(
    request: CertificateRequest, model: FittedModel
) -> tuple[BoundRule, ...]:
    if request.rule is not None and not request.is_own:
        names = [bound.name for bound in model.rules]
        if request.rule not in names:
            raise _invalid(
                f"the model has no rule that is called {request.rule!r}, only "
                f"{listing(map(repr, names)) or 'none'}"
            )
    try:
        parsed, bounds = parse_request(
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
        raise _invalid(f"its request is not valid ({error})") from None
    if request.rows is not None and request.rows.shape[1] != len(model.schema.inputs):
        raise _invalid("its rows have a different number of inputs than the model")
    if parsed.is_own != request.is_own:
        raise _invalid(
            f"it is wrong about whether {request.rule!r} is the model's rule"
        )
    return bounds


def _with_bounds(
    request: CertificateRequest,
    model: FittedModel,
    bound: BoundRule,
    rule: RuleCertificate | None,
) -> CertificateRequest:
    """The request, with the certificate's bounds if the model has no data for them."""
    if rule is None or request.rows is not None or model.data is not None:
        return request
    place, names = rule.places[0], bound.schema.inputs
    if len(place.low) != len(names) or len(place.high) != len(names):
        return request
    bounds = {
        name: (place.low[names.index(name)], place.high[names.index(name)])
        for name in rule.cut
        if name in names and name not in request.within
    }
    return CertificateRequest(
        **{**vars(request), "within": {**bounds, **request.within}}
    )


def _problems(rule: RuleCertificate, question: Question) -> Iterator[str]:
    frame = question.frame()
    yield from _draw_problems(rule, question)
    yield from _place_problems(rule, question)
    for name, title in _FRAME_NAMES.items():
        written, recomputed = getattr(rule, name), frame[name]
        if written != recomputed:
            yield (
                f"{title}: it has {shorten(str(written))}, and the model gives "
                f"{shorten(str(recomputed))}"
            )
    yield from _unproved_draws(rule, question)
    yield from _counterexample_problems(rule, question)
    holding = np.argwhere(rule.status == HOLDS).tolist()
    if set(rule.splits) - {(place, rule.draws[column]) for place, column in holding}:
        yield "it has proofs for draws that it does not list as keeping the rule"


def _draw_problems(rule: RuleCertificate, question: Question) -> Iterator[str]:
    if rule.draws != tuple(question.numbers.tolist()):
        most = question.request.draws
        yield (
            f"its {len(rule.draws)} draws are not the requested ones, "
            f"{'all' if most is None else f'at most {most}, evenly chosen,'} of the "
            f"model's {question.available}"
        )


def _place_problems(rule: RuleCertificate, question: Question) -> Iterator[str]:
    if rule.places == question.places:
        return
    rows = [place.row for place in question.places]
    if [place.row for place in rule.places] != rows:
        yield "its rows are not the requested ones"
        return
    for place, recomputed in zip(rule.places, question.places, strict=True):
        if len(place.low) == len(place.high) == len(rule.inputs) == len(recomputed.low):
            ends = zip(
                rule.inputs,
                place.low,
                recomputed.low,
                place.high,
                recomputed.high,
                strict=True,
            )
            for name, low, least, high, most in ends:
                if low > least or high < most:
                    yield f"it leaves out a part of the region along {name}"
                    return
    yield "it was examined elsewhere than requested"


def _unproved_draws(rule: RuleCertificate, question: Question) -> Iterator[str]:
    """Draws listed as keeping the rule whose boxes do not prove it."""
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
    is_proved = question.prover.judge(
        np.array(positions), np.concatenate(lows), np.concatenate(highs)
    ).holds
    if not is_proved.all():
        first = rule.draws[positions[int(np.flatnonzero(~is_proved)[0])]]
        yield f"the bounds of draw {first} do not prove that it holds"


def _counterexample_problems(
    rule: RuleCertificate, question: Question
) -> Iterator[str]:
    """Draws listed as violating the rule without a counterexample, and vice versa."""
    broken = {
        (number, rule.draws[column])
        for number, column in np.argwhere(rule.status == BROKEN).tolist()
    }
    shown = {(example.place, example.draw) for example in rule.counterexamples}
    for _, draw in sorted(broken - shown):
        yield f"draw {draw} is listed as violating it, without a counterexample"
    for _, draw in sorted(shown - broken):
        yield f"draw {draw} has a counterexample, and is not listed as violating it"
    if len(shown) != len(rule.counterexamples):
        yield "a draw has two counterexamples at one place"
    if broken == shown and broken:
        yield from _refuted_counterexamples(rule, question)


def _refuted_counterexamples(
    rule: RuleCertificate, question: Question
) -> Iterator[str]:
    """Counterexamples that do not violate the rule."""
    shown = rule.counterexamples
    incomplete = [
        example.draw for example in shown if len(example.x) != len(rule.inputs)
    ]
    if incomplete:
        yield f"the counterexample for draw {incomplete[0]} does not have all inputs"
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
            yield f"draw {example.draw} does not violate it at {list(example.x)}"
        recomputed = question.outputs(int(position), np.array(example.x))
        if len(example.y) != len(recomputed) or not np.allclose(
            example.y, recomputed, 1e-6, 1e-9
        ):
            yield (
                f"the outputs of draw {example.draw} at {list(example.x)} are listed "
                f"as {list(example.y)}, and are {list(recomputed)}"
            )
