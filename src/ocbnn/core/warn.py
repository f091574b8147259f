"""Warnings that point at the code of whoever called the package."""

import inspect
import warnings
from types import FrameType

_PACKAGE = __name__.partition(".")[0]
# Wraps functions when shapes are checked, as in tests.
_WRAPPER = "jaxtyping"


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line from which the package was called, however deep the stack is.

    That is the line that called the outermost function of the package: frames of other
    packages, such as `contextlib`, lie between its functions and must not be blamed.
    """
    frame = caller = inspect.currentframe()
    while frame is not None:
        if _package(frame) == _PACKAGE:
            caller = frame.f_back or frame
        frame = frame.f_back
    assert caller is not None
    while _package(caller) == _WRAPPER and caller.f_back is not None:
        caller = caller.f_back
    warnings.warn_explicit(
        message,
        category,
        caller.f_code.co_filename,
        caller.f_lineno,
        caller.f_globals.get("__name__"),
        caller.f_globals.setdefault("__warningregistry__", {}),
    )


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]
