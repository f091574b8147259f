"""A warning points at the line of a user's code that called the library."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import ocbnn
from ocbnn import SVGD, OCBNNRegressor
from ocbnn.errors import (
    CheckpointWarning,
    InferenceWarning,
    RuleWarning,
    StorageWarning,
)
from ocbnn.storage import read_bundle, write_bundle

X = np.linspace(-2, 2, 12)[:, None]
Y = np.sin(X[:, 0])
# The same as in test_saving, so that what is compiled for one serves the other.
QUICK = SVGD(particles=6, iterations=5)
LIKE_DATA = "if x > 1 then y <= 2 [sampler=like-data]"


def made(rules, **settings):
    return OCBNNRegressor(
        rules, hidden=(3,), noise=0.1, inference=QUICK, random_state=0, **settings
    )


def told(act: Callable[[], object]) -> list[type[Warning]]:
    """Kinds of the warnings of one line, each of which must point at it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    places = {(one.filename, one.lineno) for one in caught}
    assert places <= {(__file__, act.__code__.co_firstlineno)}
    return [one.category for one in caught]


@pytest.fixture(scope="module")
def model():
    with warnings.catch_warnings(action="ignore"):
        return made(LIKE_DATA).fit(X, Y)


def test_a_fit_warns_at_the_line_that_asked_for_it():
    far = made("if 3000 <= x <= 5000 then y >= 1")
    assert told(lambda: far.fit(X, Y)) == [RuleWarning, InferenceWarning]


def test_a_fit_that_goes_on_elsewhere_warns_there_too(tmp_path):
    folder = tmp_path / "run"
    with warnings.catch_warnings(action="ignore"):
        made(LIKE_DATA, checkpoint=folder).fit(X, Y)
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace('"python": "', '"python": "2.'))
    kinds = told(lambda: made(LIKE_DATA, checkpoint=folder).fit(X, Y))
    assert kinds == [CheckpointWarning, InferenceWarning]


def test_loading_warns_at_the_line_that_loads(model, tmp_path):
    model.save(tmp_path / "m")
    bundle = read_bundle(tmp_path / "m")
    document = {**bundle.document, "double_precision": True}
    write_bundle(tmp_path / "double", document, bundle.arrays)
    assert told(lambda: ocbnn.load(tmp_path / "double")) == [StorageWarning]


def test_checking_rules_warns_at_the_line_that_checks(model, tmp_path):
    model.save(tmp_path / "m", data=False)
    back = ocbnn.load(tmp_path / "m")
    ask = lambda: back.check_rules()  # noqa: PLW0108 (this line is pointed at)
    assert told(ask) == [StorageWarning]


def test_the_same_warning_is_told_once_for_each_line_that_asks(model, tmp_path):
    model.save(tmp_path / "m", data=False)
    back = ocbnn.load(tmp_path / "m")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            back.check_rules()
        back.check_rules()
    assert len({one.lineno for one in caught}) == len(caught) == 2
