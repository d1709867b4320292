"""G49: an exception by which a framework takes control back crosses hookbus untouched."""

import asyncio
import contextvars
import threading

import pytest

from hookbus import Bus, HookBlocked, HookError, Replace, hookable
from hookbus.events import Attempted, Failed, Finished
from hookbus.exceptions import CallPaused

from ._kinds import KINDS, agent_of, called


class Interrupt(Exception):
    """What a framework takes control back by."""


def pausing(kind, pause=Interrupt, passes=(Interrupt,)):
    bus, ran = Bus(), []

    def body(arguments):
        ran.append(arguments)
        raise pause("wait for a person")

    agent = agent_of(kind, bus, body, passes=passes)
    told = []
    bus.events.connect(lambda bus, event: told.append(event), kinds=(Finished, Failed, Attempted))
    return bus, agent, ran, told


def retry_of(kind, seen):
    """Return an around that tries three times, whatever comes out."""

    def plain(agent, call_next):
        for _ in range(3):
            try:
                return call_next()
            except Exception as error:
                seen.append(error)
        return None

    async def awaited(agent, call_next):
        for _ in range(3):
            try:
                return await call_next()
            except Exception as error:
                seen.append(error)
        return None

    def stream(agent, call_next):
        for _ in range(3):
            try:
                yield from call_next()
                return
            except Exception as error:
                seen.append(error)

    async def async_stream(agent, call_next):
        for _ in range(3):
            try:
                async for item in call_next():
                    yield item
                return
            except Exception as error:
                seen.append(error)

    return {
        "sync": plain, "async": awaited, "generator": stream, "async generator": async_stream
    }[kind]  # fmt: skip


def swallower_of(kind):
    """Return an around that swallows everything, tries again, and gives something else."""

    def plain(agent, call_next):
        for _ in range(2):
            try:
                return call_next()
            except BaseException:
                pass
        return "swallowed"

    async def awaited(agent, call_next):
        for _ in range(2):
            try:
                return await call_next()
            except BaseException:
                pass
        return "swallowed"

    def stream(agent, call_next):
        for _ in range(2):
            try:
                yield from call_next()
                return
            except BaseException:
                pass
        yield "swallowed"

    async def async_stream(agent, call_next):
        for _ in range(2):
            try:
                async for item in call_next():
                    yield item
                return
            except BaseException:
                pass
        yield "swallowed"

    return {
        "sync": plain, "async": awaited, "generator": stream, "async generator": async_stream
    }[kind]  # fmt: skip


def wrong_of(kind):
    """Return an around that makes another failure of whatever comes out."""
    swallow = swallower_of(kind)
    if kind == "sync":
        return lambda agent, call_next: [swallow(agent, call_next), 1 / 0]

    async def awaited(agent, call_next):
        await swallow(agent, call_next)
        raise ZeroDivisionError

    return awaited


@KINDS
def test_a_pause_goes_through_once_and_is_nobodys_failure(kind):
    bus, agent, ran, told = pausing(kind)
    seen, left = [], []
    bus.signal("error_pay").connect(lambda agent: Replace(["rescued"]))
    bus.signal("error_pay").connect(lambda agent, error: seen.append(error), role="observe")
    bus.signal("around_pay").connect(retry_of(kind, seen), priority=1)
    bus.signal("around_pay").connect(retry_of(kind, seen))
    bus.signal("finally_pay").connect(lambda agent, error, ctx: left.append((error, ctx.outcome)))
    with pytest.raises(Interrupt) as raised:
        called(kind, agent, {})
    assert len(ran) == 1 and not seen
    assert (raised.value.__cause__, raised.value.__context__) == (None, None)
    [end] = told
    assert (end.outcome, end.error) == ("paused", None)
    assert left == [(raised.value, "paused")]


@KINDS
def test_an_around_that_swallows_a_pause_neither_ends_it_nor_runs_the_method_again(kind):
    bus, agent, ran, told = pausing(kind)
    bus.signal("around_pay").connect(swallower_of(kind), priority=1)
    bus.signal("around_pay").connect(swallower_of(kind))
    with pytest.raises(Interrupt):
        called(kind, agent, {})
    assert len(ran) == 1 and told[-1].outcome == "paused"


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_failure_that_an_around_makes_of_a_pause_is_no_failure_of_the_call(kind):
    bus, agent, ran, told = pausing(kind)
    bus.signal("around_pay").connect(wrong_of(kind))
    with pytest.raises(Interrupt):
        called(kind, agent, {})
    assert len(ran) == 1 and told[-1].outcome == "paused"


@KINDS
def test_an_idle_hook_and_one_with_observers_alone_let_a_pause_out_as_it_is(kind):
    bus, agent, ran, told = pausing(kind)
    with pytest.raises(Interrupt):
        called(kind, agent, {})
    bus.signal("pre_pay").connect(lambda agent: None, role="observe")
    bus.signal("error_pay").connect(lambda agent: Replace("rescued"))
    with pytest.raises(Interrupt):
        called(kind, agent, {})
    assert [event.outcome for event in told] == ["paused", "paused"]


@KINDS
def test_a_pause_that_is_no_exception_of_the_usual_kind_and_other_failures_keep_their_ways(kind):
    class Stop(BaseException):
        pass

    bus, agent, ran, told = pausing(kind, Stop, (Interrupt, Stop))
    bus.signal("around_pay").connect(retry_of(kind, []))
    with pytest.raises(Stop):
        called(kind, agent, {})
    assert told[-1].outcome == "paused"
    bus, agent, ran, told = pausing(kind, ValueError)
    seen = []
    bus.signal("around_pay").connect(retry_of(kind, seen))
    called_or_empty(kind, agent)
    assert len(ran) == len(seen) == 3


def called_or_empty(kind, agent):
    try:
        called(kind, agent, {})
    except ValueError:  # a stream that gave no item
        assert "generator" in kind


def test_an_around_may_see_a_pause_by_its_own_name():
    bus, agent, ran, told = pausing("sync")
    seen = []

    @bus.signal("around_pay").connect_via()
    def watch(agent, call_next):
        try:
            return call_next()
        except CallPaused as paused:
            seen.append(paused.error)
            raise

    with pytest.raises(Interrupt) as raised:
        agent.pay({})
    assert seen == [raised.value]
    assert [type(event) for event in told] == [Finished]


def test_attempts_side_by_side_end_as_the_first_that_pauses():
    bus, ran, told = Bus(), [], []

    class Agent:
        @hookable(bus=bus, passes=(Interrupt,))
        async def pay(self, n=0):
            ran.append(n)
            await asyncio.sleep(n / 100)
            if n == 1:
                raise Interrupt
            return n

    @bus.signal("around_pay").connect_via()
    async def both(agent, call_next):
        return await asyncio.gather(call_next(n=1), call_next(n=2), return_exceptions=True)

    bus.events.connect(lambda bus, event: told.append(event.outcome), kinds=Finished)
    with pytest.raises(Interrupt):
        asyncio.run(Agent().pay())
    assert sorted(ran) == [1, 2] and told == ["paused"]


def test_a_hookable_override_passes_what_its_parent_does_until_it_says_another():
    bus, told = Bus(), []

    class Agent:
        @hookable("pay", bus=bus, passes=[Interrupt])
        def pay(self):
            raise Interrupt

    class Child(Agent):
        @hookable("pay", bus=bus)
        def pay(self):
            raise Interrupt

    class Strict(Agent):
        @hookable("pay", bus=bus, passes=())
        def pay(self):
            raise Interrupt

    bus.events.connect(lambda bus, event: told.append(event.outcome), kinds=Finished)
    for agent in (Agent(), Child(), Strict()):
        with pytest.raises(Interrupt):
            agent.pay()
    assert told == ["paused", "paused", "raised"]


@pytest.mark.parametrize(
    ("passes", "said"),
    [
        ((Exception,), "passes= must not contain Exception"),
        ((BaseException,), "passes= must not contain BaseException"),
        ((HookBlocked,), "passes= must not contain HookBlocked"),
        (("Interrupt",), "passes= takes exception classes, not 'Interrupt'"),
        ("Interrupt", "passes='Interrupt' must be a tuple or list of exception classes"),
        (Interrupt, "must be a tuple or list of exception classes"),
        ((Interrupt(),), "passes= takes exception classes"),
    ],
)
def test_what_would_let_failures_or_blocks_pass_is_refused(passes, said):
    with pytest.raises(HookError, match=said):
        hookable("pay", passes=passes)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sealed": 1}, "sealed=1 must be True or False"),
        ({"labels": ("nane",)}, "labels= names 'nane', which is not an argument.*'name'"),
        ({"labels": "name"}, "labels='name' must be a tuple or list of argument names"),
        ({"labels": (1,)}, "must be a tuple or list of argument names"),
    ],
)
def test_a_wrong_option_of_a_hookable_is_refused_where_it_is_written(options, said):
    with pytest.raises(HookError, match=said):

        @hookable(bus=Bus(), **options)
        def tool_call(name, arguments): ...


def test_call_next_works_in_a_plain_thread_of_an_around():
    bus, ran = Bus(), []
    agent = agent_of("sync", bus, lambda arguments: ran.append(arguments) or "paid")

    @bus.signal("around_pay").connect_via()
    def elsewhere(agent, call_next):
        found = []
        worker = threading.Thread(target=lambda: found.append(call_next()))
        worker.start()
        worker.join()
        return found[0]

    assert contextvars.copy_context().run(agent.pay, {}) == "paid" and len(ran) == 1
