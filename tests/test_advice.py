"""Every kind of advice is spelled for every reader, in words that are theirs."""

import ast
import copy
import json
from pathlib import Path

import pytest

import ocbnn
from ocbnn.analysis.conflict_page import ConflictReport, RuleConflict
from ocbnn.core.advice import Advice, Kind, setting
from ocbnn.core.sentences import (
    Sentence,
    errors_spelled,
    in_python,
    joined,
    spelled,
)
from ocbnn.errors import RuleError, SettingError
from ocbnn.priors.rulebook import bind_rules
from ocbnn.projects.command_advice import on_command_line
from ocbnn.projects.source import Source
from ocbnn.storage.values import to_plain
from ocbnn.studio.page_advice import message, on_page

# What each kind needs besides a rule.
KEY = {"file": "study.toml, line 3", "key": "[fit] seed", "name": "seed"}
VALUES = {
    Kind.SETTING: {"name": "step_size"},
    Kind.RUN_MORE: {"name": "iterations"},
    Kind.STOPPED_EARLY: {"saved": "; saved in runs/first"},
    Kind.COMPARE_AGAIN: {"do": "without it", "pareto_k": 0.87},
    Kind.OPTION: {"name": "within"},
    Kind.BOUND_INPUT: {"name": "age"},
    Kind.LOOK_AROUND: {"name": "age"},
    Kind.KEY: KEY,
}
EVERY = [Advice(kind, "soft cap", VALUES.get(kind, {})) for kind in Kind]
READERS = {
    "python": in_python,
    "command": on_command_line("results/my dose"),
    "page": on_page,
}
CODE = ("model.", "refit=", "quick=True", "conflicts(", "explain(", "certify(")
CODE += ("require(", "={", '="', "at=")
FILES_AND_COMMANDS = ("ocbnn ", "--", "_", "[fit]", "[[rules]]", "study.toml", "runs/")
ids = [advice.kind.name.lower() for advice in EVERY]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("advice", EVERY, ids=ids)
def test_every_kind_is_spelled_for_every_reader(advice, reader):
    message = READERS[reader](advice)
    # The page has no field for it, and says nothing.
    assert message or (advice.kind, reader) == (Kind.CHOOSE_BATCH, "page")
    assert "None" not in message


@pytest.mark.parametrize("advice", EVERY, ids=ids)
def test_no_python_reaches_the_command_line_or_the_page(advice):
    for reader in ("command", "page"):
        message = READERS[reader](advice)
        assert not [word for word in CODE if word in message], message
    page = READERS["page"](advice)
    assert not [word for word in FILES_AND_COMMANDS if word in page], page


def test_commands_name_the_model_and_the_rule_as_a_shell_reads_them():
    message = READERS["command"](Advice(Kind.EXPLAIN_AGAIN, "soft cap"))
    told = "`ocbnn explain 'results/my dose' --rule 'soft cap' --refit`"
    assert message == f"{told} shows what changes without it"
    assert "'results/my dose'" in READERS["command"](Advice(Kind.NAME_ROWS))


def test_only_one_file_spells_calls_of_python():
    """So no sentence can hold one that other readers would be told as well."""
    source = Path(ocbnn.__file__).parent
    for path in source.rglob("*.py"):
        if path == source / "core" / "sentences.py":
            continue
        for text in _spoken(ast.parse(path.read_text(encoding="utf-8"))):
            assert "conflicts(" not in text, path
            assert "refit=" not in text, path


def _spoken(tree):
    """Text in code, without docstrings."""
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docs
    ]


RAISE = Sentence("Take a smaller ", setting("step_size"), ".")


def test_a_sentence_is_text_in_pythons_spelling_and_can_be_respelled():
    assert RAISE == "Take a smaller step_size."
    assert RAISE.to_text(on_page) == "Take a smaller step size."
    assert RAISE.advice == (Advice(Kind.SETTING, None, {"name": "step_size"}),)
    assert json.dumps([RAISE]) == '["Take a smaller step_size."]'
    assert type(to_plain(RAISE, "here")) is str


def test_sentences_are_put_together_and_copied_with_their_advice():
    both = joined(" ", ["It moved.", RAISE, RAISE])
    again = copy.deepcopy(Sentence("SMC: ", both))
    assert again == "SMC: It moved. Take a smaller step_size. Take a smaller step_size."
    assert again.to_text(on_page).count("step size") == 2
    nested = spelled({"said": (RAISE, 1.0, {"none": None})}, on_page)
    assert nested == {"said": ["Take a smaller step size.", 1.0, {"none": None}]}


def test_errors_speak_to_who_reads_them():
    error = SettingError(Sentence("nothing moved. ", RAISE))
    assert str(error) == "nothing moved. Take a smaller step_size."
    assert message(error) == "nothing moved. Take a smaller step size."
    wrapped = SettingError(Sentence("/sessions/1/rows.csv: ", error))
    assert message(wrapped, Path("/sessions/1")).startswith("rows.csv: nothing")
    with (
        pytest.raises(SettingError, match="smaller step size"),
        errors_spelled(on_page),
    ):
        raise wrapped
    with pytest.raises(SettingError, match="plain"), errors_spelled(on_page):
        raise SettingError("plain")


def test_what_a_rule_changes_is_asked_for_as_each_reader_can():
    unknown = RuleConflict(
        "cap", "y <= 1", True, -1.0, 0.0, -9.0, 3, (), (), (), 0.9, False, None
    )
    result = ConflictReport((unknown,))
    text = {name: " ".join(result.to_text(r).split()) for name, r in READERS.items()}
    assert " ".join(str(result).split()) == text["python"]
    assert "(Pareto k 0.90): conflicts(refit=True) fits again" in text["python"]
    assert "--rule cap --refit` fits again without it." in text["command"]
    assert "switch the other rules off and fit" in text["page"]
    for reader in ("command", "page"):
        assert not [word for word in CODE if word in text[reader]]


def test_places_in_a_study_file_are_for_those_who_write_it():
    source = Source(Path("study.toml"), "[fit]\nseed = 1\n", Path())
    error = source.mistake(("fit", "seed"), "write 2.")
    assert str(error) == "study.toml, line 2, [fit] seed: write 2."
    assert message(error) == "seed: write 2."
    error = source.mistake(("rules", 1, "rule"), RAISE)
    assert str(error).startswith("study.toml, rule 2, rule: Take")
    assert message(error) == "rule 2, rule: Take a smaller step size."
    error = source.mistake(("data", "inputs", 0), "write it.")
    assert message(error) == "inputs: write it."


@pytest.mark.parametrize(
    ("rules", "python", "page"),
    [
        (["y >= 0 [strength=0]"], "leave it out", "switch before its name"),
        (["a: y >= 0", "a: y <= 9"], 'require(..., name="...")', "has a field for it"),
        (["y ~ Normal(0, 1) [strength=firm]"], "require(y.between", ": `a <= y <= b`."),
    ],
)
def test_errors_about_rules_are_for_those_who_write_them(rules, python, page):
    with pytest.raises(RuleError) as caught:
        bind_rules(rules, ocbnn.Schema(("x",), ("y",)))
    assert python in str(caught.value)
    assert page in message(caught.value)
    assert python not in message(caught.value)
