"""The page in a real Chromium: for everybody to read, and with very many calls."""

import os
import struct
from itertools import product

import pytest

from hookbus.approvals import Denied

from . import chromium
from .chromium import until

expect = chromium.playwright().expect

SIZES = {"desktop": {"width": 1400, "height": 950}, "phone": {"width": 390, "height": 844}}
SHOTS = chromium.ROOT / "docs" / "_static"


def test_everybody_can_read_it_large_and_small_light_and_dark(open_page, fresh):
    fresh.run("hello", "KEY of the house", "open", "disk", "inner my pin is 4711")
    fresh.store.answer(fresh.asked("Ada", 300).id, Denied("ada", "too much"))
    fresh.asked("Ada", 500)
    page = open_page()
    page.locator("#waiting li").wait_for()
    until(page, 13).nth(4).click()
    page.get_by_text("redact changed argument 'text'").wait_for()
    page.locator("#receivers tbody tr").first.wait_for()
    page.evaluate("document.activeElement.blur()")
    page.evaluate(chromium.axe())
    for size, scheme in product(SIZES, ("light", "dark")):
        page.set_viewport_size(SIZES[size])
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if os.environ.get("HOOKBUS_SCREENSHOTS"):
            page.screenshot(path=SHOTS / f"page-{size}-{scheme}.png", full_page=True)
        found = page.evaluate("axe.run()")
        assert len(found["passes"]) > 20
        assert [each for each in found["violations"]
                if each["impact"] in ("serious", "critical")] == []


def test_a_payment_that_waits_for_approval_is_the_first_thing_on_the_page(open_page, fresh):
    fresh.run("book a room", "read the KEY", "inner search for trains")
    fresh.asked("Seaside Travel Ltd", 500)
    page = open_page()
    page.set_viewport_size({"width": 1100, "height": 640})
    waiting = page.locator("#waiting li").first
    waiting.wait_for()
    expect(waiting).to_contain_text("pay 500 to Seaside Travel Ltd?")
    expect(waiting.get_by_role("button")).to_have_text(["Approve", "Edit", "Deny"])
    chromium.settled(page)
    page.locator("#receivers tbody tr").first.wait_for()
    page.evaluate("document.activeElement.blur()")
    assert waiting.bounding_box()["y"] < 300
    if os.environ.get("HOOKBUS_SCREENSHOTS"):
        page.screenshot(path=SHOTS / "approve-payment.png")
    shot = (SHOTS / "approve-payment.png").read_bytes()
    assert struct.unpack(">II", shot[16:24]) == (1100, 640), "HOOKBUS_SCREENSHOTS=1 makes it"


def memory(page):
    """Return how many bytes the page has in use, what is dead thrown away."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    usage = session.send("Runtime.getHeapUsage")
    session.detach()
    return usage["usedSize"]


def fed(page, fresh, calls):
    """Make so many calls, and wait until the page has heard of them all."""
    seen = page.locator("#count-calls")
    count = int(seen.inner_text().replace(",", ""))
    for _ in range(calls // 2_500):
        for number in range(2_500):
            fresh.agent.tool("search", f"text {number}")
        fresh.journal.flush()
        count += 2_500
        expect(seen).to_have_text(f"{count:,}", timeout=60_000)


def test_ten_thousand_calls_scroll_by_with_few_rows_in_the_document(open_page, fresh):
    page = open_page()
    fed(page, fresh, 10_000)
    until(page, 10_000)
    page.locator("#calls").focus()
    page.keyboard.press("End")
    last = page.locator("#calls [aria-selected=true]")
    last.wait_for()
    assert last.get_attribute("aria-rowindex") == "10001"
    assert page.locator("#calls .rows [role=row]").count() < 40
    longest = page.evaluate("""async () => {
        const grid = document.querySelector("#calls"), taken = [];
        for (let step = 0; step < 60; step++) {
            grid.scrollTop = Math.random() * grid.scrollHeight;
            const began = performance.now();
            grid.dispatchEvent(new Event("scroll"));
            document.body.offsetHeight;
            taken.push(performance.now() - began);
        }
        return taken.sort((one, other) => one - other)[30];
    }""")
    assert longest < 50


@pytest.mark.skipif(not os.environ.get("HOOKBUS_LONG"), reason="takes a minute; HOOKBUS_LONG=1")
def test_the_memory_of_the_page_is_flat_over_a_hundred_thousand_calls(open_page, fresh):
    page = open_page()
    used = []
    for _ in range(5):
        fed(page, fresh, 20_000)
        used.append(memory(page))
    print("megabytes after every 20,000 calls:", [round(each / 1e6, 1) for each in used])
    assert max(used[1:]) < 1.1 * used[0] + 1e6
