"""Advice in the words of the page, for a reader who writes no code and no files."""

from pathlib import Path

from ocbnn.core.advice import Advice, Kind
from ocbnn.core.sentences import Sentence
from ocbnn.errors import OcbnnError

_CONFLICTS_ALONE = "switch the other rules off and fit, to see it alone"
_PHRASES = {
    Kind.SETTING: "{name}",
    Kind.RUN_LONGER: "Raise “Draws per chain”.",
    Kind.RUN_MORE: "Raise {name}.",
    Kind.MORE_WARMUP: "more “Warm-up moves”",
    Kind.MORE_MOVES: "“Moves” or “Last rounds”",
    Kind.SMALLER_STEPS: "lower the step size where it is fixed",
    Kind.CHOOSE_BATCH: "",
    Kind.VARY_NOISE: "a measurement error that varies with inputs",
    Kind.HOLD_OUT: "keep some rows back (step 4)",
    Kind.FIT_IN_FULL: "Press Fit for an answer.",
    # Where files are is of no use to a page.
    Kind.STOPPED_EARLY: "stopped; what was drawn is kept",
    Kind.GO_ON: "Fit goes on from there.",
    Kind.NAME_ROWS: "they are named below",
    Kind.SEE_CONFLICTS: "see below whether data pull against it",
    Kind.ASK_CONFLICTS: "see below its result whether the data speak against a rule",
    Kind.EXPLAIN_AGAIN: _CONFLICTS_ALONE,
    Kind.COMPARE_AGAIN: "What it changes by itself cannot be told from these draws: "
    f"{_CONFLICTS_ALONE}.",
    Kind.OPTION: "{name}",
    Kind.ALL_DRAWS: "on the command line",
    Kind.BOUND_INPUT: "the least and the greatest {name}",
    Kind.LOOK_AROUND: "rows, and how far from them {name} may lie",
    Kind.SWITCH_OFF: "To switch a rule off, use the switch before its name.",
    Kind.LEAVE_OUT: "switch it off",
    Kind.NAME_RULE: "“Text and settings” has a field for it",
    Kind.CLAIM_RANGE: "`a <= y <= b`",
    Kind.KEY: "{name}",
}
# Settings that the page calls otherwise, or has a field for.
_SETTINGS = {"warmup": "the number of warm-up moves", "iterations": "“Steps”"}


def on_page(advice: Advice) -> str:
    """Advice for those who look at the page.

    >>> on_page(Advice(Kind.SETTING, values={"name": "learning_rate"}))
    'learning rate'
    """
    values = dict(advice.values)
    if advice.kind in (Kind.SETTING, Kind.RUN_MORE):
        name = str(values["name"])
        values["name"] = _SETTINGS.get(name) or name.replace("_", " ")
    return _PHRASES[advice.kind].format(**values)


def message(error: OcbnnError, folder: Path | str | None = None) -> str:
    """What an error says, without files and folders that a person has never seen."""
    said = Sentence(error).to_text(on_page)
    return said if folder is None else said.replace(f"{folder}/", "")
