"""A study file, read and checked: the table, the rules, the network, the inference."""

import dataclasses
from pathlib import Path
from typing import Any, cast

from ocbnn.core.sentences import Sentence
from ocbnn.core.words import listing, shorten, suggest
from ocbnn.errors import RuleError, SettingError
from ocbnn.inference import AUTO, PLANS, SGHMC, Plan
from ocbnn.networks import MLP
from ocbnn.projects.dataclass_sections import inherited, plain_model, python_only
from ocbnn.projects.sections import Inference, StudyText
from ocbnn.projects.source import Source, read_source
from ocbnn.projects.validation_errors import checked
from ocbnn.rules import Rule, parse_rule

# Upper limits for a plan's settings in a quick look.
_QUICK = {
    "chains": 2,
    "warmup": 200,
    "draws": 100,
    "particles": 50,
    "iterations": 200,
    "climb": 200,
}


@dataclasses.dataclass(frozen=True)
class Study:
    """A study file with its rules and its plan.

    Attributes
    ----------
    source
        Its text.
    sections
        Its content.
    rules
        Its rules, not bound to columns yet.
    inference
        A plan, or a name that estimators accept.
    """

    source: Source
    sections: StudyText
    rules: tuple[Rule, ...]
    inference: Plan | str

    @property
    def table(self) -> Path:
        """The data file."""
        return self.source.folder / self.sections.data.file

    @property
    def is_classification(self) -> bool:
        """Whether the output is a class."""
        return self.sections.data.task == "classification"


def read_study(path: str | Path, folder: Path | None = None) -> Study:
    """Read a study file and check everything that does not need the data.

    Raises
    ------
    SettingError
        Naming file, line, key, value, and what to write.
    """
    return study_of(read_source(path, folder))


def study_of(source: Source) -> Study:
    """Check the content of a study file.

    Raises
    ------
    SettingError
        Naming file, line, key, value, and what to write.
    """
    sections = cast(StudyText, checked(StudyText, source.document(), source))
    _check_network(source, sections)
    _check_task(source, sections)
    plan = make_plan(source, sections.inference)
    if sections.data.stream:
        plan = _streaming(source, plan)
    return Study(source, sections, _rules(source, sections), plan)


def make_plan(source: Source, inference: Inference) -> Plan | str:
    """The plan of `[inference]`, or "auto"."""
    name, settings = inference.algorithm.lower(), dict(inference.model_extra or {})
    if name == AUTO:
        for key in settings:
            raise source.mistake(
                ("inference", key),
                f"{AUTO!r} chooses an algorithm and its settings. Leave this out, or "
                f"name an algorithm: {listing(PLANS, 30)}.",
            )
        return name
    return _plan(source, ("inference",), inference.algorithm, settings)


def _streaming(source: Source, plan: Plan | str) -> Plan:
    """The plan for a streamed table; it must work with batches of rows."""
    if isinstance(plan, str):
        return SGHMC(chains=4)  # The choice of `auto` for tables larger than memory.
    if plan.is_batched:
        return plan
    batched = [name for name, kind in PLANS.items() if kind.is_batched]
    raise source.mistake(
        ("inference", "algorithm"),
        f"{plan.label} needs all rows at every step, and `stream = true` reads them "
        f"in batches. Write algorithm = one of {listing(map(repr, batched))} under "
        "[inference], or leave stream out.",
    )


def _plan(
    source: Source, place: tuple[str, ...], algorithm: str, settings: dict[str, Any]
) -> Plan:
    if algorithm.lower() not in PLANS:
        raise source.mistake(
            (*place, "algorithm"),
            f"there is no algorithm {algorithm!r}.{suggest(algorithm.lower(), PLANS)} "
            f"Write one of {listing((AUTO, *PLANS), 30)}.",
        )
    kind = PLANS[algorithm.lower()]
    plans = {}
    for key in python_only(kind) & settings.keys():
        if not isinstance(settings[key], dict):
            raise source.mistake((*place, key), _not_in_a_file(key))
        sampler = dict(settings.pop(key))
        name = str(sampler.pop("algorithm", "mclmc"))
        plans[key] = _plan(source, (*place, key), name, sampler)
    for key in inherited(kind) & settings.keys():
        raise source.mistake((*place, key), _not_a_setting(algorithm, kind))
    values = checked(plain_model(kind), settings, source, place)
    arguments = {key: _hashable(getattr(values, key)) for key in settings}
    try:
        return kind(**arguments, **plans)
    except SettingError as error:
        arguments_in_error = [
            key for key in {**arguments, **plans} if f"({key}=" in str(error)
        ]
        raise source.mistake((*place, *arguments_in_error[:1]), error) from None


def _not_a_setting(algorithm: str, kind: type[Plan]) -> str:
    if "sampler" in python_only(kind):
        return (
            f"{algorithm} takes this from its sampler. Write a section "
            "[inference.sampler], with this key in it."
        )
    return f"for {algorithm} this is the number of iterations. Write iterations."


def _not_in_a_file(key: str) -> str:
    if key == "sampler":
        return (
            "this is an algorithm with settings of its own. Write a section for it, "
            '[inference.sampler], that begins with algorithm = "nuts".'
        )
    return "this can be set in Python only. Leave it out."


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def shortened(plan: Plan) -> Plan:
    """The plan shortened for a quick look."""
    fields = {field.name for field in dataclasses.fields(plan) if field.init}
    limits = {
        name: min(most, getattr(plan, name))
        for name, most in _QUICK.items()
        if name in fields
    }
    inner_plans = {
        name: shortened(getattr(plan, name))
        for name in fields
        if isinstance(getattr(plan, name), Plan)
    }
    return dataclasses.replace(plan, **limits, **inner_plans)


def _check_network(source: Source, sections: StudyText) -> None:
    network = sections.network
    for key, hidden, activation in (
        ("hidden", network.hidden, "rbf"),
        ("activation", [1], network.activation),
    ):
        try:
            MLP(1, hidden, 1, activation)
        except SettingError as error:
            raise source.mistake(("network", key), error) from None


def _check_task(source: Source, sections: StudyText) -> None:
    data, fit = sections.data, sections.fit
    if data.task == "regression":
        return
    if len(data.output) > 1:
        raise source.mistake(
            ("data", "output"),
            f"a classification has one output, got {data.output}. Keep one.",
        )
    for key in ("noise", "truncate"):
        if key in fit.model_fields_set:
            raise source.mistake(
                ("fit", key), "this is for regression only. Leave it out."
            )


def _rules(source: Source, sections: StudyText) -> tuple[Rule, ...]:
    return tuple(_rule(source, i, entry) for i, entry in enumerate(sections.rules))


def _rule(source: Source, index: int, entry: Any) -> Rule:
    label = f"({shorten(repr(entry.name))}) " if entry.name else ""
    try:
        rule = parse_rule(entry.rule)
    except RuleError as error:
        sentence = Sentence(label, error)
        raise source.mistake(("rules", index, "rule"), sentence) from None
    defaults = {field.name: field.default for field in dataclasses.fields(Rule)}
    settings = {
        key: _hashable(getattr(entry, key))
        for key in entry.model_fields_set - {"rule"}
        if getattr(entry, key) is not None
    }
    for key, value in settings.items():
        if getattr(rule, key) != defaults[key]:
            raise source.mistake(
                ("rules", index, key),
                f"{label}{key} is given twice, {value!r} here and "
                f"{getattr(rule, key)!r} in the text of the rule. Keep one.",
            )
        try:
            rule = dataclasses.replace(rule, **{key: value})
        except (RuleError, SettingError) as error:
            sentence = Sentence(label, error)
            raise source.mistake(("rules", index, key), sentence) from None
    return rule
