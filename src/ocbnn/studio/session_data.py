"""A session's table and rules, read and checked while a person is still editing."""

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
# Number of tables kept in memory.
_KEPT = 64
_MOST_SHOWN, _FIRST = 2000, 8


@functools.lru_cache(_KEPT)
def profiles_of(path: Path) -> dict[str, Profile]:
    """A profile of every column of a table; a session's table never changes."""
    with open_table(path) as table:
        return {name: table.profile(name) for name in table.names}


@functools.lru_cache(_KEPT)
def first_rows(path: Path) -> list[list[str | None]]:
    """The first rows of a table as text, with their gaps."""
    with open_table(path) as table:
        columns = [table.texts(name, 0, _FIRST) for name in table.names]
    return [list(row) for row in zip(*columns, strict=True)]


@functools.lru_cache(_KEPT)
def _rows(folder: Path, data: str) -> Rows:
    study = study_of(Source(_STUDY, data, folder))
    with open_table(study.table) as table:
        return read_rows(study, table)


def rows_of(folder: Path, data: DataChoice) -> Rows:
    """The rows of the columns that a document chooses.

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
    """A document and the result of checking it.

    Attributes
    ----------
    document
        The document, with its view filled in.
    rows
        The table's rows; None if they cannot be read.
    bounds
        Every valid rule by its id, bound to the table.
    lines
        What the page shows about every rule.
    problem
        Why the document cannot be fitted; empty if it can.
    choice
        The plan that `auto` chooses, and why.
    """

    document: Document
    rows: Rows | None
    bounds: dict[str, BoundRule]
    lines: list[dict[str, Any]]
    problem: str = ""
    choice: str = ""

    @property
    def window(self) -> Viewport | None:
        """The document's view, resolved against the table."""
        if self.rows is None:
            return None
        return window(self.document.view, self.rows, tuple(self.bounds.values()))

    def active(self) -> tuple[BoundRule, ...]:
        """The valid rules that are on."""
        on = [rule.id for rule in self.document.active]
        return tuple(self.bounds[rule_id] for rule_id in on if rule_id in self.bounds)


def checked(folder: Path, document: Document) -> CheckedDocument:
    """Check everything in a document."""
    problem, rows = "", None
    try:
        rows = rows_of(folder, document.data)
    except OcbnnError as error:
        problem = message(error, folder)
    schema = None if rows is None else rows.schema
    rules = {rule.id: _rule(rule, schema) for rule in document.rules}
    bounds = {rule_id: rule for rule_id, (rule, _) in rules.items() if rule is not None}
    viewport = None
    if rows is not None:
        try:
            view = filled_in(document.view, rows, tuple(bounds.values()))
        except OcbnnError:
            # The view names columns that are no longer used.
            reset = document.view.model_copy(update={"along": [], "output": None})
            view = filled_in(reset, rows, tuple(bounds.values()))
        document = document.model_copy(update={"view": view})
        viewport = window(view, rows, tuple(bounds.values()))
    lines = [_line(rule, *rules[rule.id], viewport) for rule in document.rules]
    checks = CheckedDocument(document, rows, bounds, lines, problem)
    return checks if rows is None else _with_choice(folder, checks)


def study_for(folder: Path, document: Document, *, with_rules: bool = True) -> Study:
    """The study that a document describes.

    Raises
    ------
    OcbnnError
        When the document is invalid.
    """
    text = study_text(document, with_rules=with_rules)
    return study_of(Source(_STUDY, text, folder))


def _with_choice(folder: Path, checks: CheckedDocument) -> CheckedDocument:
    """The same checks, with the plan or the problem of the whole study."""
    assert checks.rows is not None
    invalid = [line for line in checks.lines if line["error"] and line["on"]]
    if invalid:
        return dataclasses.replace(
            checks, problem="A rule cannot be read; see the list of rules."
        )
    try:
        study = study_for(folder, checks.document)
        bounds = bind_rules(list(study.rules), checks.rows.schema)
        clash = find_conflict(bounds, checks.rows.X)
        if clash is not None:
            raise RuleError(clash.message())
        choice = choice_for(study, checks.rows.schema, bounds, len(checks.rows.X))
    except OcbnnError as error:
        return dataclasses.replace(checks, problem=message(error, folder))
    reason = spelled(choice.reason, on_page)
    sentence = f"{choice.plan.label}: {reason}" if reason else ""
    return dataclasses.replace(checks, choice=sentence)


def _rule(
    rule: RuleLine, schema: Schema | None
) -> tuple[BoundRule | None, dict[str, Any] | None]:
    try:
        parsed = parse_rule(rule.text)
        return (None if schema is None else bind(parsed, schema)), None
    except RuleSyntaxError as error:
        suggestion = "" if schema is None else meant_column(rule.text, schema)
        problem = suggestion or spelled(error.reason, on_page)
        return None, {"message": problem, "start": error.at}
    except OcbnnError as error:
        return None, {"message": message(error), "start": None}


def _line(
    rule: RuleLine,
    bound: BoundRule | None,
    error: dict[str, Any] | None,
    viewport: Viewport | None,
) -> dict[str, Any]:
    common: dict[str, Any] = {"id": rule.id, "on": rule.on, "error": error}
    if bound is None:
        return common | {"name": "", "words": "", "strict": None, "shape": None}
    shape = None if viewport is None else shape_of(bound, viewport)
    return common | {
        "name": bound.name,
        "words": in_words(bound.rule),
        "strict": strictness_of(bound),
        "shape": shape,
    }
