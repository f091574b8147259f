"""Plans by name, and the choice of one by the size of the problem."""

import dataclasses

from ocbnn.core.errors import SettingError
from ocbnn.core.words import suggest
from ocbnn.inference.base import Plan
from ocbnn.inference.ensemble import Ensemble
from ocbnn.inference.hmc import HMC
from ocbnn.inference.langevin import SGHMC, SGLD
from ocbnn.inference.laplace import Laplace
from ocbnn.inference.microcanonical import MCLMC, AdjustedMCLMC
from ocbnn.inference.nuts import NUTS
from ocbnn.inference.smc import SMC
from ocbnn.inference.svgd import SVGD
from ocbnn.inference.variational import VI
from ocbnn.inference.warm_start import WarmStart

PLANS: dict[str, type[Plan]] = {
    "nuts": NUTS,
    "hmc": HMC,
    "mclmc": MCLMC,
    "adjusted-mclmc": AdjustedMCLMC,
    "warm-start": WarmStart,
    "smc": SMC,
    "sgld": SGLD,
    "sghmc": SGHMC,
    "svgd": SVGD,
    "vi": VI,
    "ensemble": Ensemble,
    "laplace": Laplace,
}
AUTO = "auto"

# Multiplications in one gradient over all rows: six for every weight and row.
_SMALL, _LARGE = 2e5, 4e8
_BATCH = 512


@dataclasses.dataclass(frozen=True)
class Choice:
    """What to run, and why.

    Attributes:
        plan: The algorithm and its settings.
        reason: Why this one, in a sentence; empty where a person chose.
        batch_size: Rows per step that go with it; all when None.
    """

    plan: Plan
    reason: str = ""
    batch_size: int | None = None


def choose(inference: object, *, rows: int, weights: int) -> Choice:
    """The plan that `inference` names, or the one that suits the size of the problem.

    Args:
        inference: A plan, the name of one, or "auto".
        rows: Rows of data.
        weights: Weights of the network.

    Raises:
        SettingError: When it is neither.
    """
    if isinstance(inference, Plan):
        return Choice(inference)
    name = inference.lower() if isinstance(inference, str) else None
    if name == AUTO:
        return _by_size(rows, weights)
    if name in PLANS:
        return Choice(PLANS[name]())
    raise SettingError(
        f"inference {inference!r} is not known: write one of "
        f"{', '.join(map(repr, (AUTO, *PLANS)))}, or a plan such as NUTS(draws=2000)."
        f"{suggest(inference, (AUTO, *PLANS))}"
    )


def _by_size(rows: int, weights: int) -> Choice:
    work = 6.0 * rows * weights
    size = f"{weights:,} weights and {rows:,} rows"
    if work <= _SMALL:
        return Choice(
            WarmStart(sampler=NUTS()),
            f"{size} are few enough for NUTS, which is exact; each chain starts from "
            "the member of an ensemble.",
        )
    if work <= _LARGE:
        return Choice(
            WarmStart(),
            f"{size} make each move of NUTS slow, so MCLMC runs from the members of an "
            "ensemble: nearly exact, and many times cheaper.",
        )
    return Choice(
        SGHMC(chains=4),
        f"{size} are too many for every step to see all rows, so SGHMC takes batches "
        f"of {_BATCH} (set batch_size for others).",
        _BATCH,
    )
