"""Pages of the studio in a real browser, and hands that use them."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

# What a page shows in a moment takes longer where other work has the cores.
expect.set_options(timeout=60_000)
CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
# Where pictures of every state go, for those who want to look at them.
PICTURES = os.environ.get("OCBNN_PICTURES")


@contextmanager
def opened(chromium, address, **settings):
    """A page, in which nothing may go wrong that only its console tells."""
    size = {"width": 1280, "height": 720}
    context = chromium.new_context(**{"viewport": size, **settings})
    page = context.new_page()
    page.set_default_timeout(30_000)
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
    page.goto(address)
    yield page
    context.close()
    # A refusal that the page handles is told by the browser as well.
    assert [one for one in wrong if "the server responded with" not in one] == []


def picture(page, name):
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


def work(studio, session):
    """The address of a session's page, as it is printed."""
    head, _, token = studio.entry.partition("?")
    return f"{head}s/{session.rpartition('/')[2]}?{token}"


def is_ready(page):
    expect(page.locator("#saved")).to_have_text("Saved")
    page.wait_for_selector("#graph-one .main-svg")


def drag(page, *places):
    """Drag from one place of the plot to others, in units of its axes."""
    find = """([x, y]) => {
        const graph = document.getElementById("graph-one");
        const { xaxis: one, yaxis: two } = graph._fullLayout;
        const box = graph.getBoundingClientRect();
        return [box.x + one._offset + one.d2p(x), box.y + two._offset + two.d2p(y)];
    }"""
    first, *others = (page.evaluate(find, place) for place in places)
    page.mouse.move(*first)
    page.mouse.down()
    for place in others:
        page.mouse.move(*place, steps=8)
    page.mouse.up()


def step(page, name):
    """Open one of the steps, if it is closed."""
    part = page.locator(f"#step-{name}")
    if part.get_attribute("open") is None:
        part.locator("summary").first.click()
    return part
