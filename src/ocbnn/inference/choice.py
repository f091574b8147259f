"""Plans by name, and the choice of one by the size of the problem."""

import dataclasses

from ocbnn.core.advice import Kind
from ocbnn.core.sentences import Sentence
from ocbnn.core.words import suggest
from ocbnn.errors import SettingError
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
# Default number of rows in a batch.
BATCH = 512


@dataclasses.dataclass(frozen=True)
class Choice:
    """What to run, and why.

    Attributes
    ----------
    plan
        The algorithm and its settings.
    reason
        Why this one, in a sentence; empty if the user chose it.
    batch_size
        Rows per step; None for all rows.
    """

    plan: Plan
    reason: str = ""
    batch_size: int | None = None


def choose(
    inference: object, *, rows: int, weights: int, has_sides: bool = False
) -> Choice:
    """The plan that `inference` names, or one that suits the size of the problem.

    Parameters
    ----------
    inference
        A plan, the name of one, or "auto".
    rows
        Rows of data.
    weights
        Weights of the network.
    has_sides
        Whether a rule allows outputs on several sides of a forbidden part.

    Raises
    ------
    SettingError
        When `inference` is neither.
    """
    if isinstance(inference, Plan):
        return Choice(inference)
    name = inference.lower() if isinstance(inference, str) else None
    if name == AUTO:
        return _by_size(rows, weights, has_sides)
    if name in PLANS:
        return Choice(PLANS[name]())
    raise SettingError(
        f"inference {inference!r} is not known: write one of "
        f"{', '.join(map(repr, (AUTO, *PLANS)))}, or a plan such as NUTS(draws=2000)."
        f"{suggest(inference, (AUTO, *PLANS))}"
    )


def _by_size(rows: int, weights: int, has_sides: bool) -> Choice:
    work = 6.0 * rows * weights
    size = f"{weights:,} weights and {rows:,} rows"
    if work <= _SMALL and has_sides:
        return Choice(
            SMC(),
            f"A rule allows outputs on several sides, and chains cannot cross between "
            f"them; {size} are few enough for SMC, which explores all sides.",
        )
    if work <= _SMALL:
        return Choice(
            WarmStart(sampler=NUTS()),
            f"{size} are few enough for NUTS, which is exact; each chain starts from a "
            "member of an ensemble, or under rules, where the noise is inferred, from "
            "a run without them.",
        )
    side_note = (
        " A rule allows outputs on several sides: each chain stays on one, so do not "
        "rely on the share of draws on each side." * has_sides
    )
    if work <= _LARGE:
        return Choice(
            WarmStart(),
            f"{size} make each move of NUTS slow, so MCLMC runs from the members of an "
            "ensemble, at a fraction of the cost. Chains usually disagree, because "
            f"each is in a different mode: judge it by held-out rows.{side_note}",
        )
    return Choice(
        SGHMC(chains=4),
        Sentence(
            f"{size} are too many for every step to use all rows, so SGHMC takes "
            f"batches of {BATCH}",
            Kind.CHOOSE_BATCH,
            f".{side_note}",
        ),
        BATCH,
    )
