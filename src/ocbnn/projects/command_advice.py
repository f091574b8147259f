"""Advice in terms of study files and commands."""

import shlex

from ocbnn.core.advice import Advice, Kind, Spelling
from ocbnn.core.sentences import IN_COMMON

_PHRASES = {
    **IN_COMMON,
    Kind.VARY_NOISE: 'noise = "varies"',
    Kind.HOLD_OUT: "write `holdout = 0.2` under [fit]",
    Kind.FIT_IN_FULL: "Fit without --quick for an answer.",
    Kind.GO_ON: "`ocbnn resume {model}` continues from there.",
    Kind.NAME_ROWS: "`ocbnn explain {model}` names them",
    Kind.SEE_CONFLICTS: "see `ocbnn explain {model}` for data that conflict with it",
    Kind.ASK_CONFLICTS: "ask `ocbnn explain {model}` whether the data conflict with a "
    "rule",
    Kind.EXPLAIN_AGAIN: "`ocbnn explain {model} --rule {rule} --refit` shows "
    "what changes without it",
    Kind.COMPARE_AGAIN: "These draws cannot tell what the model would predict {do} "
    "(Pareto k {pareto_k:.2f}): `ocbnn explain {model} --rule {rule} --refit` fits "
    "again {do}.",
    Kind.SEE_PROJECTION: "see Projection in `ocbnn report {model}`",
    Kind.MORE_ROUNDS: "write `refine = 20` under [inference]",
    Kind.FIT_BY_PRIOR: 'fit with `rules_by = "prior"` under [fit]',
    Kind.OPTION: "--{name}",
    Kind.ALL_DRAWS: "`--draws all`",
    Kind.BOUND_INPUT: "--within {name}=LOW:HIGH",
    Kind.LOOK_AROUND: "--at FILE --tolerance {name}=0.1",
    Kind.NAME_RULE: 'write `name = "..."` below its [[rules]]',
    Kind.CLAIM_RANGE: "`a <= y <= b`",
}


def on_command_line(model: object) -> Spelling:
    """A spelling that names commands, with the path of a model or of its folder.

    >>> on_command_line("results/dose")(Advice(Kind.EXPLAIN_AGAIN, "cap"))
    '`ocbnn explain results/dose --rule cap --refit` shows what changes without it'
    """
    path = shlex.quote(str(model))

    def spell(advice: Advice) -> str:
        rule = shlex.quote(advice.rule or "")
        return _PHRASES[advice.kind].format(model=path, rule=rule, **advice.values)

    return spell
