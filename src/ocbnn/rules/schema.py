"""The names a rule may speak of: inputs, outputs, and the classes of an output."""

import dataclasses
from collections import Counter
from collections.abc import Iterable

from ocbnn.core.errors import RuleError
from ocbnn.rules.tree import Column, Name
from ocbnn.rules.words import Label, as_label, listing, suggest


@dataclasses.dataclass(frozen=True)
class Schema:
    """Names in the order of the columns; `classes` makes the one output a label.

    >>> Schema(("age", "bp"), ("action",), ("wait", "treat")).is_classification
    True
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    classes: tuple[Label, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", _names(self.inputs, "inputs"))
        object.__setattr__(self, "outputs", _names(self.outputs, "outputs"))
        counts = Counter(self.inputs + self.outputs)
        twice = sorted(name for name, count in counts.items() if count > 1)
        if twice:
            raise RuleError(
                f"each input and output has a name of its own, but these come twice: "
                f"{listing(twice)}. Rename the columns."
            )
        if self.classes is not None:
            self._check_classes(self.classes)

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
        """Find a name among the inputs and outputs."""
        if name.name in self.inputs:
            found = Column("input", self.inputs.index(name.name), name.name)
        elif name.name in self.outputs:
            found = Column("output", self.outputs.index(name.name), name.name)
        else:
            near = self._near(name.name)
            raise RuleError(
                f"there is no column {name}.{near} Inputs: {listing(self.inputs)}; "
                f"outputs: {listing(self.outputs)}."
            )
        if name.role not in (None, found.kind):
            raise RuleError(
                f"{name} was named as an {name.role}, but is an {found.kind} here. "
                f'Write `{found.kind}s("{name.name}")`.'
            )
        return found

    def _near(self, name: str) -> str:
        # A column of names is one input for each of them: `colour=red`.
        parts = [one for one in self.inputs if one.startswith(f"{name}=")]
        if parts:
            return f" Did you mean `` `{parts[0]}` >= 0.5 ``?"
        return suggest(name, self.inputs + self.outputs)

    def class_index(self, label: Label) -> int:
        """Find a label among the classes, by equality or by its text."""
        classes = self.classes or ()
        for index, known in enumerate(classes):
            if label == known and isinstance(label, bool) == isinstance(known, bool):
                return index
        texts = [str(known) for known in classes]
        if str(label) in texts:
            return texts.index(str(label))
        raise RuleError(
            f"there is no class `{label}`.{suggest(label, texts)} "
            f"Classes: {listing(texts)}."
        )


def _names(names: Iterable[object], role: str) -> tuple[str, ...]:
    if isinstance(names, str):
        raise RuleError(f'`{role}` are a tuple of names. Write `("{names}",)`.')
    found = tuple(names)
    for name in found:
        if not isinstance(name, str) or not name:
            raise RuleError(f"`{role}` are names of columns as text, got {name!r}.")
    if not found:
        raise RuleError(f"there are no {role}: name one or more.")
    return tuple(str(name) for name in found)
