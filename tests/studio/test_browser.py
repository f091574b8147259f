"""The studio in a real browser: people's ways through it, from end to end."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.studio.browsing import (
    drag,
    is_ready,
    needs_chromium,
    opened,
    picture,
    step,
    work,
)
from tests.studio.conftest import LONG

pytestmark = needs_chromium
PLAN = {"algorithm": "nuts", "chains": 2, "warmup": 300, "draws": 100}
SECONDS = 120_000


def test_a_box_is_drawn_and_fitted_and_no_function_enters_it(studio, chromium):
    session = studio.example("fig2-right")
    studio.save(session, lambda d: d.update(rules=[], inference=PLAN))
    with opened(chromium, work(studio, session)) as page:
        is_ready(page)
        picture(page, "1-data")
        page.get_by_role("button", name="Forbid a box").click()
        drag(page, (-1, -5), (1, 3))
        expect(page.locator("ul.rules li .words")).to_have_text(
            re.compile(r"Where x is -(1|0\.9\d?|1\.0\d) to \S+: y is never")
        )
        is_ready(page)
        page.wait_for_timeout(500)
        expect(page.locator("#busy")).not_to_have_text(re.compile("^Computing"))
        picture(page, "2-rule")
        step(page, "fit")
        page.get_by_role("button", name="Fit", exact=True).click()
        expect(page.locator("#fit progress")).not_to_have_class("idle")
        page.wait_for_timeout(4000)
        picture(page, "3-fitting")
        expect(page.locator("#fit .message").first).to_have_text(
            "Fitted.", timeout=SECONDS
        )
        cells = page.locator("#fit table").first.locator("tbody td")
        expect(cells.first).to_have_text(re.compile(r"^0( %|\.0+ %)?$"))
        page.wait_for_timeout(2000)
        picture(page, "4-fitted")
        page.get_by_label("side by side").check()
        page.wait_for_timeout(1500)
        picture(page, "5-side-by-side")
        expect(page.locator("#pane-two")).to_be_visible()
    state = studio.json(session)
    assert state["result"]["with"]["rules"][0]["violation"] == 0


def test_the_edge_of_a_box_is_moved(studio, chromium):
    session = studio.example("fig2-right")
    with opened(chromium, work(studio, session)) as page:
        is_ready(page)
        page.wait_for_timeout(1000)
        drag(page, (0, -1), (0, 4))
        words = page.locator("ul.rules li .words")
        expect(words).not_to_have_text("Where x is -1 to 1: y is never -5 to 3")
        is_ready(page)
    text = studio.json(session)["document"]["rules"][0]["text"]
    low, high = map(float, re.search(r"\((\S+) <= y <= (\S+)\)", text).groups())
    assert low == pytest.approx(0, abs=0.3)
    assert high == pytest.approx(8, abs=0.3)


def test_a_wrong_rule_is_told_where_it_is_written_and_put_right(studio, chromium):
    session = studio.example("fig1-left")
    with opened(chromium, work(studio, session)) as page:
        is_ready(page)
        card = page.locator("ul.rules li").first
        card.get_by_text("Text and settings").click()
        box = card.locator("textarea")
        box.fill("gap: if -0.3 <= x <= 0.3 then 2.5 <= y << 3")
        message = card.locator(".message")
        expect(message).to_contain_text("a column, a number")
        expect(card.locator("mark")).to_have_text("<")
        picture(page, "6-wrong-rule")
        step(page, "fit")
        page.get_by_role("button", name="Fit", exact=True).click()
        expect(page.locator("#fit .message").first).to_contain_text("cannot be read")
        box.fill("gap: if -0.3 <= x <= 0.3 then 2.5 <= y <= 3.5")
        expect(message).to_have_text("")
        is_ready(page)
    assert studio.json(session)["problem"] is None


def test_files_are_taken_or_refused_with_a_reason(studio, chromium, tmp_path):
    bad, good = tmp_path / "bad.csv", tmp_path / "dose.csv"
    bad.write_text("dose,effect\n")
    lines = [f"{i / 10},{i % 5},{i % 3}" for i in range(30)]
    good.write_text("\n".join(["dose,age,effect", *lines]))
    with opened(chromium, studio.entry) as page:
        expect(page.get_by_role("button", name="Clinical action")).to_be_visible()
        picture(page, "0-start")
        page.locator("#file").set_input_files(bad)
        expect(page.locator("#message")).to_contain_text("has no rows")
        picture(page, "7-bad-file")
        large = tmp_path / "large.csv"
        large.write_bytes(b"a,b\n" + b"1,2\n" * 700_000)
        page.locator("#file").set_input_files(large)
        expect(page.locator("#message")).to_contain_text("larger than 2 MiB")
        page.locator("#file").set_input_files(good)
        page.wait_for_url("**/s/*")
        is_ready(page)
        expect(page.locator("#data")).to_contain_text("30 rows, 3 columns")
        expect(page.get_by_label("Look along")).to_be_visible()


def test_a_fit_is_stopped_and_all_is_there_after_a_reload(studio, chromium):
    session = studio.example("fig1-left")
    studio.save(session, lambda d: d.update(inference=LONG))
    with opened(chromium, work(studio, session)) as page:
        is_ready(page)
        step(page, "fit")
        page.get_by_role("button", name="Fit", exact=True).click()
        said = page.locator("#fit .message").first
        expect(said).to_contain_text("moves a second", timeout=SECONDS)
        studio.until_bands(session)
        page.reload()
        is_ready(page)
        expect(said).to_contain_text("moves a second", timeout=SECONDS)
        page.get_by_role("button", name="Stop and keep").click()
        expect(said).to_contain_text("kept", timeout=SECONDS)
        expect(page.locator("#fit table").first).to_be_visible(timeout=SECONDS)
        page.get_by_label("Title of this study").fill("my own study")
        page.get_by_label("Title of this study").blur()
        is_ready(page)
        page.reload()
        is_ready(page)
        expect(page.get_by_label("Title of this study")).to_have_value("my own study")
        expect(page.locator("#fit table").first).to_be_visible()


def test_what_is_taken_away_gives_the_same_numbers_on_the_command_line(
    studio, chromium, tmp_path
):
    session = studio.example("fig1-left")
    studio.save(session, lambda d: d.update(inference=PLAN))
    _, state = studio.fitted(session, quick=False)
    with opened(chromium, work(studio, session)) as page:
        is_ready(page)
        step(page, "take").scroll_into_view_if_needed()
        with page.expect_download() as download:
            page.get_by_role("link", name="Study with its data").click()
        download.value.save_as(tmp_path / "study.zip")
        with page.expect_download() as download:
            page.get_by_role("link", name="Figure as SVG").click()
        assert "<svg" in Path(download.value.path()).read_text()
        picture(page, "8-take-away")
    zipfile.ZipFile(tmp_path / "study.zip").extractall(tmp_path)
    command = [sys.executable, "-m", "ocbnn.cli", "fit", "study.toml", "--json"]
    completed = subprocess.run(
        command, cwd=tmp_path, check=True, capture_output=True, timeout=300
    )
    scores = json.loads(completed.stdout)["scores"]["outputs"]["y"]
    assert scores["rmse"] == state["result"]["with"]["scores"]["rmse"]


def test_two_tabs_do_not_disturb_each_other(studio, chromium):
    session = studio.example("fig2-left")
    with (
        opened(chromium, work(studio, session)) as one,
        opened(chromium, work(studio, session)) as two,
    ):
        is_ready(one)
        is_ready(two)
        one.get_by_label("Title of this study").fill("first")
        one.get_by_label("Title of this study").blur()
        is_ready(one)
        expect(two.get_by_label("Title of this study")).to_have_value("first")
        two.locator("ul.rules li input[type=checkbox]").first.uncheck()
        expect(
            one.locator("ul.rules li input[type=checkbox]").first
        ).not_to_be_checked()


def test_a_rule_is_added_with_the_keyboard_alone(studio, chromium):
    session = studio.example("fig1-left")
    with opened(chromium, work(studio, session), color_scheme="dark") as page:
        is_ready(page)
        page.locator("details.add > summary").focus()
        page.keyboard.press("Enter")
        for _ in range(12):
            page.keyboard.press("Tab")
            label = page.evaluate("document.activeElement.labels?.[0]?.innerText")
            values = {"from": "1", "to": "2", "not between": "-3", "and": "-1"}
            first = (label or "").splitlines()[0] if label else ""
            if first in values:
                page.keyboard.press("Control+a")
                page.keyboard.type(values[first])
            if page.evaluate("document.activeElement.innerText") == "Add":
                page.keyboard.press("Enter")
                break
        expect(page.locator("ul.rules li")).to_have_count(2)
        expect(page.locator("ul.rules li .words").nth(1)).to_have_text(
            "Where x is 1 to 2: y is never -3 to -1"
        )
        page.wait_for_timeout(1500)
        picture(page, "9-dark")


@pytest.mark.parametrize("width", [820, 1280])
def test_the_page_fits_its_width(studio, chromium, width):
    session = studio.example("fig1-right")
    size = {"width": width, "height": 1180 if width < 1000 else 720}
    with opened(chromium, work(studio, session), viewport=size) as page:
        is_ready(page)
        page.wait_for_timeout(2500)
        picture(page, f"10-classes-{width}")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width


HIDE = """(is) => {
    Object.defineProperty(document, "hidden", { value: is, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_tabs_that_are_not_seen_leave_the_connections_to_others(studio, chromium):
    """A browser has six for a host; headless, all tabs are seen unless told."""
    session = studio.example("fig2-left")
    with opened(chromium, work(studio, session)) as page:
        is_ready(page)
        page.evaluate(HIDE, True)
        others = [page.context.new_page() for _ in range(6)]
        for other in others:
            other.goto(page.url)
            expect(other.locator("#saved")).to_have_text("Saved", timeout=30_000)
            other.evaluate(HIDE, True)
        studio.save(session, lambda d: d.update(title="seen again"))
        title = page.get_by_label("Title of this study")
        page.wait_for_timeout(500)
        expect(title).not_to_have_value("seen again")
        page.evaluate(HIDE, False)
        expect(title).to_have_value("seen again")
        studio.save(session, lambda d: d.update(title="heard of"))
        expect(title).to_have_value("heard of")
        expect(page.locator("#saved")).to_have_text("Saved")
