"""Deciding every draw of every rule, with progress reports and Ctrl-C."""

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
        # Draw after draw, alternating between chains, so that the draws that are
        # decided when somebody stops are representative.
        self._draws = np.repeat(spread(size), len(places))
        self._places = np.tile(np.arange(len(places)), size)
        low = np.array([place.low for place in places])[self._places]
        high = np.array([place.high for place in places])[self._places]
        roots = Roots(self._draws, low, high)
        self.search = Search(question.prover, roots, question.request.boxes)

    def glance(self) -> int:
        """Examine some draws without dividing boxes; return how many were examined."""
        before = self.search.new
        self._timed(self.search.glance)
        return before - self.search.new

    def divide(self) -> int:
        """Divide boxes of some other draws; return how many draws were decided."""
        before = self.search.left
        self._timed(self.search.divide)
        return before - self.search.left

    def answer(self) -> RuleCertificate:
        """What is proved so far."""
        question, result = self._question, self.search.result()
        numbers, places = question.numbers, question.places
        status = np.empty((len(places), len(numbers)), int)
        status[self._places, self._draws] = result.status
        keys = list(zip(self._places.tolist(), numbers[self._draws], strict=True))
        kept = np.flatnonzero(result.status == HOLDS)
        counterexamples = self._wrong(result)
        return RuleCertificate(
            **question.frame(),
            status=status,
            counterexamples=tuple(
                sorted(
                    counterexamples, key=lambda example: (example.place, example.draw)
                )
            ),
            splits={
                (keys[root][0], int(keys[root][1])): result.splits[root]
                for root in sorted(kept, key=keys.__getitem__)
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
    """Decide as many draws as possible; Ctrl-C ends it early."""
    reporter = make_reporter(progress)
    try:
        with reporter:
            _decide(proofs, reporter)
    except KeyboardInterrupt:
        return  # Results until then are proved, and are kept.


def _decide(proofs: Sequence[RuleProof], reporter: ProgressReporter) -> None:
    """Examine all roots, then divide those that are left, alternating between rules."""
    total = sum(proof.search.left for proof in proofs)
    reporter.begin("certify", total)
    for proof in proofs:
        while proof.search.new:
            _report(reporter, proof.glance(), "at first sight")
    left = sum(proof.search.left for proof in proofs)
    note = f"; {left} need{'s' * (left == 1)} a closer look" if left else ""
    reporter.finish(f"{total - left} of {total} questions decided at first sight{note}")
    if not left:
        return
    # A progress bar of its own, because divided boxes take longer.
    reporter.begin("certify", left)
    while waiting := [proof for proof in proofs if proof.search.is_open]:
        for proof in waiting:
            _report(reporter, proof.divide(), "by a closer look")
    word = "question" if left == 1 else "questions"
    reporter.finish(f"{left} {word} looked at more closely")


def _report(reporter: ProgressReporter, count: int, note: str) -> None:
    reporter.advance(count, note)
    if is_stopping(reporter):
        raise KeyboardInterrupt


def spread(count: int) -> np.ndarray:
    """Whole numbers below `count`, in an order in which neighbours lie far apart.

    >>> spread(6).tolist()
    [0, 4, 2, 1, 5, 3]
    """
    bits = max(1, (count - 1).bit_length())
    reversed_bits = [int(f"{number:0{bits}b}"[::-1], 2) for number in range(2**bits)]
    return np.array([number for number in reversed_bits if number < count])
