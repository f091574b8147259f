"""The text of a first study file, with comments and example rules."""

import math
from typing import TYPE_CHECKING

from ocbnn.core.words import listing, shorten, spell
from ocbnn.language.words import spell_label, spell_name, spell_number
from ocbnn.projects.toml import one_line, toml_value
from ocbnn.tables import Profile

if TYPE_CHECKING:
    from ocbnn.projects.scaffold import Scaffold

_WIDTH = 88


def study_text(scaffold: "Scaffold", file: str) -> str:
    """A study file with comments for every choice in it."""
    lines = [
        *_head(scaffold),
        *_data(scaffold, file),
        *_rules(scaffold),
        *_network(),
        *_inference(),
        *_fit(scaffold),
    ]
    # Comments quote names and words of the table, which may contain line ends.
    return "\n".join(map(one_line, lines))


def _head(scaffold: "Scaffold") -> list[str]:
    return [
        f"# A study of {scaffold.data.name}: {scaffold.rows} rows.",
        "# Lines that begin with # are comments. Change what is wrong, write your",
        f"# rules, then run: ocbnn fit {scaffold.path.name}",
        "",
    ]


def _data(scaffold: "Scaffold", file: str) -> list[str]:
    lines = [
        "[data]",
        "# The table, relative to the folder of this file.",
        f"file = {toml_value(file)}",
        f"# The column to predict: {_about(scaffold.profiles[scaffold.output])}.",
        f"output = {toml_value(scaffold.output)}",
        '# "regression" predicts a number, "classification" one of a few classes.',
        f"task = {toml_value(scaffold.task)}",
        "# The columns to predict from.",
        "inputs = [",
    ]
    lines += [_input(scaffold.profiles[name], scaffold) for name in scaffold.inputs]
    lines.append("]")
    lines += [f"# Left out: {name} ({why})." for name, why in scaffold.left_out.items()]
    lines += [
        "# Inputs that hold names or codes: each value becomes an input of its own,",
        "# called column=value, that is 1 or 0.",
        f"categories = {toml_value(scaffold.categories)}",
        '# Rows with missing values: "refuse" to fit, or "drop" the rows.',
    ]
    if scaffold.has_gaps:
        used = [scaffold.profiles[name] for name in [*scaffold.inputs, scaffold.output]]
        gaps = [
            f"{profile.name} ({profile.missing})" for profile in used if profile.missing
        ]
        lines.append(f"# Missing here: {listing(gaps)}.")
    return [*lines, 'missing = "refuse"', ""]


def _input(profile: Profile, scaffold: "Scaffold") -> str:
    text = f"    {toml_value(profile.name)},"
    about = f"# {_about(profile)}{_codes(profile, scaffold)}"
    # Only the comment is shortened, never the name.
    return f"{text:<34}{shorten(about, max(_WIDTH - len(text), _WIDTH // 3))}"


def _codes(profile: Profile, scaffold: "Scaffold") -> str:
    few = profile.whole and 2 < profile.distinct <= 12 and scaffold.rows >= 40
    return "; codes? then see categories" if few else ""


def _about(profile: Profile) -> str:
    gaps = f", {profile.missing} missing" if profile.missing else ""
    if profile.kind == "number":
        kind = "whole numbers" if profile.whole else "numbers"
        width = profile.high - profile.low
        low, high = (spell(end, width, 6) for end in (profile.low, profile.high))
        return f"{kind} {low} to {high}{gaps}"
    return f"{profile.distinct} words: {listing(profile.levels, 3)}{gaps}"


def _rules(scaffold: "Scaffold") -> list[str]:
    lines = [
        "# What you know about the output that the data may not show. Uncomment an",
        "# example, or write your own: docs/rules.md describes the language.",
        "# Data can outweigh a rule; tolerance, in the units of the output, says how",
        "# easily, and weight how often the rule counts (more is stronger).",
        '# With strength = "firm", the model is fitted again until almost no function',
        "# violates the rule anywhere in its region; under a rule with",
        '# `strength = "hard"`, no prediction does, and rows that contradict it are',
        "# refused: docs/sure.md.",
        '# With rules_by = "projection" below [fit], the fit ignores rules, and its',
        "# functions are then moved to the nearest that obey: docs/projection.md.",
        '# Keep sampler = "like-data" for tables of many columns: it moves rows of the',
        "# table into the rule's region.",
    ]
    for name, rule in example_rules(scaffold):
        lines += [
            "#",
            "# [[rules]]",
            f"# name = {toml_value(name)}",
            f"# rule = {toml_value(rule)}",
            '# sampler = "like-data"',
        ]
    return [*lines, ""]


def example_rules(scaffold: "Scaffold") -> list[tuple[str, str]]:
    """Two or three example rules, from the ranges of columns."""
    output = scaffold.profiles[scaffold.output]
    name = spell_name(scaffold.output)
    numeric = [
        scaffold.profiles[n] for n in scaffold.inputs if n not in scaffold.categories
    ]
    varied = [profile for profile in numeric if profile.high > profile.low]
    if scaffold.task == "classification":
        return _class_rules(name, output, varied)
    low, high = _limits(output)
    rules = [("within limits", f"{low} <= {name} <= {high}")]
    if output.low >= 0:
        rules = [("never negative", f"{name} >= 0")]
    if varied:
        widest = max(varied, key=lambda profile: profile.distinct)
        region = f"{_upper(widest)} <= {spell_name(widest.name)} <= {_beyond(widest)}"
        rules.append(("at the end", f"if {region} then {low} <= {name} <= {high}"))
        rules.append(("rising", f"{name} rises with {spell_name(widest.name)}"))
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
    """Rounded to three digits, which suits an example."""
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
        "# Units of each hidden layer. More units are more flexible, and take longer.",
        "hidden = [20]",
        "# rbf makes smooth bumps, tanh flattens at the sides, relu has corners.",
        'activation = "rbf"',
        "",
    ]


def _inference() -> list[str]:
    return [
        "[inference]",
        '# "auto" chooses by the size of table and network, and the report says why.',
        '# Or name an algorithm and its settings: "nuts" is exact, for small networks;',
        '# "smc" finds several modes; "mclmc" is for hundreds of weights; "svgd" is',
        "# fast on large tables, with batch_size = 100.",
        'algorithm = "auto"',
        '# algorithm = "nuts"',
        "# chains = 4",
        "# warmup = 500",
        "# draws = 500",
        "",
    ]


def _fit(scaffold: "Scaffold") -> list[str]:
    lines = [
        "[fit]",
        "# The same seed gives the same result.",
        "seed = 0",
        "# Share of rows held out from the fit, for an honest score.",
        "holdout = 0.2",
    ]
    if scaffold.task == "regression":
        lines += [
            "# The standard deviation of a measurement in the output's units, if you",
            '# know it. "infer" learns it, and "varies" learns how it depends on the',
            "# inputs.",
            'noise = "infer"',
        ]
    return [*lines, ""]
