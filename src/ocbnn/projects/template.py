"""The text of a first study file: what was found, and what could be said."""

import math
from typing import TYPE_CHECKING

from ocbnn.core.words import listing, shorten, spell
from ocbnn.language.words import spell_label, spell_name, spell_number
from ocbnn.projects.toml import one_line, toml_value
from ocbnn.tables import Profile

if TYPE_CHECKING:
    from ocbnn.projects.scaffold import Scaffold

_WIDTH = 88


def study_text(start: "Scaffold", file: str) -> str:
    """A study file with comments for every choice in it."""
    lines = [
        *_head(start),
        *_data(start, file),
        *_rules(start),
        *_network(),
        *_inference(),
        *_fit(start),
    ]
    # Comments tell of names and words in the table, which may hold line ends.
    return "\n".join(map(one_line, lines))


def _head(start: "Scaffold") -> list[str]:
    return [
        f"# A study of {start.data.name}: {start.rows} rows.",
        "# Lines that begin with # are comments. Change what does not fit, write your",
        f"# rules, then run: ocbnn fit {start.path.name}",
        "",
    ]


def _data(start: "Scaffold", file: str) -> list[str]:
    lines = [
        "[data]",
        "# The table, seen from the folder of this file.",
        f"file = {toml_value(file)}",
        f"# The column to predict: {_about(start.profiles[start.output])}.",
        f"output = {toml_value(start.output)}",
        '# "regression" predicts a number, "classification" one of a few classes.',
        f"task = {toml_value(start.task)}",
        "# The columns to predict from.",
        "inputs = [",
    ]
    lines += [_input(start.profiles[name], start) for name in start.inputs]
    lines.append("]")
    lines += [f"# Left out: {name} ({why})." for name, why in start.left_out.items()]
    lines += [
        "# Inputs that hold names or codes: each of their values becomes an input",
        "# of its own, called column=value, that is 1 or 0.",
        f"categories = {toml_value(start.categories)}",
        '# What to do with rows that lack a value: "refuse" to fit, or "drop" them.',
    ]
    if start.has_gaps:
        used = [start.profiles[name] for name in [*start.inputs, start.output]]
        gaps = [
            f"{profile.name} ({profile.missing})" for profile in used if profile.missing
        ]
        lines.append(f"# Missing here: {listing(gaps)}.")
    return [*lines, 'missing = "refuse"', ""]


def _input(profile: Profile, start: "Scaffold") -> str:
    text = f"    {toml_value(profile.name)},"
    about = f"# {_about(profile)}{_codes(profile, start)}"
    # Only what is said about it is cut short, never the name itself.
    return f"{text:<34}{shorten(about, max(_WIDTH - len(text), _WIDTH // 3))}"


def _codes(profile: Profile, start: "Scaffold") -> str:
    few = profile.whole and 2 < profile.distinct <= 12 and start.rows >= 40
    return "; codes? then see categories" if few else ""


def _about(profile: Profile) -> str:
    gaps = f", {profile.missing} missing" if profile.missing else ""
    if profile.kind == "number":
        kind = "whole numbers" if profile.whole else "numbers"
        width = profile.high - profile.low
        low, high = (spell(end, width, 6) for end in (profile.low, profile.high))
        return f"{kind} {low} to {high}{gaps}"
    return f"{profile.distinct} words: {listing(profile.levels, 3)}{gaps}"


def _rules(start: "Scaffold") -> list[str]:
    lines = [
        "# What you know about the output, and the data may not show. Take the marks",
        "# away from an example and write your own: docs/rules.md has the whole",
        '# language. sampler = "like-data" moves rows of the table into a rule\'s',
        "# region, which is right for tables of many columns. A rule has a price, and",
        "# data may outbid it; tolerance, in the units of the output, makes it cheaper",
        '# or dearer. strength = "firm" searches its whole region, and fits',
        '# until hardly a function breaks it; with strength = "hard" no prediction',
        "# does, and rows that break it are refused: docs/sure.md.",
    ]
    for name, rule in example_rules(start):
        lines += [
            "#",
            "# [[rules]]",
            f"# name = {toml_value(name)}",
            f"# rule = {toml_value(rule)}",
            '# sampler = "like-data"',
        ]
    return [*lines, ""]


def example_rules(start: "Scaffold") -> list[tuple[str, str]]:
    """Two or three rules that could be said, from the ranges that were found."""
    output = start.profiles[start.output]
    name = spell_name(start.output)
    numeric = [start.profiles[n] for n in start.inputs if n not in start.categories]
    varied = [profile for profile in numeric if profile.high > profile.low]
    if start.task == "classification":
        return _class_rules(name, output, varied)
    low, high = _limits(output)
    rules = [("within limits", f"{low} <= {name} <= {high}")]
    if output.low >= 0:
        rules = [("never negative", f"{name} >= 0")]
    if varied:
        first = max(varied, key=lambda profile: profile.distinct)
        region = f"{_upper(first)} <= {spell_name(first.name)} <= {_beyond(first)}"
        rules.append(("at the end", f"if {region} then {low} <= {name} <= {high}"))
        rules.append(("rising", f"{name} rises with {spell_name(first.name)}"))
    return rules


def _class_rules(
    name: str, output: Profile, varied: list[Profile]
) -> list[tuple[str, str]]:
    label = output.levels[0]
    spelled = label if output.kind == "number" else spell_label(label)
    rules = []
    for profile in sorted(varied, key=lambda profile: -profile.distinct)[:2]:
        column = spell_name(profile.name)
        rules.append(
            (
                f"high {_plain(profile.name)}",
                f"if {_upper(profile)} <= {column} <= {_beyond(profile)} then "
                f"{name} in {{{spelled}}}",
            )
        )
    return rules


def _upper(profile: Profile) -> str:
    return spell_number(_rounded(profile.high - 0.1 * (profile.high - profile.low)))


def _beyond(profile: Profile) -> str:
    return spell_number(_rounded(profile.high + 0.2 * (profile.high - profile.low)))


def _limits(profile: Profile) -> tuple[str, str]:
    margin = 0.1 * (profile.high - profile.low)
    low, high = profile.low - margin, profile.high + margin
    low = max(low, 0.0) if profile.low >= 0 else low
    return spell_number(_rounded(low)), spell_number(_rounded(high))


def _rounded(value: float) -> float:
    """Three digits: an example is no measurement."""
    if value == 0 or not math.isfinite(value):
        return 0.0
    digits = 2 - math.floor(math.log10(abs(value)))
    return float(round(value, digits))


def _plain(name: str) -> str:
    words = "".join(c if c.isalnum() or c in " _-" else " " for c in name)
    return " ".join(words.split()) or "values"


def _network() -> list[str]:
    return [
        "[network]",
        "# Units of each hidden layer. More units bend more sharply, and take longer.",
        "hidden = [20]",
        "# rbf makes smooth bumps, tanh goes on to the sides, relu has corners.",
        'activation = "rbf"',
        "",
    ]


def _inference() -> list[str]:
    return [
        "[inference]",
        '# "auto" chooses by the size of table and network; the report says what and',
        '# why. Or name one, and how many runs and moves it makes: "nuts" is exact,',
        '# for small networks; "smc" finds several modes; "mclmc" is for hundreds of',
        '# weights; "svgd" is quick on large tables, with batch_size = 100.',
        'algorithm = "auto"',
        '# algorithm = "nuts"',
        "# chains = 4",
        "# warmup = 500",
        "# draws = 500",
        "",
    ]


def _fit(start: "Scaffold") -> list[str]:
    lines = [
        "[fit]",
        "# Decides every random number: the same seed gives the same result.",
        "seed = 0",
        "# Rows that the fit never sees, for an honest score.",
        "holdout = 0.2",
    ]
    if start.task == "regression":
        lines += [
            "# How far a measurement of the output scatters (its standard deviation),",
            '# if you know it: a number in its own units. "infer" learns it, and',
            '# "varies" how it depends on the inputs.',
            'noise = "infer"',
        ]
    return [*lines, ""]
