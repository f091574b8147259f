"""Features, items and treatments: lists, dictionaries and documentation agree."""

import csv
import gzip
from importlib.resources import files
from pathlib import Path

from ocbnn.datasets.clinical import FEATURES
from ocbnn.datasets.clinical.tables import TABLES
from ocbnn.datasets.shipped import shipped


def test_the_lists_of_features_and_items_agree_with_the_dictionaries():
    here = files("ocbnn.datasets.clinical")

    def rows(path):
        opened = gzip.open if str(path).endswith("gz") else open
        with opened(str(path), "rt", newline="") as file:
            return list(csv.DictReader(file))

    folder = shipped("mimic3_demo")
    known = {
        row["ITEMID"]: (row["LABEL"], row.get("LINKSTO", "labevents").upper())
        for name in ("D_ITEMS", "D_LABITEMS")
        for row in rows(folder / f"{name}.csv.gz")
    }
    assert tuple(row["feature"] for row in rows(here / "features.csv")) == FEATURES
    items = rows(here / "items.csv")
    assert {row["feature"] for row in items} == set(FEATURES)
    for row in items:
        assert known[row["itemid"]] == (row["label"], row["table"])
        assert row["table"] in TABLES
    systems = {"metavision": "INPUTEVENTS_MV", "carevue": "INPUTEVENTS_CV"}
    treatments = rows(here / "treatments.csv")
    for row in treatments:
        assert known[row["itemid"]] == (row["label"], systems[row["source"]])
    ids = [row["itemid"] for row in items + treatments]
    assert len(ids) == len(set(ids))


def test_the_page_repeats_the_lists():
    here = files("ocbnn.datasets.clinical")
    page = (Path(__file__).parents[2] / "docs" / "clinical.md").read_text()
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.splitlines()
        if line.startswith("| `")
    ]
    with (here / "features.csv").open() as file:
        for row in csv.DictReader(file):
            told = [f"`{row['feature']}`", row["unit"], row["summary"]]
            assert [*told, row["carry_hours"]] in [line[:4] for line in cells]
            assert row["before_hours"] in ("0", row["carry_hours"])
    with (here / "items.csv").open() as file:
        for row in csv.DictReader(file):
            told = [f"`{row['feature']}`", row["low"], row["high"]]
            special = row["part"] or "Irrigant" in row["label"]
            assert special or told in [line[:3] for line in cells]
