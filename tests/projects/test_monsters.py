"""Study files out of all proportion: a sentence, at once, and no traceback."""

import time
from pathlib import Path

import pytest
from pydantic import ValidationError

from ocbnn.errors import DataError, RuleError, SettingError
from ocbnn.estimators import OCBNNRegressor
from ocbnn.inference import NUTS, SVGD
from ocbnn.networks import MLP
from ocbnn.projects.source import Source
from ocbnn.projects.study import study_of
from ocbnn.rules import Schema, bind, parse_rule
from ocbnn.studio.document import DataChoice, Document
from ocbnn.tables import open_table

DATA = '[data]\nfile = "t.csv"\noutput = "y"\ntask = "regression"\n'
RULE = f'{DATA}[[rules]]\nrule = "y >= 0"\n'
NUTS_HERE = f'{DATA}[inference]\nalgorithm = "nuts"\n'
DEEP, LONG = "more than 50 levels deep", "a whole number has at most 19 digits"


def study(text):
    return study_of(Source(Path("study.toml"), text, Path()))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{DATA}[fit]\nseed = {'[' * 20_000}{']' * 20_000}", f"line 6: .*{DEEP}"),
        (f"{DATA}[fit]\nseed = {'{a=' * 20_000}1{'}' * 20_000}", f"line 6: .*{DEEP}"),
        (f"{'a.' * 50_000}a = 1\n{DATA}", f"line 1: .*{DEEP}"),
        (f"[{'a.' * 50_000}a]\n{DATA}", f"line 1: .*{DEEP}"),
        (f'x = """\n{"[" * 9}\n"""\n{"a." * 60}a = 1', f"line 4: .*{DEEP}"),
        (f"{DATA}[fit]\nseed = {'9' * 10_000}", LONG),
        (f"{DATA}[fit]\nseed = {'9' * 30}", f"line 6, .fit. seed: {LONG}"),
        (f"{DATA}[fit]\nseed = 0x{'f' * 100_000}", f"seed: {LONG}"),
        (f"{DATA}[fit]\nnoise = [1, {'9' * 20}]", f"noise: {LONG}"),
        (f"{DATA}[fit]\nnoise = inf", 'must be "infer", "varies" or a number'),
        (f"{DATA}[network]\nweight_scale = inf", "must be finite"),
        (f"{DATA}[network]\nhidden = [1000000000]", "at most 1,000,000,000 weights"),
        (f"{DATA}[network]\nhidden = [{'5,' * 100_000}5]", "at most 100 layers"),
        (f"{NUTS_HERE}draws = 1000000000000000000", "draws=.*at most 10,000,000"),
        (f"{NUTS_HERE}warmup = 1000000000000000000", "at most 1,000,000,000, got 1e"),
        (f"{NUTS_HERE}chains = 1000000000000000000", "chains=.*at most 10,000,000"),
        (f"{RULE}points = 1000000000000000000", "a whole number from 1 to 1,000,000"),
        (
            f"{RULE}strength = 1e300",
            "`strength` is a positive finite number of at most 1e",
        ),
        (f'{RULE}name = "{"a" * 100_000}"', "at most 200 characters"),
        (f"{DATA}" + '[[rules]]\nrule = "y >= 0"\n' * 5000, "at most 1000 entries"),
        (f"{DATA}" + "".join(f"k{i} = 1\n" for i in range(20_000)), "19980 more mist"),
        (f"{DATA}categories = {['k'] * 100_000}", "at most 2000 entries"),
        (f"{DATA}inputs = {['k'] * 100_000}", "at most 2000 entries"),
        (f"{DATA}{'k' * 1_000_000} = 1", "this key is not known"),
        (f"{DATA}[fit]\nseed = '{'k' * 1_000_000}'", "must be a whole number"),
        (f'{DATA}[fit]\nseed = "\x01{"k" * 1_000_000}"', "this is not TOML"),
    ],
)
def test_a_study_file_out_of_all_proportion_is_refused_at_once(text, message):
    began = time.perf_counter()
    with pytest.raises(SettingError, match=message) as caught:
        study(text)
    assert time.perf_counter() - began < 20
    assert len(str(caught.value)) < 3000
    assert str(caught.value).startswith("study.toml")


def test_usual_depths_and_quoted_brackets_are_read():
    brackets = "[" * 80 + "a." * 80
    text = (
        f"# {brackets}\n{DATA}inputs = ['{brackets}', \"\\\"{brackets}\", '''{brackets}"
        f'\'\'\', """"{brackets}"""]\n[inference]\nalgorithm = \'warm-start\'\n'
        "[inference.sampler]\nalgorithm = 'nuts'\n"
    )
    result = study(text).sections.data.inputs
    assert result == [brackets, f'"{brackets}', brackets, f'"{brackets}']


@pytest.mark.parametrize(
    "text",
    [
        "y >= 0 [points=1e18]",
        "y >= 0 [points=99999999999999999999999999]",
        "y >= 0 [strength=1e300]",
        "y >= 0 [tau0=1e300]",
        f"y >= 0{' + 1' * 250_000}",
        f"{'(' * 9000}y{')' * 9000} >= 0",
        f"{'not ' * 4000}y >= 0",
        f"y >= {'-' * 19_000}1",
        f"y >= {'9' * 19_000}",
        f"y >= 0 and x in {{{', '.join(map(str, range(3000)))}}}",
        f"`{'q' * 19_000}` >= 0",
        f"`{'q' * 19_000}` and y >= 0",
        f"'{'q' * 19_000}' >= 0",
        f"y >= 0 `{'q' * 19_000}`",
        f"y >= 0 [{'q' * 19_000}=1]",
        f"y >= 0 [sampler='{'q' * 19_000}']",
        f"y + `{'q' * 19_000}` rises with x",
        " and ".join(f"(y >= {i} or y <= -{i})" for i in range(300)),
    ],
)
def test_a_rule_out_of_all_proportion_is_refused_at_once(text):
    began = time.perf_counter()
    with pytest.raises((RuleError, SettingError)) as caught:
        bind(parse_rule(text), Schema(("x",), ("y",)))
    assert time.perf_counter() - began < 20
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "make",
    [
        lambda: MLP(1, 10**9, 1),
        lambda: MLP(1, (10**5, 10**5), 1),
        lambda: MLP(1, [1] * 1000, 1),
        lambda: NUTS(draws=10**18),
        lambda: NUTS(warmup=10**5000),
        lambda: SVGD(particles=10**18),
        lambda: OCBNNRegressor(hidden=(10**9,)).fit([[0.0], [1.0]], [0.0, 1.0]),
    ],
)
def test_sizes_beyond_any_machine_are_refused_in_python_too(make):
    with pytest.raises(SettingError, match="at most"):
        make()


def test_a_files_name_of_any_length_is_no_traceback():
    for name in ("t" * 5000 + ".csv", "t\x00.csv", "/".join("t" * 3000) + ".csv"):
        with (
            pytest.raises(DataError, match=r"no such file|not a file"),
            open_table(name),
        ):
            pass


def test_a_document_names_no_more_columns_than_a_table_has():
    said = {"file": "t.csv", "inputs": [], "output": ["y"], "task": "regression"}
    with pytest.raises(ValidationError, match="at most 2000 items"):
        DataChoice.model_validate({**said, "categories": ["k"] * 100_000})


def test_settings_deep_inside_one_another_are_no_document():
    data = DataChoice(file="t.csv", inputs=["x"], output=["y"], task="regression")
    deep = {}
    for _ in range(500):
        deep = {"a": [deep]}
    with pytest.raises(ValidationError, match="8 levels deep"):
        Document(title="t", data=data, network=deep)
