"""A session's table and rules, read and checked while a person still writes."""

import dataclasses
import functools
from pathlib import Path
from typing import Any

from ocbnn.core.sentences import spelled
from ocbnn.errors import OcbnnError, RuleError, RuleSyntaxError
from ocbnn.inference import AUTO, PLANS
from ocbnn.language.columns import meant_column
from ocbnn.priors.rulebook import bind_rules
from ocbnn.projects.build import choice_for
from ocbnn.projects.columns import Rows, read_rows
from ocbnn.projects.source import Source
from ocbnn.projects.study import Study, study_of
from ocbnn.rules import BoundRule, Schema, bind, find_conflict, parse_rule
from ocbnn.studio.document import DataChoice, Document, RuleLine, study_text
from ocbnn.studio.drawing import shape_of
from ocbnn.studio.page_advice import message, on_page
from ocbnn.studio.sentences import in_words
from ocbnn.studio.strictness import strictness_of
from ocbnn.studio.viewport import Viewport, filled_in, window
from ocbnn.tables import Profile, open_table

ALGORITHMS = [AUTO, *PLANS]
_STUDY = Path("study.toml")
# Tables kept in memory, most recently used.
_KEPT = 64
_MOST_SHOWN, _FIRST = 2000, 8


@functools.lru_cache(_KEPT)
def profiles_of(path: Path) -> dict[str, Profile]:
    """Every column of a table, summed up. A session's table never changes."""
    with open_table(path) as table:
        return {name: table.profile(name) for name in table.names}


@functools.lru_cache(_KEPT)
def first_rows(path: Path) -> list[list[str | None]]:
    """The first rows of a table as they are, with their gaps."""
    with open_table(path) as table:
        columns = [table.texts(name, 0, _FIRST) for name in table.names]
    return [list(row) for row in zip(*columns, strict=True)]


@functools.lru_cache(_KEPT)
def _rows(folder: Path, data: str) -> Rows:
    study = study_of(Source(_STUDY, data, folder))
    with open_table(study.table) as table:
        return read_rows(study, table)


def rows_of(folder: Path, data: DataChoice) -> Rows:
    """The rows that a document's choice of columns stands for.

    Raises
    ------
    OcbnnError
        When they cannot be read.
    """
    alone = Document(title="", data=data)
    return _rows(folder, study_text(alone, with_rules=False))


def shown_rows(folder: Path, data: DataChoice) -> dict[str, Any]:
    """Some rows for a plot: numbers, and labels as text."""
    rows = rows_of(folder, data)
    step = max(1, -(-len(rows.X) // _MOST_SHOWN))
    X, y = rows.X[::step], rows.y[::step]
    columns = dict(zip(rows.schema.inputs, X.T.tolist(), strict=True))
    if rows.schema.classes is None:
        columns |= dict(zip(rows.schema.outputs, y.T.tolist(), strict=True))
    else:
        columns[rows.schema.outputs[0]] = [str(label) for label in y]
    return {"columns": columns, "shown": len(X), "rows": len(rows.X)}


@dataclasses.dataclass(frozen=True)
class CheckedDocument:
    """What can be said about a document.

    Attributes
    ----------
    document
        The same, with its view filled in.
    rows
        The table's rows; None where they cannot be read.
    bounds
        Each rule that means something, by its id.
    lines
        What the page says about every rule.
    problem
        Why it cannot be fitted; empty when it can.
    choice
        What `auto` would take, and why.
    """

    document: Document
    rows: Rows | None
    bounds: dict[str, BoundRule]
    lines: list[dict[str, Any]]
    problem: str = ""
    choice: str = ""

    @property
    def window(self) -> Viewport | None:
        """What the document's view shows."""
        if self.rows is None:
            return None
        return window(self.document.view, self.rows, tuple(self.bounds.values()))

    def active(self) -> tuple[BoundRule, ...]:
        """The rules that are on and mean something."""
        on = [rule.id for rule in self.document.active]
        return tuple(self.bounds[rule_id] for rule_id in on if rule_id in self.bounds)


def checked(folder: Path, document: Document) -> CheckedDocument:
    """Look at all that a document says."""
    problem, rows = "", None
    try:
        rows = rows_of(folder, document.data)
    except OcbnnError as error:
        problem = message(error, folder)
    schema = None if rows is None else rows.schema
    rules = {rule.id: _rule(rule, schema) for rule in document.rules}
    bounds = {rule_id: rule for rule_id, (rule, _) in rules.items() if rule is not None}
    seen = None
    if rows is not None:
        try:
            view = filled_in(document.view, rows, tuple(bounds.values()))
        except OcbnnError:
            # The columns have changed under the view.
            empty = document.view.model_copy(update={"along": [], "output": None})
            view = filled_in(empty, rows, tuple(bounds.values()))
        document = document.model_copy(update={"view": view})
        seen = window(view, rows, tuple(bounds.values()))
    lines = [_line(rule, *rules[rule.id], seen) for rule in document.rules]
    made = CheckedDocument(document, rows, bounds, lines, problem)
    return made if rows is None else _whole(folder, made)


def study_for(folder: Path, document: Document, *, with_rules: bool = True) -> Study:
    """The study that a document stands for.

    Raises
    ------
    OcbnnError
        When it says what cannot be.
    """
    text = study_text(document, with_rules=with_rules)
    return study_of(Source(_STUDY, text, folder))


def _whole(folder: Path, made: CheckedDocument) -> CheckedDocument:
    """Whether all of it can be fitted, and how."""
    assert made.rows is not None
    broken = [line for line in made.lines if line["error"] and line["on"]]
    if broken:
        return dataclasses.replace(made, problem="A rule cannot be read; see the list.")
    try:
        study = study_for(folder, made.document)
        bounds = bind_rules(list(study.rules), made.rows.schema)
        clash = find_conflict(bounds, made.rows.X)
        if clash is not None:
            raise RuleError(clash.message())
        choice = choice_for(study, made.rows.schema, bounds, len(made.rows.X))
    except OcbnnError as error:
        return dataclasses.replace(made, problem=message(error, folder))
    reason = spelled(choice.reason, on_page)
    sentence = f"{choice.plan.label}: {reason}" if reason else ""
    return dataclasses.replace(made, choice=sentence)


def _rule(
    rule: RuleLine, schema: Schema | None
) -> tuple[BoundRule | None, dict[str, Any] | None]:
    try:
        parsed = parse_rule(rule.text)
        return (None if schema is None else bind(parsed, schema)), None
    except RuleSyntaxError as error:
        meant = "" if schema is None else meant_column(rule.text, schema)
        problem = meant or spelled(error.reason, on_page)
        return None, {"message": problem, "start": error.at}
    except OcbnnError as error:
        return None, {"message": message(error), "start": None}


def _line(
    rule: RuleLine,
    bound: BoundRule | None,
    error: dict[str, Any] | None,
    seen: Viewport | None,
) -> dict[str, Any]:
    common: dict[str, Any] = {"id": rule.id, "on": rule.on, "error": error}
    if bound is None:
        return common | {"name": "", "words": "", "strict": None, "shape": None}
    shape = None if seen is None else shape_of(bound, seen)
    return common | {
        "name": bound.name,
        "words": in_words(bound.rule),
        "strict": strictness_of(bound),
        "shape": shape,
    }
