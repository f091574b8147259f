"""Certificates as files. The module `verification` checks whether one is true."""

import dataclasses
import json
import math
import os
import re
import typing
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from ocbnn.certificates.certificate import (
    Certificate,
    CertificateRequest,
    Counterexample,
    Place,
    RowNeighbourhoods,
    RuleCertificate,
)
from ocbnn.core.versions import library_versions
from ocbnn.core.words import shorten
from ocbnn.errors import CertificateError, StorageError
from ocbnn.proofs.search import BROKEN, HOLDS
from ocbnn.storage.files import replace_file

FORMAT = 3
_KIND = "ocbnn certificate"
_LEAF = "."
_WHOLE = re.compile(r"0|[1-9][0-9]*")
_LETTERS = {HOLDS: "h", BROKEN: "b", 0: "u"}
_CODES = {letter: code for code, letter in _LETTERS.items()}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


def _schema(kind: type, /, **replaced: Any) -> Any:
    """The file's schema of a data class: its fields, some with `replaced` types."""
    hints = typing.get_type_hints(kind)
    hints_of_fields = {
        field.name: hints[field.name] for field in dataclasses.fields(kind)
    } | replaced
    fields: dict[str, Any] = {
        name: (hint, ...) for name, hint in hints_of_fields.items()
    }
    return create_model(f"_{kind.__name__}", __base__=_Strict, **fields)


_Place, _RowNeighbourhoods, _Counterexample = map(
    _schema, (Place, RowNeighbourhoods, Counterexample)
)
_Rule = _schema(
    RuleCertificate,
    places=list[_Place],
    around=_RowNeighbourhoods | None,
    # A letter for every place and draw: holds, violated, undecided.
    status=list[str],
    counterexamples=list[_Counterexample],
    # For every place and draw that holds, the inputs along which boxes were halved.
    splits=dict[str, str],
    summary=dict[str, Any],
)
_File = _schema(
    Certificate,
    kind=Literal["ocbnn certificate"],
    version=int,
    versions=dict[str, str],
    asked=_schema(CertificateRequest, rows=list[list[float | None]] | None),
    rules=list[_Rule],
)


class _Head(BaseModel):
    kind: Any = None
    version: Any = None


def write(certificate: Certificate, path: Any) -> None:
    """Write a certificate and its proofs as JSON.

    Raises
    ------
    StorageError
        When it cannot be written there.
    """
    if reason := unwritable(path):
        raise StorageError(f"{path}: {reason}")
    request = certificate.asked
    content = {
        "kind": _KIND,
        "version": FORMAT,
        "versions": library_versions(),
        "model": certificate.model,
        "verdict": list(certificate.verdict),
        "asked": {**request.to_dict(), "rows": _plain_rows(request.rows)},
        "rules": [_to_plain(rule) for rule in certificate.rules],
        "skipped": dict(certificate.skipped),
    }
    text = json.dumps(content, allow_nan=False, ensure_ascii=False)
    replace_file(path, f"{text}\n".encode())


def unwritable(path: Any) -> str:
    """Why a file cannot be written there, and what to do; empty if it can."""
    path = Path(path)
    if path.is_dir():
        return f"this is a folder. Name a file in it: {path / 'certificate.json'}."
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}. Make it first: mkdir {path.parent}"
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        return "you may not write this file. Name another one."
    if path.exists() and not _is_replaceable(path):
        return "this file exists and is not a certificate. Name another one."
    return ""


def _is_replaceable(path: Path) -> bool:
    """Whether it is empty or a certificate, so that no model or table is lost."""
    with path.open("rb") as file:
        start = file.read(1000)
    return not start or _KIND.encode() in start


def read(path: Any) -> Certificate:
    """Read a certificate; `verify` checks whether it is true.

    Raises
    ------
    CertificateError
        When the file is not a certificate.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise CertificateError(
            f"certificate must be a certificate or the path of its file, got {path!r}. "
            'Write verify("certificate.json", model).'
        )
    if Path(path).is_dir():
        raise CertificateError(
            f"{path}: this is a folder. Name the certificate's file in it."
        )
    try:
        text = Path(path).read_text(encoding="utf-8")
        json.loads(text, object_pairs_hook=_refuse_duplicate_keys)
        _refuse_other_formats(_Head.model_validate_json(text), path)
        file = _File.model_validate_json(text)
        return _certificate(file)
    except OSError as error:
        raise CertificateError(
            f"{path}: {error.strerror}. Name the file that `ocbnn certify MODEL --out "
            "FILE` wrote."
        ) from None
    except UnicodeDecodeError:
        problem = "it is not a text file"
    except RecursionError:
        problem = "it is nested too deeply"
    except json.JSONDecodeError:
        problem = "it is not JSON, or incomplete"
    except ValidationError as error:
        problem = _in_words(error.errors()[0])
    except (ValueError, KeyError) as error:
        if isinstance(error, CertificateError):
            raise
        problem = "its values are not consistent"
    raise CertificateError(
        f"{path} cannot be read as a certificate: {problem}. "
        "`ocbnn certify MODEL --out FILE` writes one."
    )


def _refuse_other_formats(head: _Head, path: Any) -> None:
    is_ours = head.kind == _KIND and type(head.version) is int
    if not is_ours or head.version == FORMAT:
        return
    reason = "a newer ocbnn wrote it. Verify it with that version"
    if head.version < FORMAT:
        reason = (
            "it lacks values that are checked today. Make a new one: `ocbnn certify "
            "MODEL --out FILE`"
        )
    raise CertificateError(
        f"{path} is a certificate of format {head.version}, and this version reads "
        f"format {FORMAT}: {reason}."
    )


def _in_words(problem: Any) -> str:
    """What is wrong with a file, in our words instead of pydantic's."""
    where = ".".join(map(str, problem["loc"]))
    match problem["type"]:
        case "json_invalid":
            return "it is not JSON, or incomplete"
        case "missing":
            return f"it lacks {where!r}"
        case "extra_forbidden":
            return f"it has {where!r}, which no certificate has"
        case _ if not where:
            return "it is JSON, but not an object"
        case _:
            return f"the value of {where!r} is not valid"


def _plain_rows(rows: np.ndarray | None) -> list[list[float | None]] | None:
    if rows is None:
        return None
    return [[None if math.isnan(v) else v for v in row] for row in rows.tolist()]


def _to_plain(rule: RuleCertificate) -> dict[str, Any]:
    status = ["".join(_LETTERS[int(code)] for code in row) for row in rule.status]
    splits = {
        f"{place} {draw}": " ".join(_LEAF if axis < 0 else str(axis) for axis in axes)
        for (place, draw), axes in rule.splits.items()
    }
    replaced = {
        "places": [vars(place) for place in rule.places],
        "around": None if rule.around is None else vars(rule.around),
        "status": status,
        "counterexamples": [vars(example) for example in rule.counterexamples],
        "splits": splits,
        "summary": rule.summary(),
    }
    return {
        name: value for name, value in vars(rule).items() if name not in replaced
    } | replaced


def _certificate(file: Any) -> Certificate:
    request = file.asked
    rows = None if request.rows is None else np.array(request.rows, float)
    if rows is not None and (rows.ndim != 2 or request.tolerance is None):
        raise ValueError("rows must have one size and a tolerance")
    return Certificate(
        file.model,
        file.verdict,
        CertificateRequest(**{**vars(request), "rows": rows}),
        tuple(map(_from_plain, file.rules)),
        file.skipped,
    )


def _from_plain(rule: Any) -> RuleCertificate:
    status = np.array([[_CODES[letter] for letter in row] for row in rule.status])
    if status.shape != (len(rule.places), len(rule.draws)) or not status.size:
        raise ValueError("the status must have one entry per place and draw")
    replaced = {
        "places": tuple(Place(**vars(place)) for place in rule.places),
        "around": None
        if rule.around is None
        else RowNeighbourhoods(**vars(rule.around)),
        "status": status,
        "counterexamples": tuple(
            Counterexample(**vars(example)) for example in rule.counterexamples
        ),
        "splits": dict(_splits(*pair) for pair in rule.splits.items()),
    }
    fields = {**vars(rule), **replaced}
    summary = fields.pop("summary")
    certificate = RuleCertificate(**fields)
    _compare(summary, certificate)
    return certificate


def _compare(summary: dict[str, Any], rule: RuleCertificate) -> None:
    """Refuse a summary that differs from the one computed from the rest."""
    recomputed = rule.summary()
    for key in (*recomputed, *summary):
        if (
            key in summary
            and key in recomputed
            and _is_equal(summary[key], recomputed[key])
        ):
            continue
        shown = repr(summary[key]) if key in summary else "nothing"
        raise CertificateError(
            f"the certificate is not valid. Rule {rule.rule!r}: its summary has "
            f"{shorten(shown)} as {key!r}, and the rest of it gives "
            f"{shorten(repr(recomputed.get(key)))}."
        )


def _is_equal(written: Any, recomputed: Any) -> bool:
    if isinstance(recomputed, float) and type(written) in (int, float):
        try:
            return bool(np.isclose(float(written), recomputed, rtol=1e-9, atol=1e-12))
        except OverflowError:
            return False  # An integer that is too large for a float.
    return type(written) is type(recomputed) and written == recomputed


def _splits(where: str, axes: str) -> tuple[tuple[int, int], list[int]]:
    words = [*where.split(" "), *(axis for axis in axes.split(" ") if axis != _LEAF)]
    if not all(map(_WHOLE.fullmatch, words)):
        raise ValueError("whole numbers must be written in one way only")
    place, draw = map(int, where.split(" "))
    return (place, draw), [
        -1 if axis == _LEAF else int(axis) for axis in axes.split(" ")
    ]


def _refuse_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object with a repeated key, which parsers would read differently."""
    document = dict(pairs)
    if len(document) < len(pairs):
        raise CertificateError("the certificate is not valid: a key appears twice.")
    return document
