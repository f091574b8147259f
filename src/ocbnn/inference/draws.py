"""The draws of a run, with what is needed to judge and to repeat it."""

import dataclasses
from typing import Any

import jax
import numpy as np

from ocbnn.core.rows import evenly
from ocbnn.core.types import Position
from ocbnn.inference.base import Plan

# Numbers by name: (chain, draw) when finished, (draw,) while a chain runs.
Trace = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Draws:
    """Posterior positions, stacked as (chain, draw, ...).

    A particle is a draw too: SVGD gives one chain, SMC one chain per population.

    Attributes
    ----------
    positions
        The position pytree with two leading axes.
    stats
        Numbers about the moves that led to each draw, by name.
    warmup
        Numbers about the moves of the warm-up.
    plan
        The plan that was run.
    seconds
        Wall-clock time, compilation included.
    interrupted
        Whether the run was stopped before its end.
    """

    positions: Position
    stats: Trace
    warmup: Trace
    plan: Plan
    seconds: float
    interrupted: bool = False

    @property
    def chains(self) -> int:
        """The number of chains or populations."""
        return jax.tree.leaves(self.positions)[0].shape[0]

    @property
    def draws(self) -> int:
        """The number of draws in each of them."""
        return jax.tree.leaves(self.positions)[0].shape[1]

    @property
    def size(self) -> int:
        """The total number of draws."""
        return self.chains * self.draws

    def stacked(self) -> Position:
        """All draws along one axis."""
        return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), self.positions)

    def thinned(self, most: int) -> Position:
        """At most `most` draws along one axis, evenly spaced.

        Parameters
        ----------
        most
            The largest number of draws.
        """
        rows = self.chosen(most)
        return jax.tree.map(lambda a: a[rows], self.stacked())

    def chosen(self, most: int) -> np.ndarray:
        """The indices of the draws that `thinned` takes.

        Parameters
        ----------
        most
            The largest number of draws.
        """
        return evenly(self.size, most)

    def whole(self) -> "Draws":
        """These draws, or an error if the run was stopped.

        For uses where an incomplete run would give wrong results silently.

        Raises
        ------
        KeyboardInterrupt
            When the run was stopped before its end.
        """
        if self.interrupted:
            raise KeyboardInterrupt(f"{self.plan.label} was stopped early")
        return self

    @property
    def temperature(self) -> float | None:
        """SMC's temperature: 0 at the prior, 1 at the posterior; else None."""
        reached = self.warmup.get("temperature")
        if reached is None or not reached.size:
            return None
        return float(reached[:, -1].min())

    @property
    def acceptance(self) -> float | None:
        """Mean acceptance rate after warm-up (during it, for SMC)."""
        for trace in (self.stats, self.warmup):
            if "acceptance" in trace and trace["acceptance"].size:
                return float(np.nanmean(trace["acceptance"]))
        return None

    @property
    def divergences(self) -> int:
        """Moves after warm-up whose integration went wrong."""
        if "divergent" not in self.stats:
            return 0
        return round(float(self.stats["divergent"].sum()) * max(1, self.plan.thin))

    @property
    def log_evidence(self) -> np.ndarray | None:
        """Each population's estimate of log p(D, C); None unless SMC has finished."""
        if self.temperature is None or self.temperature < 1:
            return None
        return np.asarray(self.warmup["log_evidence"])[:, -1]

    def settings(self) -> dict[str, Any]:
        """The plan as plain values, for reports."""
        plain = {
            field.name: getattr(self.plan, field.name)
            for field in dataclasses.fields(self.plan)
        }
        kept = {k: v for k, v in plain.items() if isinstance(v, (int, float, str))}
        return {"algorithm": self.plan.label, **kept}
