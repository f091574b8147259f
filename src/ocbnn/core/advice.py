"""Advice as data: what to do next, phrased separately for each kind of reader.

Somebody who writes Python calls `model.conflicts()`, somebody at a terminal runs
`ocbnn explain DIR`, and somebody at the studio's page looks further down. An analysis
says what it means; a spelling turns that into words.
"""

import dataclasses
from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import TypeAlias


class Kind(Enum):
    """Every kind of advice there is, with the values that it needs."""

    # What inference should do differently.
    SETTING = auto()  # name
    RUN_LONGER = auto()
    RUN_MORE = auto()  # name of a setting
    MORE_WARMUP = auto()
    MORE_MOVES = auto()
    SMALLER_STEPS = auto()
    CHOOSE_BATCH = auto()
    VARY_NOISE = auto()
    HOLD_OUT = auto()
    FIT_IN_FULL = auto()
    # How a run ended, and how to go on with it.
    STOPPED_EARLY = auto()  # saved: where it was
    GO_ON = auto()
    # What to ask the fitted model.
    NAME_ROWS = auto()
    SEE_CONFLICTS = auto()
    ASK_CONFLICTS = auto()
    EXPLAIN_AGAIN = auto()  # a rule
    COMPARE_AGAIN = auto()  # a rule; do: with or without it; pareto_k
    # What to do about rules that draws were projected onto.
    SEE_PROJECTION = auto()
    MORE_ROUNDS = auto()
    FIT_BY_PRIOR = auto()
    # What to ask for in a certificate.
    OPTION = auto()  # name
    ALL_DRAWS = auto()
    BOUND_INPUT = auto()  # name of an input
    LOOK_AROUND = auto()  # name of an input
    # How to write rules and study files.
    SWITCH_OFF = auto()
    LEAVE_OUT = auto()
    NAME_RULE = auto()
    CLAIM_RANGE = auto()
    KEY = auto()  # file: with the line; key: as it stands there; name: without section


@dataclasses.dataclass(frozen=True)
class Advice:
    """One piece of advice.

    Attributes
    ----------
    kind
        What is advised.
    rule
        The name of the rule it is about, if any.
    values
        Numbers and names that the kind needs.
    """

    kind: Kind
    rule: str | None = None
    values: Mapping[str, float | str] = dataclasses.field(default_factory=dict)


def setting(name: str) -> Advice:
    """A setting of an algorithm, named in a sentence."""
    return Advice(Kind.SETTING, values={"name": name})


# Phrases any advice for one kind of reader, as part of a sentence.
Spelling: TypeAlias = Callable[[Advice], str]
