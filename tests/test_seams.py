"""Where a call leaves the usual way: each of these goes wrong if one line of the texts is lost."""

import asyncio
import itertools
import sys
import threading
from contextvars import ContextVar

import pytest

from hookbus import (
    Ask,
    Block,
    Bus,
    HookBlocked,
    HookError,
    Replace,
    events,
    hookable,
    hookspec,
    modes,
)
from hookbus.approvals import Approved

from ._seams import agent_of, all_at_once, failures_of

MARK: ContextVar[str] = ContextVar("mark", default="unset")


@pytest.fixture
def bus():
    return Bus()


@pytest.mark.parametrize("is_heard", [False, True], ids=["unheard", "heard"])
def test_a_patch_with_one_unknown_name_changes_nothing_and_is_its_receivers_failure(bus, is_heard):
    ran, failures = [], []
    kinds = {} if is_heard else {"kinds": (events.Failed,)}
    bus.events.connect(
        lambda bus, event: isinstance(event, events.Failed) and failures.append(event), **kinds
    )
    bus.signal("pre_reply").connect(lambda agent, msg: {"msg": "changed", "tnoe": "rude"})
    agent_of(bus, ran).reply("hello")
    assert ran == [("hello", "kind")]
    assert "did you mean 'tone'" in str(failures[0].exception)


@pytest.mark.filterwarnings("ignore::hookbus.exceptions.HookWarning")
def test_a_guard_of_a_phase_that_the_hook_does_not_have_closes_it():
    ran, bus = [], Bus()
    bus.signal("post_stream").connect(lambda agent, result: None, role="guard", name="late")
    bus.signal("item_reply").connect(lambda agent, item: None, role="guard", name="early")
    agent = agent_of(bus, ran)
    with pytest.raises(HookBlocked, match="late"):
        list(agent.stream("a"))
    with pytest.raises(HookBlocked, match="early"):
        agent.reply("a")
    assert ran == []


def test_what_a_plain_receiver_with_a_deadline_sets_in_the_context_is_there_afterwards(bus):
    ran = []

    def mark(agent):
        MARK.set("set")

    bus.signal("pre_reply").connect(mark, timeout=10.0)
    bus.signal("pre_think").connect(mark, timeout=10.0)
    agent = agent_of(bus, ran)

    def after(call):
        MARK.set("unset")
        call()
        return MARK.get()

    async def think():
        MARK.set("unset")
        await agent.think("a")
        return MARK.get()

    assert after(lambda: agent.reply("a")) == "set" == asyncio.run(think())


async def test_an_attempt_whose_guards_are_asked_again_while_its_around_ends_runs_no_method(bus):
    ran, tasks, may_answer = [], [], asyncio.Event()

    async def waits(agent, msg):
        if msg == "again":
            await may_answer.wait()

    async def leaves(agent, call_next):
        tasks.append(asyncio.ensure_future(call_next(msg="again")))
        await asyncio.sleep(0.01)
        return "at once"

    bus.signal("pre_think").connect(waits, role="guard")
    bus.signal("around_think").connect(leaves)
    assert await agent_of(bus, ran).think("a") == "at once"
    may_answer.set()
    with pytest.raises(HookError, match="after its around had ended"):
        await tasks[0]
    assert ran == []


async def test_a_first_attempt_that_comes_after_another_was_blocked_runs_no_method(bus):
    ran = []

    def no(agent, msg):
        return Block("no") if msg == "bad" else None

    async def both(agent, call_next):
        late = asyncio.ensure_future(call_next())
        await asyncio.sleep(0)
        with pytest.raises(HookBlocked):
            await call_next(msg="bad")
        with pytest.raises((HookBlocked, HookError)):
            await late
        return "never"

    async def slow(agent, msg, call_next):
        if msg == "a":
            await asyncio.sleep(0.01)
        return await call_next()

    bus.signal("pre_think").connect(no, role="guard")
    bus.signal("around_think").connect(both, priority=1)
    bus.signal("around_think").connect(slow)
    with pytest.raises(HookBlocked):
        await agent_of(bus, ran).think("a")
    assert ran == []


def test_a_guard_holds_for_a_method_whose_override_is_another_hook(bus):
    class Base:
        @hookable("pay", bus=bus)
        def move(self, amount):
            return amount

    class Sub(Base):
        @hookable("transfer", bus=bus)
        def move(self, amount):
            return super().move(amount)

    bus.signal("pre_pay").connect(lambda agent: Block("no"), role="guard")
    with pytest.raises(HookBlocked, match="pay was blocked"):
        Sub().move(1)


@pytest.mark.parametrize("wrong", [3, {1: "a"}, None])
@pytest.mark.parametrize("name", ["rest", "more"])
def test_a_draft_with_what_cannot_be_passed_on_is_its_receivers_failure(bus, name, wrong):
    ran = []

    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, *rest, **more):
            ran.append((rest, more))

    bus.signal("pre_reply").connect(lambda agent, ctx: ctx.kwargs.__setitem__(name, wrong))
    failures = failures_of(bus)
    Agent().reply(1, a=2)
    assert ran == [((1,), {"a": 2})] and len(failures) == 1


def test_what_a_method_raises_as_its_stream_is_closed_comes_out(bus):
    @hookable("tokens", bus=bus)
    def tokens():
        try:
            yield 1
        finally:
            raise LookupError("of the method")

    bus.signal("item_tokens").connect(lambda tokens, item: None, role="observe")
    stream = tokens()
    assert next(stream) == 1
    with pytest.raises(LookupError, match="of the method"):
        stream.close()


async def test_a_coroutine_of_ones_own_may_be_the_result_whatever_it_is_called(bus):
    async def next_page():
        return "page"

    async def pages(agent, call_next):
        await call_next()
        return next_page()

    bus.signal("around_think").connect(pages)
    assert await (await agent_of(bus, []).think("a")) == "page"


@pytest.mark.parametrize("count", [2, 20])
def test_the_first_of_many_that_answers_ends_the_question(bus, count):
    @hookspec(modes.firstresult, bus=bus)
    def choose(x): ...

    asked = []
    for number in range(count):
        choose.connect(lambda x, number=number: asked.append(number), name=f"silent {number}")
    for number in range(2):
        choose.connect(lambda x, number=number: asked.append(x) or number, weak=False)
    assert choose("last") == 0 and asked == [*range(count), "last"]
    choose.connect(lambda: 7, priority=1)
    assert choose("last") == 7 and len(asked) == count + 1


async def test_a_plain_answerer_of_a_mode_of_ones_own_may_not_write_though_it_is_awaited(bus):
    @hookspec(all_at_once, bus=bus)
    async def choose(x): ...

    async def later(ctx):
        ctx.kwargs["x"] = "written"

    choose.connect(lambda ctx: later(ctx), name="writes")
    choose.connect(lambda x: x, name="reads")
    failures = failures_of(bus)
    assert await choose("a") == [None, "a"]
    assert [failure.receiver for failure in failures] == ["writes"]


def test_an_argument_may_have_any_word_of_the_texts(bus):
    @hookspec(all_at_once, bus=bus)
    def choose(alone, receiver, seat, call): ...

    choose.connect(lambda alone, call: (alone, call))
    assert choose(1, 2, 3, 4) == [(1, 4)]


@pytest.mark.parametrize("mode", [modes.void, all_at_once])
async def test_an_interrupt_goes_out_before_the_failure_of_a_sibling(bus, mode):
    async def fails():
        raise ValueError

    async def interrupted():
        raise KeyboardInterrupt

    @hookspec(mode, bus=bus)
    async def ask(): ...

    ask.connect(fails, on_error="raise")
    ask.connect(interrupted)
    with pytest.raises(KeyboardInterrupt):
        await ask()


async def test_a_plain_call_in_a_running_loop_has_no_async_observers_in_the_background(bus):
    async def watch(agent): ...

    agent = agent_of(bus, [])
    with pytest.raises(HookError, match="is a plain def, which cannot await it"):
        bus.signal("pre_reply").connect(watch, role="observe", background=True)

    class Odd:  # of which nobody can see that it is async
        def __call__(self, agent):
            return watch(agent)

    failures = failures_of(bus)
    bus.signal("pre_reply").connect(Odd(), role="observe", background=True)
    agent.reply("a")
    assert await bus.drain(20.0) == 0
    assert "cannot await it" in str(failures[0].exception)


def test_the_view_of_the_arguments_is_a_mapping(bus):
    seen = []
    bus.signal("pre_reply").connect(
        lambda agent, ctx: seen.append((len(ctx.kwargs), dict(ctx.kwargs), "tone" in ctx.kwargs)),
        role="observe",
    )
    agent_of(bus, []).reply("a")
    assert seen == [(2, {"msg": "a", "tone": "kind"}, True)]


def test_an_around_of_a_stream_that_gives_no_items_is_told_what_to_write(bus):
    bus.signal("around_stream").connect(lambda agent, call_next: 3)
    with pytest.raises(HookError, match="returned an int; an around of a stream must yield items"):
        list(agent_of(bus, []).stream("a"))


async def test_who_waits_for_a_background_in_which_nobody_is_waits_not_at_all(bus):
    assert await asyncio.wait_for(bus.drain(60.0), 20) == 0


async def test_inside_an_attempt_that_outlived_its_around_no_method_is_run(bus):
    ran, tasks = [], []

    async def outer(agent, call_next):
        result = await call_next()
        with pytest.raises(HookError, match="after its around had ended"):
            await tasks[0]
        return result

    async def leaves(agent, call_next):
        tasks.append(asyncio.ensure_future(call_next(msg="patched")))
        await asyncio.sleep(0.01)
        return "at once"

    async def slow(agent, call_next):
        await asyncio.sleep(0.03)
        return await call_next()

    for priority, around in enumerate((slow, leaves, outer)):
        bus.signal("around_think").connect(around, priority=priority)
    assert await agent_of(bus, ran).think("a") == "at once"
    assert ran == []


def test_of_many_receivers_that_are_alike_each_has_its_own_deadline(bus):
    release = threading.Event()
    for number in range(20):
        bus.signal("pre_reply").connect(
            lambda agent, number=number: number == 15 and release.wait(5) or None,
            name=f"r{number}", timeout=0.05 if number == 15 else None,
        )  # fmt: skip
    failures = failures_of(bus)
    try:
        agent_of(bus, []).reply("a")
        assert [type(failure.exception) for failure in failures] == [TimeoutError]
    finally:
        release.set()


def test_a_method_held_weakly_for_all_is_called_of_its_own_object(bus):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return msg

        def watch(self, agent):
            asked.append((self, agent))

    asked, one, other = [], Agent(), Agent()
    bus.signal("post_reply").connect(one.watch, weak=True, role="observe")
    one.reply("a"), other.reply("b")
    assert asked == [(one, one), (one, other)]


def test_a_receiver_written_in_c_may_import_what_it_needs(bus):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return msg

    failures = failures_of(bus)
    bus.signal("around_reply").connect(Imports())
    assert Agent().reply("a") == "json" and failures == []


class Imports:
    """Calls, as code written in C does, the import of the frame that calls it."""

    def __call__(self, agent, call_next):
        frame = sys._getframe(1)
        return frame.f_globals["__builtins__"].__import__("json").__name__


@pytest.mark.parametrize("mode", [modes.firstresult, modes.broadcast, all_at_once])
def test_nobody_rescues_a_question_that_a_receiver_has_blocked(bus, mode):
    @hookspec(mode, bus=bus)
    def may(x): ...

    may.connect(lambda x: Block("no"))
    bus.signal("error_may").connect(lambda may: Replace("yes"))
    with pytest.raises(HookBlocked, match="no"):
        may(1)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_nobody_rescues_a_call_that_changed_after_it_was_approved(bus, is_async):
    ran, name = [], "think" if is_async else "reply"

    def spoils(agent, msg):
        msg.append("eve")

    bus.approver(lambda request: Approved("ada"))
    bus.signal(f"pre_{name}").connect(lambda agent: Ask("pay?"), role="guard")
    bus.signal(f"pre_{name}").connect(spoils, role="observe")
    bus.signal(f"error_{name}").connect(lambda agent: Replace("rescued"))
    call = getattr(agent_of(bus, ran), name)
    with pytest.raises(HookBlocked, match="changed after it was approved"):
        asyncio.run(call(["ada"])) if is_async else call(["ada"])
    assert ran == []


def test_an_argument_may_be_called_first(bus):
    class Agent:
        @hookable("pay", bus=bus)
        def pay(self, to, FIRST, FIRST_NAME="x"):
            return to, FIRST, FIRST_NAME

    @hookable("send", bus=bus)
    def send(account, FIRST):
        return account, FIRST

    for _ in range(2):
        assert Agent().pay("a", "b") == ("a", "b", "x") and send("c", "d") == ("c", "d")
        bus.signal("pre_pay").connect(lambda agent: None)
        bus.signal("pre_send").connect(lambda it: None)


@pytest.mark.parametrize("is_plain", [False, True], ids=["awaited", "plain"])
async def test_a_receiver_that_is_asked_twice_side_by_side_answers_twice(bus, is_plain):
    def twice(receivers):
        answers = yield [receivers[0], receivers[0]]
        return [answer.value for answer in answers]

    @hookspec(twice, bus=bus)
    async def sample(x): ...

    count = itertools.count(1)

    async def later(x):
        return next(count)

    sample.connect((lambda x: next(count)) if is_plain else later)
    assert sorted(await sample(0)) == [1, 2]


def test_a_replay_by_many_threads_tells_each_newcomer_once(bus):
    @hookspec(modes.broadcast, bus=bus, historic=True)
    def configured(option): ...

    told = []
    for number in range(30):
        configured(number)
    configured.connect(lambda option: told.append(option))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=configured.replay) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert sorted(told) == list(range(30))
