"""Records are read back as they were written, or refused with what is wrong."""

import dataclasses
import json
import math

import pytest

from ocbnn.errors import StorageError
from ocbnn.storage import record_from_dict, record_to_dict


@dataclasses.dataclass(frozen=True)
class Leg:
    name: str
    ends: tuple[float, float]
    note: str | None = None


@dataclasses.dataclass(frozen=True)
class Journey:
    count: int
    legs: tuple[Leg, ...]


JOURNEY = Journey(2, (Leg("out", (0.0, 1.5)), Leg("back", (1.5, -math.inf), "late")))


def test_a_record_comes_back_from_json():
    document = json.loads(json.dumps(record_to_dict(JOURNEY)))
    assert document["legs"][0] == {"name": "out", "ends": [0.0, 1.5], "note": None}
    assert record_from_dict(Journey, document, "journey") == JOURNEY


def test_fields_of_newer_versions_are_left_out():
    document = {**record_to_dict(JOURNEY), "weather": "fair"}
    assert record_from_dict(Journey, document, "journey") == JOURNEY


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"count": 1}, "the record of the journey is damaged: it lacks 'legs'"),
        ({"count": "many", "legs": []}, "the value of 'count' is not valid"),
        (
            {"count": 1, "legs": [{"name": "out", "ends": [1, "b"]}]},
            r"'legs\.0\.ends\.1'",
        ),
        ([1], "it is no object"),
    ],
)
def test_damaged_records_are_refused_with_what_is_wrong(document, message):
    with pytest.raises(StorageError, match=message):
        record_from_dict(Journey, document, "journey")
