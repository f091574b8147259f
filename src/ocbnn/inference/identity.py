"""The identity of a run, as text that another process can compare with its own.

It describes everything that determines the draws, by name: the plan's settings, the
target's arrays (as digests) and labels, the random key, the precision. The description
is only compared, never turned back into objects.
"""

import dataclasses
import functools
import hashlib
import inspect
import platform
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ocbnn.core.stored import Stored
from ocbnn.core.types import Position, RandomKey
from ocbnn.core.words import shorten
from ocbnn.inference.base import LogDensity, Plan
from ocbnn.inference.parts import parts_at

# Code of these is identified by version, the user's own by its bytecode.
LIBRARIES = ("ocbnn", "jax", "jaxlib", "numpy", "equinox", "optax", "blackjax")
_PLAIN = (str, bytes, bool, int, float, complex, type(None), type(...))
_LONGEST = 200


def identify(
    plan: Plan,
    target: LogDensity,
    key: RandomKey,
    *,
    probe: bool = True,
    starts: Position | None = None,
) -> dict[str, str]:
    """Everything that determines the draws of a run, by name.

    With `probe`, also the values of the density's parts at one position.
    """
    # Entries that explain other differences come first, because only a few are shown.
    double = jax.config.read("jax_enable_x64")
    products = jax.config.jax_default_matmul_precision  # pyright: ignore
    description = {
        "precision": "double" if double else "single",
        "precision of products": str(products),
        "key": _array(key),
    }
    description |= _described("plan", plan, ())
    description |= _described("target", target, ())
    if starts is not None:
        description |= _described("starts", starts, ())
    if not probe:
        return description
    return description | {
        f"target.parts: {k}": v for k, v in _probe(target, key).items()
    }


def surroundings() -> dict[str, str]:
    """What may change the last digits of a run, but nothing else."""
    versions = {name: version(name) for name in LIBRARIES}
    device = f"{jax.default_backend()} ({platform.machine()})"
    return {**versions, "python": platform.python_version(), "device": device}


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """Sentences about entries that differ."""
    names = [*here, *(name for name in there if name not in here)]
    # Rules' scales follow from the data, so data that differ come first.
    names.sort(key=lambda name: not name.startswith(("target.X", "target.Y")))
    sentences = []
    for name in names:
        mine, theirs = here.get(name, "nothing"), there.get(name, "nothing")
        if mine != theirs and not _nearly(name, mine, theirs):
            sentences.append(
                f"{name} is {_short(mine)} here and {_short(theirs)} there"
            )
    return sentences


def _probe(target: LogDensity, key: RandomKey) -> dict[str, str]:
    """The density's parts at one position: they reveal what names and labels do not."""
    parts = parts_at(target, _start(target, key))
    return {name: repr(float(values[0])) for name, values in parts.items()}


@eqx.filter_jit
def _start(target: LogDensity, key: RandomKey) -> Position:
    return jax.tree.map(lambda a: a[None], target.initial(key))


def _nearly(name: str, mine: str, theirs: str) -> bool:
    # Another processor or JAX version may round sums differently; the run is the same.
    if not name.startswith("target.parts: "):
        return False
    try:
        return bool(np.isclose(float(mine), float(theirs), rtol=1e-3, equal_nan=True))
    except ValueError:
        return False


def _described(name: str, value: Any, above: tuple[int, ...]) -> Iterator[tuple]:
    """Names and texts of everything that `value` consists of, recursively."""
    if isinstance(value, (*_PLAIN, np.dtype)):
        yield name, repr(value)
    elif isinstance(value, Stored):
        yield name, value.fingerprint()
    elif eqx.is_array_like(value) and not isinstance(value, type):
        yield name, _array(value)
    elif id(value) in above:
        yield name, "itself"
    else:
        above = (*above, id(value))
        yield name, _title(value)
        for label, inner in _pieces(value):
            yield from _described(f"{name}{label}", inner, above)


def _pieces(value: Any) -> list[tuple[str, Any]]:
    """The components of a value that is not plain, by label."""
    pieces: Iterable[tuple[str, Any]] = ()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        pieces = ((f".{n}", getattr(value, n)) for n in names if hasattr(value, n))
    elif isinstance(value, Mapping):
        pieces = ((f"[{k!r}]", value[k]) for k in sorted(value, key=repr))
    elif isinstance(value, (set, frozenset)):
        pieces = ((f"[{i}]", v) for i, v in enumerate(sorted(value, key=repr)))
    elif isinstance(value, (tuple, list)):
        names = getattr(value, "_fields", range(len(value)))
        pieces = ((f"[{n}]", v) for n, v in zip(names, value, strict=True))
    elif isinstance(value, functools.partial):
        pieces = [(".func", value.func), (".args", value.args), (".kw", value.keywords)]
    elif isinstance(value, types.MethodType):
        pieces = [(".of", value.__self__), (".method", value.__func__)]
    elif callable(value) and hasattr(value, "__qualname__"):
        pieces = _function_pieces(value)
    elif not isinstance(value, types.ModuleType):
        pieces = (
            (f".{k}", v) for k, v in sorted(getattr(value, "__dict__", {}).items())
        )
    return list(pieces)


def _function_pieces(function: Callable[..., Any]) -> list[tuple[str, Any]]:
    """A function's defaults and closure."""
    plain: Any = inspect.unwrap(function)
    cells = getattr(plain, "__closure__", None) or ()
    names = plain.__code__.co_freevars if cells else ()
    closure = [
        (f".{n}", c.cell_contents)
        for n, c in zip(names, cells, strict=True)
        if _is_full(c)
    ]
    defaults = getattr(plain, "__defaults__", None) or ()
    return [*closure, *((f".default[{i}]", v) for i, v in enumerate(defaults))]


def _is_full(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _title(value: Any) -> str:
    """The name of a value's type; for the user's own function, also its code."""
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        plain: Any = inspect.unwrap(value) if callable(value) else value
        module = getattr(plain, "__module__", None) or ""
        title = f"{module}.{plain.__qualname__}"
        if module.partition(".")[0] not in LIBRARIES and hasattr(plain, "__code__"):
            title += f" ({_code(plain.__code__)})"
        return title
    title = f"{type(value).__module__}.{type(value).__qualname__}"
    if not _pieces(value) and not isinstance(value, (tuple, list, Mapping)):
        title += " " + re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
    return title


def _code(code: types.CodeType) -> str:
    contents = (code.co_code, code.co_names, [_constant(c) for c in code.co_consts])
    return _digest(repr(contents).encode())


def _constant(value: Any) -> str:
    if isinstance(value, types.CodeType):
        return _code(value)
    # The order in which a set prints changes from process to process.
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)


def _array(value: Any) -> str:
    kind = ""
    typed = isinstance(value, jax.Array)
    if typed and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        kind, value = f"{value.dtype} ", jax.random.key_data(value)
    array = np.asarray(value)
    data = np.ascontiguousarray(array)
    return f"{kind}{array.dtype}{list(array.shape)} {_digest(data.tobytes())}"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _short(text: str) -> str:
    return shorten(text, _LONGEST)
