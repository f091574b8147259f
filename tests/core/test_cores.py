"""Work on all cores gives what work on one gives."""

import threading

import pytest

from ocbnn.core.cores import map_on_cores


def test_results_are_in_the_order_of_the_items():
    assert map_on_cores(lambda n: n * n, range(20)) == [n * n for n in range(20)]


def test_the_first_item_goes_alone_and_before_the_others():
    threads = map_on_cores(lambda _: threading.current_thread(), range(3))
    assert threads[0] is threading.current_thread()
    assert threads[0] not in threads[1:]


def test_an_error_in_a_thread_is_raised():
    with pytest.raises(ZeroDivisionError):
        map_on_cores(lambda n: 1 / (2 - n), range(5))
