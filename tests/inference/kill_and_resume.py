"""Four algorithms in a process that is killed again and again.

As a program, `python -m tests.inference.kill_and_resume FOLDER SIZE NAMES` runs those
that are named, with a folder each, saving after every move, and says on standard output
which one is moving. With `verify` as a last argument it then runs them without a folder
and compares.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

from tests.limits import within

# For anything that a process does, on a machine that has other work.
_SECONDS = 900
NAMES = ("NUTS", "HMC", "SVGD", "SMC")


def plans(size, names):
    from ocbnn.inference import HMC, NUTS, SMC, SVGD

    found = {
        "NUTS": NUTS(chains=2, warmup=5 * size, draws=10 * size, max_depth=3, climb=5),
        "HMC": HMC(
            chains=2, warmup=5 * size, draws=5 * size, thin=2, steps=3, climb=5,
            adapt=True,
        ),
        "SVGD": SVGD(particles=5, iterations=15 * size),
        "SMC": SMC(particles=20, moves=1, steps=5, polish=10 * size, keep=0.9),
    }  # fmt: skip
    return {name: found[name] for name in names}


def child(folder, size, names, verify):
    import jax

    from ocbnn.inference import lane, sample
    from tests.inference.densities import known_gaussian
    from tests.inference.walks import Quiet, bits

    class Moving(Quiet):
        def __init__(self, name):
            self.name, self.said = name, False

        def advance(self, count, note):
            if not self.said and not note.startswith("resumed"):
                self.said = True
                # In one piece, because two chains may speak at once.
                print(f"{self.name}\n", end="", flush=True)

    key, target = jax.random.key(0), known_gaussian()
    lane._CHUNK_SECONDS, usual = 0.0, lane._CHUNK_SECONDS
    found = {
        name: sample(plan, target, key, progress=Moving(name), checkpoint=folder / name,
                     every=0.0)
        for name, plan in plans(size, names).items()
    }  # fmt: skip
    print("finished", flush=True)
    lane._CHUNK_SECONDS = usual
    if verify:
        for name, plan in plans(size, names).items():
            assert bits(sample(plan, target, key)) == bits(found[name]), name
        print("same", flush=True)


def kill_often(kills, seed, size, names=NAMES):
    """Kill so often, at random moments; afterwards all runs must have the same bits.

    Returns:
        How often each algorithm was killed, and how often a process while it started.
    """
    rng, killed = random.Random(seed), Counter()
    with tempfile.TemporaryDirectory() as name:
        cache, rounds = Path(name) / "compiled", 0
        while killed.total() < kills:
            rounds += 1
            start = partial(_start, Path(name) / f"round-{rounds}", size, names, cache)
            # Each algorithm in turn has its share of what is left.
            turn = [n for n in names for _ in range(-(-kills // len(names)))]
            while killed.total() < kills:
                expected = turn[killed.total()]
                place = _kill_once(start, rng, names[names.index(expected) :])
                if place == "finished":
                    break
                killed[place] += 1
            said = _rest(start("verify"))
            assert "same" in said, said
    return dict(killed)


def _kill_once(start, rng, wanted):
    """Where the process was when it was killed."""
    process = start()
    place = "starting"
    if rng.random() < 0.1:
        time.sleep(rng.uniform(0.0, 6.0))
    else:
        for line in iter(lambda: within(_SECONDS, process.stdout.readline), ""):
            place = line.split()[0]
            if place in ("finished", *wanted):
                break
        if place == "finished":
            _rest(process)
            return place
        time.sleep(rng.uniform(0.0, 0.5))
    process.kill()
    rest = _rest(process).split()
    assert process.returncode in (0, -9), rest
    return rest[-1] if rest else place


def _rest(process):
    """What a process says until its end."""
    try:
        return process.communicate(timeout=_SECONDS)[0]
    finally:
        process.kill()


def _start(folder, size, names, cache, *more):
    environment = {
        **os.environ,
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PLATFORMS": "cpu",
    }
    program = [sys.executable, "-m", "tests.inference.kill_and_resume"]
    return subprocess.Popen(
        [*program, str(folder), str(size), ",".join(names), *more],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=Path(__file__).parents[2],
    )


if __name__ == "__main__":
    folder, size, names, *more = sys.argv[1:]
    child(Path(folder), int(size), names.split(","), bool(more))
