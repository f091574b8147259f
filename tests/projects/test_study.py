"""Study files, and every way to write one wrongly."""

import duckdb
import pytest

import ocbnn
from ocbnn.errors import DataError, SettingError
from ocbnn.projects.columns import check_columns
from ocbnn.projects.study import read_study, shortened
from ocbnn.tables import open_table

GOOD = """\
# a comment
[data]
file = "rows.csv"
output = "y"
task = "regression"

[[rules]]
name = "up"
rule = "if 0 <= x <= 1 then y >= 0"
points = 20

[network]
hidden = [3]

[inference]
algorithm = "nuts"
draws = 40

[fit]
seed = 7
"""


def study_of(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text)
    return read_study(path)


def test_a_study_file_says_what_python_would(tmp_path):
    study = study_of(tmp_path, GOOD)
    assert study.inference == ocbnn.NUTS(draws=40)
    assert study.rules == (ocbnn.rule("up: if 0 <= x <= 1 then y >= 0 [points=20]"),)
    assert study.table == tmp_path / "rows.csv"
    assert (study.sections.fit.seed, study.sections.network.hidden) == (7, [3])


def test_rules_may_be_a_plain_list_of_texts(tmp_path):
    text = 'rules = ["up: y >= 0 [sampler=like-data]"]\n' + GOOD.replace(
        "[[rules]]", "#"
    )
    text = text.replace('name = "up"', "").replace(
        'rule = "if 0 <= x <= 1 then y >= 0"\npoints = 20', ""
    )
    (rule,) = study_of(tmp_path, text).rules
    assert (rule.name, rule.sampler) == ("up", "like-data")


def test_a_quick_look_has_fewer_draws_of_the_same_plan(tmp_path):
    quick = shortened(study_of(tmp_path, GOOD).inference)
    assert isinstance(quick, ocbnn.NUTS)
    assert (quick.draws, quick.chains) == (40, 2)
    assert quick.warmup < ocbnn.NUTS().warmup


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"rows.csv"', "rows.csv", r"study\.toml, line 3: this is not TOML"),
        ('"rows.csv"', "3", r"line 3, \[data\] file: it must be text in quotes, got 3"),
        ("task", "taks", r"line 5, \[data\] taks: .* Did you mean `task`\?"),
        ('task = "regression"', "", r"line 2, \[data\] task: .* missing.*regression"),
        ('"regression"', '"regresion"', r"got 'regresion'\. Did you mean `regression`"),
        ("[network]", "[netwrok]", r"line 12, netwrok: .*Did you mean `network`\?"),
        (
            "points = 20",
            'strength = "frim"',
            r"must be 'soft', 'firm' or 'hard', got 'frim'\. Did you mean `firm`",
        ),
        ("points", "pionts", r"line 10, rule 1, pionts: .*Did you mean `points`\?"),
        ("points = 20", "points = 0", r"line 10, rule 1, points: \('up'\) `points`"),
        ("points = 20", 'points = "a"', r"rule 1, points: it must be a whole number"),
        ("rule = ", "rulle = ", r"rule 1, rule: this key is missing"),
        ("y >= 0", "y == 0", r"line 9, rule 1, rule: \('up'\)(.|\n)*\^"),
        ('y >= 0"', 'y >= 0 [points=3]"', r"points is given twice, 20 here and 3 in"),
        ("hidden = [3]", "hidden = [0]", r"line 13, \[network\] hidden: .*0"),
        ("hidden = [3]", "hidden = []", r"hidden: it must not be empty"),
        ("hidden = [3]", "hidden = [2.5]", r"hidden: it must be a whole number"),
        ("hidden = [3]", 'activation = "rlu"', r"activation: activation 'rlu'"),
        ('"nuts"', '"nutz"', r"line 16, .* 'nutz'\. Did you mean `nuts`\?"),
        ('"nuts"', '"auto"', r"line 17, .*draws: 'auto' chooses .*Leave this out"),
        ("draws = 40", "drawz = 4", r"line 17, \[inference\] drawz: .*mean `draws`\?"),
        ("draws = 40", "draws = 0", r"line 17, \[inference\] draws: .*got 0"),
        ("draws = 40", "draws = 1.5", r"draws: it must be a whole number, got 1\.5"),
        ("draws = 40", "batch_size = 0", r"batch_size: it must be above 0"),
        ("draws = 40", "refine = 0", r"refine: .*must be true, false or a number"),
        ("draws = 40", 'refine = "yes"', r"refine: .*must be true, false or a number"),
        ("seed = 7", "seed = -1", r"line 20, \[fit\] seed: it must be at least 0"),
        ("seed = 7", "seed = true", r"seed: it must be a whole number, got True"),
        ("seed = 7", "holdout = 1", r"holdout: it must be at most 0\.9, got 1"),
        ("seed = 7", "noise = -1", r'noise: it must be "infer", "varies" or a number'),
    ],
)
def test_a_mistake_is_named_with_its_line_and_the_fix(tmp_path, old, new, message):
    assert old in GOOD
    with pytest.raises(SettingError, match=message) as caught:
        study_of(tmp_path, GOOD.replace(old, new, 1))
    assert str(caught.value).startswith(str(tmp_path / "study.toml"))


def test_every_mistake_is_told_at_once(tmp_path):
    text = GOOD.replace("points", "pionts").replace("hidden", "hiden")
    with pytest.raises(SettingError) as caught:
        study_of(tmp_path, text)
    assert len(str(caught.value).splitlines()) == 2


def test_noise_is_not_for_classes(tmp_path):
    text = GOOD.replace('"regression"', '"classification"')
    with pytest.raises(SettingError, match=r"\[fit\] noise: this is for regression"):
        study_of(tmp_path, text.replace("seed = 7", "noise = 0.1"))


def test_what_only_python_can_say_is_refused_by_name(tmp_path):
    text = GOOD.replace('"nuts"', '"svgd"').replace("draws = 40", 'optimiser = "adam"')
    with pytest.raises(SettingError, match=r"line 17, .*optimiser: .* Python only"):
        study_of(tmp_path, text)


WARM = """\
[inference]
algorithm = "warm-start"
iterations = 50

[inference.sampler]
algorithm = "nuts"
chains = 3
"""


def warm(old="", new=""):
    text = GOOD.replace('[inference]\nalgorithm = "nuts"\ndraws = 40\n', WARM)
    return text.replace(old, new, 1)


def test_an_algorithm_may_have_another_inside(tmp_path):
    study = study_of(tmp_path, warm())
    expected = ocbnn.WarmStart(sampler=ocbnn.NUTS(chains=3), iterations=50)
    assert study.inference == expected
    quick = shortened(study.inference)
    assert (quick.chains, quick.sampler.draws, quick.iterations) == (2, 100, 50)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"nuts"', '"nutz"', r"line 20, .*sampler.* 'nutz'\. Did you mean `nuts`\?"),
        ("chains = 3", "chians = 3", r"line 21, .*chians: .*Did you mean `chains`\?"),
        ("chains = 3", "chains = 0", r"line 21, .*chains: .*got 0"),
        ("iterations", "chains", r"line 17, .*chains: .*\[inference\.sampler\]"),
        ("iterations = 50", "sampler = 5", r"sampler: .*Write a section for it"),
    ],
)
def test_mistakes_inside_are_named_in_their_place(tmp_path, old, new, message):
    text = warm(old, new)
    if new == "sampler = 5":
        text = text.replace('[inference.sampler]\nalgorithm = "nuts"\nchains = 3\n', "")
    with pytest.raises(SettingError, match=message):
        study_of(tmp_path, text)


def test_warmup_of_a_climb_is_its_iterations(tmp_path):
    text = GOOD.replace('"nuts"', '"vi"').replace("draws = 40", "warmup = 5")
    with pytest.raises(SettingError, match=r"line 17, .*warmup: .*Write iterations"):
        study_of(tmp_path, text)


def test_a_file_that_is_no_study_file_is_refused(tmp_path):
    with pytest.raises(SettingError, match="there is no such study file"):
        read_study(tmp_path / "none.toml")
    with pytest.raises(SettingError, match="this is a folder"):
        read_study(tmp_path)
    (tmp_path / "table.csv").write_text("a,b\n")
    with pytest.raises(SettingError, match=r"ends in \.toml"):
        read_study(tmp_path / "table.csv")
    (tmp_path / "latin.toml").write_bytes("# café".encode("latin-1"))
    with pytest.raises(SettingError, match="not UTF-8 text"):
        read_study(tmp_path / "latin.toml")
    (tmp_path / "empty.toml").write_text("")
    with pytest.raises(SettingError, match=r"data: this key is missing.*`\[data\]`"):
        read_study(tmp_path / "empty.toml")


@pytest.mark.parametrize(("inputs", "output"), [("l", "y"), ("y", "l")])
def test_a_column_of_lists_is_called_one(tmp_path, inputs, output):
    duckdb.execute(f"COPY (SELECT [1, 2] AS l, 3 AS y) TO '{tmp_path}/t.parquet'")
    data = f'[data]\nfile = "t.parquet"\noutput = "{output}"\ninputs = ["{inputs}"]\n'
    (tmp_path / "study.toml").write_text(f'{data}task = "regression"\n')
    study = read_study(tmp_path / "study.toml")
    with (
        open_table(study.table) as table,
        pytest.raises(DataError, match="column 'l': its cells are lists or records"),
    ):
        check_columns(study, table)
