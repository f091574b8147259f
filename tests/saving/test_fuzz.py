"""Model files with anything in them: a model, or an error that says why not."""

import random
import warnings
from pathlib import Path

import numpy as np
import pytest

import ocbnn
from ocbnn.storage import read_bundle, write_bundle
from tests.mutations import answered, changed_value

# Checking shapes would find faults first that the library has to find for its users.
pytestmark = pytest.mark.usefixtures("as_users_run_it")

MODELS = Path(__file__).parent / "stored_models"


def changed_arrays(rng, arrays):
    arrays = dict(arrays)
    name = rng.choice(list(arrays))
    match rng.randrange(5):
        case 0:
            del arrays[name]
        case 1:
            arrays[name] = arrays[rng.choice(list(arrays))]
        case 2:
            arrays[name] = arrays[name].astype(rng.choice(("i4", "f8", "f2", "?")))
        case 3:
            arrays[name] = arrays[name][..., None]
        case 4:
            value = rng.choice((np.nan, -1, 1e30))
            # Whole numbers cannot be these; whatever comes out instead will do.
            with np.errstate(invalid="ignore"):
                arrays[name] = np.full_like(arrays[name], value)
    return arrays


def run(folder, seed, count):
    rng = random.Random(seed)
    for number in range(count):
        name = rng.choice(("regressor", "classifier"))
        bundle = read_bundle(MODELS / f"{name}.ocbnn")
        document, arrays = bundle.document, bundle.arrays
        if rng.random() < 0.8:
            document = changed_value(rng, document)
        else:
            arrays = changed_arrays(rng, arrays)
        if not isinstance(document, dict):
            continue
        write_bundle(folder / "m.ocbnn", document, arrays)
        place = (seed, number, document)
        with warnings.catch_warnings(action="ignore"):
            answered(lambda: ocbnn.load(folder / "m.ocbnn"), place)


def test_models_that_are_almost_right_are_answered(tmp_path):
    # Compiling once takes longer than any of the many loads that follow.
    for name in ("regressor", "classifier"):
        ocbnn.load(MODELS / f"{name}.ocbnn")
    run(tmp_path, 0, 50)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_thousands_of_models_that_are_almost_right_are_answered(tmp_path, seed):
    for name in ("regressor", "classifier"):
        ocbnn.load(MODELS / f"{name}.ocbnn")
    run(tmp_path, seed, 1000)
