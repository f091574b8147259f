"""Findings as plain values, for JSON."""

import math
from typing import Any


def plain(value: Any) -> Any:
    """Convert to values that JSON can represent; NaN and infinity become None.

    >>> import numpy as np
    >>> plain({"a": np.array([1.0, np.nan])})
    {'a': [1.0, None]}
    """
    # Not `isinstance`: processes that must respond early do not import NumPy.
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
