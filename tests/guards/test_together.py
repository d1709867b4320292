"""guards.together: several guards judge a call side by side."""

import asyncio
import threading

import pytest

from hookbus import Ask, Block, Bus, HookBlocked, HookError, hookable, report
from hookbus.approvals import Approved
from hookbus.guards import paths_within, public_hosts, rate_limit, redact, together, tool_policy


def async_call(bus):
    ran = []

    @hookable("tool_call", bus=bus)
    async def tool_call(name, arguments):
        ran.append(name)
        return "done"

    return tool_call, ran


def test_all_must_agree_in_plain_and_awaited_hooks(call, bus, tmp_path):
    off = bus.register(together(tool_policy(allow="read", default="block"), paths_within(tmp_path)))
    call("read", path=str(tmp_path / "a"))
    for name, path in (("write", str(tmp_path)), ("read", "/etc/passwd")):
        with pytest.raises(HookBlocked, match="tool_call was blocked by together"):
            call(name, path=path)
    assert len(call.made) == 1
    off()
    call("write", path="/etc/passwd")


def test_guards_of_an_awaited_hook_wait_side_by_side_and_a_block_ends_the_others():
    bus, events = Bus(), []
    call, ran = async_call(bus)

    async def main():
        met, before = asyncio.Barrier(2), asyncio.all_tasks()

        async def slow(sender, name):
            await met.wait()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                events.append("cancelled")
                raise

        async def quick(sender, arguments, ctx):
            await met.wait()  # not passed unless both are at it
            return Block("no") if arguments["bad"] else Block("never")

        bus.register(together(slow, quick))
        with pytest.raises(HookBlocked, match="no"):
            await call("read", {"bad": True})
        assert asyncio.all_tasks() == before

    asyncio.run(asyncio.wait_for(main(), 10))
    assert events == ["cancelled"] and ran == []


def test_the_callers_cancellation_ends_all_of_them():
    bus, events = Bus(), []
    call, ran = async_call(bus)

    async def slow(sender):
        try:
            await asyncio.sleep(60)
        finally:
            events.append("ended")

    async def main():
        bus.register(together(slow, lambda sender: None))
        task = asyncio.ensure_future(call("read", {}))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(main(), 10))
    assert events == ["ended"] and ran == []


@pytest.mark.parametrize(
    "wrong", [lambda sender: True, lambda sender: 1 / 0, lambda sender, nmae: None,
              lambda sender: Block],
)  # fmt: skip
def test_one_that_fails_or_answers_oddly_blocks(call, bus, wrong):
    bus.register(together(lambda sender: None, wrong))
    with pytest.raises(HookBlocked, match="guard failed"):
        call("read")
    assert call.made == []


def test_an_async_guard_of_a_plain_hook_blocks():
    bus, ran = Bus(), []

    @hookable("tool_call", bus=bus)
    def call(name, arguments):
        ran.append(name)

    async def guard(sender):
        return None

    bus.register(together(guard, lambda sender: None))
    with pytest.raises(HookBlocked, match="guard failed"):
        call("read", {})
    assert ran == []


def test_those_that_ask_are_asked_about_in_one_question(call, bus):
    asked = []

    @bus.approver
    def approve(request):
        asked.append(request.question)
        return Approved("ada")

    asks, agrees = (lambda sender: Ask("sure?")), (lambda sender, **rest: None)
    bus.register(together(asks, tool_policy(ask="pay"), agrees))
    call("pay")
    assert asked == ["sure? And: call 'pay'?"] and len(call.made) == 1


def test_what_guards_do_besides_is_done_too(call, bus, monkeypatch, tmp_path):
    monkeypatch.setattr("socket.getaddrinfo", lambda *a, **k: [(0, 0, 0, "", ("10.0.0.1", 1))])
    counts = rate_limit(3, storage="memory://")
    bus.register(together(public_hosts(), redact(), counts, paths_within(tmp_path)))
    with pytest.raises(HookBlocked, match="does not lead to a public host"):
        call("fetch", url="http://evil.test")
    call("fetch", text="ada@example.com", target="/etc/x")
    assert call.made == [("fetch", {"text": "<email>", "target": "/etc/x"})]
    assert any("'target' is not checked" in each for each in report(bus).findings)
    call("fetch")
    with pytest.raises(HookBlocked, match="limit of .* reached"):
        call("fetch")


def test_a_plain_guard_with_a_deadline_holds_up_no_loop():
    bus, held = Bus(), threading.Event()
    call, ran = async_call(bus)
    guard = rate_limit(3, storage="memory://")
    name, function, options = next(each for each in guard.receivers if each[0].startswith("pre_"))

    def waits(sender, ctx):
        held.wait(5)

    guard.receivers[guard.receivers.index((name, function, options))] = (name, waits, options)
    bus.register(together(guard, lambda sender: None))

    async def main():
        task = asyncio.ensure_future(call("read", {}))
        await asyncio.sleep(0.01)
        held.set()
        await task

    asyncio.run(asyncio.wait_for(main(), 10))
    assert ran == ["read"]


@pytest.mark.parametrize(
    "wrong", [(), (tool_policy(allow="a"),), (tool_policy(allow="a"), 3),
              (tool_policy, tool_policy(allow="a")), (lambda: None, lambda sender: None)],
)  # fmt: skip
def test_what_are_not_two_guards_is_refused(wrong):
    with pytest.raises(HookError):
        together(*wrong)
