"""Which rows of a table stand for all of them."""

import numpy as np


def evenly(count: int, most: int) -> np.ndarray:
    """Numbers of at most `most` of `count` rows, evenly chosen: a table may be sorted.

    The first row is always among them, and no row is there twice.

    >>> evenly(10, 4), evenly(3, 4)
    (array([0, 3, 6, 9]), array([0, 1, 2]))
    """
    return np.linspace(0, count - 1, min(most, count)).astype(int)
