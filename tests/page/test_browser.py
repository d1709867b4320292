"""The page in a real Chromium: what people see and do, by mouse and by keyboard."""

import json
import threading

import pytest

from hookbus import baggage
from hookbus.approvals import Approved, Between, Proof, Rule

from . import chromium
from .chromium import settled, until
from .conftest import TOKEN

expect = chromium.playwright().expect

PAYLOAD = "<img src=x onerror=hacked()><script>hacked()</script>"
BIDI = "\u202e\u2066\u200b"


def test_calls_come_in_as_they_happen_the_newest_first(open_page, fresh):
    fresh.run("before")
    page = open_page()
    until(page, 2)
    fresh.run("KEY", "4711", "open", "disk")
    shown = until(page, 10).all_inner_texts()
    assert ["failed" in text for text in shown[:2]] == [True, False]  # tool_call of the last run
    assert page.locator("#counts").inner_text().split() == (
        "calls 10 blocked 1 failed 1 failed open 1".split()
    )
    assert TOKEN not in page.url


def test_filters_leave_what_matches(open_page, fresh):
    fresh.run("KEY", "4711", "open")
    fresh.run("hi", session="s-two")
    page = open_page()
    for field, value, count in [("Hook", "tool", 4), ("Session", "s-two", 1), ("Session", "", 4),
                                ("Receiver", "redact", 2), ("Hook", "", 2)]:
        page.get_by_label(field, exact=True).fill(value)
        until(page, count)
    page.get_by_label("Outcome").select_option("changed")
    assert "redact" not in until(page, 1).inner_text()


def test_a_blocked_call_has_a_red_mark_with_its_word_and_says_who_and_why(open_page, fresh):
    fresh.run("hi", "KEY")
    page = open_page()
    page.get_by_label("Outcome").select_option("blocked")
    row = until(page, 1).first
    mark = row.locator(".mark")
    assert mark.inner_text() == "blocked" and "no_keys: no: KEY" in row.inner_text()
    colour = mark.evaluate("mark => getComputedStyle(mark).color").strip("rgb()").split(",")
    assert int(colour[0]) > 2 * int(colour[1])


def test_a_call_that_waits_for_an_approval_is_not_shown_as_a_refusal(open_page, fresh):
    fresh.pay("Ada", 500)
    fresh.journal.flush()
    page = open_page()
    page.get_by_label("Outcome").select_option("pending")
    row = until(page, 1).first
    assert row.locator(".mark").inner_text() == "pending" and row.locator(".red").count() == 0
    assert row.locator(".outcome").first.inner_text() == "pending"
    assert page.locator("#count-blocked").inner_text() == "0"
    assert page.locator("#hooks tbody tr").first.inner_text().split()[:4] == ["pay", "1", "0", "0"]
    page.get_by_label("Outcome").select_option("blocked")
    until(page, 0)


def test_a_call_opens_by_keyboard_with_what_changed_and_closes_again(open_page, fresh):
    fresh.run("my pin is 4711")
    page = open_page()
    until(page, 2)
    page.locator("#calls").focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    detail = page.locator("#detail")
    change = "redact changed argument 'text': 'my pin is 4711' → 'my pin is ****'"
    detail.get_by_text(change).wait_for()
    assert page.evaluate("document.activeElement.id") == "detail-title"
    chosen = page.locator("#calls").get_attribute("aria-activedescendant")
    assert page.locator(f"#{chosen}").get_attribute("aria-selected") == "true"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert detail.is_hidden() and page.evaluate("document.activeElement.id") == "calls"


def test_the_call_around_a_call_is_one_press_away(open_page, fresh):
    fresh.run("hi")
    page = open_page()
    until(page, 2).first.click()
    page.get_by_role("button", name="Show the enclosing call").click()
    page.get_by_role("heading", name="agent_run of").wait_for()
    assert page.locator(".waterfall .call").count() == 2


def test_a_call_under_way_is_followed_until_it_ends(open_page, fresh):
    gate = threading.Event()
    fresh.bus.signal("pre_tool_call").connect(
        lambda agent: gate.wait(20) and None, role="observe", name="slow")  # fmt: skip
    page = open_page()
    running = threading.Thread(target=fresh.run, args=("hi",))
    running.start()
    try:
        until(page, 2).last.click()
        detail = page.locator("#detail")
        detail.get_by_text("still running").wait_for()
    finally:
        gate.set()
        running.join()
    expect(detail.locator(".waterfall .mark").first).to_have_text("returned")


def test_counts_and_seconds_are_those_of_the_journal(open_page, fresh):
    fresh.run("KEY", "4711", "open", "disk", "hi")
    page = open_page()
    table = page.locator("#receivers tbody tr")
    expect(table).to_have_count(3)
    assert [" ".join(row.split()) for row in table.all_inner_texts()] == [
        "archive 0 0 0 1 0 – –", "no_keys 0 0 1 0 0 – –", "redact 0 1 0 0 1 – –"
    ]  # fmt: skip
    seconds = sorted(
        record.data["seconds"] for record in fresh.journal.records("tool_call", "finished")
    )
    tools = page.locator("#hooks tbody tr").nth(1).inner_text().split()
    assert tools[:4] == ["tool_call", "5", "1", "0"]
    p50, p99 = (float(number) * {"µs": 1e-6, "ms": 1e-3, "s": 1}[unit]
                for number, unit in zip(tools[4::2], tools[5::2]))  # fmt: skip
    assert (p50, p99) == pytest.approx((seconds[2], seconds[4]), rel=0.01)


def test_somebody_approves_one_edits_one_and_denies_one(open_page, fresh):
    page = open_page()
    for name, amount in (("Ada", 500), ("Edith", 700), ("Mallory", 900)):
        fresh.asked(name, amount)

    ada, edith, mallory = (
        page.locator("#waiting li").filter(has_text=f"to {name}?")
        for name in ("Ada", "Edith", "Mallory")
    )
    assert json.loads(ada.locator("pre.arguments").inner_text()) == {"to": "Ada", "amount": 500}
    mallory.wait_for()
    settled(page)
    ada.get_by_role("button", name="Approve").click()
    ada.wait_for(state="detached")

    edith.get_by_role("button", name="Edit").click()
    for text, problem in (('{"to": ', "This is not valid JSON"),
                          ('{"to": "x"}', "contain every argument"),
                          ('{"to": "Edith", "amount": 3}', None)):
        edith.locator("textarea").fill(text)
        page.wait_for_timeout(600)  # a list that has just moved takes no answer
        edith.get_by_role("button", name="Approve with edits").click()
        if problem:
            edith.get_by_role("alert").get_by_text(problem).wait_for()
    edith.wait_for(state="detached")

    mallory.get_by_label("Reason for denial").fill("we do not know them")
    mallory.get_by_role("button", name="Deny").click()
    mallory.get_by_role("alert").get_by_text("has just changed").wait_for()
    page.wait_for_timeout(600)
    mallory.get_by_label("Reason for denial").press("Enter")  # which answers nothing
    page.wait_for_timeout(300)
    assert [request.arguments["to"] for request in fresh.store.pending()] == ["Mallory"]
    mallory.get_by_role("button", name="Deny").click()
    mallory.wait_for(state="detached")

    fresh.asked("Mallory", 901)
    mallory.get_by_role("heading", name="(denied)").wait_for()
    assert mallory.locator(".since").inner_text() == "argument 'amount': 900 → 901"

    assert fresh.pay("Ada", 500) == "paid 500 to Ada"
    assert fresh.pay("Edith", 700) == "paid 3 to Edith"
    assert fresh.pay("Mallory", 900).endswith("we do not know them")


def test_standing_approvals_are_listed_while_they_are_valid(open_page, fresh):
    page = open_page()
    with baggage(user="eve"):
        asked = fresh.asked("Ada", 500)
    rule = Rule({"to": "Ad*", "amount": Between(0, 600)}, uses=2)
    proof = Proof("ada", "the page")
    fresh.store.answer(asked.id, Approved("ada", rule=rule), proof=proof)
    listed = page.locator("#rules")
    listed.get_by_text("Standing approvals: 1").click()
    text = listed.inner_text()
    assert "pay 500 to Ada?" in text and "to='Ad*'" in text and "0 of 2" in text
    [kept] = fresh.store.rules()
    assert f"hookbus approvals revoke {kept.id}" in text
    fresh.store.revoke(kept.id, by="ada")
    listed.wait_for(state="hidden")


def test_what_would_be_approved_is_shown_whole_with_the_invisible_written_out(open_page, fresh):
    page = open_page()
    fresh.asked(f"Ada {BIDI}{'x' * 20_000} end", 500)
    shown = page.locator("#waiting pre.arguments").inner_text()
    assert "Ada \\u202e\\u2066\\u200b" in shown and "x" * 20_000 + " end" in shown
    page.get_by_role("button", name="Edit").click()
    assert json.loads(page.locator("textarea").input_value())["to"].startswith(f"Ada {BIDI}")


def test_markup_in_any_text_is_text(open_page, fresh):
    page = open_page()
    page.evaluate("() => { window.hacked = () => { document.body.dataset.hacked = 1; }; }")
    bad = f"{PAYLOAD}{BIDI}"
    fresh.bus.signal("pre_tool_call").connect(lambda agent: 1 / 0, name=bad)
    fresh.run(f"KEY {bad}", bad, session=bad)
    fresh.asked(bad, 500)
    page.locator("#waiting li").wait_for()
    until(page, 5)
    for number in range(5):
        until(page, 5).nth(number).click()
        page.locator("#detail").wait_for()
    for summary in page.locator("details summary:visible").all():
        summary.click()
    settled(page)
    page.get_by_role("button", name="Approve").click()
    page.locator("#waiting li").wait_for(state="detached")
    text = page.locator("body").inner_text()
    assert PAYLOAD in text and not set(BIDI) & set(text)
    assert page.locator("img, body script").count() == 0
    assert page.evaluate("document.body.dataset.hacked") is None


def test_calls_of_before_are_asked_for_and_the_way_back(open_page, fresh, monkeypatch):
    monkeypatch.setattr("hookbus.page._stream.BACKLOG", 8)
    fresh.run("KEY", *["hi"] * 20)
    page = open_page()
    until(page, 4)
    page.get_by_label("Outcome").select_option("blocked")
    until(page, 0)
    page.get_by_role("button", name="Older calls").click()
    until(page, 1)
    page.get_by_role("button", name="Back to live").click()
    until(page, 0)


def test_a_paused_list_stands_still_and_goes_on(open_page, fresh):
    fresh.run("hi")
    page = open_page()
    until(page, 2)
    page.get_by_role("button", name="Pause").click()
    fresh.run("hi")
    expect(page.locator("#count-calls")).to_have_text("4")
    until(page, 2)
    page.get_by_role("button", name="Pause").click()
    until(page, 4)
