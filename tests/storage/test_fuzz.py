"""Any bytes at all: a bundle, or an error that says why not, and soon."""

import json
import random
import struct

import pytest

from ocbnn.storage import read_bundle
from tests.mutations import FULL, QUICK, answered, changed_bytes, changed_value
from tests.storage.hostile import (
    ARRAYS,
    DOCUMENT,
    LIST,
    members_of,
    some_bundle,
    summed,
    zipped,
)

# Checking shapes costs far more than the work itself, and hides the library's errors.
pytestmark = pytest.mark.usefixtures("as_users_run_it")


def changed_header(rng, data):
    """Arrays whose header was edited as JSON, with a length that fits."""
    size = struct.unpack("<Q", data[:8])[0]
    header = changed_value(rng, json.loads(data[8 : 8 + size]))
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + size :]


def changed_document(rng, data):
    return json.dumps(changed_value(rng, json.loads(data))).encode()


def changed_members(rng, members):
    """Members with checksums that fit, so that the checks behind them are tried."""
    members = dict(members)
    match rng.randrange(6):
        case 0:
            members[DOCUMENT] = changed_document(rng, members[DOCUMENT])
        case 1:
            members[ARRAYS] = changed_header(rng, members[ARRAYS])
        case 2:
            members[DOCUMENT] = changed_bytes(rng, members[DOCUMENT], members[ARRAYS])
        case 3:
            members[ARRAYS] = changed_bytes(rng, members[ARRAYS], members[DOCUMENT])
        case 4:
            size = 8 + struct.unpack("<Q", members[ARRAYS][:8])[0]
            head = changed_bytes(rng, members[ARRAYS][:size], members[DOCUMENT])
            members[ARRAYS] = head + members[ARRAYS][size:]
        case 5:
            members = summed(members)
            members[LIST] = changed_bytes(rng, members[LIST], members[DOCUMENT])
            return members
    return summed(members)


def run(folder, seed, count):
    rng = random.Random(seed)
    path, whole = folder / "m.ocbnn", some_bundle(folder / "good.ocbnn")
    good, members = whole.read_bytes(), members_of(whole)
    unpacked = folder / "unpacked"
    unpacked.mkdir()
    read = 0
    for number in range(count):
        kind = rng.random()
        if kind < 0.4:
            data = changed_bytes(rng, good, good)
        else:
            changed = changed_members(rng, members)
            data = zipped(changed)
        if kind > 0.9:
            for name, content in changed.items():
                (unpacked / name).write_bytes(content)
            target = unpacked
        else:
            path.write_bytes(data)
            target = path
        place = (seed, number, data)
        read += answered(lambda target=target: read_bundle(target), place) is not None
    assert count / 100 < read < count / 2


@pytest.mark.parametrize(("seed", "count"), QUICK)
def test_files_that_are_almost_bundles_are_answered(tmp_path, seed, count):
    run(tmp_path, seed, count)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "count"), FULL)
def test_a_hundred_thousand_files_are_answered(tmp_path, seed, count):
    run(tmp_path, seed, count)
