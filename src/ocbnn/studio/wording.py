"""What the library says of code and study files, in the words of the page."""

import re

_WORDS = {
    "Fit without --quick for an answer": "Press Fit for an answer",
    "For an honest score write `holdout = 0.2` under [fit]": "For an honest score keep "
    "some rows back (step 4)",
    "or see model.conflicts() for data that pull against it": "or see below whether "
    "data pull against it",
    "model.conflicts() names them": "they are named below",
    'Try noise = "varies"': "Try a measurement error that varies with inputs",
    "(set batch_size for others)": "",
    "With a checkpoint, the same fit goes on from there": "Fit goes on from there",
    "Raise warmup, the most": "Raise the number of warm-up moves, the most",
    "raise target_acceptance, or lower step_size": "lower the step size",
    "Take a smaller step_size": "Take a smaller step size",
    "learning_rate": "learning rate",
}
_CODE = re.compile(
    r"What the model would say without it cannot be told from these draws "
    r"\(Pareto k [^)]*\): conflicts\(refit=True\) fits again without it"
)
_ALONE = (
    "What it changes by itself cannot be told from these draws: switch the other rules "
    "off and fit, to see it alone"
)


def in_page_words(text: str) -> str:
    """The same text, for a reader who writes no code and no files.

    >>> in_page_words("Data rows break rule 'a': model.conflicts() names them.")
    "Data rows break rule 'a': they are named below."
    """
    for said, better in _WORDS.items():
        # Lines may break anywhere between words.
        spaced = r"\s+".join(map(re.escape, said.split()))
        text = re.sub(spaced, lambda _, b=better: b, text)
    return _CODE.sub(_ALONE, text)
