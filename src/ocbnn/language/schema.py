"""The names that a rule can mention: inputs, outputs, and the classes of an output."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from ocbnn.core.choices import Choices
from ocbnn.core.words import listing, shorten, suggest
from ocbnn.errors import RuleError
from ocbnn.language.tree import Column, Name
from ocbnn.language.words import Label, as_label


@dataclasses.dataclass(frozen=True)
class Schema:
    """The names of the columns, and of the classes if the output is a label.

    Parameters
    ----------
    inputs
        Names of the inputs, in the order of the columns.
    outputs
        Names of the outputs, likewise.
    classes
        The labels of a single output, in the order of their numbers; None if outputs
        are numbers.
    choices
        Groups of inputs that are one choice, by name or position: exactly one of each
        group is 1, and the others are 0.

    Raises
    ------
    RuleError
        When names or classes are missing or occur twice, or an input of `choices` is
        not there or in two groups.

    Examples
    --------
    >>> Schema(("age", "bp"), ("action",), ("wait", "treat")).is_classification
    True
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    classes: tuple[Label, ...] | None = None
    # Not in the repr, so that digests of older models stay valid.
    choices: Choices = dataclasses.field(default=(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", _names(self.inputs, "inputs"))
        object.__setattr__(self, "outputs", _names(self.outputs, "outputs"))
        counts = Counter(self.inputs + self.outputs)
        duplicates = sorted(name for name, count in counts.items() if count > 1)
        if duplicates:
            raise RuleError(
                f"each input and output needs a different name, but these occur twice: "
                f"{listing(duplicates)}. Rename the columns."
            )
        if self.classes is not None:
            self._check_classes(self.classes)
        object.__setattr__(self, "choices", as_choices(self.choices, self.inputs))

    def _check_classes(self, classes: Iterable[object]) -> None:
        labels = tuple(as_label(label) for label in classes)
        object.__setattr__(self, "classes", labels)
        if len(labels) < 2 or len({str(label) for label in labels}) < len(labels):
            raise RuleError(
                f"classes are two or more different labels, got ({listing(labels)})."
            )
        if len(self.outputs) != 1:
            raise RuleError(
                "classes belong to a single output, got the outputs "
                f"{listing(self.outputs)}. Name one output."
            )

    @property
    def is_classification(self) -> bool:
        """Whether the output is a class label."""
        return self.classes is not None

    def column(self, name: Name) -> Column:
        """Find a name among the inputs and outputs.

        Parameters
        ----------
        name
            A name, with a role if it was named by `inputs` or `outputs`.

        Raises
        ------
        RuleError
            When no column has the name, or its role is another.
        """
        if name.name in self.inputs:
            column = Column("input", self.inputs.index(name.name), name.name)
        elif name.name in self.outputs:
            column = Column("output", self.outputs.index(name.name), name.name)
        else:
            suggestion = self._suggestion(name.name)
            raise RuleError(
                f"there is no column {shorten(str(name))}.{suggestion} Inputs: "
                f"{listing(self.inputs)}; outputs: {listing(self.outputs)}."
            )
        if name.role not in (None, column.kind):
            raise RuleError(
                f"{name} was named as an {name.role}, but is an {column.kind} here. "
                f'Write `{column.kind}s("{name.name}")`.'
            )
        return column

    def _suggestion(self, name: str) -> str:
        # A categorical column is one input per category: `colour=red`.
        parts = [column for column in self.inputs if column.startswith(f"{name}=")]
        if parts:
            return f" Did you mean `` `{parts[0]}` >= 0.5 ``?"
        return suggest(name, self.inputs + self.outputs)

    def class_index(self, label: Label) -> int:
        """Find a label among the classes, by equality or by its text.

        Parameters
        ----------
        label
            The label.

        Returns
        -------
        int
            Its position in `classes`.

        Raises
        ------
        RuleError
            When there is no such class.
        """
        classes = self.classes or ()
        for index, candidate in enumerate(classes):
            if label == candidate and isinstance(label, bool) == isinstance(
                candidate, bool
            ):
                return index
        texts = [str(candidate) for candidate in classes]
        if str(label) in texts:
            return texts.index(str(label))
        raise RuleError(
            f"there is no class `{shorten(str(label))}`.{suggest(label, texts)} "
            f"Classes: {listing(texts)}."
        )


def as_choices(choices: object, inputs: Sequence[str]) -> Choices:
    """Groups of inputs that are one choice, by name or position, as positions.

    >>> as_choices([["a=1", "a=2"]], ["x", "a=1", "a=2"])
    ((1, 2),)
    """
    if choices is None:
        return ()
    groups: list[tuple[int, ...]] = []
    used: set[int] = set()
    if isinstance(choices, (str, bytes)) or not isinstance(choices, Iterable):
        raise RuleError(f"`choices` are groups of inputs, got {choices!r}.{_GROUPS}")
    for group in choices:
        if isinstance(group, (str, bytes)) or not isinstance(group, Iterable):
            raise RuleError(f"a group of `choices` is a list, got {group!r}.{_GROUPS}")
        positions = tuple(_position(member, inputs) for member in group)
        if (
            len(positions) < 2
            or len({*positions}) < len(positions)
            or used & {*positions}
        ):
            named = listing(inputs[position] for position in positions)
            raise RuleError(
                f"a group of `choices` has two or more inputs, and each input is in "
                f"one group only, got ({named}).{_GROUPS}"
            )
        used |= {*positions}
        groups.append(positions)
    return tuple(groups)


_GROUPS = ' Write choices=[["clinic=east", "clinic=north"]].'


def _position(member: object, inputs: Sequence[str]) -> int:
    if isinstance(member, str) and member in inputs:
        return inputs.index(member)
    is_whole = isinstance(member, (int, np.integer)) and not isinstance(member, bool)
    if is_whole and 0 <= member < len(inputs):  # pyright: ignore[reportOperatorIssue]
        return int(member)  # pyright: ignore[reportArgumentType]
    raise RuleError(
        f"`choices` mention {member!r}, which is not an input: {listing(inputs)}."
        f"{suggest(member, inputs)}"
    )


def _names(names: Iterable[object], role: str) -> tuple[str, ...]:
    if isinstance(names, str):
        raise RuleError(f'`{role}` are a tuple of names. Write `("{names}",)`.')
    checked = tuple(names)
    for name in checked:
        if not isinstance(name, str) or not name:
            raise RuleError(f"`{role}` are names of columns as text, got {name!r}.")
    if not checked:
        raise RuleError(f"there are no {role}: name one or more.")
    return tuple(str(name) for name in checked)
