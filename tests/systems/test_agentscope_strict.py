"""AgentScope's defects are cured on the real package with `install(strict=True)`; where the default
cures one too, it says so."""

import asyncio
import functools
import gc
import inspect
import threading
import time
import weakref

import pytest
from agentscope.agent import AgentBase, ReActAgent, ReActAgentBase
from agentscope.formatter import DashScopeChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg, TextBlock, ToolUseBlock
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.tool import Toolkit, ToolResponse

from hookbus import Block, HookBlocked, HookError, Replace, explain, report
from hookbus.adapters import agentscope
from hookbus.events import Failed, Mutated
from hookbus.testing import record


@pytest.fixture
def strict(bus):
    uninstall = agentscope.install(bus, strict=True)
    yield
    uninstall()
    ReActAgentBase.clear_class_hooks()


@pytest.fixture(params=[False, True], ids=["default", "strict"])
def either(bus, request):
    uninstall = agentscope.install(bus, strict=request.param)
    yield request.param
    uninstall()
    ReActAgentBase.clear_class_hooks()


class Agent(AgentBase):
    def __init__(self):
        super().__init__()
        self.bodies = []

    async def reply(self, msg, delay=0.0):
        await asyncio.sleep(delay)
        self.bodies.append(msg)
        return f"re: {msg}"


class ScriptedModel(ChatModelBase):
    """Calls a tool four times in its first answer, then says it is done."""

    def __init__(self, paths):
        super().__init__("scripted", stream=False)
        self.paths = paths

    async def __call__(self, messages, *args, **kwargs):
        if any(
            block.get("type") == "tool_result"
            for message in messages
            for block in message.get("content") or []
            if isinstance(block, dict)
        ) or any(message["role"] == "tool" for message in messages):
            return ChatResponse(content=[TextBlock(type="text", text="done")])
        return ChatResponse(
            content=[
                ToolUseBlock(type="tool_use", id=str(n), name="remove", input={"path": path})
                for n, path in enumerate(self.paths)
            ]
        )


def react_agent(removed, paths=("/p0", "/p1", "/p2", "/p3")):
    async def remove(path: str) -> ToolResponse:
        """Remove a file.

        Args:
            path (str): which.
        """
        await asyncio.sleep(0.01)
        removed.append(path)
        return ToolResponse(content=[TextBlock(type="text", text=f"removed {path}")])

    toolkit = Toolkit()
    toolkit.register_tool_function(remove)
    agent = ReActAgent(
        name="friday", sys_prompt="You remove files.", model=ScriptedModel(paths),
        formatter=DashScopeChatFormatter(), toolkit=toolkit, memory=InMemoryMemory(),
        parallel_tool_calls=True,
    )  # fmt: skip
    agent.set_console_output_enabled(False)
    return agent


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


# -- what hooks return -----------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["text", False, ["list"], {"mgs": 1}])
@pytest.mark.parametrize(
    "wrap", [lambda f: f, functools.partial], ids=["a function", "a partial of it"]
)
async def test_agentscope_d11_a_wrong_return_is_told_with_the_hooks_name(strict, bus, answer, wrap):
    agent = Agent()
    agent.register_instance_hook("pre_reply", "careless", wrap(lambda self, kwargs: answer))
    with record(bus) as fired:
        assert await agent.reply("hi") == "re: hi"
    assert [event.receiver for event in fired.of(Failed)] == ["careless"]


async def test_agentscope_d11_a_partial_dict_keeps_the_rest_and_the_output_may_become_none(
    strict,
):
    seen, agent = [], Agent()
    agent.register_instance_hook("pre_reply", "patch", lambda self, kwargs: {"msg": "patched"})
    agent.register_instance_hook(
        "post_reply", "see", lambda self, kwargs, output: seen.append(kwargs)
    )
    agent.register_instance_hook("post_reply", "none", lambda self, kwargs, output: Replace(None))
    assert await agent.reply("hi", delay=0.001) is None
    assert seen == [{"msg": "patched", "delay": 0.001}]


async def later_none(*_):
    await asyncio.sleep(0)


class Called:
    async def __call__(self, *_):
        await asyncio.sleep(0)


def plain_decorator(function):
    @functools.wraps(function)
    def plain(*args):
        return function(*args)

    return plain


SHAPES = {
    "an object": Called(),
    "a decorated function": plain_decorator(later_none),
    "a lambda": lambda *_: later_none(),
}


@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("phase", ["pre", "post"])
async def test_agentscope_d12_whatever_is_awaitable_is_awaited(either, bus, shape, phase):
    agent = Agent()
    agent.register_instance_hook(f"{phase}_reply", "a", SHAPES[shape])
    with record(bus) as fired:
        assert await agent.reply("hi") == "re: hi"
    fired.no_failures()


# -- scopes and registration -----------------------------------------------------------------------


async def test_agentscope_d13_class_hooks_are_for_their_class_and_clearing_leaves_the_others(
    strict,
):
    class One(Agent):
        pass

    class Two(Agent):
        pass

    class Below(One):
        pass

    ran = []
    for cls in (AgentBase, One, Two):
        cls.register_class_hook(
            "pre_reply", "same name", lambda self, kwargs, c=cls: ran.append(c.__name__)
        )
    await Two().reply("hi")
    await Below().reply("hi")
    assert ran == ["Two", "AgentBase", "One", "AgentBase"]
    One.clear_class_hooks()
    ran.clear()
    await One().reply("hi")
    await Two().reply("hi")
    assert ran == ["AgentBase", "Two", "AgentBase"]
    with pytest.raises(ValueError, match="Hook 'same name' not found"):
        One.remove_class_hook("pre_reply", "same name")
    Two.remove_class_hook("pre_reply", "same name")
    assert list(AgentBase._class_pre_reply_hooks) == ["same name"]


async def test_agentscope_d14_registration_tells_mistakes_at_once_and_decorates(strict):
    agent = Agent()
    for owner, register in (
        (agent, agent.register_instance_hook),
        (Agent, Agent.register_class_hook),
    ):
        with pytest.raises(
            HookError, match="Agent has no hook 'pre_repyl'; did you mean 'pre_reply'"
        ):
            register("pre_repyl", "a", lambda self, kwargs: None)
        with pytest.raises(
            HookError, match="'not a function' cannot be registered as 'a': it is not callable"
        ):
            register("pre_reply", "a", "not a function")
        assert explain(owner.reply).rows == ()
    ran = []

    @Agent.register_class_hook("post_reply", "log")
    def log(self, kwargs, output):
        ran.append("first")

    Agent.register_class_hook(
        "post_reply", "second", lambda self, kwargs, output: ran.append("second")
    )
    Agent.register_class_hook(
        "post_reply", "log", lambda self, kwargs, output: ran.append("in its place")
    )
    await agent.reply("hi")
    assert callable(log) and ran == ["in its place", "second"]


async def test_agentscope_d14_an_agent_without_super_init_is_told_so_when_it_registers(strict):
    class Forgetful(AgentBase):
        def __init__(self):
            pass

    with pytest.raises(HookError, match=r"call super\(\).__init__\(\) first"):
        Forgetful().register_instance_hook("pre_reply", "a", lambda self, kwargs: None)


async def test_agentscope_d15_recursion_is_hooked_at_every_level(strict):
    class Recursive(AgentBase):
        async def reply(self, n):
            return n if n == 0 else await self.reply(n - 1)

    seen, agent = [], Recursive()
    agent.register_instance_hook("pre_reply", "see", lambda self, kwargs: seen.append(kwargs["n"]))
    await agent.reply(2)
    assert seen == [2, 1, 0]


async def test_agentscope_d16_methods_of_mixins_sync_and_generator_methods_are_hooked(strict, bus):
    class Mixin:
        async def reply(self, msg):
            return f"mixin {msg}"

    class Mixed(Mixin, AgentBase):
        pass

    class Plain(AgentBase):
        def reply(self, msg):
            return f"plain {msg}"

    class Streaming(AgentBase):
        async def reply(self, msg):
            yield f"stream {msg}"

    for cls in (Mixed, Plain, Streaming):
        cls.register_class_hook("pre_reply", "patch", lambda self, kwargs: {"msg": "patched"})
    assert await Mixed().reply("hi") == "mixin patched"
    assert Plain().reply("hi") == "plain patched"
    assert [item async for item in Streaming().reply("hi")] == ["stream patched"]
    assert "reply" not in vars(Mixin) or not hasattr(vars(Mixin)["reply"], "__wrapped__")


async def test_agentscope_d16_a_method_assigned_later_is_reported(strict, bus):
    class Late(Agent):
        pass

    async def reply(self, msg):
        return "unhooked"

    Late.reply = reply
    bus.signal("pre_reply").connect(lambda agent: None, sender=Agent)
    await Agent().reply("hi")
    assert any("Late.reply" in finding for finding in report(bus).findings)


async def test_agentscope_d17_a_receiver_with_a_deadline_runs_off_the_loop(either, bus):
    threads = []

    def blocks(agent):
        threads.append(threading.current_thread())
        time.sleep(0.05)

    bus.signal("pre_print").connect(blocks, timeout=10, role="observe", sender=AgentBase)
    agent = Agent()
    agent.set_console_output_enabled(False)
    await agent.print(Msg("a", "text", "assistant"))
    assert threads[0] is not threading.current_thread()


# -- verdicts --------------------------------------------------------------------------------------


async def test_agentscope_d18_a_hook_may_block_or_replace(strict):
    agent = Agent()
    agent.register_instance_hook("pre_reply", "a", lambda self, kwargs: Block("not today"))
    with pytest.raises(HookBlocked, match="reply was blocked by a: not today"):
        await agent.reply("hi")
    agent.register_instance_hook("pre_reply", "a", lambda self, kwargs: Replace("cached"))
    assert await agent.reply("hi") == "cached"
    assert agent.bodies == []


async def test_agentscope_d18_a_guard_blocks_in_either_setting(either, bus):
    bus.signal("pre_reply").connect(
        lambda agent, msg: Block("no") if msg == "bad" else None, role="guard", name="policy"
    )
    agent = Agent()
    with pytest.raises(HookBlocked, match="reply was blocked by policy: no"):
        await agent.reply("bad")
    assert await agent.reply("good") == "re: good" and agent.bodies == ["good"]


async def test_agentscope_d19_neither_an_agent_nor_the_owner_of_a_weak_receiver_is_kept_alive(
    either, bus
):
    ran = []

    class Plugin:
        def look(self, agent):
            ran.append("look")

    plugin, agent = Plugin(), Agent()
    bus.signal("pre_reply").connect(plugin.look, sender=AgentBase, weak=True)
    agent.register_instance_hook(
        "pre_reply", "own", lambda self, kwargs, me=agent: ran.append("own")
    )
    await agent.reply("hi")
    gone = weakref.ref(plugin), weakref.ref(agent)
    del plugin, agent
    gc.collect()
    assert [reference() for reference in gone] == [None, None]
    await Agent().reply("hi")
    assert ran == ["own", "look"]


async def test_a_method_borrowed_from_another_class_is_hooked_for_both(either):
    class Borrower(AgentBase):
        reply, bodies = Agent.reply, []

    seen = []
    Borrower.register_class_hook("pre_reply", "a", lambda self, kwargs: seen.append(kwargs["msg"]))
    await Borrower().reply("hi")
    await Agent().reply("ho")
    Borrower.clear_class_hooks()
    assert seen == (["hi"] if either else ["hi", "ho"])


async def test_agentscope_d19_classes_made_while_installed_are_collected(either):
    class Local(Agent):
        async def reply(self, msg):
            return await super().reply(msg)

    Local.register_class_hook("pre_reply", "a", lambda self, kwargs: None)
    await Local().reply("hi")
    Local.clear_class_hooks()
    reference = weakref.ref(Local)
    del Local
    gc.collect()
    assert reference() is None


async def test_agentscope_d20_without_hooks_a_reply_runs_the_very_code_of_the_method(strict):
    frames = []

    class Watched(AgentBase):
        async def reply(self):
            frames.extend(frame.filename for frame in inspect.stack()[1:])

    await Watched().reply()
    package = inspect.getfile(agentscope).rsplit("/adapters", 1)[0]
    assert not [
        name
        for name in frames
        if name.startswith((package, "<hookbus")) or name.endswith("_agent_meta.py")
    ]


async def test_agentscope_d21_a_rewritten_output_is_what_callers_get_and_of_acting_nobody_stores_it(
    either, bus
):
    """ReActAgent puts a tool's result into its memory inside `_acting`: `post_acting` can watch it
    and not change it."""
    agent = Agent()
    agent.register_instance_hook("post_reply", "redact", lambda self, kwargs, output: "REDACTED")
    memory = [await agent.reply("hi")]
    assert memory == ["REDACTED"]
    outputs = []
    react = react_agent([], ["/p0"])

    def note(agent, tool_call, result):
        outputs.append((tool_call["name"], result))

    bus.signal("post_acting").connect(note, role="observe")
    await react(Msg("user", "remove it", "user"))
    assert outputs == [("remove", None)]
    assert "observe-only" in agentscope.install.__doc__


async def test_agentscope_d22_events_say_who_changed_which_argument(strict, bus):
    agent = Agent()
    agent.register_instance_hook("pre_reply", "changer", lambda self, kwargs: {"msg": "changed"})
    agent.register_instance_hook(
        "pre_reply", "popper", lambda self, kwargs: kwargs.pop("delay") and None
    )
    with record(bus) as fired:
        assert await agent.reply("hi", delay=0.001) == "re: changed"
    assert [
        (event.receiver, event.name, event.before, event.after) for event in fired.of(Mutated)
    ] == [("changer", "msg", "hi", "changed")]


# -- what strict leaves behind ---------------------------------------------------------------------


async def test_hooks_registered_before_install_and_after_uninstall_are_the_same(bus):
    agent, ran = Agent(), []
    agent.register_instance_hook("pre_reply", "a", lambda self, kwargs: ran.append("a"))
    AgentBase.register_class_hook("pre_reply", "b", lambda self, kwargs: ran.append("b"))
    uninstall = agentscope.install(bus, strict=True)
    try:
        assert [row.receiver for row in explain(agent.reply)] == ["a", "b"]
        await agent.reply("hi")
        agent.register_instance_hook("pre_reply", "c", lambda self, kwargs: ran.append("c"))
    finally:
        uninstall()
    await agent.reply("hi")
    AgentBase.clear_class_hooks()
    assert ran == ["a", "b", "a", "c", "b"]


async def test_explain_says_in_which_file_and_line_a_registered_hook_stands(either):
    agent = Agent()
    agent.register_instance_hook("pre_reply", "later", later_none)
    [row] = explain(agent.reply)
    assert row.where == f"{__file__}:{later_none.__code__.co_firstlineno}"
    assert row.scope.startswith("Agent at")
