"""Sentences that contain advice: text in Python's spelling, and in any other."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ocbnn.core.advice import Advice, Kind, Spelling
from ocbnn.errors import OcbnnError

# Settings have the same names in Python and in study files, which commands read.
IN_COMMON = {
    Kind.SETTING: "{name}",
    Kind.RUN_LONGER: "Run longer.",
    Kind.RUN_MORE: "Run more {name}.",
    Kind.MORE_WARMUP: "more warm-up",
    Kind.MORE_MOVES: "moves or polish",
    Kind.SMALLER_STEPS: "raise target_acceptance, or lower step_size where it is fixed",
    Kind.CHOOSE_BATCH: " (set batch_size for others)",
    Kind.STOPPED_EARLY: "stopped early{saved}",
    Kind.SWITCH_OFF: "To switch a rule off, leave it out.",
    Kind.LEAVE_OUT: "leave it out",
    Kind.KEY: "{file}, {key}",
}
_PHRASES = {
    **IN_COMMON,
    Kind.VARY_NOISE: 'noise="varies"',
    Kind.HOLD_OUT: "keep some rows out of the fit",
    Kind.FIT_IN_FULL: "Fit without quick=True for an answer.",
    Kind.GO_ON: "With a checkpoint, the same fit goes on from there.",
    Kind.NAME_ROWS: "model.conflicts() names them",
    Kind.SEE_CONFLICTS: "see model.conflicts() for data that pull against it",
    Kind.ASK_CONFLICTS: "ask model.conflicts() whether the data conflict with a rule",
    Kind.EXPLAIN_AGAIN: "explain({rule!r}, refit=True) shows what changes without it",
    Kind.COMPARE_AGAIN: "These draws cannot tell what the model would predict {do} "
    "(Pareto k {pareto_k:.2f}): conflicts(refit=True) fits again {do}.",
    Kind.SEE_PROJECTION: "print projection_",
    Kind.MORE_ROUNDS: "refine=20",
    Kind.FIT_BY_PRIOR: 'fit with rules_by="prior"',
    Kind.OPTION: "{name}",
    Kind.ALL_DRAWS: 'draws="all"',
    Kind.BOUND_INPUT: "within={{{name!r}: (LOW, HIGH)}}",
    Kind.LOOK_AROUND: "certify(model, at=X, tolerance={{{name!r}: 0.1}})",
    Kind.NAME_RULE: 'require(..., name="...")',
    Kind.CLAIM_RANGE: "`require(y.between(a, b), ...)`, in text `a <= y <= b`",
}


def in_python(advice: Advice) -> str:
    """Advice for those who write Python.

    >>> in_python(Advice(Kind.EXPLAIN_AGAIN, "cap"))
    "explain('cap', refit=True) shows what changes without it"
    """
    return _PHRASES[advice.kind].format(rule=advice.rule, **advice.values)


class Sentence(str):
    """Text in Python's spelling that keeps its advice, so it can be spelled again.

    Formatting turns it into plain text: join sentences with `Sentence`, and spell them
    before they are formatted.

    Attributes
    ----------
    parts
        Plain text and advice, in order.
    """

    parts: tuple[str | Advice, ...]

    def __new__(cls, *parts: str | Kind | Advice | Exception) -> "Sentence":
        """Join text, advice, other sentences and the messages of errors."""
        flat_parts = tuple(inner for part in parts for inner in _parts(part))
        sentence = super().__new__(cls, _put(flat_parts, in_python))
        sentence.parts = flat_parts
        return sentence

    def __getnewargs__(self) -> tuple[Any, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.parts

    @property
    def advice(self) -> tuple[Advice, ...]:
        """The advice in it."""
        return tuple(part for part in self.parts if isinstance(part, Advice))

    def to_text(self, spelling: Spelling) -> str:
        """The sentence in another spelling."""
        return _put(self.parts, spelling)


def joined(separator: str, sentences: Iterable[str]) -> Sentence:
    """Join sentences, as `str.join` does."""
    first, *rest = sentences
    return Sentence(
        first, *(part for sentence in rest for part in (separator, sentence))
    )


def spelled(value: Any, spelling: Spelling) -> Any:
    """Text, or plain values that contain text, in another spelling."""
    match value:
        case Sentence():
            return value.to_text(spelling)
        case dict():
            return {name: spelled(item, spelling) for name, item in value.items()}
        case list() | tuple():
            return [spelled(item, spelling) for item in value]
    return value


@contextmanager
def errors_spelled(spelling: Spelling) -> Iterator[None]:
    """Spell the messages of errors that are raised inside."""
    try:
        yield
    except OcbnnError as error:
        error.args = tuple(spelled(error.args, spelling))
        raise


def _parts(part: str | Kind | Advice | Exception) -> tuple[str | Advice, ...]:
    if isinstance(part, Kind):
        return (Advice(part),)
    if isinstance(part, Exception):
        message = part.args[0] if part.args else None
        part = message if isinstance(message, Sentence) else str(part)
    return part.parts if isinstance(part, Sentence) else (part,)


def _put(parts: tuple[str | Advice, ...], spelling: Spelling) -> str:
    return "".join(spelling(p) if isinstance(p, Advice) else p for p in parts)
