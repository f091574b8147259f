"""Binding rules without a fitted model: their columns follow from the rules."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ocbnn.claims import WrittenClaim
from ocbnn.core.choices import Choices, are_choices
from ocbnn.core.words import listing
from ocbnn.errors import DataError, RuleError
from ocbnn.language.normal_form import leaves, names, slopes_in
from ocbnn.language.schema import Schema
from ocbnn.language.tree import Membership, Name
from ocbnn.language.words import Label
from ocbnn.rules.bind import bind
from ocbnn.rules.bound import BoundRule
from ocbnn.rules.parse import parse_rule
from ocbnn.rules.point_feasibility import is_constant, is_judged
from ocbnn.rules.rule import Rule

# The name of the only input if rules mention none.
_NO_INPUT = "input"


def bind_standalone(
    rules: Any,
    X: Any,
    inputs: Iterable[str] | str | None,
    outputs: Iterable[str] | str | None,
    classes: Iterable[Label] | None,
) -> tuple[list[BoundRule], np.ndarray]:
    """Bind the user's rules, and put their rows into the order of the columns.

    Without `X`, return one row of zeros.

    Raises
    ------
    RuleError
        When it is unclear which names are inputs and which outputs, or where to
        look.
    DataError
        When rows do not have the inputs' columns.
    """
    items = [rules] if isinstance(rules, (str, Rule, BoundRule)) else list(rules)
    parsed = [parse_rule(rule) if isinstance(rule, str) else rule for rule in items]
    for rule in parsed:
        if not isinstance(rule, (Rule, BoundRule)):
            raise RuleError(
                "rules are texts, rules or bound rules, got "
                f'{type(rule).__name__}: {rule!r}. Write ["if x < 0 then y > 0"].'
            )
    schema = _shared([rule.schema for rule in parsed if isinstance(rule, BoundRule)])
    unbound = [rule for rule in parsed if isinstance(rule, Rule)]
    is_ordered = schema is not None or inputs is not None or hasattr(X, "columns")
    if schema is None and unbound:
        schema = _Columns(unbound, X, inputs, outputs, classes).schema()
        rows = None if X is None else _rows(X, schema.inputs, is_ordered=is_ordered)
        choices = _choices_by_name(schema.inputs, rows)
        schema = dataclasses.replace(schema, choices=choices)
    if schema is None:
        return [], np.zeros((0, 0))
    bounds = [b if isinstance(b, BoundRule) else bind(b, schema) for b in parsed]
    if X is None:
        _require_bounds(bounds)
        return bounds, np.zeros((1, len(schema.inputs)))
    return bounds, _rows(X, schema.inputs, is_ordered=is_ordered)


def _shared(schemas: Sequence[Schema]) -> Schema | None:
    if any(schema != schemas[0] for schema in schemas):
        raise RuleError(
            "rules can be compared where all are bound to the same columns. Bind them "
            "to one schema, or give them as texts."
        )
    return schemas[0] if schemas else None


def _rows(X: Any, inputs: tuple[str, ...], *, is_ordered: bool) -> np.ndarray:
    if hasattr(X, "columns"):
        missing = [name for name in inputs if name not in list(X.columns)]
        if missing:
            raise DataError(
                f"X has no column {missing[0]!r}, which rules mention. It has "
                f"{listing(map(str, X.columns))}."
            )
        X = X[list(inputs)].to_numpy()
    elif not is_ordered and len(inputs) > 1:
        raise RuleError(
            f"the columns of X have no names, and rules mention {listing(inputs)}. "
            f"Write inputs={list(inputs)} in the order of the columns."
        )
    rows = np.asarray(X, np.float64)
    if rows.ndim != 2 or rows.shape[1] != len(inputs):
        raise DataError(
            f"X has one row per case and one column per input ({listing(inputs)}), got "
            f"the shape {rows.shape}."
        )
    return rows


def _choices_by_name(inputs: tuple[str, ...], rows: np.ndarray | None) -> Choices:
    """Columns named like `who=ada` and `who=bob` are one choice, unless rows differ."""
    groups: dict[str, list[int]] = {}
    for index, name in enumerate(inputs):
        column, sign, _ = name.partition("=")
        if sign:
            groups.setdefault(column, []).append(index)
    candidates = (tuple(group) for group in groups.values() if len(group) > 1)
    return tuple(
        group
        for group in candidates
        if rows is None or are_choices(rows, (group,)).all()
    )


def _require_bounds(bounds: Sequence[BoundRule]) -> None:
    """Raise an error if nothing says at which inputs to compare the rules."""
    for bound in bounds:
        if not is_judged(bound) or bound.slopes:
            continue
        mentioned = bound.mentions("input")
        lower, upper = bound.region.box()
        is_bounded = np.isfinite(lower[mentioned]) & np.isfinite(upper[mentioned])
        if is_constant(bound):
            # Thresholds suffice; a region of another shape needs one bounded input.
            is_enough = bound.region.edges() is not None or is_bounded.any()
        else:
            is_enough = is_bounded.all()
        if not is_enough:
            named = listing(bound.schema.inputs[column] for column in mentioned)
            raise RuleError(
                f"what rule {bound.name!r} says depends on {named}, which its region "
                "does not bound. Say where to look: X=rows of inputs, or a region."
            )


class _Columns:
    """Sorts names into inputs and outputs, as far as rules say which is which."""

    def __init__(
        self,
        rules: Sequence[Rule],
        X: Any,
        inputs: Iterable[str] | str | None,
        outputs: Iterable[str] | str | None,
        classes: Iterable[Label] | None,
    ) -> None:
        self._rules, self._classes = rules, None if classes is None else tuple(classes)
        self._outputs = dict.fromkeys(_as_names(outputs))
        self._inputs = dict.fromkeys(_as_names(inputs))
        columns = getattr(X, "columns", None)
        if inputs is None and columns is not None:
            column_names = (str(name) for name in columns)
            self._inputs = {
                name: None for name in column_names if name not in self._outputs
            }
        self._knows_inputs, self._knows_outputs = bool(self._inputs), bool(outputs)

    def schema(self) -> Schema:
        for rule in self._rules:
            self._sort_certain(rule)
        for rule in self._rules:
            self._sort_single(rule)
        for rule in self._rules:
            if unclear := self._unclear(rule):
                raise RuleError(
                    f"rule {str(rule)!r} does not say which of "
                    f"{listing(map(repr, unclear))} are outputs. Write "
                    f"outputs={unclear[:1]}, or inputs=[...]."
                )
        return Schema(
            tuple(self._inputs) or (_NO_INPUT,), tuple(self._outputs), self._classes
        )

    def _sort_certain(self, rule: Rule) -> None:
        """Add names whose role is clear: from regions, slopes, classes and means."""
        if rule.where is not None:
            self._add(names(rule.where), is_input=True)
        for part in _claims(rule):
            for slope in slopes_in(part):
                self._add([slope.output], is_input=False)
                self._add(slope.inputs, is_input=True)
            for leaf in leaves(part):
                if isinstance(leaf, Membership):
                    self._require_classes(rule)
                    self._add([leaf.output], is_input=False)
                elif isinstance(leaf, Name) and leaf.role is not None:
                    self._add([leaf], is_input=leaf.role == "input")
        if isinstance(rule.claim, WrittenClaim):
            for tree in rule.claim.input_trees:
                self._add(names(tree), is_input=True)

    def _sort_single(self, rule: Rule) -> None:
        """Add names whose role follows from what is known about the others."""
        unclear = self._unclear(rule)
        if self._knows_inputs or (len(unclear) == 1 and not self._has_output(rule)):
            self._outputs |= dict.fromkeys(unclear)
        elif self._knows_outputs:
            self._inputs |= dict.fromkeys(unclear)

    def _unclear(self, rule: Rule) -> list[str]:
        mentioned = (name.name for part in _claims(rule) for name in names(part))
        sorted_names = self._inputs | self._outputs
        return [name for name in dict.fromkeys(mentioned) if name not in sorted_names]

    def _has_output(self, rule: Rule) -> bool:
        mentioned = (name.name for part in _claims(rule) for name in names(part))
        return any(name in self._outputs for name in mentioned)

    def _require_classes(self, rule: Rule) -> None:
        if self._classes is None:
            raise RuleError(
                f"rule {str(rule)!r} is about classes, and which of them it leaves "
                'depends on how many there are. Write classes=["a", "b"].'
            )

    def _add(self, nodes: Iterable[object], *, is_input: bool) -> None:
        group, opposite = self._inputs, self._outputs
        if not is_input:
            group, opposite = opposite, group
        for node in nodes:
            if isinstance(node, Name) and node.name not in opposite:
                group.setdefault(node.name)


def _claims(rule: Rule) -> Iterator[Any]:
    if isinstance(rule.claim, WrittenClaim):
        yield from rule.claim.trees
    else:
        yield rule.claim


def _as_names(names: Iterable[str] | str | None) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names or ())
