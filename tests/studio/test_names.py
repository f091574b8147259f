"""The studio in a real browser: names with markup in them, and many classes."""

import csv
import io
import itertools

import pytest
from playwright.sync_api import expect

from tests.studio.browsing import is_ready, needs_chromium, opened, picture, work

pytestmark = needs_chromium
LINK, BOLD = '<a href="https://evil.example">x</a>', "y<b>"
TOLD = "%{x} &lt; <i>&amp;</i>"
LABELS = [*("<s>one</s>", "%{y} & 1<2", "three", "<b>four", "five")]
TEXTS = "nodes => nodes.map(one => one.textContent)"


def uploaded(studio, rows, name="hostile.csv"):
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    answer = studio.json(f"/api/upload?name={name}", text.getvalue().encode())
    return f"/api/sessions/{answer['id']}"


@pytest.fixture(scope="module")
def numbers(studio):
    rows = [[LINK, TOLD, BOLD]]
    rows += [[i / 10, i * 7 % 11, i % 5 + i / 100] for i in range(40)]
    session = uploaded(studio, rows)
    text = f"if 1 <= `{LINK}` <= 2 then `{BOLD}` >= 1 [sampler=like-data]"
    rule = {"id": "r1", "text": text}
    state = studio.save(session, lambda d: d.update(rules=[rule]))
    assert state["problem"] is None
    return session


@pytest.fixture(scope="module")
def classes(studio):
    rows = [["x", TOLD, "class"]]
    rows += [[i / 10, i * 7 % 11, LABELS[i % 5]] for i in range(50)]
    return uploaded(studio, rows)


def along(studio, session, names):
    view = {"along": names, "at": {}, "output": None, "ranges": {}}
    studio.save(session, lambda d: d.update(view=view))


def texts(page, selector):
    """What a person reads in the plot."""
    return page.locator(f"#graph-one {selector}").evaluate_all(TEXTS)


# Where a pointer is: over a place of the plot, or over a row of the last trace.
CORNER = {"xval": -0.7, "yval": -1.5}
HOVER = """([words, place]) => {
    const graph = document.getElementById("graph-one");
    const row = { curveNumber: graph.data.length - 1, pointNumber: 1 };
    Plotly.Fx.hover(graph, place ?? [row], "xy");
    const said = [...graph.querySelectorAll(".hovertext")];
    return said.some(one => words.some(some => one.textContent.includes(some)));
}"""


def is_told(page, *words, place=None):
    """Wait until the plot says one of these where a pointer is."""
    page.wait_for_function(HOVER, arg=[words, place])


def no_links(page):
    expect(page.locator("#graph-one .main-svg a")).to_have_count(0)
    expect(page.locator("#graph-one [href]")).to_have_count(0)


def test_names_of_columns_are_shown_as_they_are(studio, chromium, numbers):
    along(studio, numbers, [LINK])
    with opened(chromium, work(studio, numbers)) as page:
        is_ready(page)
        assert texts(page, ".xtitle") == [LINK]
        assert texts(page, ".ytitle") == [BOLD]
        no_links(page)
        picture(page, "14-hostile-curve")


def test_names_of_columns_are_shown_as_they_are_on_maps(studio, chromium, numbers):
    along(studio, numbers, [LINK, TOLD])
    with opened(chromium, work(studio, numbers)) as page:
        is_ready(page)
        page.wait_for_selector("#graph-one .cbtitle text", state="attached")
        assert texts(page, ".xtitle") == [LINK]
        assert texts(page, ".ytitle") == [TOLD]
        assert texts(page, ".cbtitle") == [f"mean of {BOLD}"]
        is_told(page, f"mean of {BOLD}: ", place=CORNER)
        is_told(page, f"{BOLD} 1.01, a row")
        no_links(page)
        picture(page, "15-hostile-map")


def test_names_of_classes_are_shown_as_they_are(studio, chromium, classes):
    along(studio, classes, ["x"])
    with opened(chromium, work(studio, classes)) as page:
        is_ready(page)
        page.wait_for_selector("#graph-one .legendtext")
        assert sorted(texts(page, ".legendtext")) == sorted(LABELS)
        is_told(page, f"a row of {max(LABELS)}")
        no_links(page)
    along(studio, classes, ["x", TOLD])
    with opened(chromium, work(studio, classes)) as page:
        is_ready(page)
        page.wait_for_selector("#graph-one .heatmaplayer image", state="attached")
        assert texts(page, ".ytitle") == [TOLD]
        assert sorted(texts(page, ".legendtext")) == sorted(LABELS)
        is_told(page, *(f"{label}: " for label in LABELS), place=CORNER)
        page.get_by_label("Map of").select_option(LABELS[0])
        page.wait_for_selector("#graph-one .cbtitle text", state="attached")
        assert texts(page, ".cbtitle") == [f"probability of {LABELS[0]}"]
        no_links(page)


@pytest.mark.parametrize("count", [5, 20])
def test_rows_of_all_classes_lie_in_the_plot(studio, chromium, count):
    rows = [["x", "class"], *([i % 37, f"c{i % count}"] for i in range(10 * count))]
    session = uploaded(studio, rows, "many.csv")
    with opened(chromium, work(studio, session)) as page:
        is_ready(page)
        page.wait_for_selector("#graph-one .legendtext")
        page.wait_for_timeout(500)
        picture(page, f"16-classes-{count}")
        seen = page.evaluate(
            """() => {
                const graph = document.getElementById("graph-one");
                const { yaxis } = graph._fullLayout;
                const rows = graph.data.filter((one) => one.mode === "markers");
                const heights = rows.map((one) => yaxis.d2p(one.y[0]));
                return [heights, yaxis._length, yaxis.d2p(0)];
            }"""
        )
    heights, bottom, ground = seen
    assert len(heights) == count
    assert all(ground < height < bottom - 2 for height in heights)
    # No two of them lie upon each other.
    assert min(b - a for a, b in itertools.pairwise(heights)) > 2.5
