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

_MOST = 20


def page_of(certificate: Any, spelling: Spelling) -> str:
    """Every rule, what was asked, and what else a reader should know."""
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
    own = ", which was given as text and need not be the model's" if rule.is_own else ""
    return block(f"Rule {rule.rule!r}{own}", spelled([*_sentences(rule)], spelling))


def _about(certificate: Any) -> Iterator[str]:
    asked = certificate.asked
    if asked.rule is None:
        yield "Asked about every rule of the model that outputs can break."
    elif asked.is_own:
        yield "Asked about one rule alone, given as text."
    else:
        yield f"Asked about rule {asked.rule!r} alone; the model may have others."
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
    counts = [round(size * one) for one in (rule.holds, rule.broken)]
    yield f"{counts[0]} of {size} draws keep it at every such input: proved."
    if rule.counterexamples:
        first = rule.counterexamples[0]
        row = rule.places[first.place].row
        near = "" if row is None else f", near row {row}"
        yield (
            f"{counts[1]} {_verb(counts[1], 'break')} it: proved. Draw {first.draw}, "
            f"for one, at "
            f"{_spelled(rule, first.x)}{near}."
        )
    if left := size - sum(counts):
        why = "the boxes that were allowed ran out. More may decide them."
        if rule.stopped:
            why = "it was stopped before. What follows takes them for broken."
        yield f"{left} {_verb(left, 'remain')} undecided: {why}"
    if rule.is_local:
        yield from _by_row(rule)
    yield from _probable(rule)


def _verb(count: int, word: str) -> str:
    return f"{word}s" if count == 1 else word


def _where(rule: Any) -> Iterator[str]:
    if rule.is_local:
        yield from _which_rows(rule)
    else:
        (place,) = rule.places
        # With all their digits: what was not looked at must not seem to be.
        spoken = [
            f"{spell_number(place.low[i])} <= {rule.inputs[i]} <= "
            f"{spell_number(place.high[i])}"
            for i in free_columns(len(rule.inputs), rule.choices)
        ]
        spoken += [_choice(rule, group) for group in rule.choices]
        yield f"Looked at wherever {listing(spoken, _MOST)}."
    if rule.cut:
        yield (
            f"The rule does not bound {listing(rule.cut, _MOST)} on both sides: there "
            "it was looked at between the bounds above, and is unknown beyond."
        )
    if rule.narrowed:
        yield (
            "That is only a part of the rule's region: less of "
            f"{listing(_columns(rule, rule.narrowed), _MOST)} was asked for. It is "
            "unknown beyond."
        )


def _choice(rule: Any, group: tuple[int, ...]) -> str:
    """What of a category was looked at."""
    name, levels = say_choice(rule.inputs, group)
    said = say_levels(rule.inputs, group, rule.places[0].high)
    return said or f"{name} is any of {listing(levels, _MOST)}"


def _columns(rule: Any, names: Iterable[str]) -> list[str]:
    """Inputs, those of a category by its name."""
    titles = {
        rule.inputs[column]: say_choice(rule.inputs, group)[0]
        for group in rule.choices
        for column in group
    }
    return list(dict.fromkeys(titles.get(name, name) for name in names))


def _which_rows(rule: Any) -> Iterator[str]:
    around = rule.around
    whole = "the one row" if around.rows == 1 else f"all {around.rows} rows"
    some = f"{around.looked_at} of {around.rows} rows"
    yield (
        f"Looked at around {whole if around.looked_at == around.rows else some}, every "
        "input no further from a row than its tolerance."
    )
    if around.outside:
        yield (
            f"Left out, because the rule does not speak of them even with their "
            f"tolerance: {_rows(around.outside)}."
        )
    if around.missing:
        yield f"Left out, because they lack an input: {_rows(around.missing)}."
    free = free_columns(len(rule.inputs), rule.choices)
    named = [
        # Less than one leaves a category what it is.
        (name, away if column in free or away >= 1 else 0.0)
        for column, (name, away) in enumerate(
            zip(rule.inputs, around.tolerance, strict=True)
        )
    ]
    given = [f"{name} {spell_number(away)}" for name, away in named if away]
    exact = _columns(rule, (name for name, away in named if not away))
    if given:
        yield f"Tolerances: {listing(given, _MOST)}."
    if exact:
        yield f"Without a tolerance, exactly as in the row: {listing(exact, _MOST)}."


def _rows(numbers: tuple[int, ...]) -> str:
    return f"row{'s' * (len(numbers) > 1)} {listing(numbers, _MOST)}"


def _which_draws(rule: Any) -> Iterator[str]:
    size = len(rule.draws)
    if size < rule.available:
        yield Sentence(
            f"Looked at {size} of the model's {rule.available} draws, evenly chosen. "
            "For every one, ask for all draws: ",
            Kind.ALL_DRAWS,
            ".",
        )


def _by_row(rule: Any) -> Iterator[str]:
    count = len(rule.places)
    kept = np.all(rule.status == HOLDS, axis=1)
    yield (
        f"Decided for all draws at {round(rule.decided_places * count)} of the {count} "
        f"rows looked at; kept by all draws at {int(kept.sum())} of them."
    )
    if not kept.all():
        others = [p.row for p, k in zip(rule.places, kept, strict=True) if not k]
        yield f"Not proved for all draws at {_rows(tuple(others))}."


def _probable(rule: Any) -> Iterator[str]:
    if rule.is_masked:
        yield "So does every draw that was not looked at."
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


def _spelled(rule: Any, x: tuple[float, ...]) -> str:
    low = np.min([place.low for place in rule.places], axis=0)
    widths = np.max([place.high for place in rule.places], axis=0) - low
    return listing(say_point(rule.inputs, x, rule.choices, widths.tolist()), _MOST)
