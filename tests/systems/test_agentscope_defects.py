"""AgentScope's defects are not hookbus's. No AgentScope is needed here: the real one is in
`test_agentscope_strict.py`."""

import asyncio
import threading

import pytest

from hookbus import HookBlocked, hookable, instrument
from hookbus.events import Failed
from hookbus.testing import record

from . import agentscope_agent as parts

Agent = parts.Agent


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
