import pytest

from tests.ctrl_c import keyboard


@pytest.fixture
def ctrl_c():
    """Presses Ctrl-C, and waits until the run has noticed."""
    with keyboard() as press:
        yield press
