"""The versions that produced a result, so that it can be reproduced."""

import platform
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("ocbnn", "jax", "jaxlib", "equinox", "blackjax", "optax", "numpy")


def library_versions() -> dict[str, str]:
    """Versions of Python, ocbnn and the packages that its numbers depend on."""
    return {
        "python": platform.python_version(),
        **{name: _version(name) for name in _PACKAGES},
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        # Run from source, without being installed.
        return "unknown"
