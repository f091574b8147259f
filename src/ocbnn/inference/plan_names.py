"""Plans by name and settings, for saving and loading."""

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

from ocbnn.errors import StorageError
from ocbnn.inference.base import Plan
from ocbnn.storage import NotPlainError, from_plain, to_plain

TAG = "$plan"


def plan_to_plain(plan: Plan, where: str = "the plan") -> dict[str, Any]:
    """A plan as plain values: its name and every setting.

    Raises
    ------
    NotPlainError
        When the plan is the user's own, or a setting is not a plain value,
        such as an optimiser.
    """
    name = type(plan).__name__
    if _library_plans().get(name) is not type(plan):
        raise NotPlainError(
            f"{where} is {name}, a plan of your own, which cannot be saved to a file."
        )
    settings = {
        field.name: to_plain(getattr(plan, field.name), f"{name}.{field.name}", tell)
        for field in _settings(plan)
    }
    return {TAG: {"name": name, "settings": settings}}


def tell(value: object, where: str) -> dict[str, Any] | None:
    """Convert plans, for `to_plain`: a setting may be a plan."""
    return plan_to_plain(value, where) if isinstance(value, Plan) else None


def plan_from_plain(plain: Any) -> Plan:
    """The plan that was saved; `plain` is the value behind its tag.

    Raises
    ------
    StorageError
        When no plan has this name or these settings.
    """
    if not isinstance(plain, dict) or not isinstance(plain.get("settings"), dict):
        raise StorageError("a plan has a name and settings.")
    name, settings = str(plain.get("name")), plain["settings"]
    if name not in _library_plans():
        raise StorageError(
            f"there is no plan {name[:40]!r} in this ocbnn. It may have been saved by "
            "a newer one: update ocbnn."
        )
    kind = _library_plans()[name]
    unknown = sorted(settings.keys() - {field.name for field in _settings(kind)})
    if unknown:
        raise StorageError(
            f"{name} has no setting {unknown[0][:40]!r} in this ocbnn. It may have "
            "been saved by a newer one: update ocbnn."
        )
    makers = {TAG: plan_from_plain}
    values = {
        key: from_plain(value, f"{name}.{key}", makers)
        for key, value in settings.items()
    }
    return kind(**values)


def _settings(plan: Any) -> list[dataclasses.Field[Any]]:
    """The fields that the user sets; others follow from them."""
    return [field for field in dataclasses.fields(plan) if field.init]


def _library_plans() -> dict[str, type[Plan]]:
    """Plans of this library; nothing else is ever made from a name."""
    return {
        kind.__name__: kind
        for kind in _subclasses(Plan)
        if kind.__module__.startswith("ocbnn.") and not inspect.isabstract(kind)
    }


def _subclasses(kind: type[Plan]) -> Iterator[type[Plan]]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)
