"""The package as a whole: its names, and what importing it costs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import ocbnn

SOURCE = Path(ocbnn.__file__).read_text()


def test_every_public_name_exists_and_is_known_to_editors():
    block = SOURCE.split("if TYPE_CHECKING:")[1].split("__version__")[0]
    listed = set(re.findall(r" as (\w+)", block))
    assert listed == {*ocbnn.__all__, *ocbnn._ROOMS}
    for name in listed:
        assert getattr(ocbnn, name) is not None
    assert listed < set(dir(ocbnn))


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import ocbnn", ("jax", "matplotlib", "sklearn")),
        # Those who draw a bar or climb wait for what that needs.
        (
            "import ocbnn; ocbnn.OCBNNRegressor",
            ("blackjax", "matplotlib", "optax", "pydantic", "rich"),
        ),
    ],
)
def test_importing_brings_nothing_that_is_not_needed_yet(code, heavy):
    code += f"; import sys; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert out.stdout.strip() == "[]"


def test_a_name_that_is_not_there_is_an_attribute_error():
    assert not hasattr(ocbnn, "OCBNNRegresor")
