"""A certificate in words."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ocbnn.core.advice import Kind, Spelling
from ocbnn.core.choices import free_columns, say_choice, say_levels, say_point
from ocbnn.core.page import block
from ocbnn.core.sentences import Sentence, joined, spelled
from ocbnn.core.words import at_least, listing
from ocbnn.language.words import spell_number
from ocbnn.proofs.search import HOLDS

_MAX_LISTED = 20


def page_of(certificate: Any, spelling: Spelling) -> str:
    """Every rule, the request, and notes for the reader."""
    parts = [rule_page(rule, spelling) for rule in certificate.rules]
    parts += [
        block(f"Rule {name!r}", [f"Not looked at: {why}"])
        for name, why in certificate.skipped.items()
    ]
    if not parts:
        return "There are no rules, so there is nothing to prove."
    about = spelled([*_about(certificate)], spelling)
    return "\n\n".join([*parts, block("About", about)])


def rule_page(rule: Any, spelling: Spelling) -> str:
    """What was proved about one rule."""
    own = ", given as text, which the model may not have" if rule.is_own else ""
    return block(f"Rule {rule.rule!r}{own}", spelled([*_sentences(rule)], spelling))


def _about(certificate: Any) -> Iterator[str]:
    asked = certificate.asked
    if asked.rule is None:
        yield "About every rule of the model that outputs can violate."
    elif asked.is_own:
        yield "About one rule only, given as text."
    else:
        yield f"About rule {asked.rule!r} only; the model may have others."
    status, *why = certificate.verdict
    yield joined(" ", [f"The verdict of the fit is {status!r}.", *why])
    yield f"Model {certificate.model[:16]}."


def _sentences(rule: Any) -> Iterator[str]:
    yield rule.text
    if rule.reading:
        yield rule.reading
    yield from _where(rule)
    yield from _which_draws(rule)
    size = len(rule.draws)
    counts = [round(size * share) for share in (rule.holds, rule.broken)]
    yield f"{counts[0]} of {size} draws keep it at every such input: proved."
    if rule.counterexamples:
        first = rule.counterexamples[0]
        row = rule.places[first.place].row
        near = "" if row is None else f", near row {row}"
        yield (
            f"{counts[1]} {_verb(counts[1], 'violate')} it: proved. Draw {first.draw}, "
            f"for one, at "
            f"{_spell_input(rule, first.x)}{near}."
        )
    if left := size - sum(counts):
        why = "the allowed boxes ran out. More boxes may decide them."
        if rule.stopped:
            why = "it was stopped before. Below they count as violated."
        yield f"{left} {_verb(left, 'remain')} undecided: {why}"
    if rule.is_local:
        yield from _by_row(rule)
    yield from _probability(rule)


def _verb(count: int, word: str) -> str:
    return f"{word}s" if count == 1 else word


def _where(rule: Any) -> Iterator[str]:
    if rule.is_local:
        yield from _which_rows(rule)
    else:
        (place,) = rule.places
        # With all digits, so that the examined region does not seem larger than it is.
        parts = [
            f"{spell_number(place.low[i])} <= {rule.inputs[i]} <= "
            f"{spell_number(place.high[i])}"
            for i in free_columns(len(rule.inputs), rule.choices)
        ]
        parts += [_choice(rule, group) for group in rule.choices]
        yield f"Examined wherever {listing(parts, _MAX_LISTED)}."
    if rule.cut:
        yield (
            f"The rule does not bound {listing(rule.cut, _MAX_LISTED)} on both sides: "
            "there it was examined between the bounds above, and is unknown beyond."
        )
    if rule.narrowed:
        yield (
            "This is only a part of the rule's region, which was restricted along "
            f"{listing(_columns(rule, rule.narrowed), _MAX_LISTED)}. It is unknown "
            "beyond."
        )


def _choice(rule: Any, group: tuple[int, ...]) -> str:
    """The examined levels of a category."""
    name, levels = say_choice(rule.inputs, group)
    sentence = say_levels(rule.inputs, group, rule.places[0].high)
    return sentence or f"{name} is any of {listing(levels, _MAX_LISTED)}"


def _columns(rule: Any, names: Iterable[str]) -> list[str]:
    """Names of inputs; the inputs of a category have its name."""
    titles = {
        rule.inputs[column]: say_choice(rule.inputs, group)[0]
        for group in rule.choices
        for column in group
    }
    return list(dict.fromkeys(titles.get(name, name) for name in names))


def _which_rows(rule: Any) -> Iterator[str]:
    around = rule.around
    rows = "the one row" if around.rows == 1 else f"all {around.rows} rows"
    if around.looked_at < around.rows:
        rows = f"{around.looked_at} of {around.rows} rows"
    yield (
        f"Examined around {rows}, every input no further from a row than its tolerance."
    )
    if around.outside:
        yield (
            "Left out, because the rule does not apply to them even with their "
            f"tolerance: {_rows(around.outside)}."
        )
    if around.missing:
        yield f"Left out, because an input is missing: {_rows(around.missing)}."
    free = free_columns(len(rule.inputs), rule.choices)
    tolerances = [
        # A tolerance below one cannot change a category.
        (name, tolerance if column in free or tolerance >= 1 else 0.0)
        for column, (name, tolerance) in enumerate(
            zip(rule.inputs, around.tolerance, strict=True)
        )
    ]
    given = [
        f"{name} {spell_number(tolerance)}"
        for name, tolerance in tolerances
        if tolerance
    ]
    exact = _columns(rule, (name for name, tolerance in tolerances if not tolerance))
    if given:
        yield f"Tolerances: {listing(given, _MAX_LISTED)}."
    if exact:
        names = listing(exact, _MAX_LISTED)
        yield f"Without a tolerance, exactly as in the row: {names}."


def _rows(numbers: tuple[int, ...]) -> str:
    return f"row{'s' * (len(numbers) > 1)} {listing(numbers, _MAX_LISTED)}"


def _which_draws(rule: Any) -> Iterator[str]:
    size = len(rule.draws)
    if size < rule.available:
        yield Sentence(
            f"Examined {size} of the model's {rule.available} draws, evenly chosen. "
            "For every one, ask for all draws: ",
            Kind.ALL_DRAWS,
            ".",
        )


def _by_row(rule: Any) -> Iterator[str]:
    count = len(rule.places)
    kept = np.all(rule.status == HOLDS, axis=1)
    yield (
        f"Decided for all draws at {round(rule.decided_places * count)} of the {count} "
        f"rows examined; kept by all draws at {int(kept.sum())} of them."
    )
    if not kept.all():
        unproved = [p.row for p, k in zip(rule.places, kept, strict=True) if not k]
        yield f"Not proved for all draws at {_rows(tuple(unproved))}."


def _probability(rule: Any) -> Iterator[str]:
    if rule.is_masked:
        yield "So does every other draw."
        return
    how = "taking the draws as independent, which they need not be"
    if rule.effective is not None:
        count = f"{rule.effective:.0f}"
        how = f"from {count} effective draw{'s' * (count != '1')}"
    yield (
        f"So with {100 * rule.confidence:g} % confidence, a new draw of the posterior "
        "keeps the rule at all these inputs with probability "
        f"{at_least(rule.probability)} or more ({how}). By these draws alone it would "
        f"be {at_least(rule.holds)}."
    )


def _spell_input(rule: Any, x: tuple[float, ...]) -> str:
    low = np.min([place.low for place in rule.places], axis=0)
    widths = np.max([place.high for place in rule.places], axis=0) - low
    return listing(
        say_point(rule.inputs, x, rule.choices, widths.tolist()), _MAX_LISTED
    )
