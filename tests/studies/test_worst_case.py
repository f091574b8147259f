"""The study of the worst case: its problems, and a tiny run that keeps the contract."""

import numpy as np

from ocbnn.inference import SVGD
from ocbnn.rules import parse_rule
from ocbnn.studies import names_for
from ocbnn.studies.base import Request
from ocbnn.studies.worst_case import PROBLEMS, STRENGTHS, WorstCaseStudy


def test_every_problem_has_the_inputs_it_says_and_one_rule():
    for problem in PROBLEMS.values():
        material = problem.make(0)
        assert material.X.shape == (len(material.y), problem.inputs)
        assert np.isfinite(material.X).all()
        for strength in STRENGTHS:
            rule = material.model(strength).rules
            rule = parse_rule(rule) if isinstance(rule, str) else rule
            assert rule.strictness == strength
    assert [problem.inputs for problem in PROBLEMS.values()] == [1, 2, 4, 9, 12]
    assert names_for("worst-case") == ["worst-case"]


def test_a_tiny_run_has_both_strengths_in_its_table():
    study = WorstCaseStudy(
        SVGD(particles=4, iterations=10), {"gap": PROBLEMS["gap"]}, points=100
    )
    outcome = study.run(Request(quick=True))
    both = outcome.numbers["models"]["ocbnn"]["gap"]
    assert set(both) == set(STRENGTHS)
    assert 0 <= both["firm"]["under_attack"] <= 1
    (table,) = study.tables(outcome.numbers)
    assert [row[2] for row in table.rows] == list(STRENGTHS)
    assert "gap" in study.line(outcome.numbers)
