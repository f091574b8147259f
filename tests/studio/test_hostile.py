"""Names that are code, markup or mathematics to someone stay names in what is written.

Titles, columns, categories and rules are called whatever people like. What is generated
from them parses, says the same as for harmless names, and nothing else.
"""

import ast
import csv
import io
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import ocbnn
from ocbnn import plots
from ocbnn.errors import DataError, SettingError
from ocbnn.language.words import spell_name
from ocbnn.plots.style import literal
from ocbnn.projects.columns import Rows
from ocbnn.projects.fitting import fit_study
from ocbnn.projects.scaffold import start_study
from ocbnn.projects.source import Source
from ocbnn.projects.study import read_study, study_of
from ocbnn.projects.toml import toml_value
from ocbnn.rules import Schema
from ocbnn.studio.document import DataChoice, Document, RuleLine, study_text, title_in
from ocbnn.studio.downloads import python_code, study_archive, study_file
from ocbnn.studio.report import report_page
from ocbnn.studio.session_data import rows_of, study_for
from ocbnn.studio.sessions import Store

NASTY = (
    'a""";import os;os.system("touch PWNED");"""',
    "C:\\users\\me",
    "ends in \\",
    "'''\"'",
    'x\n"""\nimport os\nos.system("touch PWNED")',
    "\r\nimport os",
    "coding: utf-7",
    '"]\n[fit]\nseed = 9\n#',
    "'] = 1 # {0} %s ${x}",
    "</pre></title><script>alert(1)</script>",
    "<!-- --> ]]> &lt;",
    "$x^{2$ and \\frac{$",
    "cost [$]",
    "_hidden",
    "\x00\x01\x1b[31m\x7f\x85",
    "\u2028\u2029\u202e\ufeff",
    "`a``b`",
    "if then",
    "x.y=z",
    "  spaces  ",
)
names = st.one_of(
    st.sampled_from(NASTY),
    st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40),
)


def document_of(title, inputs, category, output):
    data = DataChoice(
        file="t.csv",
        inputs=[*inputs, category],
        output=[output],
        task="regression",
        categories=[category],
    )
    rule = f"low: {spell_name(output)} >= 0"
    return Document(
        title=title[:200],
        data=data,
        rules=[RuleLine(id="r1", text=rule)],
        network={"hidden": [3], "scales": {inputs[0]: [0.0, 1.0]}},
        inference={
            "algorithm": "warm-start",
            "iterations": 10,
            "sampler": {"algorithm": "nuts", "chains": 1, "draws": 5},
        },
    )


def code_of(document, levels):
    study = study_of(Source(Path("study.toml"), study_text(document), Path()))
    choice = document.data
    inputs = [n for n in choice.inputs if n not in choice.categories]
    expanded = (*inputs, *(f"{choice.categories[0]}={level}" for level in levels))
    schema = Schema(expanded, tuple(choice.output))
    rows = Rows(np.zeros((1, len(expanded))), np.zeros((1, 1)), schema, 0, np.arange(1))
    return python_code(document, study, rows, ",", quick=False)


def statements(code):
    """The kinds of all statements and calls, without any text."""
    kinds = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant):
            continue
        kinds.append((type(node).__name__, getattr(node, "attr", "")))
    return kinds


HARMLESS = document_of("title", ["a", "b"], "c", "y")


@settings(max_examples=60, deadline=None)
@given(title=names, columns=st.lists(names, min_size=4, max_size=4, unique=True))
def test_code_of_hostile_names_is_the_code_of_harmless_ones(title, columns):
    (*inputs, category, output), levels = columns, NASTY[:3]
    document = document_of(title, inputs, category, output)
    code = code_of(document, levels)
    assert statements(code) == statements(code_of(HARMLESS, levels))
    code.encode()
    parsed = ast.parse(code)
    assert ast.get_docstring(parsed, clean=False) == (
        f"{document.title}: the same fit in Python."
    )
    constants = [n.value for n in ast.walk(parsed) if isinstance(n, ast.Constant)]
    for name in (*inputs, category, output):
        assert name in constants
    # Python itself must read it from bytes: a comment may name an encoding.
    compile(code.encode(), "code.py", "exec")


@settings(max_examples=60, deadline=None)
@given(title=names, columns=st.lists(names, min_size=4, max_size=4, unique=True))
def test_study_files_of_hostile_names_say_what_was_meant(title, columns):
    *inputs, category, output = columns
    document = document_of(title, inputs, category, output)
    for text in (study_text(document), study_file(document, quick=True)):
        answer = tomllib.loads(text)
        assert answer.keys() == {"data", "network", "inference", "fit", "rules"}
        assert answer["data"] == document.data.model_dump()
        assert answer["network"] == document.network
        assert answer["inference"] == document.inference
        assert answer["fit"] == {"seed": 0}
        assert [one["rule"] for one in answer["rules"]] == [document.rules[0].text]
    kept = title_in(study_text(document))
    assert kept is None or kept.split() == kept.split(" ")


@pytest.mark.parametrize("name", NASTY)
def test_a_rules_name_is_a_name_or_refused(name):
    text = f"{study_text(HARMLESS)}name = {toml_value(name)}\n"
    text = text.replace("low: ", "")
    source = Source(Path("study.toml"), text, Path())
    if name == "_hidden":
        assert study_of(source).rules[0].name == name
        return
    with pytest.raises(SettingError, match="a rule's name is made of letters"):
        study_of(source)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_first_study_file_of_a_hostile_table_reads_back(tmp_path, ending):
    columns = [n.strip() for n in NASTY if ending == "parquet" or n.isprintable()]
    table = {
        name: [float(i + j) ** 0.5 for i in range(12)] for j, name in enumerate(columns)
    }
    table["words"] = [NASTY[4], NASTY[7], "plain"] * 4
    table["words, too"] = ["\r\n[fit]\nseed = 9", "x", "y"] * 4
    table["long " * 30] = [1.5, 2.5, 4.0] * 4
    table["y"] = [0.1 * i for i in range(12)]
    path = tmp_path / 'a""";import os; #.csv'.replace("csv", ending)
    if ending == "parquet":
        pl.DataFrame(table).write_parquet(path)
    else:
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(table)
            writer.writerows(zip(*table.values(), strict=True))
    out = tmp_path / "study.toml"
    start = start_study(path, out, output="y", force=False)
    study = read_study(out)
    assert study.sections.data.inputs == start.inputs
    assert {*start.inputs} | {*start.left_out} >= {*columns, "words", "words, too"}
    assert study.sections.data.file == path.name
    assert study.sections.fit.seed == 0
    assert tomllib.loads(out.read_text()).keys() == {
        "data",
        "network",
        "inference",
        "fit",
    }


@pytest.mark.filterwarnings("ignore::ocbnn.errors.InferenceWarning")
def test_code_of_a_hostile_table_gives_the_same_numbers(tmp_path):
    store = Store(tmp_path / "studio")
    content = io.StringIO()
    writer = csv.writer(content, delimiter=";")
    shown = ["kind='\"", NASTY[1], "$x$", 'y"]']
    writer.writerow(shown)
    words = ["n/a", 'b"""', "c\\"]
    for i in range(30):
        writer.writerow([words[i % 3], i / 10, (i % 5) / 5, i / 20 + i % 3])
    name = 'a""";import os;os.system("touch PWNED");""".csv'
    session = store.from_table(name, content.getvalue().encode())
    _, document = session.read()
    assert (document.data.categories, document.title) == (shown[:1], name[:-4])
    plan = {"algorithm": "laplace", "draws": 20, "iterations": 50}
    document = document.model_copy(
        update={"inference": plan, "network": {"hidden": [4]}, "fit": {"seed": 3}}
    )
    session.write(document)
    study = study_for(session.folder, document)
    rows = rows_of(session.folder, document.data)
    code = python_code(document, study, rows, ";", quick=False)
    (session.folder / "code.py").write_bytes(
        code.encode() + b"\nprint('MEAN', model.predict(X).sum())\n"
    )
    completed = subprocess.run(
        [sys.executable, "-W", "ignore", "code.py"],
        cwd=session.folder,
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    ours = fitted_sum(session, rows, tmp_path / "out")
    np.testing.assert_allclose(float(completed.stdout.rpartition("MEAN ")[2]), ours)
    assert not list(tmp_path.rglob("PWNED"))
    archive = study_archive(session.folder, document, quick=False)
    assert b"../" not in archive


def fitted_sum(session, rows, out):
    fit_study(session.study, out, progress=False)
    return ocbnn.load(out / "model.ocbnn").predict(rows.X).sum()


@pytest.mark.parametrize("name", NASTY)
def test_pictures_show_names_as_they_are_written(tmp_path, name):
    fig = plots.figure(4, 3)
    ax = fig.add_subplot()
    x = np.linspace(0, 1, 5)
    ax.plot(x, x, label=literal(name))
    plots.style.tidy(ax, (name, name))
    plots.legend(ax)
    png, svg = plots.save(fig, tmp_path / "figure")
    assert png.stat().st_size > 0
    ET.fromstring(svg.read_bytes())
    (draws,) = ax.get_legend().get_texts()
    assert (
        draws.get_text().replace("\\$", "$").split()
        == literal(name).replace("\\$", "$").split()
    )
    for text in (ax.xaxis.label, draws):
        assert text._preprocess_math(text.get_text())[1] is False
        assert text._preprocess_math(text.get_text())[0].count("$") == name.count("$")


@pytest.mark.parametrize("name", NASTY)
def test_a_report_of_hostile_names_has_the_tags_of_a_harmless_one(name):
    def page(word):
        one = {
            "verdict": {"status": word, "sentences": [word]},
            "rules": [{"rule": word, "text": word, "violation": 0.5}],
            "scores": {f"{word} rmse": 1.0},
        }
        result = {"with": one, "rows": word, "report": word, "conflicts": word}
        document = document_of(word, [word, "b b"], "c c", "y y")
        return report_page(document, result, b"", stale=True)

    assert page(name).count("<") == page("harmless").count("<")


@pytest.mark.parametrize(
    "name",
    [
        "x" * 300 + ".csv",
        "é" * 200 + ".csv",
        "../../up.csv",
        "..csv/../.csv.csv",
        "a\x00b\n.csv",
        ".csv.csv",
        "q\"uo'te.CSV",
        "   .csv",
    ],
)
def test_an_uploaded_table_has_a_tame_name(tmp_path, name):
    session = Store(tmp_path / "studio").from_table(name, b"x,y\n1,2\n2,4\n3,7\n")
    _, document = session.read()
    assert (session.folder / document.data.file).is_file()
    assert len(document.data.file.encode()) < 250
    assert document.data.file.endswith(".csv")
    assert not set(document.data.file) & set("/\\\"'\n\x00")
    assert len(list((tmp_path / "studio").iterdir())) == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("wide.csv", b"c,".join(b"%d" % i for i in range(20_000)), "at most 2,000 col"),
        ("head.csv", b"a," + b"x" * 140_000 + b"\n1,2\n", "at most 1,000 characters"),
        ("bomb.parquet", None, "OCBNN_UNPACK"),
    ],
)
def test_an_upload_out_of_all_proportion_leaves_nothing(
    tmp_path, name, content, message
):
    if content is None:
        many = pl.DataFrame({"x": np.zeros(20_000_000, np.int8), "y": 1})
        many.write_parquet(tmp_path / name, use_pyarrow=False)
        content = (tmp_path / name).read_bytes()
    store = Store(tmp_path / "studio")
    with pytest.raises(DataError, match=message) as caught:
        store.from_table(name, content)
    assert str(caught.value).startswith(name)
    assert not list((tmp_path / "studio").iterdir())


def test_a_study_that_no_page_can_show_is_refused_with_a_sentence(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,2\n2,3\n")
    text = '[data]\nfile = "t.csv"\noutput = "y"\ntask = "regression"\n'
    path = tmp_path / "study.toml"
    path.write_text(text + '[[rules]]\nrule = "y >= 0"\n' * 300)
    store = Store(tmp_path / "studio")
    with pytest.raises(SettingError, match=r"because of its rules: .* 200 items"):
        store.from_study(path)
    private = tmp_path / "elsewhere" / "private"
    private.parent.mkdir()
    private.write_text("s3cret\ns3,cret\n")
    (tmp_path / "link.csv").symlink_to(private)
    path.write_text(text.replace("t.csv", "link.csv"))
    with pytest.raises(DataError, match=r"line 2: .* not a readable table") as caught:
        store.from_study(path)
    assert "s3" not in str(caught.value)
    assert not list((tmp_path / "studio").iterdir())


def test_a_link_to_a_table_elsewhere_is_not_quoted(tmp_path):
    private, link = tmp_path / "elsewhere" / "private", tmp_path / "own" / "link.csv"
    for path in (private, link):
        path.parent.mkdir()
    private.write_text("4711,4712\n1,2\n")
    link.symlink_to(private)
    store = Store(tmp_path / "studio")
    with pytest.raises(DataError, match=r"first line must .* holds numbers") as caught:
        store.from_table(link.name, link)
    assert "4711" not in str(caught.value)
    assert not list((tmp_path / "studio").iterdir())
