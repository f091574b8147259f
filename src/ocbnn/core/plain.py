"""Findings as plain values, for JSON."""

import math
from typing import Any


def plain(value: Any) -> Any:
    """Values that JSON knows; None for what is not a number.

    >>> import numpy as np
    >>> plain({"a": np.array([1.0, np.nan])})
    {'a': [1.0, None]}
    """
    # Asked for in this way, because processes that must speak early load no NumPy.
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
