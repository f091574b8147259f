"""`ocbnn fit` on tables that are read in batches."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import ocbnn as library
from ocbnn.errors import DataError
from ocbnn.projects import data_split, streaming
from tests.cli.conftest import STUDY, write_rows

SVGD = 'algorithm = "svgd"\nparticles = 10\niterations = 20\nbatch_size = 8'
STREAMED = STUDY.replace(
    'algorithm = "nuts"\nchains = 2\nwarmup = 60\ndraws = 30\nmax_depth = 5', SVGD
).replace('missing = "drop"', 'missing = "drop"\nstream = true')


def positions(out):
    model = library.load(out / "model.ocbnn")
    return jax.tree.leaves(model.draws_.positions)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A finished streamed fit, with blocks of a few rows."""
    folder = tmp_path_factory.mktemp("streamed")
    write_rows(folder / "rows.csv")
    (folder / "study.toml").write_text(STREAMED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "_BLOCK", 7)
        from ocbnn.projects.fitting import fit_study

        fit_study(folder / "study.toml", folder / "out", progress=False)
    return folder


def test_a_streamed_fit_is_the_fit_in_memory(whole, ocbnn):
    (whole / "plain.toml").write_text(STREAMED.replace("stream = true", ""))
    plain = whole / "plain"
    assert ocbnn("fit", whole / "plain.toml", "--out", plain).code == 0
    for one, other in zip(positions(whole / "out"), positions(plain), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    said, other = (
        json.loads((out / "report.json").read_text()) for out in (whole / "out", plain)
    )
    assert said["rows"] == other["rows"] == {"fitted": 29, "held_out": 10, "dropped": 1}
    assert said["scores"]["rows"] == 10
    rmse = said["scores"]["outputs"]["y"]["rmse"]
    assert rmse == pytest.approx(other["scores"]["outputs"]["y"]["rmse"], rel=1e-4)
    assert (
        "29 rows, 29 of them looked at here,"
        in (whole / "out" / "report.txt").read_text()
    )


def test_a_stopped_streamed_fit_goes_on_from_its_rows(whole, tmp_path, ocbnn):
    folder = tmp_path / "copy"
    shutil.copytree(whole, folder)
    out = folder / "out"
    run = json.loads((out / "run.json").read_text())
    run |= {"study": str(folder / "study.toml"), "folder": str(folder)}
    (out / "run.json").write_text(json.dumps(run))
    (out / "model.ocbnn").unlink()
    before = (out / "rows" / "fitted_X.npy").stat().st_mtime_ns
    result = ocbnn("resume", out)
    assert result.code == 0, result.err
    assert "writing" not in result.err
    assert (out / "rows" / "fitted_X.npy").stat().st_mtime_ns == before
    for one, other in zip(positions(out), positions(whole / "out"), strict=True):
        np.testing.assert_array_equal(one, other)
    # Files that were never completed are written again.
    (out / "rows" / "rows.json").unlink()
    assert "writing 39 rows" in ocbnn("resume", out).err
    (out / "rows" / "scored_X.npy").write_bytes(b"")
    with pytest.raises(DataError, match="Remove the folder"):
        streaming.kept_parts(out / "rows")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (SVGD, 'algorithm = "nuts"', "line 24, [inference] algorithm: NUTS needs all"),
        ("stream = true", 'stream = "yes"', "line 8, [data] stream: "),
        ('missing = "drop"', "", "1 of 40 rows of"),
    ],
)
def test_what_cannot_be_streamed_is_said_at_its_line(
    whole, tmp_path, ocbnn, old, new, message
):
    shutil.copy(whole / "rows.csv", tmp_path)
    assert old in STREAMED
    (tmp_path / "study.toml").write_text(STREAMED.replace(old, new, 1))
    result = ocbnn("fit", tmp_path / "study.toml", "--out", tmp_path / "out")
    assert message in result.err
    assert result.code == 2
    assert not (tmp_path / "out").exists()


def test_classes_are_streamed_as_labels(tmp_path, ocbnn):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    lines = [f"{a:.3f},{'up' if a > 0 else 'down'}" for a in x]
    (tmp_path / "rows.csv").write_text("\n".join(["x,y", *lines]))
    text = f"""\
[data]
file = "rows.csv"
output = "y"
task = "classification"
stream = true
[network]
hidden = [3]
[inference]
{SVGD}
"""
    (tmp_path / "study.toml").write_text(text)
    result = ocbnn("fit", tmp_path / "study.toml", "--out", tmp_path / "out")
    assert result.code == 0, result.err
    model = library.load(tmp_path / "out" / "model.ocbnn")
    assert model.classes_.tolist() == ["down", "up"]
    assert np.load(tmp_path / "out" / "rows" / "fitted_y.npy").dtype == "<U4"


def test_rows_beyond_a_million_are_held_out_by_chance(monkeypatch):
    monkeypatch.setattr(data_split, "_ORDERED", 1000)
    monkeypatch.setattr(data_split, "_MOST_SCORED", 300)
    marks = data_split.mark(5000, 0.2, seed=0)
    assert 900 < (~marks.fitted).sum() < 1100
    assert 240 < marks.scored.sum() < 360
    assert not (marks.fitted & marks.scored).any()
    bare = data_split.mark(5000, 0.0, seed=0)
    assert bare.fitted.all()
    assert 1800 < bare.scored.sum() < 2200
    few = data_split.mark(900, 0.5, seed=0)
    assert ((~few.fitted).sum(), few.scored.sum()) == (450, 300)


# A large file in a process of its own, which says how much memory it took at most.

LARGE = """\
[data]
file = "rows.parquet"
output = "y"
task = "regression"
stream = true

[[rules]]
name = "bounded"
rule = "y <= 3"
sampler = "like-data"

[network]
hidden = [20]

[fit]
holdout = 0.1

[inference]
"""
PLANS = {
    "svgd": 'algorithm = "svgd"\niterations = 200\nparticles = 20\n',
    "sgld": 'algorithm = "sgld"\nchains = 2\nwarmup = 200\ndraws = 50\n',
    "vi": 'algorithm = "vi"\niterations = 200\ndraws = 100\n',
}


def write_parquet(path, rows):
    import duckdb

    columns = ", ".join(f"random() AS x{i}" for i in range(9))
    with duckdb.connect(config={"memory_limit": "500MB"}) as connection:
        connection.execute(
            "COPY (SELECT *, sin(3 * x0) + x1 * x2 + 0.1 * random() AS y FROM "
            f"(SELECT {columns} FROM range({rows}))) TO '{path}' (FORMAT parquet)"
        )


def peak_of_fit(folder, name):
    """Gibibytes that `ocbnn fit` had in memory at most, and its report."""
    (folder / f"{name}.toml").write_text(LARGE + PLANS[name])
    words = ["fit", str(folder / f"{name}.toml"), "--out", str(folder / name), "--json"]
    program = (
        "import resource, sys; from ocbnn.cli.app import main\n"
        "try: main()\n"
        "finally: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "
        "file=sys.stderr)"
    )
    completed = subprocess.run(
        [sys.executable, "-c", program, *words],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=2400,
    )
    assert completed.returncode == 0, completed.stderr[-2000:]
    unit = 2**30 if sys.platform == "darwin" else 2**20
    return int(completed.stderr.split()[-1]) / unit, json.loads(completed.stdout)


@pytest.mark.slow
def test_a_file_is_fitted_in_little_memory(tmp_path):
    write_parquet(tmp_path / "rows.parquet", 200_000)
    peak, result = peak_of_fit(tmp_path, "svgd")
    assert peak < 2
    assert result["rows"] == {"fitted": 180_000, "held_out": 20_000, "dropped": 0}


@pytest.mark.slow
def test_fifty_million_rows_are_fitted_in_two_gibibytes(tmp_path):
    # About 12 GB on disk: the table, its copy while it is read, and its numbers.
    write_parquet(tmp_path / "rows.parquet", 50_000_000)
    for name in PLANS:
        peak, result = peak_of_fit(tmp_path, name)
        print(f"{name}: {peak:.2f} GiB at most")
        assert peak < 2, name
        assert result["rows"]["fitted"] > 44_000_000
        shutil.rmtree(Path(tmp_path / name))
    (tmp_path / "rows.parquet").unlink()


def test_a_streamed_fit_knows_the_rows_of_its_table(whole):
    model = library.load(whole / "out" / "model.ocbnn")
    lines = (whole / "rows.csv").read_text().splitlines()
    own = [float(lines[name].split(",")[3]) for name in model.fitted_.rows.names]
    np.testing.assert_array_equal(own, model.fitted_.rows.Y[:, 0])
