"""Tables read the same as Markdown, LaTeX and HTML."""

import pytest

from ocbnn.studies.tables import Table, number, spread

TABLE = Table(
    "A & B", ("", "BNN", "OC-BNN"), (("VIOL [%]", "0.1 ± 0.2", number(None)),)
)


def test_markdown_aligns_numbers_to_the_right():
    assert TABLE.markdown() == (
        "A & B\n\n|  | BNN | OC-BNN |\n| --- | ---: | ---: |\n"
        "| VIOL [%] | 0.1 ± 0.2 | \N{EN DASH} |\n"
    )


def test_latex_escapes_what_it_would_take_for_commands():
    lines = TABLE.latex().splitlines()
    assert lines[1] == r"\begin{tabular}{lrr}"
    assert r"VIOL [\%] & 0.1 $\pm$ 0.2 & -- \\" in lines
    assert lines[-1] == r"\end{tabular}"
    powers = Table("", ("10⁻³ rad",), ()).latex()
    assert "10$^{-}$$^{3}$ rad" in powers
    assert powers.isascii()


def test_html_escapes_markup():
    table = Table("<b>", ("<i>",), (("a < b",),))
    assert "<b>" not in table.html()
    assert "a &lt; b" in table.html()


def test_a_row_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="2 cells under 1 heads"):
        Table("t", ("one",), (("a", "b"),))


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.123456, None, "0.1235"),
        (1234.56, None, "1235"),
        (0.0, 3, "0.000"),
        ([0.5, None], 1, "0.5; \N{EN DASH}"),
        ("poor", None, "poor"),
    ],
)
def test_numbers_are_short(value, digits, text):
    assert number(value, digits) == text


def test_a_spread_is_shown_where_there_is_one():
    assert spread({"rmse": 0.0123, "rmse_sd": 0.001}, "rmse", 1, 1e3) == "12.3 ± 1.0"
    assert spread({"rmse": 0.0123}, "rmse", 1, 1e3) == "12.3"
    assert spread({"rmse": None, "rmse_sd": None}, "rmse", 1) == "\N{EN DASH}"
