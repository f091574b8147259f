import contextlib
import sys

import numpy as np
import pytest

from ocbnn.cli.app import main
from tests.cli.inprocess import make_caller

STUDY = """\
[data]
file = "rows.csv"
output = "y"
task = "regression"
inputs = ["x", "colour"]
categories = ["colour"]
missing = "drop"

[[rules]]
name = "never negative"
rule = "y >= -0.5"
sampler = "like-data"

[[rules]]
name = "high on the right"
rule = "if 2 <= x <= 3 then y >= 0.2"
sampler = "like-data"

[network]
hidden = [3]

[inference]
algorithm = "nuts"
chains = 2
warmup = 60
draws = 30
max_depth = 5

[fit]
seed = 1
holdout = 0.25
"""


@pytest.fixture
def ocbnn(monkeypatch, capfd):
    """Runs the command line in this process."""
    return make_caller(monkeypatch, capfd)


def write_rows(path, rows=40):
    rng = np.random.default_rng(0)
    x = np.linspace(-2, 2, rows)
    y = np.abs(x) + 0.05 * rng.standard_normal(rows)
    colours = np.where(rng.random(rows) < 0.5, "red", "blue")
    lines = [
        f"{i:03d},{a:.4f},{c},{b:.4f}"
        for i, (a, b, c) in enumerate(zip(x, y, colours, strict=True))
    ]
    lines[3] = "003,,red,1.2"
    path.write_text("\n".join(["id,x,colour,y", *lines]) + "\n")


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """A folder with a table, a study file and a finished fit, made once."""
    folder = tmp_path_factory.mktemp("own table")
    write_rows(folder / "rows.csv")
    (folder / "study.toml").write_text(STUDY)
    words = ["ocbnn", "fit", str(folder / "study.toml"), "--out", str(folder / "out")]
    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(SystemExit):
        patch.setattr(sys, "argv", words)
        main()
    return folder
