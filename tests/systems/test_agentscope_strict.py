"""AgentScope's defects are cured on the real package with `install(strict=True)`; where the default
cures one too, it says so."""

import asyncio
import functools
import threading

import pytest
from agentscope.agent import AgentBase
from agentscope.message import Msg

from hookbus.events import Failed
from hookbus.testing import record

from . import agentscope_settings as parts
from .agentscope_settings import Agent, react_agent

strict = parts.strict
either = parts.either


# -- concurrency: cured in both settings -----------------------------------------------------------


@pytest.mark.parametrize("stagger", [0.0, 0.004], ids=["all at once", "4 ms apart"])
@pytest.mark.parametrize("is_async", [False, True], ids=["sync hooks", "async hooks"])
async def test_agentscope_d01_d02_ten_overlapping_replies_run_each_hook_ten_times(
    either, stagger, is_async
):
    counts, agent = {"pre": [], "post": []}, Agent()

    def hook(phase):
        async def later(self, kwargs, *output):
            await asyncio.sleep(0)
            counts[phase].append(kwargs["msg"])

        return (
            later if is_async else lambda self, kwargs, *output: counts[phase].append(kwargs["msg"])
        )

    for phase in counts:
        agent.register_instance_hook(f"{phase}_reply", "count", hook(phase))

    async def start(n):
        await asyncio.sleep(n * stagger)
        return await agent.reply(n, delay=0.02)

    await asyncio.gather(*(start(n) for n in range(10)))
    assert {phase: sorted(seen) for phase, seen in counts.items()} == {
        "pre": list(range(10)),
        "post": list(range(10)),
    }


async def test_agentscope_d03_a_fast_reply_and_a_slow_one_are_each_hooked_once(either):
    seen, agent = [], Agent()
    for phase in ("pre", "post"):

        def hook(self, kwargs, *output, phase=phase):
            seen.append((phase, kwargs["msg"]))

        agent.register_instance_hook(f"{phase}_reply", "note", hook)
    slow = asyncio.create_task(agent.reply("slow", delay=0.05))
    await asyncio.sleep(0.01)
    await agent.reply("fast")
    await slow
    assert sorted(seen) == [("post", "fast"), ("post", "slow"), ("pre", "fast"), ("pre", "slow")]


async def test_agentscope_d04_parallel_tools_of_a_react_agent_all_run_with_the_rewritten_path(
    either,
):
    def sandbox(self, kwargs):
        call = dict(kwargs["tool_call"])
        return {
            **kwargs,
            "tool_call": {**call, "input": {"path": f"/sandbox{call['input']['path']}"}},
        }

    removed = []
    agent = react_agent(removed)
    agent.register_instance_hook("pre_acting", "sandbox", sandbox)
    await agent(Msg("user", "remove them", "user"))
    assert sorted(removed) == [f"/sandbox/p{n}" for n in range(4)]


async def test_agentscope_d05_every_print_of_parallel_tools_is_seen(either):
    seen = []
    agent = react_agent([], [f"/p{n}" for n in range(8)])
    agent.register_instance_hook(
        "pre_print", "see", lambda self, kwargs: seen.append(kwargs["msg"].role)
    )
    await agent(Msg("user", "remove them", "user"))
    assert seen.count("system") == 8


# -- failures --------------------------------------------------------------------------------------


async def test_agentscope_d06_a_failing_hook_is_told_and_costs_nothing(strict, bus):
    def disconnected(self, kwargs, output):
        raise ConnectionError("studio is gone")

    agent = Agent()
    agent.register_instance_hook("post_reply", "studio", disconnected)
    with record(bus) as fired:
        assert await agent.reply("hi") == "re: hi"
    assert [(event.receiver, event.phase, event.action) for event in fired.of(Failed)] == [
        ("studio", "post", "isolated")
    ]


@pytest.mark.parametrize("ends", ["raises", "is cancelled"])
async def test_agentscope_d07_error_and_finally_receivers_see_how_a_reply_ends(either, bus, ends):
    original, started = ValueError("the body's own"), asyncio.Event()

    class Failing(AgentBase):
        async def reply(self):
            started.set()
            if ends == "raises":
                raise original
            await asyncio.sleep(30)

    seen = []
    bus.signal("error_reply").connect(
        lambda agent, error: seen.append(("error", error)), role="observe"
    )
    bus.signal("finally_reply").connect(lambda agent, ctx: seen.append(ctx.outcome))
    task = asyncio.create_task(Failing().reply())
    await started.wait()
    if ends == "is cancelled":
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert seen == ["cancelled"]
    else:
        with pytest.raises(ValueError) as raised:
            await task
        assert raised.value is original and seen == [("error", original), "raised"]


# -- copies ----------------------------------------------------------------------------------------


async def test_agentscope_d08_read_only_hooks_copy_nothing(strict):
    class Uncopied:
        def __deepcopy__(self, memo):
            raise AssertionError("copied")

    given, seen, agent = Uncopied(), [], Agent()
    agent.register_instance_hook(
        "pre_reply", "read", lambda self, kwargs: seen.append(kwargs["msg"])
    )
    agent.register_instance_hook(
        "post_reply", "read", lambda self, kwargs, output: seen.append(kwargs["msg"])
    )
    for _ in range(3):
        await agent.reply(given)
    assert all(each is given for each in seen + agent.bodies) and len(seen) == 6


async def test_agentscope_d09_a_lock_a_generator_a_task_and_a_file_arrive_as_they_are(
    strict, tmp_path
):
    agent = Agent()
    agent.register_instance_hook("pre_reply", "noop", lambda self, kwargs: None)
    task = asyncio.create_task(asyncio.sleep(0))
    with (tmp_path / "file").open("w") as file:
        for argument in (threading.Lock(), (n for n in range(3)), task, file):
            await agent.reply(argument)
            assert agent.bodies[-1] is argument
    await task


# -- signatures: cured in both settings ------------------------------------------------------------


class Bare:
    async def reply_stars(self, *msgs, **opts):
        return msgs, opts

    async def reply_only_stars(self, *msgs):
        return msgs

    async def reply_first_and_stars(self, first, *args):
        return first, args

    async def reply_by_position(self, msg, /):
        return msg

    async def reply_named_args(self, args):
        return args

    async def reply_named_kwargs(self, kwargs):
        return kwargs

    async def reply_other_self(this, msg):  # noqa: N805
        return msg


CALLS = [
    ("stars", (1, 2), {"k": 3}), ("only_stars", (1, 2), {}), ("first_and_stars", (1, 2, 3), {}),
    ("by_position", ("x",), {}), ("named_args", (["x"],), {}),
    ("named_args", (), {"args": {"a": 1}}), ("named_kwargs", ({"a": 1},), {}),
    ("other_self", (), {"msg": "x"}),
]  # fmt: skip


@pytest.mark.parametrize("hooks", [0, 1, 3])
@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
async def test_agentscope_d10_every_signature_gets_what_a_direct_call_gives_it(
    either, name, args, kwargs, hooks
):
    method = vars(Bare)[f"reply_{name}"]
    renamed = functools.wraps(method)(lambda *a, **k: None)
    copy = type(method)(method.__code__.replace(co_name="reply"), method.__globals__, "reply")
    assert renamed.__name__ != "reply" == copy.__name__
    Hooked = type(AgentBase)("Hooked", (AgentBase,), {"reply": copy})
    agent = Hooked()
    for number in range(hooks):
        agent.register_instance_hook("pre_reply", f"h{number}", lambda self, kwargs: kwargs)
        agent.register_instance_hook("post_reply", f"h{number}", lambda self, kwargs, output: None)
    assert await agent.reply(*args, **kwargs) == await getattr(Bare(), f"reply_{name}")(
        *args, **kwargs
    )
