"""Start-up time of imports, and of a fit with and without cached compilation."""

import tempfile
import time
from collections.abc import Iterator, Mapping

import numpy as np

from ocbnn.bench.child import run_child
from ocbnn.bench.finding import Finding
from ocbnn.bench.timing import Run, in_turns, spread

_CODE = {
    "jax": "import jax",
    "ocbnn": "import ocbnn",
    "jax and scikit-learn": "import jax, sklearn.base",
    # The package imports its modules lazily, so an estimator is requested.
    "estimator": "import ocbnn; ocbnn.OCBNNRegressor",
}
_FIT = """
import numpy, ocbnn
X = numpy.linspace(-2, 2, 20)[:, None]
rule = "if 2 <= x <= 3 then y >= 1"
ocbnn.OCBNNRegressor(rule, progress=False, random_state=0,
    inference=ocbnn.HMC(warmup=50, draws=50)).fit(X, numpy.sin(X[:, 0]))
"""


def beginnings(case: str, repeats: int) -> Iterator[Finding]:
    """Imports in new processes, and a small fit in a first and a second process."""
    yield from imports(case, repeats)
    yield from fits(case, repeats)


def imports(case: str, repeats: int) -> Iterator[Finding]:
    """Seconds that imports take beyond the imports they need.

    Bytecode is compiled in the turn that is not counted, as installers do.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings = {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        runs: dict[str, Run] = {
            name: lambda code=code: run_child(code, settings)
            for name, code in _CODE.items()
        }
        seconds = in_turns(runs, repeats)
    yield Finding(case, "import jax", "new process", spread(seconds["jax"]), "s")
    beyond = spread(seconds["ocbnn"] - seconds["jax"])
    yield Finding(case, "import ocbnn", "beyond jax", beyond, "s", most=0.5)
    needed = seconds["jax and scikit-learn"]
    beyond = spread(seconds["estimator"] - needed)
    what = "beyond jax and scikit-learn"
    yield Finding(case, "import an estimator", what, beyond, "s", most=0.5)


def fits(case: str, repeats: int) -> Iterator[Finding]:
    """A fit in a new process, with an empty compilation cache and with a full one."""
    times = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            settings = {
                "JAX_COMPILATION_CACHE_DIR": folder,
                "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
                "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
            }
            times.append([_seconds(_FIT, settings), _seconds(_FIT, settings)])
    first, second = np.array(times).T
    yield Finding(case, "first fit", "new process", spread(first), "s")
    relative = spread(second / first)
    yield Finding(case, "second fit", "beside the first", relative)


def _seconds(code: str, settings: Mapping[str, str]) -> float:
    start = time.perf_counter()
    run_child(code, settings)
    return time.perf_counter() - start
