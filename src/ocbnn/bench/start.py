"""How long Python takes to begin, with ocbnn and with JAX alone."""

import subprocess
import sys
from collections.abc import Iterator

from ocbnn.bench.finding import Finding
from ocbnn.bench.timing import Run, in_turns, spread


def imports(case: str, repeats: int) -> Iterator[Finding]:
    """Seconds that `import ocbnn` takes beyond `import jax`, each in a new process."""
    runs: dict[str, Run] = {
        name: lambda name=name: _import(name) for name in ("jax", "ocbnn")
    }
    seconds = in_turns(runs, repeats)
    yield Finding(case, "import jax", "new process", spread(seconds["jax"]), "s")
    beyond = spread(seconds["ocbnn"] - seconds["jax"])
    yield Finding(case, "import ocbnn", "beyond jax", beyond, "s", most=0.5)


def _import(name: str) -> None:
    subprocess.run([sys.executable, "-c", f"import {name}"], check=True)
