"""Rows are called by their number in the table, counted from 1 below the header."""

import csv
import re

import numpy as np
import pytest

import ocbnn as library
from tests.cli.conftest import STUDY, write_rows

HARD = STUDY.replace('rule = "y >= -0.5"', 'rule = "y <= 1.8"\nstrength = "hard"')
STREAM = 'algorithm = "svgd"\nparticles = 10\niterations = 20\nbatch_size = 8'


def outputs(path):
    """The table's own outputs, by row."""
    with path.open() as file:
        return {
            number: float(row["y"])
            for number, row in enumerate(csv.DictReader(file), start=1)
        }


@pytest.mark.parametrize(
    "study",
    [
        HARD,
        re.sub(r'algorithm = "nuts"(\n\w+ = \d+)*', STREAM, HARD).replace(
            'missing = "drop"', 'missing = "drop"\nstream = true'
        ),
    ],
    ids=["in memory", "in files"],
)
def test_rows_that_break_a_hard_rule_are_those_of_the_table(tmp_path, ocbnn, study):
    write_rows(tmp_path / "rows.csv")
    (tmp_path / "study.toml").write_text(study)
    result = ocbnn("fit", tmp_path / "study.toml", "--out", tmp_path / "out")
    assert result.code == 1
    (named,) = re.findall(r"no exceptions: row ([\d, ]+)\. Correct", result.err)
    rows = [int(number) for number in named.split(", ")]
    observed = outputs(tmp_path / "rows.csv")
    # The fourth row is left out, and a quarter of the others is held out.
    assert len(rows) > 1
    assert max(rows) > 30
    assert [row for row in rows if observed[row] <= 1.8] == []


def test_rows_beyond_the_limits_are_those_of_the_table(tmp_path, ocbnn):
    write_rows(tmp_path / "rows.csv")
    wrong = STUDY.replace('rule = "y >= -0.5"', 'rule = "y >= 0.1"')
    (tmp_path / "study.toml").write_text(f"{wrong}truncate = true\n")
    result = ocbnn("fit", tmp_path / "study.toml", "--out", tmp_path / "out")
    found = re.search(r"'y' is ([\d.e-]+) in row (\d+), and must", result.err)
    assert found is not None, result.err
    observed = outputs(tmp_path / "rows.csv")[int(found[2])]
    assert observed == pytest.approx(float(found[1]), rel=1e-4)


def test_a_saved_fit_knows_the_rows_of_its_table(fitted):
    model = library.load(fitted / "out" / "model.ocbnn")
    observed = outputs(fitted / "rows.csv")
    own = [observed[name] for name in model.fitted_.rows.names]
    assert len(own) == 29
    np.testing.assert_array_equal(own, model.fitted_.rows.Y[:, 0])
