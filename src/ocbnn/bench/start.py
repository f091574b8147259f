"""How long Python takes to begin, with ocbnn and with JAX alone."""

import subprocess
import sys
from collections.abc import Iterator

from ocbnn.bench.finding import Finding
from ocbnn.bench.timing import Run, in_turns, spread

# The package opens its rooms when asked, so it is asked for an estimator.
_CODE = {"jax": "import jax", "ocbnn": "import ocbnn; ocbnn.OCBNNRegressor"}


def imports(case: str, repeats: int) -> Iterator[Finding]:
    """Seconds that `import ocbnn` takes beyond `import jax`, each in a new process."""
    runs: dict[str, Run] = {
        name: lambda code=code: _run(code) for name, code in _CODE.items()
    }
    seconds = in_turns(runs, repeats)
    yield Finding(case, "import jax", "new process", spread(seconds["jax"]), "s")
    beyond = spread(seconds["ocbnn"] - seconds["jax"])
    yield Finding(case, "import ocbnn", "beyond jax", beyond, "s", most=0.5)


def _run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)
