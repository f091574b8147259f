"""A program that draws together with others like it, in a process of its own."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import jax
import numpy as np

from ocbnn.errors import LostProcessError
from ocbnn.inference import HMC, SVGD, sample

LOST = 17


def start(count, command, *, slurm=False):
    """So many processes on loopback that know of each other."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"127.0.0.1:{port}"
    named = {"JAX_COORDINATOR_ADDRESS": address, "JAX_NUM_PROCESSES": str(count)}
    if slurm:
        named = {
            "SLURM_JOB_ID": "1",
            "SLURM_STEP_NODELIST": "localhost",
            "SLURM_NTASKS": str(count),
            "SLURM_LOCALID": "0",
            "JAX_COORDINATOR_PORT": str(port),
        }
    usual = {
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": "1",
        "JAX_COORDINATOR_BIND_ADDRESS": address,
    }
    which = "SLURM_PROCID" if slurm else "JAX_PROCESS_ID"
    return [
        subprocess.Popen(
            [sys.executable, *map(str, command)],
            env={**os.environ, **usual, **named, which: str(number)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(count)
    ]


def finish(processes, seconds=300):
    """Exit codes, and what was written to stdout and stderr."""
    try:
        outputs = [one.communicate(timeout=seconds) for one in processes]
    finally:
        for one in processes:
            one.kill()
    return [(p.returncode, *pair) for p, pair in zip(processes, outputs, strict=True)]


def problems():
    # Imported only now: they use JAX, and JAX must meet the others first.
    from ocbnn.bench.hmc import first_figure
    from ocbnn.bench.problems import target
    from tests.inference.densities import known_gaussian

    rows = target((2, 8, 1), 64, activation="tanh")
    batches = target((2, 8, 1), 64, activation="tanh", batch_size=16)
    short = {"warmup": 12, "draws": 8, "steps": 4, "climb": 20}
    return {
        "simple": (SVGD(particles=8, iterations=2000), known_gaussian()),
        "particles": (SVGD(particles=8, iterations=40), batches),
        "chains": (HMC(chains=4, **short), first_figure()),
        "rows": (HMC(chains=1, **short), rows),
    }


def draw(name, folder=None, every=0.0):
    plan, density = problems()[name]
    return sample(plan, density, jax.random.key(0), checkpoint=folder, every=every)


def main(name, folder, out, victim=None):
    """Draw with the others, write the draws, and as `victim` die in the middle."""
    count, number = int(os.environ["JAX_NUM_PROCESSES"]), os.environ["JAX_PROCESS_ID"]
    if count > 1:
        jax.distributed.initialize(
            num_processes=count,
            process_id=int(number),
            cluster_detection_method="deactivate",
        )
    if victim == number:
        threading.Thread(target=_die_after_a_save, args=[folder], daemon=True).start()
    try:
        draws = draw(name, folder)
    except LostProcessError as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(LOST)
    np.savez(f"{out}-{number}.npz", *jax.tree.leaves(draws.positions))


def _die_after_a_save(folder):
    while len(list(Path(folder).glob("chain-0/block-*"))) < 2:
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
