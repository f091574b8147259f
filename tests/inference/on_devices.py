"""A program that runs plans on one device and on several, in a process of its own.

JAX counts the processor as several devices only when it is told so before it starts.
"""

import json
import os
import subprocess
import sys

DEVICES = 8


def differences(*names: str, folder: str | None = None) -> dict[str, object]:
    """By how much draws on all devices differ from those on one, plan by plan."""
    flags = f"--xla_force_host_platform_device_count={DEVICES}"
    command = [sys.executable, "-m", "tests.inference.on_devices", folder or "", *names]
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_ENABLE_X64": "1"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def main(folder: str, *names: str) -> None:
    """Run plans by name and print what was found."""
    import jax
    import numpy as np

    from ocbnn.bench.hmc import first_figure
    from ocbnn.bench.problems import target
    from ocbnn.inference import HMC, NUTS, SGLD, SMC, SVGD, sample
    from ocbnn.inference.layout import lay_out

    rows = target((2, 8, 1), 64, activation="tanh")
    batches = target((2, 8, 1), 64, activation="tanh", batch_size=16)
    short = {"warmup": 12, "draws": 8, "climb": 20}
    known = {
        "chains": (HMC(chains=8, steps=4, **short), first_figure()),
        "chains and rows": (HMC(chains=2, steps=4, **short), rows),
        "nuts": (NUTS(chains=8, max_depth=3, **short), first_figure()),
        "particles": (SVGD(particles=16, iterations=20), batches),
        "population": (SMC(particles=16, moves=1, steps=2, polish=1), first_figure()),
        "batches": (SGLD(chains=8, warmup=20, draws=5), batches),
    }
    assert len(jax.devices()) == DEVICES
    key, found = jax.random.key(0), {}
    for name in names:
        if name == "model":
            found[name] = {"gap": model_gap()}
            continue
        plan, density = known[name]
        here = sample(plan, density, key, threads=1)
        there = sample(plan, density, key, devices="all")
        gaps = jax.tree.map(
            lambda a, b: float(np.max(np.abs(a - b) / (1 + np.abs(a)))),
            here.positions,
            there.positions,
        )
        mesh = lay_out(plan, density, "all").mesh
        found[name] = {"gap": max(jax.tree.leaves(gaps)), "mesh": dict(mesh.shape)}
        if folder:
            found[name]["resumed"] = resumed(plan, density, key, folder, here)
    print(json.dumps(found))


def model_gap():
    """By how much a fitted model's predictions differ."""
    import numpy as np

    from ocbnn import SVGD, OCBNNRegressor

    X = np.linspace(-2, 2, 24)[:, None]
    stein = SVGD(particles=8, iterations=30)
    usual = {"hidden": (4,), "noise": 0.1, "inference": stein, "random_state": 0}
    rule = "if 2 <= x <= 3 then y >= 1"
    fit = lambda **more: OCBNNRegressor(rule, **usual, **more).fit(X, np.sin(X[:, 0]))
    here, there = fit(), fit(devices=DEVICES)
    rows = np.linspace(-3, 3, 101)[:, None]
    return float(np.max(np.abs(here.predict(rows) - there.predict(rows))))


def resumed(plan, density, key, folder, here):
    """By how much a run differs that one device began, several went on and one ended.

    The draws of a run that is stopped and resumed on the same devices are the same.
    """
    import jax
    import numpy as np

    from ocbnn.inference import sample

    for moves, devices in ((6, None), (5, "all"), (10**6, 2)):
        progress = _StopAfter(moves)
        try:
            there = sample(
                plan, density, key, devices=devices, checkpoint=folder, every=0.0,
                progress=progress, threads=1,
            )  # fmt: skip
        except ZeroDivisionError:
            continue
    assert progress.was_resumed
    gaps = jax.tree.map(
        lambda a, b: float(np.max(np.abs(a - b) / (1 + np.abs(a)))),
        here.positions,
        there.positions,
    )
    return max(jax.tree.leaves(gaps))


class _StopAfter:
    """A reporter that crashes the run after some chunks."""

    def __init__(self, chunks):
        self._left, self.was_resumed = chunks, False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def begin(self, label, total):
        pass

    def resume(self, count, note):
        self.was_resumed = True

    def advance(self, count, note):
        self._left -= 1
        if self._left < 0:
            raise ZeroDivisionError

    def finish(self, note):
        pass


if __name__ == "__main__":
    main(*sys.argv[1:])
