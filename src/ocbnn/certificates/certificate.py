"""What was proved about rules, as plain data and as a page."""

import dataclasses
from typing import Any

import numpy as np
from scipy.stats import beta

from ocbnn.certificates.words import page_of, rule_page
from ocbnn.core.advice import Spelling
from ocbnn.core.choices import Choices
from ocbnn.core.page import Page, RulePages
from ocbnn.core.sentences import in_python
from ocbnn.proofs.search import BROKEN, HOLDS, UNDECIDED


@dataclasses.dataclass(frozen=True)
class Place:
    """A box of inputs, in the user's units, on which a rule was examined.

    Attributes
    ----------
    low
        The least value of every input.
    high
        The greatest.
    row
        The row it lies around, for a certificate of single rows; otherwise None.
        Rows are counted from 1.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    row: int | None = None


@dataclasses.dataclass(frozen=True)
class RowNeighbourhoods:
    """The rows around which a rule was examined, and those that were left out.

    Attributes
    ----------
    rows
        How many rows were given.
    outside
        Rows that lie outside the rule's region, even with their tolerance.
    missing
        Rows with a missing input.
    tolerance
        How far from a row each input may lie.
    """

    rows: int
    outside: tuple[int, ...]
    missing: tuple[int, ...]
    tolerance: tuple[float, ...]

    @property
    def looked_at(self) -> int:
        """The number of rows around which the rule was examined."""
        return self.rows - len(self.outside) - len(self.missing)


@dataclasses.dataclass(frozen=True)
class Counterexample:
    """An input at which a draw provably violates the rule.

    Attributes
    ----------
    place
        The number of the place.
    draw
        The number of the draw.
    x
        The input.
    y
        The draw's outputs there, rounded; logits for classes.
    """

    place: int
    draw: int
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class CertificateRequest:
    """The arguments of a certificate.

    Attributes
    ----------
    rule
        A rule's name or its text; None for every rule of the model.
    is_own
        Whether the rule was given as text or object, not as a name.
    draws
        The largest number of draws, evenly chosen; None for all.
    boxes
        The largest number of boxes for each draw and place.
    confidence
        Confidence of the statement about other draws.
    within
        Bounds of inputs.
    rows
        Rows of inputs, NaN for missing values; None for the whole region.
    tolerance
        How far from a row each input may lie.
    """

    rule: str | None
    is_own: bool
    draws: int | None
    boxes: int
    confidence: float
    within: dict[str, tuple[float, float]]
    rows: np.ndarray | None
    tolerance: tuple[float, ...] | None

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, with the number of rows instead of the rows."""
        return {
            **dataclasses.asdict(self),
            "within": {name: list(ends) for name, ends in self.within.items()},
            "rows": None if self.rows is None else len(self.rows),
            "tolerance": None if self.tolerance is None else list(self.tolerance),
        }


@dataclasses.dataclass(frozen=True)
class RuleCertificate(Page):
    """For each draw, whether it keeps a rule at every input of each place.

    Attributes
    ----------
    rule
        The rule's name.
    text
        The rule.
    is_own
        Whether it was given as text or object, not as a name.
    is_masked
        Whether the model masks the classes that it forbids, so no draw can violate it.
    reading
        What it means for a draw to keep it; empty if that is obvious.
    inputs
        Names of the inputs.
    outputs
        Names of the outputs, or of the classes.
    choices
        Positions of inputs of which exactly one is 1, for each category.
    cut
        Inputs that the rule leaves unbounded, and that were bounded for the proof.
    narrowed
        Inputs along which only a part of the region was examined.
    places
        Where it was examined: the whole region, or boxes around rows.
    around
        Which rows those are; None for the whole region.
    draws
        Numbers of the draws that were examined.
    available
        How many draws the model uses for predictions.
    status
        (places, draws): 1 if it is proved that the draw keeps the rule, -1 if it
        is proved that the draw violates it, and 0 if the budget was spent before.
    counterexamples
        Inputs at which it is violated, one for each -1.
    splits
        How the boxes were divided for the proof, by (place, draw).
    effective
        How many independent draws the draws are worth; None when unknown.
    confidence
        Confidence of the statement about other draws.
    boxes
        How many boxes were bounded.
    seconds
        How long it took.
    stopped
        Whether it was stopped before everything was decided or out of budget.
    """

    rule: str
    text: str
    is_own: bool
    is_masked: bool
    reading: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    choices: Choices
    cut: tuple[str, ...]
    narrowed: tuple[str, ...]
    places: tuple[Place, ...]
    around: RowNeighbourhoods | None
    draws: tuple[int, ...]
    available: int
    status: np.ndarray
    counterexamples: tuple[Counterexample, ...]
    splits: dict[tuple[int, int], list[int]]
    effective: float | None
    confidence: float
    boxes: int
    seconds: float
    stopped: bool

    @property
    def is_local(self) -> bool:
        """Whether it is about rows, not about the whole region."""
        return self.around is not None

    @property
    def holds(self) -> float:
        """Share of draws proved to keep the rule, at all inputs of all places."""
        return float(np.mean(np.all(self.status == HOLDS, axis=0)))

    @property
    def broken(self) -> float:
        """Share of draws proved to violate it somewhere."""
        return float(np.mean(np.any(self.status == BROKEN, axis=0)))

    @property
    def undecided(self) -> float:
        """Share of draws about which neither is proved."""
        kept = np.all(self.status == HOLDS, axis=0)
        return float(np.mean(~kept & np.all(self.status != BROKEN, axis=0)))

    @property
    def decided_places(self) -> float:
        """Share of places at which every draw is decided."""
        return float(np.mean(np.all(self.status != UNDECIDED, axis=1)))

    @property
    def probability(self) -> float:
        """A lower bound, at `confidence`, on the probability that a new draw keeps it.

        The Clopper-Pearson bound, with the effective number of draws as trials;
        undecided draws count as failures. It is one if no draw can violate the rule.
        """
        if self.is_masked:
            return 1.0
        size = len(self.draws)
        trials = size if self.effective is None else int(min(size, self.effective))
        successes = int(np.floor(self.holds * trials + 1e-9))
        if successes == 0:
            return 0.0
        return float(beta.ppf(1 - self.confidence, successes, trials - successes + 1))

    def to_dict(self) -> dict[str, Any]:
        """The findings as plain values, without the proof."""
        return {
            **self.summary(),
            "counterexamples": [
                {
                    "row": self.places[example.place].row,
                    "draw": example.draw,
                    "x": dict(zip(self.inputs, example.x, strict=True)),
                    "y": dict(zip(self.outputs, example.y, strict=True)),
                }
                for example in self.counterexamples
            ],
        }

    def summary(self) -> dict[str, Any]:
        """The findings as plain values, without counterexamples."""
        return {
            "rule": self.rule,
            "text": self.text,
            "is_own": self.is_own,
            "draws": len(self.draws),
            "available_draws": self.available,
            "places": len(self.places),
            "region": self._region(),
            "rows": self._rows(),
            "cut": list(self.cut),
            "narrowed": list(self.narrowed),
            "holds": self.holds,
            "broken": self.broken,
            "undecided": self.undecided,
            "decided_places": self.decided_places,
            "probability": self.probability,
            "confidence": self.confidence,
            "effective_draws": self.effective,
            "boxes": self.boxes,
            "seconds": self.seconds,
            "stopped": self.stopped,
        }

    def _region(self) -> dict[str, list[float]] | None:
        if self.is_local:
            return None
        (place,) = self.places
        ends = zip(self.inputs, place.low, place.high, strict=True)
        return {name: [low, high] for name, low, high in ends}

    def _rows(self) -> dict[str, Any] | None:
        if self.around is None:
            return None
        tolerances = zip(self.inputs, self.around.tolerance, strict=True)
        return {
            "asked": self.around.rows,
            "looked_at": self.around.looked_at,
            "outside": list(self.around.outside),
            "missing": list(self.around.missing),
            "tolerance": dict(tolerances),
        }

    def to_text(self, spelling: Spelling = in_python) -> str:
        """The page, with advice in the words of some readers."""
        return rule_page(self, spelling)


@dataclasses.dataclass(frozen=True)
class Certificate(RulePages[RuleCertificate]):
    """What was proved about a model's rules. Print it, save it, look at each rule.

    Attributes
    ----------
    model
        A digest of the model.
    verdict
        Whether the model's draws can be trusted: a word, and why.
    asked
        The arguments of the certificate.
    rules
        A certificate for each rule.
    skipped
        Rules that cannot be certified, and why.
    """

    model: str
    verdict: tuple[str, ...]
    asked: CertificateRequest
    rules: tuple[RuleCertificate, ...]
    skipped: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def stopped(self) -> bool:
        """Whether it was stopped before everything was decided or out of budget."""
        return any(rule.stopped for rule in self.rules)

    def to_dict(self) -> dict[str, Any]:
        """The findings as plain values, without the proofs."""
        return {
            "model": self.model,
            "verdict": self.verdict[0],
            "verdict_sentences": list(self.verdict[1:]),
            "asked": self.asked.to_dict(),
            "stopped": self.stopped,
            "rules": [rule.to_dict() for rule in self.rules],
            "skipped": dict(self.skipped),
        }

    def save(self, path: Any) -> None:
        """Write findings and proofs as JSON, for `ocbnn certify --verify`.

        Parameters
        ----------
        path
            The file, which is replaced if it exists.

        Raises
        ------
        StorageError
            When it cannot be written there.
        """
        from ocbnn.certificates.file import write  # noqa: PLC0415

        write(self, path)

    def to_text(self, spelling: Spelling = in_python) -> str:
        """The page, with advice in the words of some readers."""
        return page_of(self, spelling)
