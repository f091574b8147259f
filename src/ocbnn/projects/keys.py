"""Every key of a study file, for its page in the documentation."""

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ocbnn.projects.sections import Data, Fit, Inference, Network, RuleText
from ocbnn.projects.validation_errors import spell_value

SECTIONS: dict[str, type[BaseModel]] = {
    "[data]": Data,
    "[[rules]]": RuleText,
    "[network]": Network,
    "[inference]": Inference,
    "[fit]": Fit,
}


def key_rows() -> list[str]:
    """A row of a Markdown table for each key: section, key, default, meaning.

    >>> key_rows()[2]
    '| `[data]` | `task` | needed | whether the output is a number or a class |'
    """
    return [
        f"| `{section}` | `{key}` | {_default(field)} | {field.description} |"
        for section, model in SECTIONS.items()
        for key, field in model.model_fields.items()
    ]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    return "" if field.default is None else f"`{spell_value(field.default)}`"
