"""AgentScope's defects are not hookbus's. No AgentScope is needed here: the real one is in
`test_agentscope_strict.py`."""

import asyncio
import functools
import gc
import inspect
import threading
import time
import unittest.mock
import weakref
from abc import ABC, abstractmethod
from typing import Protocol

import pydantic
import pytest

from hookbus import Block, HookBlocked, HookError, Replace, explain, hookable, instrument, report
from hookbus.events import Blocked, Failed, Finished, Mutated
from hookbus.exceptions import HookWarning
from hookbus.testing import record


@pytest.fixture
def Agent(bus):
    class Agent:
        def __init__(self):
            self.bodies = []

        @hookable("reply", bus=bus)
        async def reply(self, msg, delay=0.0):
            await asyncio.sleep(delay)
            self.bodies.append(msg)
            return f"re: {msg}"

    return Agent


async def later_none(agent):
    await asyncio.sleep(0)


# -- concurrency -----------------------------------------------------------------------------------


@pytest.mark.parametrize("stagger", [0.0, 0.004], ids=["all at once", "4 ms apart"])
@pytest.mark.parametrize("is_async", [False, True], ids=["sync receivers", "async receivers"])
async def test_agentscope_d01_d02_ten_overlapping_replies_on_one_agent_are_each_hooked_once(
    bus, Agent, stagger, is_async
):
    counts = {"pre": [], "post": []}

    def receiver(phase):
        async def later(agent, msg):
            await asyncio.sleep(0)
            counts[phase].append(msg)

        return later if is_async else lambda agent, msg: counts[phase].append(msg)

    for phase in counts:
        bus.signal(f"{phase}_reply").connect(receiver(phase))
    agent = Agent()

    async def start(n):
        await asyncio.sleep(n * stagger)
        return await agent.reply(n, delay=0.02)

    await asyncio.gather(*(start(n) for n in range(10)))
    assert {phase: sorted(seen) for phase, seen in counts.items()} == {
        "pre": list(range(10)),
        "post": list(range(10)),
    }


def test_agentscope_d01_replies_in_threads_are_each_hooked_once(bus, Agent):
    seen, agent = [], Agent()
    bus.signal("pre_reply").connect(lambda agent, msg: seen.append(msg))
    threads = [
        threading.Thread(target=lambda n=n: asyncio.run(agent.reply(n, delay=0.01)))
        for n in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(10))


async def test_agentscope_d03_a_fast_call_inside_a_slow_ones_time_hooks_neither_twice(bus, Agent):
    seen, agent = [], Agent()
    for phase in ("pre", "post"):
        bus.signal(f"{phase}_reply").connect(
            lambda agent, msg, phase=phase: seen.append((phase, msg))
        )
    slow = asyncio.create_task(agent.reply("slow", delay=0.05))
    await asyncio.sleep(0.01)
    await agent.reply("fast")
    await slow
    assert sorted(seen) == [("post", "fast"), ("post", "slow"), ("pre", "fast"), ("pre", "slow")]


async def test_agentscope_d04_four_parallel_tool_calls_all_get_the_rewritten_argument(bus, Agent):
    bus.signal("pre_reply").connect(lambda agent, msg: {"msg": msg.replace("/", "/sandbox/", 1)})
    agent = Agent()
    await asyncio.gather(*(agent.reply(f"/p{n}", delay=0.01) for n in range(4)))
    assert sorted(agent.bodies) == [f"/sandbox/p{n}" for n in range(4)]


async def test_agentscope_d05_eight_parallel_prints_are_all_seen(bus, Agent):
    seen, agent = [], Agent()
    bus.signal("pre_reply").connect(lambda agent, msg: seen.append(msg), role="observe")
    await asyncio.gather(*(agent.reply(n, delay=0.001 * (n % 3)) for n in range(8)))
    assert sorted(seen) == list(range(8))


# -- failures --------------------------------------------------------------------------------------


async def test_agentscope_d06_a_failing_observer_is_told_and_a_failing_guard_blocks(bus, Agent):
    def disconnected(agent):
        raise ConnectionError("studio is gone")

    bus.signal("post_reply").connect(disconnected, role="observe", name="studio")
    with record(bus) as fired:
        assert await Agent().reply("hi") == "re: hi"
    assert [(event.receiver, event.phase, event.action) for event in fired.of(Failed)] == [
        ("studio", "post", "isolated")
    ]
    bus.signal("pre_reply").connect(disconnected, role="guard", name="policy")
    with pytest.raises(HookBlocked, match="guard failed: ConnectionError"):
        await Agent().reply("hi")


@pytest.mark.parametrize("ends", ["raises", "is cancelled"])
async def test_agentscope_d07_error_and_finally_receivers_run_once_and_the_caller_gets_the_original(
    bus, ends
):
    original = ValueError("the body's own")
    started = asyncio.Event()

    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self):
            started.set()
            if ends == "raises":
                raise original
            await asyncio.sleep(30)

    seen = []
    bus.signal("error_reply").connect(
        lambda agent, error: seen.append(("error", error)), role="observe"
    )
    bus.signal("finally_reply").connect(lambda agent, ctx, error: seen.append((ctx.outcome, error)))
    task = asyncio.create_task(Agent().reply())
    await started.wait()
    if ends == "is cancelled":
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as raised:
            await task
        assert seen == [("cancelled", raised.value)]
    else:
        with pytest.raises(ValueError) as raised:
            await task
        assert raised.value is original and seen == [("error", original), ("raised", original)]


# -- copies ----------------------------------------------------------------------------------------


class Uncopied:
    """Counts how often it is copied."""

    def __init__(self):
        self.copies = 0

    def __copy__(self):
        self.copies += 1
        return self

    def __deepcopy__(self, memo):
        self.copies += 1
        return self


async def test_agentscope_d08_read_only_receivers_cause_no_copies_however_much_has_accumulated(bus):
    class Agent:
        @hookable("print", bus=bus)
        async def print(self, msg, last):
            return msg

    for role in ("modify", "guard", "observe"):
        for phase in ("pre", "post"):
            bus.signal(f"{phase}_print").connect(
                lambda agent, msg, ctx: None, role=role, name=f"{role} {phase}"
            )
    msg, agent = Uncopied(), Agent()
    for chunk in range(20):
        assert await agent.print(msg, chunk == 19) is msg
    assert msg.copies == 0


def uncopyable(tmp_path):
    yield threading.Lock()
    yield (n for n in range(3))
    yield asyncio.get_running_loop().create_task(asyncio.sleep(0))
    with (tmp_path / "file").open("w") as file:
        yield file


async def test_agentscope_d09_arguments_that_cannot_be_copied_arrive_as_they_are(
    bus, Agent, tmp_path
):
    bus.signal("pre_reply").connect(lambda agent, msg: None)
    agent = Agent()
    for argument in uncopyable(tmp_path):
        await agent.reply(argument)
        assert agent.bodies[-1] is argument
        if isinstance(argument, asyncio.Task):
            await argument


# -- signatures ------------------------------------------------------------------------------------


class Bare:
    async def stars(self, *msgs, **opts):
        return msgs, opts

    async def only_stars(self, *msgs):
        return msgs

    async def first_and_stars(self, first, *args):
        return first, args

    async def by_position(self, msg, /):
        return msg

    async def named_args(self, args):
        return args

    async def named_kwargs(self, kwargs):
        return kwargs

    async def other_self(this, msg):  # noqa: N805
        return type(this).__name__, msg


CALLS = [
    ("stars", (1, 2), {"k": 3}), ("only_stars", (1, 2), {}), ("first_and_stars", (1, 2, 3), {}),
    ("by_position", ("x",), {}), ("named_args", (["x"],), {}),
    ("named_args", (), {"args": {"a": 1}}), ("named_kwargs", ({"a": 1},), {}),
    ("other_self", (), {"msg": "x"}),
]  # fmt: skip


@pytest.mark.parametrize("receivers", [0, 1, 3])
@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
async def test_agentscope_d10_every_signature_gets_what_a_direct_call_gives_it(
    bus, name, args, kwargs, receivers
):
    class Hooked(Bare):
        pass

    Hooked.__name__ = "Bare"
    instrument(Hooked, name, bus=bus)
    for number in range(receivers):
        bus.signal(f"pre_{name}").connect(lambda agent, ctx: dict(ctx.kwargs), name=f"r{number}")
    assert await getattr(Hooked(), name)(*args, **kwargs) == await getattr(Bare(), name)(
        *args, **kwargs
    )


# -- what receivers return -------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["text", False, ["list"], {"mgs": "unknown argument"}])
@pytest.mark.parametrize(
    "wrap", [lambda f: f, functools.partial], ids=["a function", "a partial of it"]
)
async def test_agentscope_d11_a_wrong_return_is_reported_with_the_receivers_name(
    bus, Agent, answer, wrap
):
    def careless(agent, msg):
        return answer

    bus.signal("pre_reply").connect(wrap(careless))
    with record(bus) as fired:
        assert await Agent().reply("hi") == "re: hi"
    [failed] = fired.of(Failed)
    assert failed.receiver.endswith("careless")
    assert ("did you mean 'msg'" in str(failed.exception)) == isinstance(answer, dict)


async def test_agentscope_d11_a_patch_merges_a_replacement_is_explicit_and_a_result_may_be_none(
    bus, Agent
):
    seen = []
    bus.signal("pre_reply").connect(lambda agent: {"msg": "patched"})
    bus.signal("pre_reply").connect(
        lambda agent, ctx: seen.append(dict(ctx.kwargs)), role="observe"
    )
    bus.signal("post_reply").connect(lambda agent: Replace(None))
    assert await Agent().reply("hi", delay=0.001) is None
    assert seen == [{"msg": "patched", "delay": 0.001}]


class Called:
    async def __call__(self, agent):
        await asyncio.sleep(0)


def plain_decorator(function):
    @functools.wraps(function)
    def plain(*args):
        return function(*args)

    return plain


ASYNC_SHAPES = {
    "an object": Called(), "a decorated function": plain_decorator(later_none),
    "a lambda": lambda agent: later_none(agent), "a partial": functools.partial(later_none),
}  # fmt: skip


@pytest.mark.parametrize("shape", list(ASYNC_SHAPES))
@pytest.mark.parametrize("phase", ["pre", "post"])
async def test_agentscope_d12_whatever_is_awaitable_is_awaited(bus, Agent, shape, phase):
    bus.signal(f"{phase}_reply").connect(ASYNC_SHAPES[shape])
    with record(bus) as fired:
        assert await Agent().reply("hi") == "re: hi"
    fired.no_failures()


@pytest.mark.parametrize("shape", list(ASYNC_SHAPES))
@pytest.mark.filterwarnings("error")
def test_agentscope_d12_on_a_sync_method_an_async_receiver_is_refused_and_no_coroutine_gets_out(
    bus, shape
):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self):
            return "re"

    try:
        bus.signal("post_reply").connect(ASYNC_SHAPES[shape])
    except HookError as refused:
        assert "is async" in str(refused)
    else:
        with record(bus) as fired:
            assert Agent().reply() == "re"
        assert [event.action for event in fired.of(Failed)] == ["isolated"]


# -- scopes and registration -----------------------------------------------------------------------


async def test_agentscope_d13_a_class_receiver_is_for_its_class_and_clearing_a_scope_leaves_others(
    bus, Agent
):
    class One(Agent):
        pass

    class Two(Agent):
        pass

    ran = []
    handles = {
        cls: bus.signal("pre_reply").connected_to(
            lambda agent, c=cls: ran.append(c.__name__), sender=cls, name="same name"
        )
        for cls in (Agent, One, Two)
    }
    await Two().reply("hi")
    assert ran == ["Two", "Agent"]
    handles[One].disconnect()
    await One().reply("hi")
    assert ran == ["Two", "Agent", "Agent"]


async def test_agentscope_d14_one_exception_a_suggestion_a_decorator_and_a_rule_for_the_same_again(
    bus, Agent
):
    with pytest.raises(HookError, match="not callable"):
        bus.signal("pre_reply").connect(42)
    with pytest.raises(HookError, match="did you mean 'reply'"):
        bus.require("repyl")
    ran = []

    @bus.signal("post_reply").connect_via(Agent)
    def log(agent):
        ran.append("log")

    bus.signal("post_reply").connect(log, sender=Agent, name="log, with other options")
    await Agent().reply("hi")
    assert ran == ["log"], "connecting again replaces the options and keeps the place"
    assert [row.receiver for row in explain(Agent.reply)] == ["log, with other options"]


async def test_agentscope_d15_a_receiver_that_calls_its_own_point_is_reported(bus, Agent):
    async def calls_itself(agent, msg):
        return {"msg": await agent.reply(msg)}

    bus.signal("pre_reply").connect(calls_itself)
    with record(bus) as fired:
        assert (await Agent().reply("hi")).endswith("re: hi")
    (failed,) = fired.of(Failed)
    assert isinstance(failed.exception, HookError) and "calls reply in its own turn" in str(
        failed.exception
    )


async def test_agentscope_d15_recursion_is_hooked_at_every_level(bus):
    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self, n):
            return n if n == 0 else await self.reply(n - 1)

    seen = []
    bus.signal("pre_reply").connect(lambda agent, n: seen.append(n))
    await Agent().reply(2)
    assert seen == [2, 1, 0]


async def test_agentscope_d16_mixins_every_colour_abc_pydantic_protocol_and_ones_own_methods(bus):
    class Mixin:
        @hookable("plan", bus=bus)
        def plan(self):
            return "plan"

    class Abstract(ABC):
        @hookable("reply", bus=bus)
        @abstractmethod
        async def reply(self): ...

    class Shape(Protocol):
        @hookable("shape", bus=bus)
        def shape(self):
            return "shape"

    class Model(pydantic.BaseModel):
        name: str = "model"

        @hookable("items", bus=bus)
        def items(self):
            yield self.name

    class Agent(Mixin, Abstract, Shape):
        @hookable("reply", bus=bus)
        async def reply(self):
            return "reply"

        @hookable("stream", bus=bus)
        async def stream(self):
            yield "item"

    ran, hooks, agent = [], ["plan", "reply", "shape", "items", "stream"], Agent()
    for hook in hooks:
        bus.signal(f"pre_{hook}").connect(lambda agent, hook=hook: ran.append(hook))
    assert (agent.plan(), await agent.reply(), agent.shape()) == ("plan", "reply", "shape")
    assert list(Model().items()) == ["model"]
    assert [item async for item in agent.stream()] == ["item"] and ran == hooks
    with pytest.raises(TypeError, match="abstract"):
        Abstract()


async def test_agentscope_d16_what_replaces_a_hooked_method_undecorated_is_reported(bus, Agent):
    class Silent(Agent):
        async def reply(self, msg):
            return "unhooked"

    with pytest.warns(HookWarning, match="does not guard .*Silent.reply"):
        bus.signal("pre_reply").connect(lambda agent: None, sender=Silent, role="guard")
    assert any("Silent.reply" in finding for finding in report(bus).findings)
    agent = Agent()
    with unittest.mock.patch.object(agent, "reply", unittest.mock.AsyncMock(return_value="mock")):
        assert await agent.reply("hi") == "mock"
        with pytest.raises(HookError, match="is not hookable"):
            explain(agent.reply)
    assert await agent.reply("hi") == "re: hi"


async def test_agentscope_d17_a_sync_receiver_with_a_deadline_runs_off_the_loop(bus, Agent):
    threads, ticks = [], []

    def blocks(agent):
        threads.append(threading.current_thread())
        time.sleep(0.3)

    async def tick():
        while True:
            ticks.append(1)
            await asyncio.sleep(0.01)

    bus.signal("pre_reply").connect(blocks, timeout=10, role="observe")
    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    before = len(ticks)
    await Agent().reply("hi")
    ticking.cancel()
    assert threads[0] is not threading.current_thread()
    assert len(ticks) - before > 1, "the loop went on while the receiver slept"


# -- verdicts --------------------------------------------------------------------------------------


async def test_agentscope_d18_a_block_and_a_replacement_stop_the_body_and_reach_the_caller(
    bus, Agent
):
    agent = Agent()
    with bus.signal("pre_reply").connected_to(lambda agent: Block("not today"), role="guard"):
        with pytest.raises(HookBlocked) as blocked:
            await agent.reply("hi")
        assert blocked.value.reason == "not today"
    with bus.signal("pre_reply").connected_to(lambda agent: Block("not today", result="refused")):
        assert await agent.reply("hi") == "refused"
    with bus.signal("pre_reply").connected_to(lambda agent: Replace("cached")):
        assert await agent.reply("hi") == "cached"
    assert agent.bodies == []


async def test_agentscope_d19_a_weakly_connected_method_does_not_keep_its_owner_alive(bus, Agent):
    ran = []

    class Plugin:
        def look(self, agent):
            ran.append("look")

    plugin = Plugin()
    bus.signal("pre_reply").connect(plugin.look, weak=True)
    await Agent().reply("hi")
    gone = weakref.ref(plugin)
    del plugin
    gc.collect()
    assert gone() is None
    await Agent().reply("hi")
    assert ran == ["look"]


async def test_agentscope_d20_without_receivers_a_call_runs_the_very_code_of_the_method(bus, Agent):
    """What it costs is in `tests/systems/measure_agentscope.py`; here, that nothing is left to cost
    anything."""
    frames = []

    class Watched:
        @hookable("watched", bus=bus)
        async def reply(self):
            frames.extend(frame.filename for frame in inspect.stack()[1:])

    await Watched().reply()
    package = inspect.getfile(hookable).rsplit("/", 1)[0]
    assert not [name for name in frames if name.startswith((package, "<hookbus"))]
    handle = bus.signal("pre_watched").connected_to(lambda agent: None)
    frames.clear()
    await Watched().reply()
    assert [name for name in frames if name.startswith((package, "<hookbus"))]
    handle.disconnect()


async def test_agentscope_d21_a_rewritten_result_is_what_the_caller_gets_and_stores(bus, Agent):
    memory = []
    bus.signal("post_reply").connect(lambda agent, result: "REDACTED")
    memory.append(await Agent().reply("remove /p0"))
    assert memory == ["REDACTED"]


async def test_agentscope_d22_events_say_who_changed_which_argument_from_what_to_what(bus, Agent):
    bus.signal("pre_reply").connect(lambda agent: {"msg": "changed"}, name="changer")
    bus.signal("pre_reply").connect(
        lambda agent, ctx: ctx.kwargs.pop("delay") and None, name="popper"
    )
    with record(bus) as fired:
        assert await Agent().reply("hi", delay=0.001) == "re: changed"
    assert [
        (event.receiver, event.name, event.before, event.after) for event in fired.of(Mutated)
    ] == [("changer", "msg", "hi", "changed")]
    [failed] = fired.of(Failed)
    assert failed.receiver == "popper" and "'delay' was removed" in str(failed.exception)
    assert fired.of(Blocked) == [] and [event.outcome for event in fired.of(Finished)] == [
        "returned"
    ]
