"""What was proved about a rule: plain data, a page of text, and a file."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import beta

from ocbnn.estimators.page import Page, RulePages, block, listed, share
from ocbnn.proofs.search import BROKEN, HOLDS, UNDECIDED


@dataclasses.dataclass(frozen=True)
class Place:
    """A box of inputs, in a person's units, on which a rule was looked at.

    Attributes:
        low: The least value of every input.
        high: The greatest.
        row: The row it lies around, for a certificate of single rows; else None.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    row: int | None = None


@dataclasses.dataclass(frozen=True)
class Counterexample:
    """An input at which a draw breaks the rule: proved.

    Attributes:
        place: The number of the place.
        draw: The number of the draw.
        x: The input.
        y: The draw's outputs there, rounded; logits for classes.
    """

    place: int
    draw: int
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class RuleCertificate(Page):
    """For each draw, whether it keeps a rule at every input of each place.

    Attributes:
        rule: The rule's name.
        text: The rule.
        inputs: Names of the inputs.
        cut: Inputs that the rule leaves unbounded, and that were bounded for the proof.
        places: Where it was looked at: the whole region, or around rows.
        draws: Numbers of the draws that were looked at.
        status: (places, draws); 1 where it is kept: proved, -1 where it is broken:
            proved, and 0 where the budget was spent before either was.
        counterexamples: Where it is broken, one for each -1.
        splits: How the boxes were divided for the proof, by (place, draw).
        effective: How many independent draws the draws are worth; None when unknown.
        confidence: Of the statement about draws that were not looked at.
        boxes: How many boxes were bounded.
        seconds: How long it took.
    """

    rule: str
    text: str
    inputs: tuple[str, ...]
    cut: tuple[str, ...]
    places: tuple[Place, ...]
    draws: tuple[int, ...]
    status: np.ndarray
    counterexamples: tuple[Counterexample, ...]
    splits: dict[tuple[int, int], list[int]]
    effective: float | None
    confidence: float
    boxes: int
    seconds: float

    @property
    def is_local(self) -> bool:
        """Whether it speaks of rows, not of the whole region."""
        return any(place.row is not None for place in self.places)

    @property
    def holds(self) -> float:
        """Share of draws proved to keep the rule, at all inputs of all places."""
        return float(np.mean(np.all(self.status == HOLDS, axis=0)))

    @property
    def broken(self) -> float:
        """Share of draws proved to break it somewhere."""
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

        The Clopper-Pearson bound of as many successes among as many trials as the draws
        are worth; undecided draws count as failures.
        """
        size = len(self.draws)
        trials = int(min(size, self.effective or size))
        successes = int(np.floor(self.holds * trials + 1e-9))
        if successes == 0:
            return 0.0
        return float(beta.ppf(1 - self.confidence, successes, trials - successes + 1))

    def to_dict(self) -> dict[str, Any]:
        """The findings as plain values, without the proof."""
        return {
            "rule": self.rule,
            "text": self.text,
            "draws": len(self.draws),
            "places": len(self.places),
            "cut": list(self.cut),
            "holds": self.holds,
            "broken": self.broken,
            "undecided": self.undecided,
            "decided_places": self.decided_places,
            "probability": self.probability,
            "confidence": self.confidence,
            "effective_draws": self.effective,
            "boxes": self.boxes,
            "seconds": self.seconds,
        }

    def sentences(self) -> Iterator[str]:
        """The findings in words."""
        yield self.text
        yield from self._where()
        size = len(self.draws)
        counts = [round(size * one) for one in (self.holds, self.broken)]
        yield f"{counts[0]} of {size} draws keep it at every such input: proved."
        if self.counterexamples:
            first = self.counterexamples[0]
            yield (
                f"{counts[1]} break it: proved. Draw {first.draw}, for one, at "
                f"{self._spelled(first.x)}."
            )
        if left := size - sum(counts):
            yield (
                f"{left} are undecided: the boxes they were given ran out. More may "
                "decide them."
            )
        if self.is_local:
            yield from self._by_row()
        yield from self._probable()

    def _where(self) -> Iterator[str]:
        if self.is_local:
            count = len(self.places)
            yield f"Looked at around {count} row{'s' * (count > 1)}, with a tolerance."
        else:
            (place,) = self.places
            ends = zip(place.low, self.inputs, place.high, strict=True)
            spoken = [f"{a:.6g} <= {name} <= {b:.6g}" for a, name, b in ends]
            yield f"Looked at wherever {listed(spoken, 20)}."
        if self.cut:
            yield (
                f"The rule sets no bounds for {listed(self.cut, 20)}: there it was "
                "looked at between those above, and is unknown beyond."
            )

    def _by_row(self) -> Iterator[str]:
        status = self.status
        whole = float(np.mean(np.all(status == HOLDS, axis=1)))
        yield (
            f"Decided for all draws at {share(self.decided_places)} of the rows; kept "
            f"by all draws at {share(whole)} of them."
        )

    def _probable(self) -> Iterator[str]:
        how = "taking the draws as independent, which they need not be"
        if self.effective is not None:
            how = f"from {self.effective:.0f} effective draws"
        yield (
            "So the posterior probability that the rule holds at all these inputs is "
            f"at least {share(self.holds)} by these draws, and with "
            f"{100 * self.confidence:g} % confidence a new draw keeps it with "
            f"probability {share(self.probability)} or more ({how})."
        )

    def _spelled(self, x: tuple[float, ...]) -> str:
        return listed(
            (
                f"{name} = {value:.6g}"
                for name, value in zip(self.inputs, x, strict=True)
            ),
            20,
        )

    def __str__(self) -> str:
        return block(f"Rule {self.rule!r}", self.sentences())


@dataclasses.dataclass(frozen=True)
class Certificate(RulePages[RuleCertificate]):
    """What was proved about a model's rules. Print it, save it, look at each rule.

    Attributes:
        model: A digest of the draws, the network and the units it speaks about.
        rules: One for each rule.
        skipped: Rules that cannot be proved, and why.
    """

    model: str
    rules: tuple[RuleCertificate, ...]
    skipped: dict[str, str] = dataclasses.field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The findings as plain values, without the proofs."""
        rules = [rule.to_dict() for rule in self.rules]
        return {"model": self.model, "rules": rules, "skipped": dict(self.skipped)}

    def save(self, path: Any) -> None:
        """Write findings and proofs as JSON, for `ocbnn certify --verify`."""
        from ocbnn.estimators.certificate_file import write  # noqa: PLC0415

        write(self, path)

    def __str__(self) -> str:
        parts = [str(rule) for rule in self.rules]
        parts += [
            block(f"Rule {name!r}", [f"Not looked at: {why}"])
            for name, why in self.skipped.items()
        ]
        if not parts:
            return "There are no rules, so there is nothing to prove."
        return "\n\n".join([*parts, f"Model {self.model[:16]}."])
