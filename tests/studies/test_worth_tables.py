"""What rules are worth on real tables: the rules, their truth, and a tiny run."""

import json

import numpy as np
import pytest

from ocbnn.inference import SVGD
from ocbnn.rules import Schema, bind, parse_rule
from ocbnn.studies import baselines, names_for, reproduce, runner
from ocbnn.studies.baselines import BASELINES
from ocbnn.studies.worth import MODELS
from ocbnn.studies.worth_rules import (
    KNOWN,
    agreement,
    direction,
    directions,
    draw_split,
    ruled_table,
    truth,
)
from ocbnn.studies.worth_tables import WorthTablesStudy, run_cell, summary_of

PLAN = SVGD(particles=4, iterations=10)


def bound_rule(text, classes=None):
    return bind(parse_rule(text), Schema(("a", "b"), ("y",), classes))


@pytest.mark.parametrize("name", KNOWN)
def test_every_rule_binds_to_its_table_and_is_mostly_true(name):
    table = ruled_table(name)
    assert [bound.name for bound in table.bounds] == list(KNOWN[name])
    assert 1 <= len(table.rules) <= 4
    assert all(known.reason for known in table.known.values())
    assert np.isfinite(table.X).all()
    for rule, cell in truth(table).items():
        assert cell["share"] is None or cell["share"] >= 0.8, rule
        assert cell["share"] is not None or cell["count"] == 0
    for bound in table.bounds:
        # A rule that speaks of no row could not be checked, nor tell models anything.
        assert bound.applies(table.X).sum() >= 10


def test_rules_of_one_table_only_reach_the_baselines_that_can_use_them():
    concrete = ruled_table("concrete")
    told = dict(zip(concrete.inputs, directions(concrete), strict=True))
    assert told.pop("cement") == told.pop("age") == 1
    assert told.pop("water") == -1
    assert set(told.values()) == {0}
    assert set(directions(ruled_table("cancer"))) == {0}


def test_the_direction_of_a_rule_is_read_off_its_claim():
    box = "if 0 <= a <= 1 and 0 <= b <= 1 then"
    told = {
        "y rises with b": 1,
        "y falls with a": -1,
        "d(y, a) >= 0": 1,
        "y >= 0": 0,
        "d(y, a, a) >= 0": 0,
        "d(y, a) >= 2": 0,
        "-1 <= d(y, a) <= 1": 0,
    }
    assert {claim: direction(bound_rule(f"{box} {claim}")) for claim in told} == told


def test_the_share_of_rows_that_agree_is_counted_by_hand():
    X = np.array([[0.0, 0], [1, 0], [2, 0], [0, 1], [5, 1]])
    y = np.array([1.0, 3.0, 2.0, 0.0, -4.0])
    box = "if 0 <= a <= 9 and 0 <= b <= 9 then"
    assert agreement(bound_rule(f"{box} y >= 1"), X, y) == {
        "compared": "rows",
        "count": 5,
        "share": 3 / 5,
    }
    # With b = 0: 1 to 3 and 1 to 2 rise, 3 to 2 falls. With b = 1: 0 to -4 falls.
    rising = agreement(bound_rule(f"{box} y rises with a"), X, y)
    assert rising == {"compared": "pairs", "count": 4, "share": 2 / 4}
    falling = agreement(bound_rule(f"{box} y falls with a"), X, y)
    assert falling["share"] == 2 / 4
    # With a = 0: 1 to 0 falls; no other two rows have the same a.
    assert agreement(bound_rule(f"{box} y rises with b"), X, y) == {
        "compared": "pairs",
        "count": 1,
        "share": 0.0,
    }
    alone = agreement(bound_rule(f"{box} y rises with a"), X[[0, 3]], y[[0, 3]])
    assert alone == {"compared": "pairs", "count": 0, "share": None}
    # A rule about how fast is about no pair; rows outside of the region do not count.
    assert agreement(bound_rule(f"{box} d(y, a) >= 2"), X, y)["count"] == 0
    near = "if 0 <= a <= 1 and 0 <= b <= 9 then y rises with a"
    assert agreement(bound_rule(near), X, y)["count"] == 1
    classes = bound_rule("if a >= 1 then y in {yes}", ("no", "yes"))
    found = agreement(classes, X, np.array([0, 1, 1, 0, 0]))
    assert found == {"compared": "rows", "count": 3, "share": 2 / 3}


def test_splits_are_disjoint_nested_and_have_every_class():
    table = ruled_table("credit")
    for seed in range(30):
        train, test = draw_split(table, seed, 120, 300, 15)
        assert not {*train} & {*test}
        assert (len(train), len(test)) == (120, 300)
        fewest = table.y[train[:15]]
        assert min((fewest == "good").sum(), (fewest == "bad").sum()) >= 3
        # More tests do not change the rows to learn from.
        again, _ = draw_split(table, seed, 120, 10, 15)
        np.testing.assert_array_equal(again, train)
    assert len(draw_split(ruled_table("yacht"), 0, 120, 300, 15)[1]) == 188


def test_ratios_are_paired_by_split():
    cell = lambda error: {"rmse": error, "seconds": 1.0, "rhat_max": 1.0}
    curve = {
        "15": [
            {"bnn": cell(4.0), "ocbnn": cell(1.0)},
            {"bnn": cell(1.0), "ocbnn": cell(1.0)},
        ],
        "30": [
            {"bnn": cell(1.0), "ocbnn": cell(0.5)},
            {"bnn": cell(1.0), "ocbnn": cell(0.5)},
        ],
    }
    summary = summary_of(curve, [15, 30], "ocbnn")
    assert summary["15"]["ratio"] == pytest.approx(0.5)
    # Logarithms of the ratios are log(1/4) and 0: their sd is log(4) / sqrt(2).
    assert summary["15"]["ratio_se"] == pytest.approx(0.5 * np.log(4) / 2)
    assert summary["15"]["worth"] == pytest.approx(15)
    assert summary["30"]["worth"] is None
    assert summary["15"]["rmse"] == 1.0
    free = summary_of(curve, [15, 30], "bnn")["15"]
    assert free["rmse_se"] == pytest.approx(1.5)
    assert (free["rmse"], free["mixed"]) == (2.5, 1.0)
    assert (free["error"], free["ratio"], free["worth"]) == ("rmse", 1.0, 0.0)


def test_a_tiny_run_keeps_the_contract(monkeypatch, tmp_path):
    study = WorthTablesStudy(PLAN, ("yacht", "cancer"), rows=(15,), splits=2)
    monkeypatch.setitem(runner._STUDIES, "worth-tables", study)
    monkeypatch.setattr(baselines, "_TREES", 5)
    monkeypatch.setattr(baselines, "_BOOSTING", {"max_iter": (5,)})
    (result,) = reproduce("worth-tables", quick=True, out=tmp_path)
    written = tmp_path / "worth-tables"
    assert json.loads((written / "result.json").read_text()) == result
    assert list(result["models"]) == [*MODELS, *BASELINES]
    shared = {"error", "ratio", "ratio_se", "better", "worth"}
    with_se = lambda *names: {*names, *(f"{name}_se" for name in names)}
    values = with_se("rmse", "log_likelihood", "coverage", "seconds")
    classes = with_se("log_loss", "accuracy", "seconds")
    ours = with_se("violation") | {"mixed"}
    for key, tables in result["models"].items():
        own = ours if key in MODELS else set()
        noise = with_se("noise") if key in MODELS else set()
        assert list(tables["yacht"]) == list(tables["cancer"]) == ["15"]
        assert set(tables["yacht"]["15"]) == shared | values | own | noise
        assert set(tables["cancer"]["15"]) == shared | classes | own
    moved = result["models"]["projection"]["yacht"]["15"]["violation"]
    assert moved < result["models"]["bnn"]["yacht"]["15"]["violation"]
    assert len(result["splits"]["cancer"]["15"]) == 2
    assert result["truth"]["yacht"]["speed"] == {
        "compared": "pairs",
        "count": 2002,
        "share": 1.0,
    }
    assert len(result["rules"]) == 4
    assert result["rules"][2].startswith("cancer, large: if radius >= 18 and")
    assert result["rules"][2].endswith("are enlarged and have dents)")
    assert sorted(path.stem for path in written.glob("*.png")) == ["cancer", "yacht"]
    page = (tmp_path / "index.html").read_text()
    assert "monotone boosting" in page
    assert "yacht: speed" in (written / "table.md").read_text()


def test_a_run_that_is_stopped_continues_with_the_rest(monkeypatch, tmp_path):
    study = WorthTablesStudy(PLAN, ("energy",), rows=(15, 30), splits=2)
    monkeypatch.setitem(runner._STUDIES, "worth-tables", study)
    runs = []

    def cell(table, count, seed, *rest):
        if len(runs) == 3:
            runs.append(None)
            raise KeyboardInterrupt
        runs.append((count, seed))
        ours = {"violation": 0.0, "rhat_max": 1.0}
        scores = {"rmse": 60.0 / count + seed, "log_likelihood": -1.0, "coverage": 0.9}
        baseline = {**scores, "seconds": 1.0}
        return dict.fromkeys(MODELS, baseline | ours) | dict.fromkeys(
            BASELINES, baseline
        )

    monkeypatch.setattr("ocbnn.studies.worth_tables.run_cell", cell)
    with pytest.raises(KeyboardInterrupt):
        reproduce("worth-tables", out=tmp_path)
    (result,) = reproduce("worth-tables", out=tmp_path)
    assert runs == [(15, 0), (15, 1), (30, 0), None, (30, 1)]
    assert result["models"]["bnn"]["energy"]["15"]["rmse"] == 4.5


def test_all_models_see_the_same_rows(monkeypatch):
    seen = []
    spy = lambda *known: seen.append(known[1:3]) or (np.zeros(188), np.ones(188))
    monkeypatch.setattr("ocbnn.studies.worth_tables.predict_values", spy)
    monkeypatch.setattr(
        "ocbnn.studies.worth_tables.fit_models",
        lambda make, X, y, *rest: seen.append((X, y)) or {},
    )
    table = ruled_table("yacht")
    run_cell(table, 15, 0, (15, 120), PLAN)
    train, _ = draw_split(table, 0, 120, 300, 15)
    assert len(seen) == 1 + len(BASELINES)
    for X, y in seen:
        np.testing.assert_array_equal(X, table.X[train[:15]])
        np.testing.assert_array_equal(y, table.y[train[:15]])


def test_the_group_stands_for_both_studies_and_is_not_the_papers():
    assert names_for("worth") == ["worth-functions", "worth-tables"]
    assert not set(names_for("worth")) & set(names_for("all"))
