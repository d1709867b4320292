"""An inbox: calls wait at it, in this process, until somebody answers."""

import asyncio
import io
import sys
import threading
import time

import pytest

from hookbus import Ask, Bus, HookBlocked, HookError, hookable
from hookbus.approvals import Approved, Denied, Inbox, terminal


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def inbox(bus):
    bus.signal("pre_pay").connect(lambda sender, to: Ask(f"pay {to}?"), role="guard", weak=False)
    return bus.approver(Inbox())


@pytest.fixture
def pay(bus, inbox):
    @hookable("pay", bus=bus)
    async def pay(to):
        return to

    return pay


@pytest.fixture
def pay_plainly(bus, inbox):
    @hookable("pay", bus=bus, identity=lambda sender: "the bank")
    def pay_plainly(to):
        return to

    return pay_plainly


async def test_a_task_waits_at_the_inbox_until_somebody_answers(pay, inbox):
    task = asyncio.ensure_future(pay("bob"))
    request = await inbox.next()
    assert inbox.pending() == [request] and request.question == "pay bob?"
    inbox.answer(request.id, Approved("ada"))
    assert await task == "bob" and inbox.pending() == []


async def test_each_looker_gets_another_request_and_one_that_ended_nobody(pay, inbox):
    lookers = [asyncio.ensure_future(inbox.next()) for _ in range(2)]
    await asyncio.sleep(0)
    lookers.pop().cancel()
    tasks = [asyncio.ensure_future(pay(i)) for i in range(3)]
    first, second = await lookers[0], await inbox.next()
    assert first.arguments != second.arguments
    tasks[2].cancel()
    await asyncio.wait(tasks[2:])
    assert len(inbox.pending()) == 2
    for request in inbox.pending():
        inbox.answer(request.id, Denied("ada", "no"))
    for task in tasks[:2]:
        with pytest.raises(HookBlocked, match="denied by ada: no"):
            await task
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(inbox.next(), 0.05)


def test_a_plain_call_waits_in_its_thread(pay_plainly, inbox):
    ended = []
    thread = threading.Thread(target=lambda: ended.append(pay_plainly("bob")))
    thread.start()
    request = asyncio.run(inbox.next())
    inbox.answer(request.id, Approved("ada", arguments={"to": "eve"}))
    thread.join(20)
    assert ended == ["eve"]


def test_the_first_answer_is_final(pay_plainly, inbox):
    with pytest.raises(HookError, match="request 'x' is not pending in this inbox"):
        inbox.answer("x", Approved("ada"))
    thread = threading.Thread(target=lambda: pay_plainly("bob"))
    thread.start()
    request = asyncio.run(inbox.next())
    for wrong in (Approved, "yes", Approved(""), Approved("ada", arguments={"whom": "bob"})):
        with pytest.raises(HookError):
            inbox.answer(request.id, wrong)
    inbox.answer(request.id, Approved("ada"))
    with pytest.raises(HookError, match="is not pending in this inbox"):
        inbox.answer(request.id, Denied("ada", "no"))
    thread.join(20)


async def test_an_answer_after_the_deadline_is_refused_and_the_call_was_blocked(bus, pay):
    bus.approver(None)
    inbox = bus.approver(Inbox(), timeout=0.1)
    task = asyncio.ensure_future(pay("bob"))
    request = await inbox.next()
    assert 0 < request.deadline - time.time() <= 0.1
    with pytest.raises(HookBlocked):
        await task
    with pytest.raises(HookError):
        inbox.answer(request.id, Approved("ada"))
    assert inbox.pending() == []


def test_a_plain_call_is_blocked_at_the_deadline_and_waits_no_more(bus, pay_plainly):
    bus.approver(None)
    inbox = bus.approver(Inbox(), timeout=0.05)
    with pytest.raises(HookBlocked):
        pay_plainly("bob")
    until = time.monotonic() + 20
    while inbox.pending() and time.monotonic() < until:
        time.sleep(0.01)
    assert inbox.pending() == []


async def test_a_remembered_yes_is_kept_by_the_inbox(pay, inbox):
    task = asyncio.ensure_future(pay("bob"))
    inbox.answer((await inbox.next()).id, Approved("ada", remember=60))
    assert await task == "bob" and await pay("bob") == "bob"
    task = asyncio.ensure_future(pay("eve"))
    inbox.answer((await inbox.next()).id, Denied("ada", "no"))
    with pytest.raises(HookBlocked):
        await task


# -- the terminal ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "typed, said",
    [("yes\n", "bob"), ("Y\n", "bob"), ("no\n", None), ("yess\n", None), ("\n", None), ("", None)],
)
def test_what_is_not_yes_at_the_terminal_is_no(bus, pay_plainly, monkeypatch, typed, said):
    bus.approver(None)
    bus.approver(terminal)
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    if said is not None:
        assert pay_plainly("bob") == said
        return
    with pytest.raises(HookBlocked):
        pay_plainly("bob")


async def test_the_terminal_does_not_hold_the_loop_up(bus, pay, monkeypatch):
    bus.approver(None)
    bus.approver(terminal)
    typed, turns = threading.Event(), []

    class Slow(io.StringIO):
        def readline(self, *args):
            typed.wait(20)
            return "yes\n"

    monkeypatch.setattr(sys, "stdin", Slow())
    task = asyncio.ensure_future(pay("bob"))
    for _ in range(10):
        await asyncio.sleep(0.001)
        turns.append(task.done())
    typed.set()
    assert await task == "bob" and turns == [False] * 10


def test_what_a_model_wrote_does_not_steer_the_terminal(bus, pay_plainly, monkeypatch, capsys):
    bus.approver(None)
    bus.approver(terminal)
    monkeypatch.setattr(sys, "stdin", io.StringIO("no\nno\n"))
    for to in ("bob", "\x1b[2Jeve\u202e\r"):
        with pytest.raises(HookBlocked):
            pay_plainly(to)
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and "\u202e" not in shown and "\r" not in shown
    assert '(previously "bob")' in shown


def test_who_attends_answers_what_waits_until_the_input_ends(
    bus, pay_plainly, monkeypatch, capsys, stores
):
    bus.approver(None)
    store = bus.approver(stores.open())
    for to in ("bob", "eve", "ada", "joe"):
        with pytest.raises(HookBlocked):
            pay_plainly(to)
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\nno\n"))
    terminal.answer_pending(store)
    assert [case.state for case in store.history()] == ["approved", "denied", "pending", "pending"]
    asked = capsys.readouterr().out
    assert "pay ada?" in asked and "pay joe?" not in asked


def test_what_is_answered_elsewhere_while_somebody_thinks_is_said(
    bus, pay_plainly, monkeypatch, capsys, stores
):
    bus.approver(None)
    store = bus.approver(stores.open())
    with pytest.raises(HookBlocked):
        pay_plainly("bob")

    class Slow(io.StringIO):
        def readline(self, *args):
            store.answer(store.pending()[0].id, Denied("eve", "I was faster"))
            return "yes\n"

    monkeypatch.setattr(sys, "stdin", Slow())
    terminal.answer_pending(store)
    assert "is already" in capsys.readouterr().out
    assert store.history()[0].state == "denied"
