"""Functions whose sender is one of their arguments, and plain calls that wait for async receivers.
"""

import asyncio
import contextvars
import os
import signal
import threading
import time

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, explain, hookable, instrument
from hookbus.events import Failed, Started
from hookbus.testing import record


class Tool:
    pass


class Shell(Tool):
    pass


def stop(sender):
    return Block("no")


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def call(bus):
    @hookable("tool_call", bus=bus, sender="tool", async_receivers=True)
    def call(name, *, tool, arguments=()):
        return name, tool

    return call


def is_blocked(call, tool):
    try:
        call("ls", tool=tool)
    except HookBlocked:
        return True
    return False


# -- senders ---------------------------------------------------------------------------------------


def test_the_sender_may_be_an_argument_with_its_own_receivers_and_those_of_its_class(bus, call):
    tool, shell, other = Tool(), Shell(), Shell()
    bus.signal("pre_tool_call").connect(stop, sender=Shell, role="guard")
    bus.signal("pre_tool_call").connect(stop, sender=tool, role="guard")
    assert [is_blocked(call, each) for each in (tool, shell, other, Tool(), None, print)] == [
        True, True, True, False, False, False,
    ]  # fmt: skip


def test_a_class_that_is_the_sender_is_told_apart_from_others(bus, call):
    bus.signal("pre_tool_call").connect(stop, sender=Shell, role="guard")
    assert [is_blocked(call, each) for each in (Tool, Shell, Tool)] == [False, True, False]


def test_a_function_is_the_sender_of_its_own_calls_only(bus, call):
    def pay():
        pass

    with pytest.raises(HookError, match="pay is a function, which is never the sender of tool"):
        bus.signal("pre_tool_call").connect(stop, sender=pay, role="guard")
    with pytest.raises(HookError, match="sender=function .*pay has no hookable 'tool_call'"):
        bus.require_guard("tool_call", sender=pay)


def test_a_function_that_was_named_before_the_hook_was_there_is_told(bus, caplog):
    def pay():
        pass

    bus.signal("pre_tool_call").connect(stop, sender=pay, role="guard")

    @hookable("tool_call", bus=bus, sender="tool")
    def call(tool):
        pass

    call(Tool())
    assert "pay, which is never the sender of tool_call: connect it to the tool" in caplog.text


def test_it_is_an_argument_besides_and_stays_the_sender_when_that_is_changed(bus, call):
    seen, tool = [], Shell()
    bus.signal("pre_tool_call").connect(lambda tool, name: {"tool": "another"})
    bus.signal("pre_tool_call").connect(
        lambda tool, ctx: seen.append((tool, ctx.sender, ctx.kwargs["tool"])), role="observe"
    )
    with record(bus) as fired:
        assert call("ls", tool=tool) == ("ls", "another")
    assert seen == [(tool, tool, "another")]
    assert fired.of(Started)[0].sender.startswith("Shell")


def test_guards_are_asked_again_about_what_an_around_changed_and_the_sender_stays(bus, call):
    seen, tool = [], Shell()
    bus.signal("around_tool_call").connect(lambda _, call_next: call_next(name="rm", tool="other"))
    bus.signal("pre_tool_call").connect(
        lambda sender, name, tool: seen.append((sender, name, tool)), role="guard", name="look"
    )
    assert call("ls", tool=tool) == ("rm", "other")
    assert seen == [(tool, "ls", tool), (tool, "rm", "other")]


def test_a_method_may_name_its_object_as_the_sender_and_receivers_ask_for_it_by_that_name(bus):
    class Own:
        def use(tool, name):  # noqa: N805 - the word that receivers know
            return name

    undo = instrument(Own, "use", bus=bus, sender="tool")
    seen, own = [], Own()
    for receiver in (lambda tool, name: seen.append(tool), lambda _, name, tool: seen.append(tool)):
        bus.signal("pre_use").connect(receiver, role="guard", name=f"guard {receiver!r}")
    bus.signal("pre_use").connect(lambda tool: {"name": "changed"}, sender=own, name="change")
    assert own.use("given") == "changed" and seen == [own, own]
    assert len(explain(own.use)) == 3 and len(explain(Own.use)) == 2
    assert "sender = tool" in str(explain(Own.use, source=True))
    undo()


def test_one_guard_of_any_watches_over_all_of_it_and_one_of_a_class_does_not(
    bus, call, imported
):
    bus.signal("pre_tool_call").connect(stop, sender=Tool, role="guard")
    with pytest.raises(HookError, match="stop .* is not sufficient: .* the class Tool only"):
        bus.require_guard("tool_call")
    bus.require_guard("tool_call", sender=Shell)
    bus.signal("pre_tool_call").connect(stop, role="guard")
    bus.require_guard("tool_call")


def test_explain_takes_the_name_of_the_hook_and_the_sender(bus, call):
    tool, other = Tool(), Tool()
    tool.name = "pay"
    bus.signal("pre_tool_call").connect(stop, role="guard", sender=tool)
    assert [row.receiver for row in explain("tool_call", sender=tool, bus=bus)] == ["stop"]
    assert "tool_call of Tool 'pay' (sync)" in str(explain("tool_call", sender=tool, bus=bus))
    assert len(explain("tool_call", sender=other, bus=bus)) == 0
    assert "tool_call of any tool" in str(explain("tool_call", bus=bus))
    with pytest.raises(HookError, match="no hook 'tol_call'; did you mean 'tool_call'"):
        explain("tol_call", bus=bus)


def test_events_and_pictures_call_a_tool_by_its_name(bus, call):
    tool = Tool()
    tool.name = "pay"
    with record(bus) as fired:
        call("pay", tool=tool)
    assert fired.of(Started)[0].sender.startswith("Tool 'pay' at 0x")
    assert "tool_call of Tool 'pay'" in str(fired)


def test_a_sender_that_is_no_argument_is_refused_with_the_name_that_was_meant(bus):
    with pytest.raises(HookError, match="'tol' is not an argument of .*; did you mean 'tool'"):

        @hookable(bus=bus, sender="tol")
        def call(tool):
            pass


# -- async receivers of a plain call ---------------------------------------------------------------


def test_a_plain_call_waits_for_an_async_guard_on_a_loop_of_another_thread(bus, call):
    seen, variable = [], contextvars.ContextVar("variable")

    @bus.signal("pre_tool_call").connect_via(role="guard")
    async def guard(tool, name):
        await asyncio.sleep(0)
        seen.append((variable.get(), threading.current_thread() is threading.main_thread()))
        return Block("no") if name == "rm" else None

    variable.set("of the caller")
    assert call("ls", tool=None) == ("ls", None)
    with pytest.raises(HookBlocked, match="guard: no"):
        call("rm", tool=None)
    assert seen == [("of the caller", False)] * 2


def test_modifiers_and_observers_of_a_plain_call_may_be_async_too(bus, call):
    heard = []

    async def modify(tool, name):
        return {"name": name.upper()}

    async def observe(tool, result):
        heard.append(result)

    bus.signal("pre_tool_call").connect(modify)
    bus.signal("post_tool_call").connect(observe, role="observe", timeout=10)
    assert call("ls", tool=None) == ("LS", None) == heard[0]


def test_it_waits_no_longer_than_the_deadline_and_a_late_guard_blocks(bus, call):
    ended = threading.Event()

    async def late(tool):
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    bus.signal("pre_tool_call").connect(late, role="guard", timeout=0.05)
    with pytest.raises(HookBlocked, match="guard failed: TimeoutError"):
        call("ls", tool=None)
    assert ended.wait(10)


@pytest.mark.parametrize("error", [ValueError, asyncio.CancelledError])
def test_an_async_guard_that_breaks_closes(bus, call, error):
    async def broken(tool):
        raise error("SECRET")

    bus.signal("pre_tool_call").connect(broken, role="guard")
    with record(bus) as fired, pytest.raises(HookBlocked) as blocked:
        call("ls", tool=None)
    assert "SECRET" not in str(blocked.value) and len(fired.of(Failed)) == 1


def test_a_plain_call_inside_an_async_receiver_of_another_closes_and_hangs_not(bus, call):
    outcomes = []

    async def guard(tool, name):
        if name == "outer":
            outcomes.append(await asyncio.to_thread(is_blocked, call, None))
            outcomes.append(is_blocked(call, None))

    bus.signal("pre_tool_call").connect(guard, role="guard")
    assert call("outer", tool=None) == ("outer", None)
    assert outcomes == [False, True]


@pytest.fixture
def interruptible():
    """pytest-xdist has its workers ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_leaves_the_wait_and_cancels_the_receiver(bus, call):
    begun, ended = threading.Event(), threading.Event()

    async def hangs(tool):
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    bus.signal("pre_tool_call").connect(hangs, role="guard")

    def interrupt():
        begun.wait(10)
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        call("ls", tool=None)
    assert ended.wait(10)


def test_arounds_and_observers_in_the_background_stay_plain(bus, call):
    async def around(tool, call_next):
        return call_next()

    async def observe(tool):
        pass

    with pytest.raises(HookError, match="is async, but tool_call is a plain def"):
        bus.signal("around_tool_call").connect(around)
    with pytest.raises(HookError, match="is async, but tool_call is a plain def"):
        bus.signal("pre_tool_call").connect(observe, role="observe", background=True)


def test_a_background_observer_is_checked_even_after_an_equal_one_that_is_awaited(bus, call):
    async def awaited(tool):
        pass

    async def in_background(tool):
        pass

    signal = bus.signal("pre_tool_call")
    signal.connect(awaited, role="observe")
    with pytest.raises(HookError, match="is async, but tool_call is a plain def"):
        signal.connect(in_background, role="observe", background=True)


def test_only_a_plain_function_can_be_told_to_wait(bus):
    with pytest.raises(HookError, match="async_receivers= is only for a plain def, .* is async"):

        @hookable(bus=bus, async_receivers=True)
        async def call():
            pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_waits_for_no_loop_of_its_parent(bus, call):
    async def looks(tool):
        await asyncio.sleep(0)

    bus.signal("pre_tool_call").connect(looks, role="guard")
    assert call("here", tool=None) == ("here", None)
    child = os.fork()
    if not child:
        signal.alarm(5)
        os._exit(call("there", tool=None) != ("there", None))
    assert os.waitpid(child, 0)[1] == 0
