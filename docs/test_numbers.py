"""Numbers and options that the pages tell are the code's own."""
# ruff: noqa: D103 (a test's name is the sentence it proves)

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import ocbnn
from ocbnn import errors
from ocbnn.analysis import explanation, rule_removal, run_numbers
from ocbnn.bench.suite import CASES
from ocbnn.certificates import arguments
from ocbnn.claims.edge import MARGIN, MOST_OF_ROOM, TOLERANCE
from ocbnn.cli.app import app
from ocbnn.core.units import Units
from ocbnn.datasets.uci import uci as load
from ocbnn.estimators import Refinement
from ocbnn.fitted import streams
from ocbnn.fitted.record import REFERENCE_INPUTS
from ocbnn.inference import PLANS, choice, layout, progress, verdict
from ocbnn.metrics import hard_rules
from ocbnn.projects import data_split
from ocbnn.refinement import added_points, hard
from ocbnn.studies import toy_runs, uci
from ocbnn.studies.base import Request
from ocbnn.studies.toys import TOYS
from ocbnn.studio import connections, server
from ocbnn.tables import decompression, source, table

DOCS = Path(__file__).parent
REFINED, LIMITS = Refinement(), connections.ConnectionLimits()
WORDS = {10: "ten", 20: "twenty", 120: "two minutes"}


def plain(page: str) -> str:
    """A page on one line, without the addresses of its links."""
    text = (DOCS / page).read_text()
    return re.sub(r"\s+", " ", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text))


SAID = [
    ("hard.md", f"It draws {hard.LOOKED_AT:,} fresh points"),
    (
        "hard.md",
        f"Fewer than {hard_rules.LEAST_DRAWS} draws, or weights that make them",
    ),
    ("hard.md", f"fewer than {hard_rules.LEAST_ESS:g} of equal weight"),
    ("reference.md", f"at least {added_points._WALKERS_PER_INPUT} where its points"),
    ("reference.md", f"walk, else {added_points._POINTS_PER_INPUT})"),
    ("reference.md", f"and {choice.BATCH} of memory-mapped arrays"),
    ("firm.md", f"slack from {REFINED.starts} places of the region"),
    ("firm.md", f"worst input, and {REFINED.test_points} fresh points"),
    ("firm.md", f"a factor of {added_points._GROWTH:g} in rounds"),
    ("firm.md", f"to {added_points._MAX_GROWTH:g} times at most"),
    ("inference.md", f"Up to {choice._SMALL:,.0f} multiplications in one gradient"),
    ("inference.md", f"up to {choice._LARGE / 1e6:g} million MCLMC"),
    ("inference.md", f"SGHMC with batches of {choice.BATCH} rows"),
    ("inference.md", f"every {WORDS[progress._PLAIN_SECONDS]} seconds where there"),
    ("inference.md", f"R-hat at most {verdict.GOOD_RHAT}, at least "),
    ("inference.md", f"at least {verdict.WANTED_ESS:g} effective draws everywhere"),
    ("inference.md", f"at up to {REFERENCE_INPUTS} of your rows"),
    ("diagnostics.md", f"measured at up to {REFERENCE_INPUTS} of your rows"),
    ("diagnostics.md", f"at most {verdict.GOOD_RHAT}: all agree"),
    ("diagnostics.md", f"at least {verdict.WANTED_ESS:g}: enough for means"),
    ("diagnostics.md", f"below {run_numbers._MAX_DIVERGENT:.0%}".replace("%", " %")),
    ("diagnostics.md", f"NUTS, HMC, SMC | at least {run_numbers._LEAST_ACCEPTANCE}"),
    ("diagnostics.md", f"at least {verdict.LEAST_ENERGY}: energies change freely"),
    ("diagnostics.md", f"at most {run_numbers._MAX_CUT_OFF * 100:g} %"),
    ("diagnostics.md", f"within {run_numbers._MAX_EVIDENCE_RANGE:g} of each other"),
    ("method.md", f"it is {100 * TOLERANCE:g} % of the"),
    ("method.md", f"$m_{{jk}} = {MARGIN:g}\\, t_{{jk}}$"),
    ("rules.md", f"inwards by two tolerances, {100 * MARGIN * TOLERANCE:g} % of the"),
    (
        "rules.md",
        f"no more than {'a tenth' if MOST_OF_ROOM == 0.1 else ''} of the room",
    ),
    ("explain.md", f"has a strength of at most {rule_removal._MILD:g}"),
    ("explain.md", f"take no more than {WORDS[explanation.PATIENCE]}"),
    ("scaling.md", f"less than {layout._WAIT * 1e6:g} microseconds of work"),
    ("scaling.md", f"({layout._WAIT_BATCHED * 1e6:g} for algorithms that draw"),
    ("scaling.md", f"at {layout._CORE_SPEED / 1e9:g} billion operations"),
    ("scaling.md", f"{streams.LOOKED_AT:,} rows for all the rest"),
    ("saving.md", f"keeps the {streams.LOOKED_AT:,} that its reports look at"),
    ("certificates.md", f"evenly chosen; {arguments.DRAWS} when left out"),
    ("certificates.md", f"`boxes={arguments.BOXES}`"),
    ("certificates.md", f"`confidence={arguments.CONFIDENCE}`"),
    ("command-line.md", f"It looks at {arguments.DRAWS} draws"),
    ("command-line.md", f"at most about {data_split._MOST_SCORED:,} are scored"),
    ("command-line.md", f"at most {table.MOST_COLUMNS:,} columns"),
    ("command-line.md", f"at most {source._MOST_NAME:,} characters"),
    ("command-line.md", f"more than {decompression._RATIO} times its size"),
    ("command-line.md", f"for {WORDS[explanation.PATIENCE]} at most"),
    ("studio.md", f"at most {server.MOST_BYTES / 2**20:g} MiB"),
    ("studio.md", f"from {arguments.DRAWS} draws"),
    ("studio.md", f"send nothing for {WORDS[LIMITS.head]} seconds are closed"),
    ("studio.md", f"request bodies that stall for {WORDS[LIMITS.silence]}, and"),
    ("studio.md", f"at most {LIMITS.most} connections"),
    ("studio.md", f"at most {server._MOST_LISTENING} tabs"),
]


@pytest.mark.parametrize(("page", "words"), SAID)
def test_a_number_in_a_sentence_is_the_codes_own(page: str, words: str) -> None:
    assert words in plain(page)


def rows(page: str, head: str) -> list[list[str]]:
    """Cells of the table with this head."""
    lines = (DOCS / page).read_text().split(head)[1].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]


def value(text: str) -> Any:
    """What a cell says a setting usually is."""
    known = {"on": True, "off": False, "no": False, "Adagrad": None}
    return known[text] if text in known else float(text)


def test_usual_settings_of_plans_are_those_told() -> None:
    kinds, names, compared = {k.__name__: k for k in PLANS.values()}, [], 0
    for plans, setting, usual, _ in rows("inference.md", "| plan | setting | usual |"):
        names = plans.split(", ") if plans else names
        if setting in ("`sampler`", "`over`"):
            continue
        told = [value(one) for one in usual.split(", ")]
        for name, one in zip(names, told * (len(names) // len(told)), strict=True):
            assert getattr(kinds[name](), setting.strip("`")) == one, (name, setting)
            compared += 1
    assert compared > 35
    assert (ocbnn.WarmStart().sampler, ocbnn.Laplace().over) == (
        ocbnn.MCLMC(chains=8),
        "last",
    )


def test_usual_settings_of_rules_are_those_told() -> None:
    usual = {f.name: f.default for f in dataclasses.fields(ocbnn.Rule)}
    told = {row[0]: row[1] for row in rows("rules.md", "| setting | usual | for |")}
    assert told["`strength`"] == f"`{usual['strength']}`"
    assert told["`tolerance`"] == f"{100 * TOLERANCE:g} % of the spread"
    assert usual["tolerance"] is usual["form"] is None
    assert ocbnn.rule("y > 0").is_indicator is (told["`form`"] == "`indicator`")
    assert float(told["`points`"]) == usual["points"]
    assert told["`per`"] == f"`{usual['per']}`"
    assert told["`allowed`, `forbidden`"] == "10, 0.01 or 1"
    assert (usual["allowed"], usual["forbidden"]) == (10.0, None)
    assert told["`tau`"] == "({:g}, {:g})".format(*usual["tau"])
    assert value(told["`literal`"]) == usual["literal"]


def options() -> dict[str, dict[str, Any]]:
    """Options of every command with their defaults."""
    group = typer.main.get_command(app)
    commands = {**group.commands, **group.commands["data"].commands}
    return {
        name: {word: one.default for one in made.params for word in _words(one)}
        for name, made in commands.items()
    }


def _words(option: Any) -> list[str]:
    return [*option.opts, *option.secondary_opts]


def test_every_option_on_every_page_is_one_of_a_command() -> None:
    known = {word for command in options().values() for word in command}
    known |= {"--help", "--xla"}  # Typer's, and of XLA_FLAGS
    for path in (*DOCS.glob("*.md"), DOCS.parent / "README.md"):
        found = re.findall(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*", path.read_text())
        assert set(found) <= known, path.name


def test_numbers_behind_options_are_their_defaults() -> None:
    page, made = plain("command-line.md"), options()
    for command, option in (("predict", "--interval"), ("check", "--most")):
        assert f"{option} {made[command][option]}" in page
    assert f"--least {made['certify']['--least']}" in page


def test_every_case_of_the_bench_has_a_row() -> None:
    told = [row[0].strip("`") for row in rows("command-line.md", "| case | work |")]
    assert told == [*CASES]


def test_an_output_without_spread_is_refused_and_such_an_input_is_shifted() -> None:
    page = plain("method.md")
    assert "An input without spread is only shifted. An output without" in page
    rows = np.ones((5, 1))
    with pytest.raises(errors.DataError, match="nothing to learn"):
        ocbnn.OCBNNRegressor().fit(rows, rows[:, 0])
    assert Units.of(7 * rows, None, 1).standard_inputs(8 * rows).tolist() == [[1]] * 5


def test_synthetic_studies_run_raw_columns_and_isotropic_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ocbnn.OCBNNRegressor, "fit", lambda self, *_: self)
    for study in (toy_runs, uci):
        monkeypatch.setattr(study, "finished", lambda model: model)
    page = plain("method.md")
    assert "studies of its synthetic problems run it; those of real tables" in page
    without = {"with_rules": False}
    one = toy_runs.fit_toy(TOYS["fig1-left"], ocbnn.HMC(), Request(), **without)
    assert (one.standardize, one.weight_prior) == (False, "isotropic")
    two = uci.fit("yacht", load("yacht"), np.arange(40), 0, ocbnn.HMC(), **without)
    assert (two.standardize, two.weight_prior) == (True, "fan-in")
