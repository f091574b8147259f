"""The studio in a real browser: what hands draw, keys move, and eyes and ears find."""

import re
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

pytestmark = needs_chromium
LOOK = Path(__file__).with_name("accessible.js").read_text()


def rules_of(studio, session):
    return [one["text"] for one in studio.json(session)["document"]["rules"]]


def test_a_curve_is_drawn_and_expected(studio, chromium):
    session = studio.example("fig2-right")
    studio.save(session, lambda d: d.update(rules=[]))
    with opened(chromium, work(studio, session)) as page:
        is_ready(page)
        page.get_by_role("button", name="Expect a curve").click()
        drag(page, (-2, 0), (-1, 3), (0, 4), (1, 3), (2, 0))
        expect(page.locator("ul.rules li .words")).to_have_text(
            re.compile(r"Where x is -\S+ to \S+: y is about .*x².*, give or take")
        )
        # What cannot be dragged is not offered for it.
        expect(page.locator("#hint")).to_contain_text("Change it there, as text")
        is_ready(page)
        picture(page, "11-curve")
    (text,) = rules_of(studio, session)
    assert re.match(r"if -\S+ <= x <= \S+ then y ~ Normal\(.+, \S+\)$", text)


def test_changes_of_rules_are_undone_one_by_one(studio, chromium):
    session = studio.example("fig2-right")
    before = rules_of(studio, session)
    with opened(chromium, work(studio, session)) as page:
        is_ready(page)
        undo = page.get_by_role("button", name="Undo")
        expect(undo).to_be_disabled()
        page.get_by_role("button", name="Keep inside a band").click()
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Move view")).to_have_attribute(
            "aria-pressed", "true"
        )
        page.get_by_role("button", name="Keep inside a band").click()
        drag(page, (-2, 5), (2, 10))
        cards = page.locator("ul.rules li")
        expect(cards).to_have_count(2)
        cards.first.get_by_role("button", name="Remove box").click()
        expect(cards).to_have_count(1)
        expect(page.get_by_role("button", name="Remove Rule 1")).to_be_focused()
        page.keyboard.press("Control+z")
        expect(cards).to_have_count(2)
        undo.click()
        expect(cards).to_have_count(1)
        expect(undo).to_be_disabled()
        is_ready(page)
    assert rules_of(studio, session) == before


def test_a_region_of_a_map_is_marked_and_said_in_a_dialog(studio, chromium):
    session = studio.example("fig1-right")
    studio.save(session, lambda d: d.update(rules=[]))
    with opened(chromium, work(studio, session)) as page:
        is_ready(page)
        page.get_by_role("button", name="Mark a region").click()
        drag(page, (1, -2), (3, 0))
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Add the rule").click()
        expect(dialog).to_contain_text("Choose at least one class")
        dialog.get_by_label("green").check()
        page.keyboard.press("Enter")
        expect(dialog).to_be_hidden()
        expect(page.locator("ul.rules li .words")).to_contain_text("y is green")
        is_ready(page)
        picture(page, "12-region")
    (text,) = rules_of(studio, session)
    assert re.match(r"if \S+ <= x0 <= \S+ and -\S+ <= x1 <= \S+ then y in {gr", text)


def test_the_strength_follows_every_key(studio, chromium):
    session = studio.example("fig2-right")
    with opened(chromium, work(studio, session)) as page:
        is_ready(page)
        slider = page.get_by_label("Strength of box")
        slider.focus()
        for _ in range(2):
            page.keyboard.press("ArrowLeft")
            page.wait_for_timeout(120)  # Answers to the first come between the keys.
        for _ in range(2):
            page.keyboard.press("ArrowLeft")
        expect(slider).to_have_value("4")
        page.wait_for_timeout(600)
        is_ready(page)
        expect(slider).to_have_value("4")
        expect(slider).to_be_focused()
    assert rules_of(studio, session)[0].endswith("[weight=2]")


def test_what_cannot_be_is_refused_in_its_field(studio, chromium):
    session = studio.example("fig1-left")
    with opened(chromium, work(studio, session)) as page:
        is_ready(page)
        page.locator("#add-rule").click()
        form = page.locator("details.add")
        form.get_by_label("from", exact=True).fill("80")
        form.get_by_label("to", exact=True).fill("30")
        page.keyboard.press("Enter")
        expect(form.locator(".trouble").first).to_have_text("Must be above “from”.")
        step(page, "fit")
        page.get_by_label("Inference").select_option("nuts")
        draws = page.get_by_label("Draws per chain")
        draws.fill("-5")
        draws.press("Enter")
        expect(page.locator("#fit .trouble")).to_contain_text("at least 1")
        expect(page.locator("ul.rules li")).to_have_count(1)
        is_ready(page)
    assert "draws" not in studio.json(session)["document"]["inference"]


def nameless(page):
    """Controls that a screen reader would have no name for."""
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")
    found = []
    for node in tree["nodes"]:
        said = {one["name"]: one["value"] for one in node.get("properties", ())}
        role, name = (node.get(key, {}).get("value", "") for key in ("role", "name"))
        focusable = said.get("focusable", {}).get("value")
        if focusable and role not in ("RootWebArea", "main") and not name.strip():
            found.append(role)
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("where", ["start", "curve", "map"])
def test_everything_can_be_read_and_has_a_name(studio, chromium, where, theme):
    address = studio.entry
    if where != "start":
        session = studio.example("fig1-left" if where == "curve" else "fig1-right")
        off = {"id": "r8", "text": "if 1 <= x <= 2 then y >= 0", "on": False}
        wrong = {"id": "r9", "text": "y << 3"}
        studio.save(session, lambda d: d["rules"].extend([off, wrong]))
        address = work(studio, session)
    with opened(chromium, address, color_scheme=theme) as page:
        if where == "start":
            expect(page.get_by_role("button", name="Clinical action")).to_be_visible()
        else:
            is_ready(page)
            for name in ("data", "rules", "prior", "fit", "take"):
                step(page, name)
            page.evaluate(
                "document.querySelectorAll('details').forEach(one => one.open = true)"
            )
            expect(page.locator("#hint")).to_contain_text("cannot be read")
        picture(page, f"13-{where}-{theme}")
        assert page.evaluate(LOOK) == []
        assert nameless(page) == []
