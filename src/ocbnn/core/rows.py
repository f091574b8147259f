"""A representative selection of a table's rows."""

import numpy as np


def evenly(count: int, most: int) -> np.ndarray:
    """At most `most` row numbers, evenly spaced because a table may be sorted.

    The first row is always included, and no row twice.

    >>> evenly(10, 4), evenly(3, 4)
    (array([0, 3, 6, 9]), array([0, 1, 2]))
    """
    return np.linspace(0, count - 1, min(most, count)).astype(int)
