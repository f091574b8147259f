"""Where chains start whose density has rules: near functions that the data suggest.

Rules are easy to obey for a function that varies little and calls the data noise, and a
chain that climbs from a draw of the prior with rules often ends there and stays, though
functions that follow the data have a far larger density. Without rules, that trap is
gone where the last layer can be integrated out. So each chain first makes a short run
without rules, and starts where that ends, moved uphill under the rules. The posterior
is the same; which of its modes chains find is not.
"""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from ocbnn.core.types import Position, RandomKey
from ocbnn.inference import Draws, Plan, WarmStart, sample
from ocbnn.inference.driver import can_start
from ocbnn.inference.mcmc import climbed
from ocbnn.inference.runfolder import START_FOLDER
from ocbnn.posterior import Target

# The longest run without rules, in moves. It is to arrive, not to explore.
_MOVES = 300
# Steps uphill under the rules before a chain starts or continues.
_CLIMB = 300


def sample_from_data(
    plan: Plan, target: Target, key: RandomKey, **settings: Any
) -> Draws:
    """Draw as `sample` does, with chains that start near what the data suggest."""
    starts = data_starts(plan, target, key, **settings)
    if starts is None:
        return sample(plan, target, key, **settings)
    settings["starts"] = climbed_starts(plan, target, starts)
    return sample(chains_of(plan), target, key, **settings)


def data_starts(
    plan: Plan, target: Target, key: RandomKey, **settings: Any
) -> Position | None:
    """The end of each chain's run without rules; None where that is of no use.

    Parameters
    ----------
    plan
        How the chains will run.
    target
        The density with rules.
    key
        The key of the run that will start there.
    settings
        Those of `sample`. A checkpoint's folder gets one more, for the short run.

    Raises
    ------
    KeyboardInterrupt
        When stopped.
    """
    chain, free = chains_of(plan), dataclasses.replace(target, rules=())
    is_useful = (
        target.rules
        and getattr(chain, "collapse", False)
        and jax.tree.leaves(target.likelihood.shapes())
        and free.collapsed() is not None
    )
    if not is_useful:
        return None
    short = dataclasses.replace(chain, warmup=min(chain.warmup, _MOVES), draws=1)
    if (folder := settings.pop("checkpoint", None)) is not None:
        settings["checkpoint"] = Path(folder) / START_FOLDER
    settings["label"] = f"{chain.label}, a start without rules"
    draws = sample(short, free, jax.random.fold_in(key, _MOVES), **settings)
    if draws.interrupted:
        raise KeyboardInterrupt("stopped before anything was drawn")
    return final_positions(draws, short)


def climbed_starts(
    plan: Plan, target: Target, starts: Position | None
) -> Position | None:
    """Positions moved uphill; None for chains that cannot be told where to start.

    Where a chain of another density ended, that of the target may be steep.
    """
    if starts is None or not can_start(chains_of(plan), target):
        return None
    return climbed(target, starts, jnp.asarray(_CLIMB))


def chains_of(plan: Plan) -> Plan:
    """The plan without its own ascent, for chains that are told where to start."""
    return plan.sampler if isinstance(plan, WarmStart) else plan


def final_positions(draws: Draws, plan: Plan) -> Position | None:
    """The final position of each chain, for the next run to continue from."""
    if not plan.is_chain or draws.chains != plan.chains:
        return None
    return jax.tree.map(lambda leaf: leaf[:, -1], draws.positions)
