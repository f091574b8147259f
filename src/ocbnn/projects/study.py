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

# What a plan may have of each at most in a quick look.
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
    """What a study file says, with its rules and its plan made.

    Attributes
    ----------
    source
        The text.
    sections
        What it says.
    rules
        The rules, not bound to columns yet.
    inference
        A plan, or a name that the estimators know.
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
    """Read a study file and check all that can be checked without the data.

    Raises
    ------
    SettingError
        Naming file, line, key, value, and what to write.
    """
    return study_of(read_source(path, folder))


def study_of(source: Source) -> Study:
    """Check what a study file says.

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
    """The plan of `[inference]`, or the name of what chooses one."""
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
    """The same plan, if it takes batches of rows."""
    if isinstance(plan, str):
        return SGHMC(chains=4)  # What is chosen for tables that are too large.
    if plan.is_batched:
        return plan
    place = ("inference", "algorithm")
    batched = [name for name, kind in PLANS.items() if kind.is_batched]
    raise source.mistake(
        place if source.line_of(place) else ("data", "stream"),
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
        inner = dict(settings.pop(key))
        name = str(inner.pop("algorithm", "mclmc"))
        plans[key] = _plan(source, (*place, key), name, inner)
    for key in inherited(kind) & settings.keys():
        raise source.mistake((*place, key), _not_a_setting(algorithm, kind))
    values = checked(plain_model(kind), settings, source, place)
    given = {key: _hashable(getattr(values, key)) for key in settings}
    try:
        return kind(**given, **plans)
    except SettingError as error:
        named = [key for key in {**given, **plans} if f"({key}=" in str(error)]
        raise source.mistake((*place, *named[:1]), error) from None


def _not_a_setting(algorithm: str, kind: type[Plan]) -> str:
    if "sampler" in python_only(kind):
        return (
            f"{algorithm} takes this from its sampler. Write a section "
            "[inference.sampler], and this below it."
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
    """The same plan for a quick look."""
    fields = {field.name for field in dataclasses.fields(plan) if field.init}
    less = {
        name: min(most, getattr(plan, name))
        for name, most in _QUICK.items()
        if name in fields
    }
    inner = {
        name: shortened(getattr(plan, name))
        for name in fields
        if isinstance(getattr(plan, name), Plan)
    }
    return dataclasses.replace(plan, **less, **inner)


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
                ("fit", key), "this is for regression; classes have none. Leave it out."
            )


def _rules(source: Source, sections: StudyText) -> tuple[Rule, ...]:
    return tuple(_rule(source, i, entry) for i, entry in enumerate(sections.rules))


def _rule(source: Source, index: int, entry: Any) -> Rule:
    called = f"({shorten(repr(entry.name))}) " if entry.name else ""
    try:
        rule = parse_rule(entry.rule)
    except RuleError as error:
        sentence = Sentence(called, error)
        raise source.mistake(("rules", index, "rule"), sentence) from None
    usual = {field.name: field.default for field in dataclasses.fields(Rule)}
    settings = {
        key: _hashable(getattr(entry, key))
        for key in entry.model_fields_set - {"rule"}
        if getattr(entry, key) is not None
    }
    for key, value in settings.items():
        if getattr(rule, key) != usual[key]:
            raise source.mistake(
                ("rules", index, key),
                f"{called}{key} is given twice, {value!r} here and "
                f"{getattr(rule, key)!r} in the text of the rule. Keep one.",
            )
        try:
            rule = dataclasses.replace(rule, **{key: value})
        except (RuleError, SettingError) as error:
            sentence = Sentence(called, error)
            raise source.mistake(("rules", index, key), sentence) from None
    return rule
