"""Advice in the page's words, for readers who write neither code nor files."""

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
    Kind.HOLD_OUT: "hold out some rows (step 4)",
    Kind.FIT_IN_FULL: "Press Fit for an answer.",
    # Paths are of no use to readers of the page.
    Kind.STOPPED_EARLY: "stopped; what was drawn is kept",
    Kind.GO_ON: "Fit continues from there.",
    Kind.NAME_ROWS: "they are named below",
    Kind.SEE_CONFLICTS: "see below whether the data conflict with it",
    Kind.ASK_CONFLICTS: "see below the result whether the data conflict with a rule",
    Kind.EXPLAIN_AGAIN: _CONFLICTS_ALONE,
    Kind.COMPARE_AGAIN: "These draws cannot tell what the rule changes by itself: "
    f"{_CONFLICTS_ALONE}.",
    Kind.SEE_PROJECTION: "see Projection in the report",
    Kind.MORE_ROUNDS: "more than now",
    Kind.FIT_BY_PRIOR: "fit with the rules in the prior",
    Kind.OPTION: "{name}",
    Kind.ALL_DRAWS: "on the command line",
    Kind.BOUND_INPUT: "the least and the greatest {name}",
    Kind.LOOK_AROUND: "rows, and how far {name} may lie from them",
    Kind.SWITCH_OFF: "To switch a rule off, use the switch before its name.",
    Kind.LEAVE_OUT: "switch it off",
    Kind.NAME_RULE: "“Text and settings” has a field for it",
    Kind.CLAIM_RANGE: "`a <= y <= b`",
    Kind.KEY: "{name}",
}
# Settings that have another name on the page.
_SETTINGS = {"warmup": "the number of warm-up moves", "iterations": "“Steps”"}


def on_page(advice: Advice) -> str:
    """Advice in the page's words.

    >>> on_page(Advice(Kind.SETTING, values={"name": "learning_rate"}))
    'learning rate'
    """
    values = dict(advice.values)
    if advice.kind in (Kind.SETTING, Kind.RUN_MORE):
        name = str(values["name"])
        values["name"] = _SETTINGS.get(name) or name.replace("_", " ")
    return _PHRASES[advice.kind].format(**values)


def message(error: OcbnnError, folder: Path | str | None = None) -> str:
    """An error's message, without the paths of folders the user has never seen."""
    sentence = Sentence(error).to_text(on_page)
    return sentence if folder is None else sentence.replace(f"{folder}/", "")
