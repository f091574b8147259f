"""A program that runs plans on one device and on several, in a process of its own.

JAX counts the processor as several devices only when it is told so before it starts.
"""

import dataclasses
import json
import os
import subprocess
import sys

import jax
import numpy as np

from ocbnn import OCBNNRegressor
from ocbnn.bench.hmc import first_figure
from ocbnn.bench.problems import target
from ocbnn.core.stored import FileRows, StoredNumbers
from ocbnn.inference import HMC, NUTS, SGLD, SMC, SVGD, sample
from ocbnn.inference.layout import lay_out
from tests.inference.densities import known_gaussian
from tests.inference.walks import CrashAfter, CrashError, Quiet

DEVICES = 8


def differences(*names, folder=None):
    """By how much draws on all devices differ from those on one, plan by plan."""
    flags = f"--xla_force_host_platform_device_count={DEVICES}"
    command = [sys.executable, "-m", "tests.inference.on_devices", folder or "", *names]
    usual = os.environ.get("XLA_FLAGS", "")
    environment = {
        **os.environ,
        "XLA_FLAGS": f"{usual} {flags}",
        "JAX_ENABLE_X64": "1",
    }
    completed = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=2400,
    )
    assert completed.returncode == 0, completed.stderr[-2000:]
    return json.loads(completed.stdout.splitlines()[-1])


def main(folder, *names):
    """Run plans by name and print what was found."""
    assert len(jax.devices()) == DEVICES
    runs = [name for name in names if name != "model"]
    result = {name: run(*problems()[name], folder) for name in runs}
    if "model" in names:
        result["model"] = {"gap": model_gap()}
    print(json.dumps(result))


def problems():
    rows = target((2, 8, 1), 64, activation="tanh")
    batches = target((2, 8, 1), 64, activation="tanh", batch_size=16)
    short = {"warmup": 12, "draws": 8, "climb": 20}
    return {
        "chains": (HMC(chains=8, steps=4, **short), first_figure()),
        "chains and rows": (HMC(chains=2, steps=4, **short), rows),
        "nuts": (NUTS(chains=8, max_depth=3, **short), first_figure()),
        "simple": (SVGD(particles=16, iterations=20), known_gaussian()),
        "particles": (SVGD(particles=16, iterations=20), batches),
        "population": (SMC(particles=16, moves=1, steps=2, polish=1), first_figure()),
        "batches": (SGLD(chains=8, warmup=20, draws=5), batches),
        "stored particles": (SVGD(particles=16, iterations=20), stored(batches)),
        "stored batches": (SGLD(chains=8, warmup=20, draws=5), stored(batches)),
    }


def stored(density):
    """The same with rows that compiled code asks the host for."""
    table = lambda rows: StoredNumbers(
        FileRows(np.array(rows)), *np.zeros((2, 1)), np.ones(1)
    )
    return dataclasses.replace(density, X=table(density.X), Y=table(density.Y))


def run(plan, density, folder):
    key = jax.random.key(0)
    here = sample(plan, density, key, threads=1)
    there = sample(plan, density, key, devices="all")
    mesh = lay_out(plan, density, "all").mesh
    result = {"gap": gap(here, there), "mesh": dict(mesh.shape)}
    if folder:
        result["resumed"] = gap(here, resumed(plan, density, key, folder))
    return result


def gap(here, there):
    one = lambda a, b: float(np.max(np.abs(a - b) / (1 + np.abs(a))))
    return max(jax.tree.leaves(jax.tree.map(one, here.positions, there.positions)))


def resumed(plan, density, key, folder):
    """The draws of a run that one device begins, all go on with, and two end."""
    again = lambda devices, progress: sample(
        plan, density, key, devices=devices, progress=progress, checkpoint=folder,
        every=0.0, threads=1,
    )  # fmt: skip
    for moves, devices in ((30, None), (10, "all")):
        try:
            again(devices, CrashLater(moves))
        except CrashError:
            continue
        raise AssertionError("the run was to be cut short, and came to its end")
    ear = Ear()
    draws = again(2, ear)
    assert 0 < ear.before < plan.chains * (plan.warmup + plan.draws)
    return draws


class CrashLater(CrashAfter):
    """Counts only what is done now."""

    def resume(self, count, note):
        pass


class Ear(Quiet):
    """Hears how much was done before."""

    before = 0

    def resume(self, count, note):
        self.before = count


def model_gap():
    """By how much a fitted model's predictions differ."""
    X = np.linspace(-2, 2, 24)[:, None]
    stein = SVGD(particles=8, iterations=30)
    usual = {"hidden": (4,), "noise": 0.1, "inference": stein, "random_state": 0}
    rule = "if 2 <= x <= 3 then y >= 1"
    fit = lambda **more: OCBNNRegressor(rule, **usual, **more).fit(X, np.sin(X[:, 0]))
    here, there = fit(), fit(devices=DEVICES)
    rows = np.linspace(-3, 3, 101)[:, None]
    return float(np.max(np.abs(here.predict(rows) - there.predict(rows))))


if __name__ == "__main__":
    main(*sys.argv[1:])
