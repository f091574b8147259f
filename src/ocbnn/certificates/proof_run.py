"""Deciding every draw of every rule, while a person watches and may stop it."""

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ocbnn.certificates.certificate import Counterexample, RuleCertificate
from ocbnn.certificates.question import Question
from ocbnn.inference.progress import ProgressReporter, is_stopping, make_reporter
from ocbnn.proofs.search import BROKEN, HOLDS, Roots, Search, SearchResult


class RuleProof:
    """A rule whose draws are being decided."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._seconds = 0.0
        places, size = question.places, len(question.numbers)
        # Draw after draw, and from all chains in turn: what is known when somebody
        # stops is then known of draws that stand for all.
        self._draws = np.repeat(spread(size), len(places))
        self._places = np.tile(np.arange(len(places)), size)
        low = np.array([place.low for place in places])[self._places]
        high = np.array([place.high for place in places])[self._places]
        roots = Roots(self._draws, low, high)
        self.search = Search(question.prover, roots, question.asked.boxes)

    def glance(self) -> int:
        """Look at some draws as they are; at how many."""
        before = self.search.new
        self._timed(self.search.glance)
        return before - self.search.new

    def divide(self) -> int:
        """Look closer at some of the others; how many were decided."""
        before = self.search.left
        self._timed(self.search.divide)
        return before - self.search.left

    def answer(self) -> RuleCertificate:
        """What is proved by now."""
        question, result = self._question, self.search.result()
        numbers, places = question.numbers, question.places
        status = np.empty((len(places), len(numbers)), int)
        status[self._places, self._draws] = result.status
        names = list(zip(self._places.tolist(), numbers[self._draws], strict=True))
        kept = np.flatnonzero(result.status == HOLDS)
        wrong = self._wrong(result)
        return RuleCertificate(
            **question.frame(),
            status=status,
            counterexamples=tuple(
                sorted(wrong, key=lambda example: (example.place, example.draw))
            ),
            splits={
                (names[root][0], int(names[root][1])): result.splits[root]
                for root in sorted(kept, key=names.__getitem__)
            },
            boxes=result.boxes,
            seconds=self._seconds,
            stopped=not result.is_over,
        )

    def _wrong(self, result: SearchResult) -> Iterator[Counterexample]:
        for root in np.flatnonzero(result.status == BROKEN):
            draw, x = int(self._draws[root]), result.broken_at[root]
            yield Counterexample(
                int(self._places[root]),
                int(self._question.numbers[draw]),
                tuple(x.tolist()),
                self._question.outputs(draw, x),
            )

    def _timed(self, work: Callable[[], None]) -> None:
        started = time.monotonic()
        work()
        self._seconds += time.monotonic() - started


def decide_all(proofs: Sequence[RuleProof], progress: object) -> None:
    """Decide all that can be; Ctrl-C ends it early."""
    reporter = make_reporter(progress)
    try:
        with reporter:
            _look(proofs, reporter)
    except KeyboardInterrupt:
        return  # What was decided until then is proved all the same.


def _look(proofs: Sequence[RuleProof], reporter: ProgressReporter) -> None:
    """Glance at everything, then divide what is left, the rules in turn."""
    total = sum(proof.search.left for proof in proofs)
    reporter.begin("certify", total)
    for proof in proofs:
        while proof.search.new:
            _tell(reporter, proof.glance(), "at first sight")
    left = sum(proof.search.left for proof in proofs)
    rest = f"; {left} need{'s' * (left == 1)} a closer look" if left else ""
    reporter.finish(f"{total - left} of {total} questions decided at first sight{rest}")
    if not left:
        return
    # How long one takes that must be divided says how long the others will.
    reporter.begin("certify", left)
    while waiting := [proof for proof in proofs if proof.search.is_open]:
        for proof in waiting:
            _tell(reporter, proof.divide(), "by a closer look")
    word = "question" if left == 1 else "questions"
    reporter.finish(f"{left} {word} looked at more closely")


def _tell(reporter: ProgressReporter, count: int, note: str) -> None:
    reporter.advance(count, note)
    if is_stopping(reporter):
        raise KeyboardInterrupt


def spread(count: int) -> np.ndarray:
    """Whole numbers below `count`, each far from those before it.

    >>> spread(6).tolist()
    [0, 4, 2, 1, 5, 3]
    """
    bits = max(1, (count - 1).bit_length())
    turned = [int(f"{number:0{bits}b}"[::-1], 2) for number in range(2**bits)]
    return np.array([number for number in turned if number < count])
