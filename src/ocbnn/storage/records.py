"""Records as plain values, and back: frozen data classes of numbers and text."""

import dataclasses
from typing import Any, TypeVar

from ocbnn.errors import StorageError

_Record = TypeVar("_Record")


def record_to_dict(record: Any) -> dict[str, Any]:
    """A record, and the records in it, as objects; tuples become lists.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Range:
    ...     name: str
    ...     ends: tuple[float, float]
    >>> record_to_dict(Range("dose", (0.0, 5.0)))
    {'name': 'dose', 'ends': [0.0, 5.0]}
    """
    return dataclasses.asdict(
        record,
        dict_factory=lambda pairs: {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in pairs
        },
    )


def record_from_dict(kind: type[_Record], document: Any, what: str) -> _Record:
    """The record that `record_to_dict` wrote; `what` it is about is for the error.

    Fields that `kind` does not have, such as those of newer versions, are left out.

    Raises
    ------
    StorageError
        When a value is missing or of the wrong type.
    """
    # Slow to import, and few files need it.
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415

    try:
        return TypeAdapter(kind).validate_python(document)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, problem["loc"]))
        reason = f"the value of {where!r} is not valid" if where else "it is no object"
        if problem["type"] == "missing":
            reason = f"it lacks {where!r}"
        raise StorageError(f"the record of the {what} is damaged: {reason}.") from None
