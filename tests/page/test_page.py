"""What the page is told: calls as they happen and of before, one call whole, what waits for a yes.
"""

import json
import time
import urllib.request
from contextlib import suppress
from uuid import uuid4

import pytest

from hookbus import Ask, Bus, HookBlocked, HookError, baggage, guards, hookable
from hookbus import page as pages
from hookbus.approvals import Denied, Inbox, Store
from hookbus.page._reading import Reading

from .conftest import TOKEN, Browser, serving

PERMIT = "permit(principal, action, resource is Tool);"
NASTY = "<img src=x onerror=alert(1)>\u202e\r\n\ndata: x\u2028'\"&\ud800"


def events_of(address, until, headers=()):
    """Open the page at an address, and return its events up to the first of a name, with their data
    and ids.
    """
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(f"{address}/?token={TOKEN}") as page:
        stream = urllib.request.Request(f"{page.url}stream", headers=dict(headers))
    found = [("", None, None)]
    with opener.open(stream, timeout=10) as answer:
        while found[-1][0] != until:
            lines = (line.decode().rstrip("\n") for line in iter(answer.readline, b"\n"))
            told = dict(line.split(": ", 1) for line in lines)
            found.append((told["event"], json.loads(told["data"]), told.get("id")))
    return found[1:]


def calls_of(browser, before=10**9, **filters):
    """Return the calls of before by what was done in them, each once."""
    rows = browser.asked("calls", before=before, **filters)["rows"]
    return {(each["run"], each["call"]): each for each in rows if each["event"] == "Started"}


def test_what_was_comes_first_then_what_happens_and_what_waits(agency, served):
    agency.run("hi", session="s-stream")
    request = agency.asked("Stream")
    (first, rows, seq), (second, waiting, _) = events_of(served, "approvals")
    assert (first, second) == ("calls", "approvals")
    mine = [each["event"] for each in rows if each.get("session") == "s-stream"]
    assert mine == ["Started", "Started", "Finished", "Finished"]
    assert waiting[-1]["id"] == request.id
    agency.run("again", session="s-stream")
    [(_, rows, _)] = events_of(served, "calls", {"Last-Event-ID": seq})
    assert [each["event"] for each in rows][-4:] == mine and rows[0]["seq"] > int(seq)


def test_of_a_long_past_the_newest_are_shown_and_the_rest_is_counted(agency, served, monkeypatch):
    agency.run(*["hi"] * 10)
    monkeypatch.setattr("hookbus.page._stream.BACKLOG", 8)
    [(name, skipped, _), (_, rows, _)] = events_of(served, "calls", {"Last-Event-ID": "1"})
    assert name == "skipped" and len(rows) == 8 and rows[0]["seq"] == skipped + 2


def test_what_stands_beside_a_call(agency, browser):
    agency.run("KEY", "4711", "open", "disk", session="s-marks")
    rows = browser.asked("calls", before=10**9, session="s-marks")["rows"]
    assert [(each["mark"], each["receiver"]) for each in rows if "mark" in each] == [
        ("blocked", "no_keys"), ("changed", "redact"), ("failed open", "redact"),
        ("failed", "archive")
    ]  # fmt: skip


def test_a_call_is_shown_with_all_that_was_called_inside_it_and_what_changed(agency, browser):
    agency.run("inner my pin is 4711", session="s-tree")
    [outer, *_] = calls_of(browser, session="s-tree").values()
    lines = browser.asked(f"calls/{outer['run']}/{outer['call']}")
    assert [(line["depth"], line["word"], line["what"]) for line in lines] == [
        (0, "returned", "agent_run(text)"), (1, "returned", "agent_run(text)"),
        (2, "returned", "tool_call write(name, text)"),
        (3, "changed", "redact changed argument 'text': 'my pin is 4711' → 'my pin is ****'"),
    ]
    assert dict(lines[2]["end"]) == {"result": '"MY PIN IS ****"'}
    assert json.loads(dict(lines[2]["facts"])["arguments"])["text"] == "my pin is 4711"
    starts, seconds = zip(*((line["start"], line["seconds"]) for line in lines[:3]))
    assert [*starts] == sorted(starts) and [*seconds] == sorted(seconds, reverse=True)


def test_a_blocked_call_says_who_blocked_it_why_and_what_only_records_say(agency, browser):
    agency.run("KEY", session="s-blocked")
    [_, inner] = calls_of(browser, session="s-blocked").values()
    call, block = browser.asked(f"calls/{inner['run']}/{inner['call']}")
    assert (call["word"], block["what"]) == ("blocked", "no_keys blocked in pre: no: KEY")
    assert block["facts"] == [["details", '{\n  "text": "KEY"\n}']]


def test_a_call_that_waits_for_an_approval_is_pending_and_refused_by_nobody(agency, browser):
    with baggage(session="s-pending"):
        agency.pay("Grace", 900)
    agency.journal.flush()
    for outcome in ("", "pending"):
        rows = browser.asked("calls", before=10**9, session="s-pending", outcome=outcome)["rows"]
        assert [each["mark"] for each in rows if "mark" in each] == ["pending"]
    [paid] = calls_of(browser, session="s-pending").values()
    call, *marks = browser.asked(f"calls/{paid['run']}/{paid['call']}")
    assert call["word"] == "pending" and "pending" in [mark["word"] for mark in marks]
    assert not any("blocked" in mark["what"] for mark in marks)


def test_a_call_with_too_much_inside_says_that_there_is_more(agency, browser, monkeypatch):
    agency.run("hi", session="s-long")
    [outer, _] = calls_of(browser, session="s-long").values()
    lines = {}
    for limit in ("_reading.LOOKED_THROUGH", "_tree.MOST"):
        with monkeypatch.context() as less:
            less.setattr(f"hookbus.page.{limit}", 2)
            lines[limit] = browser.asked(f"calls/{outer['run']}/{outer['call']}")
    words = {limit: [line["word"] for line in each] for limit, each in lines.items()}
    assert words == {
        "_reading.LOOKED_THROUGH": ["returned", "running", "…"],
        "_tree.MOST": ["returned", "returned", "…"],
    }


def test_a_call_that_nobody_made_has_no_lines(browser):
    assert browser.asked("calls/none/1") == []


@pytest.mark.parametrize(
    ("filters", "texts"),
    [({"outcome": "blocked"}, 1), ({"outcome": "changed"}, 1), ({"outcome": "failed open"}, 2),
     ({"receiver": "ARCH"}, 1), ({"hook": "tool"}, 4), ({"hook": "agent"}, 4),
     ({"outcome": "running"}, 8), ({"session": "of nobody"}, 0)],
)  # fmt: skip
def test_calls_of_before_are_looked_for_in_the_journal(agency, browser, filters, texts):
    session = uuid4().hex
    agency.run("KEY", "4711", "open", "disk", session=session)
    found = calls_of(browser, **{"session": session, **filters})
    assert len(found) == texts


def test_calls_of_before_come_in_pages_that_leave_none_out(agency, browser, monkeypatch):
    monkeypatch.setattr("hookbus.page._reading.OLDER", 5)
    agency.run(*["hi"] * 8, session="s-pages")
    before, seen = 10**9, []
    while before:
        found = browser.asked("calls", before=before, session="s-pages")
        seen += [each["call"] for each in found["rows"] if each["event"] == "Finished"]
        before = found["before"]
    assert len(seen) == len(set(seen)) == 16


def test_a_number_that_no_file_can_hold_is_refused(browser):
    for address in (f"calls?before={10**30}", f"calls/none/{10**30}"):
        assert browser.get(browser.path + address).status_code == 409


@pytest.mark.parametrize("before", ["", "x", "-1", "1.5"])
def test_a_place_that_is_none_is_refused_in_a_sentence(browser, before):
    answer = browser.get(f"{browser.path}calls", params={"before": before})
    assert answer.status_code == 409
    assert "must be the number of a record" in answer.json()["problem"]


def test_approved_on_the_page_the_call_runs_once(agency, browser):
    request = agency.asked("Grace")
    answered = browser.answers(request.id, answer="approve").json()
    assert answered == {"answered": request.id, "state": "approved"}
    assert agency.pay("Grace", 500) == "paid 500 to Grace"
    assert "approval pending" in agency.pay("Grace", 500)


def test_denied_on_the_page_the_agent_reads_why(agency, browser):
    request = agency.asked("Mallory")
    browser.answers(request.id, answer="deny", reason="we do not know them")
    assert agency.pay("Mallory", 500).endswith("we do not know them")
    assert isinstance(agency.store.get(request.id).answer, Denied)


def test_edited_on_the_page_the_call_runs_as_edited(agency, browser):
    request = agency.asked("Edith")
    edited = json.dumps({"to": "Edith", "amount": 3})
    browser.answers(request.id, answer="approve", arguments=edited)
    assert agency.pay("Edith", 500) == "paid 3 to Edith"


def test_a_yes_for_a_time_is_remembered(agency, browser):
    request = agency.asked("Remy")
    browser.answers(request.id, answer="approve", remember=600)
    assert [agency.pay("Remy", 500) for _ in range(2)] == ["paid 500 to Remy"] * 2


@pytest.mark.parametrize(
    ("said", "problem"),
    [({"answer": "perhaps"}, "approve or deny"), ({}, "approve or deny"),
     ({"answer": "approve", "arguments": "{"}, "not valid JSON"),
     ({"answer": "approve", "arguments": '{"to": "x"}'}, "must contain every argument"),
     ({"answer": "approve", "arguments": '{"to": 1, "to": 2, "amount": 1}'}, "'to' is duplicated"),
     ({"answer": "approve", "arguments": '{"to": "a", "amount": NaN}'}, "NaN is not valid JSON"),
     ({"answer": "approve", "arguments": '{"to": "a", "amount": 1e999}'}, "1e999 is not"),
     ({"answer": "approve", "arguments": {"to": "a", "amount": 1}}, "not valid JSON"),
     ({"answer": "approve", "arguments": "[" * 100_000}, "nested too deeply"),
     ({"answer": "approve", "remember": -1}, "greater than 0"),
     ({"answer": "deny", "reason": 5}, "must be a string"),
     ({"answer": "deny", "reason": "x" * 1_100_000}, "at most")],
)  # fmt: skip
def test_an_answer_that_cannot_be_taken_is_refused_and_changes_nothing(
    agency, browser, said, problem
):
    request = agency.asked("Nobody")
    answer = browser.answers(request.id, **said)
    assert answer.status_code == 409 and problem in answer.json()["problem"]
    assert agency.store.get(request.id).state == "pending"


def test_the_first_answer_is_final_and_a_request_must_be_there(agency, browser):
    request = agency.asked("First")
    browser.answers(request.id, answer="deny")
    again = browser.answers(request.id, answer="approve")
    assert again.status_code == 409 and "is already" in again.json()["problem"]
    assert "has no request" in browser.answers("none", answer="approve").json()["problem"]


def test_what_would_run_is_told_in_full_however_long_it_is(agency, served):
    text = "long " * 50_000
    agency.asked(text, 7)
    _, waiting, _ = events_of(served, "approvals")[-1]
    assert json.loads(waiting[-1]["arguments"]) == {"to": text, "amount": 7}
    assert waiting[-1]["question"] == f"pay 7 to {text}?"


def test_what_is_new_since_it_was_last_asked_for_is_told(agency, browser, served):
    first = agency.asked("Sam", 500)
    browser.answers(first.id, answer="deny")
    agency.asked("Sam", 700)
    _, waiting, _ = events_of(served, "approvals")[-1]
    since = waiting[-1]["since"]
    assert (since["state"], since["changes"]) == ("denied", ["argument 'amount': 500 → 700"])


def test_of_a_tool_its_own_last_request_counts(agency, tmp_path):
    bus, store = Bus(), Store(tmp_path / "approvals.db")
    bus.approver(store)
    make = hookable("tool_call", bus=bus, identity=lambda call: "call")
    call = make(lambda name, arguments: name)
    bus.signal("pre_tool_call").connect(lambda call: Ask("run?"), role="guard", weak=False)
    for name, arguments in [
        ("pay", {"to": ["ann", "bob"], "n": 1}), ("read", {}),
        ("pay", {"to": ["ann", "eve"], "cc": 2}),
    ]:  # fmt: skip
        with suppress(HookBlocked):
            call(name, arguments)
    with serving(pages.app(agency.journal.path, token=TOKEN, approvals=store)) as address:
        _, (first, read, pay), _ = events_of(address, "approvals")[-1]
    assert first["since"] is None and read["since"] is None
    assert pay["since"]["changes"] == [
        "argument 'to' at [1]: 'bob' → 'eve'", "argument 'cc' is new", "argument 'n' is gone",
    ]  # fmt: skip


def test_a_payload_in_any_text_is_told_as_json_alone(agency, browser):
    agency.run(f"KEY {NASTY}", session=NASTY)
    answer = browser.get(f"{browser.path}calls", params={"before": 10**9, "outcome": "blocked"})
    assert answer.headers["content-type"] == "application/json"
    assert any("<img src=x" in row.get("reason", "") for row in answer.json()["rows"])
    for address in ("", "page.js", "page.css"):
        assert "onerror=alert" not in browser.get(browser.path + address).text


def test_an_inbox_of_this_process_is_answered_on_the_page_too(agency):
    inbox = Inbox()
    browser = Browser(pages.app(agency.journal, token=TOKEN, approvals=inbox))
    problem = browser.answers("1", answer="approve").json()["problem"]
    assert "is not pending in this inbox" in problem


def test_without_approvals_nothing_can_be_answered(agency):
    browser = Browser(pages.app(agency.journal.path, token=TOKEN))
    assert browser.answers("1", answer="approve").status_code == 404


def test_a_journal_that_breaks_is_said_on_the_page(agency, served, monkeypatch):
    def broken(*_, **__):
        raise HookError("the journal is damaged")

    monkeypatch.setattr("hookbus.page._reading.Reading.last", broken)
    told = {name: data for name, data, _ in events_of(served, "trouble")}
    assert told["approvals"] and told["trouble"] == "the journal is damaged"


def test_a_file_of_policies_that_cannot_be_used_is_said_until_it_can(agency, served, tmp_path):
    path = tmp_path / "agent.cedar"
    path.write_text(PERMIT)
    guard = guards.policy(path, schema={})
    unregister = agency.bus.register(guard)
    problems = Reading(agency.journal.path).problems
    for content in ("permit(", PERMIT):
        path.write_text(content)
        time.sleep(0.11)
        problem = guard.problem
        agency.journal.flush()
        assert problems() == {"policy": problem}
        if problem is not None:
            told = {name: data for name, data, _ in events_of(served, "trouble")}
            assert told["trouble"] == f"policy: {problem}"
    unregister()
