"""Certificates as files, and checking one against the model it speaks about."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from ocbnn.core.errors import CertificateError
from ocbnn.core.versions import library_versions
from ocbnn.estimators.certificate import (
    Certificate,
    Counterexample,
    Place,
    RuleCertificate,
)
from ocbnn.estimators.certifying import digest
from ocbnn.proofs.prover import Prover
from ocbnn.proofs.search import BROKEN, HOLDS, leaves
from ocbnn.rules import bind
from ocbnn.storage.files import replace_file

_LEAF = "."


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


class _Place(_Strict):
    low: list[float]
    high: list[float]
    row: int | None


class _Counterexample(_Strict):
    place: int
    draw: int
    x: list[float]
    y: list[float]


class _Rule(_Strict):
    rule: str
    text: str
    inputs: list[str]
    cut: list[str]
    places: list[_Place]
    draws: list[int]
    # A letter for every place and draw: holds, broken, undecided.
    status: list[str]
    counterexamples: list[_Counterexample]
    # For every place and draw that holds, the inputs along which boxes were halved.
    splits: dict[str, str]
    effective: float | None
    confidence: float
    boxes: int
    seconds: float
    summary: dict[str, Any]


class _File(_Strict):
    kind: Literal["ocbnn certificate"]
    version: Literal[1]
    versions: dict[str, str]
    model: str
    rules: list[_Rule]
    skipped: dict[str, str]


_LETTERS = {HOLDS: "h", BROKEN: "b", 0: "u"}
_CODES = {letter: code for code, letter in _LETTERS.items()}


def write(certificate: Certificate, path: Any) -> None:
    """Write a certificate and its proofs as JSON."""
    content = {
        "kind": "ocbnn certificate",
        "version": 1,
        "versions": library_versions(),
        "model": certificate.model,
        "rules": [_to_plain(rule) for rule in certificate.rules],
        "skipped": dict(certificate.skipped),
    }
    text = json.dumps(content, allow_nan=False, ensure_ascii=False)
    replace_file(path, f"{text}\n".encode())


def read(path: Any) -> Certificate:
    """Read a certificate; whether it is true, `verify` finds out.

    Raises:
        CertificateError: When the file is none.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        file = _File.model_validate_json(text)
        rules = tuple(map(_from_plain, file.rules))
    except (UnicodeDecodeError, ValidationError, ValueError, KeyError) as error:
        why = error.errors()[0] if isinstance(error, ValidationError) else error
        said = why if not isinstance(why, dict) else f"{why['loc']}: {why['msg']}"
        raise CertificateError(
            f"{path} is no certificate that can be read ({said}). "
            "`ocbnn certify MODEL --out FILE` writes one."
        ) from None
    return Certificate(file.model, rules, file.skipped)


def verify(certificate: Certificate, model: Any) -> None:
    """Check every statement of a certificate anew, from its proofs.

    No search is needed: every box of every proof is bounded once more, the boxes are
    checked to cover what they should, and every counterexample is tried.

    Raises:
        CertificateError: At the first statement that does not stand.
    """
    if certificate.model != digest(model):
        raise CertificateError(
            "the certificate speaks about another model: it names "
            f"{certificate.model[:16]}, and this one is {digest(model)[:16]}. Certify "
            "this model anew."
        )
    for rule in certificate.rules:
        for problem in _problems(rule, model):
            raise CertificateError(
                f"the certificate does not stand. Rule {rule.rule!r}: {problem}."
            )


def _problems(rule: RuleCertificate, model: Any) -> Iterator[str]:
    predictive = model._predictive
    bound = bind(rule.text, model.schema_)
    if tuple(rule.inputs) != tuple(bound.schema.inputs):
        yield "its inputs are not those of the model"
        return
    if not set(rule.draws) <= set(range(predictive.size)):
        yield "it names draws that the model does not have"
        return
    yield from _uncovered(rule, bound)
    weights = jax.tree.map(np.asarray, predictive.draws.weights)
    prover = Prover(predictive.network, weights, predictive.units, bound)
    yield from _unproved(rule, prover)
    yield from _unbroken(rule, prover)


def _uncovered(rule: RuleCertificate, bound: Any) -> Iterator[str]:
    """Whether places lie where the certificate says that it looked."""
    if rule.is_local:
        return
    least, most = bound.region.box()
    for column, name in enumerate(rule.inputs):
        if name in rule.cut:
            continue
        place = rule.places[0]
        if place.low[column] > least[column] or place.high[column] < most[column]:
            yield f"it leaves out a part of the region along {name}"


def _unproved(rule: RuleCertificate, prover: Prover) -> Iterator[str]:
    draws, lows, highs = [], [], []
    for number, place in enumerate(rule.places):
        for column, draw in enumerate(rule.draws):
            if rule.status[number, column] != HOLDS:
                continue
            splits = rule.splits.get((number, draw))
            try:
                low, high = leaves(
                    splits or [], np.array(place.low), np.array(place.high)
                )
            except ValueError as error:
                yield f"draw {draw} has no proof ({error})"
                return
            draws += [draw] * len(low)
            lows.append(low)
            highs.append(high)
    if not draws:
        return
    held = prover.judge(
        np.array(draws), np.concatenate(lows), np.concatenate(highs)
    ).holds
    if not held.all():
        first = int(np.flatnonzero(~held)[0])
        yield f"the bounds of draw {draws[first]} do not prove that it holds"


def _unbroken(rule: RuleCertificate, prover: Prover) -> Iterator[str]:
    claimed = {(one.place, one.draw): one for one in rule.counterexamples}
    for number, row in enumerate(rule.status):
        for draw in np.array(rule.draws)[row == BROKEN]:
            if (number, int(draw)) not in claimed:
                yield f"draw {draw} is said to break it, and no input shows that"
                return
    for one in rule.counterexamples:
        place = rule.places[one.place]
        x = np.array(one.x)
        inside = (x >= np.array(place.low)) & (x <= np.array(place.high))
        if not inside.all() or not prover.is_broken(np.array([one.draw]), x[None])[0]:
            yield f"draw {one.draw} does not break it at {list(one.x)}"


def _to_plain(rule: RuleCertificate) -> dict[str, Any]:
    status = ["".join(_LETTERS[int(one)] for one in row) for row in rule.status]
    splits = {
        f"{place} {draw}": " ".join(_LEAF if axis < 0 else str(axis) for axis in axes)
        for (place, draw), axes in rule.splits.items()
    }
    return {
        "rule": rule.rule,
        "text": rule.text,
        "inputs": list(rule.inputs),
        "cut": list(rule.cut),
        "places": [
            {"low": list(one.low), "high": list(one.high), "row": one.row}
            for one in rule.places
        ],
        "draws": list(rule.draws),
        "status": status,
        "counterexamples": [
            {"place": one.place, "draw": one.draw, "x": list(one.x), "y": list(one.y)}
            for one in rule.counterexamples
        ],
        "splits": splits,
        "effective": rule.effective,
        "confidence": rule.confidence,
        "boxes": rule.boxes,
        "seconds": rule.seconds,
        "summary": rule.to_dict(),
    }


def _from_plain(rule: _Rule) -> RuleCertificate:
    status = np.array([[_CODES[letter] for letter in row] for row in rule.status])
    if status.shape != (len(rule.places), len(rule.draws)):
        raise ValueError("the status of places and draws has another size than those")
    return RuleCertificate(
        rule=rule.rule,
        text=rule.text,
        inputs=tuple(rule.inputs),
        cut=tuple(rule.cut),
        places=tuple(
            Place(tuple(one.low), tuple(one.high), one.row) for one in rule.places
        ),
        draws=tuple(rule.draws),
        status=status,
        counterexamples=tuple(
            Counterexample(one.place, one.draw, tuple(one.x), tuple(one.y))
            for one in rule.counterexamples
        ),
        splits=dict(_splits(*pair) for pair in rule.splits.items()),
        effective=rule.effective,
        confidence=rule.confidence,
        boxes=rule.boxes,
        seconds=rule.seconds,
    )


def _splits(where: str, axes: str) -> tuple[tuple[int, int], list[int]]:
    place, draw = map(int, where.split())
    return (place, draw), [-1 if axis == _LEAF else int(axis) for axis in axes.split()]
