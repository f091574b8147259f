"""The document that a page edits, and the study file equivalent to it.

A document may be invalid while a person is still writing. It is validated by reading
the study file made from it, as the command line would.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ocbnn.projects.toml import one_line, toml_key, toml_value
from ocbnn.tables.table import MOST_COLUMNS

MOST_TEXT = 4000
_MOST_RULES, _DEEPEST = 200, 8
_MADE = ": a study made in the studio."
_TITLE = re.compile(rf"# (.+){re.escape(_MADE)}")


def _check_depth(settings: dict[str, Any]) -> dict[str, Any]:
    """Refuse settings that are nested deeper than any study file needs."""
    pending: list[tuple[Any, int]] = [(settings, 0)]
    while pending:
        value, depth = pending.pop()
        if depth > _DEEPEST:
            raise ValueError(f"settings are at most {_DEEPEST} levels deep")
        children = value.values() if isinstance(value, dict) else value
        if isinstance(value, (dict, list)):
            pending += [(part, depth + 1) for part in children]
    return settings


Settings = Annotated[dict[str, Any], AfterValidator(_check_depth)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


# Squares and ratios of these stay finite.
Number = Annotated[float, Field(ge=-1e100, le=1e100)]


class DataChoice(_Part):
    """The table and which of its columns are used."""

    file: str
    inputs: list[str] = Field(max_length=MOST_COLUMNS)
    output: list[str] = Field(max_length=50)
    task: Literal["regression", "classification"]
    categories: list[str] = Field(default=[], max_length=MOST_COLUMNS)
    missing: Literal["refuse", "drop"] = "refuse"


# Rules first get the colours that neither answers nor classes use.
RULE_COLOURS = {
    "regression": (5, 1, 2, 6, 4, 7, 3, 0),
    "classification": (7, 6, 4, 3, 5, 1, 2, 0),
}


class RuleLine(_Part):
    """A rule as text; a rule that is off stays listed but is not part of the study."""

    id: str = Field(pattern=r"^[a-z0-9]{1,20}$")
    text: str = Field(max_length=MOST_TEXT)
    on: bool = True
    colour: int = Field(default=0, ge=0, le=7)


class View(_Part):
    """What the plot shows: one or two inputs, with the others held fixed.

    Attributes
    ----------
    along
        One input for a curve, two for a map.
    at
        Values of the other inputs; those left out are at their median.
    output
        The output that is shown; the first by default.
    ranges
        The least and greatest value shown of a column.
    """

    along: list[str] = Field(default=[], max_length=2)
    at: dict[str, Number] = {}
    output: str | None = None
    ranges: dict[str, tuple[Number, Number]] = {}


class Document(_Part):
    """Everything a person chose and wrote in a session."""

    title: str = Field(max_length=200)
    data: DataChoice
    rules: list[RuleLine] = Field(default=[], max_length=_MOST_RULES)
    network: Settings = {}
    inference: Settings = {"algorithm": "auto"}
    fit: Settings = {"seed": 0}
    view: View = View()

    @property
    def active(self) -> list[RuleLine]:
        """The rules that are on."""
        return [rule for rule in self.rules if rule.on]


def title_in(text: str) -> str | None:
    """The title of a study file that the studio made."""
    match = _TITLE.match(text)
    return match[1] if match else None


def study_text(document: Document, *, with_rules: bool = True) -> str:
    """The study file equivalent to a document."""
    sections = [
        ("data", document.data.model_dump()),
        ("network", document.network),
        ("inference", document.inference),
        ("fit", document.fit),
    ]
    title = " ".join(one_line(document.title).split())
    blocks = [f"# {title}{_MADE} Run: ocbnn fit study.toml"]
    for name, values in sections:
        blocks += _section(name, values, document)
    for rule in document.active if with_rules else ():
        blocks.append(f"[[rules]]\nrule = {toml_value(rule.text)}")
    return "\n\n".join(blocks) + "\n"


def _section(name: str, values: dict[str, Any], document: Document) -> list[str]:
    if name == "fit" and document.data.task == "classification":
        values = {k: v for k, v in values.items() if k not in ("noise", "truncate")}
    scalars = {k: v for k, v in values.items() if not isinstance(v, dict)}
    lines = [f"{toml_key(key)} = {toml_value(value)}" for key, value in scalars.items()]
    sections = ["\n".join([f"[{name}]", *lines])]
    for key, subsection in values.items():
        if isinstance(subsection, dict):
            sections += _section(f"{name}.{toml_key(key)}", subsection, document)
    return sections
