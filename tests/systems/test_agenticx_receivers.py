"""Receivers of hookbus at AgenticX's points: what they stop is stopped, what they change is
changed, in both settings."""

import asyncio
import contextvars
import threading

import pytest

from hookbus import Block, HookError, Replace

from .agenticx_parts import IS_INSTALLED, modules_in
from .agenticx_states import core_context, core_of, legacy_context, legacy_of


@pytest.fixture(params=[False, True], ids=["faithful", "strict"])
def strict(request):
    return request.param


@pytest.fixture(params=["namespaces", "installed"] if IS_INSTALLED else ["namespaces"])
def agx(request, bus, strict):
    with modules_in(request.param, bus, strict=strict) as modules:
        yield modules


@pytest.fixture(params=["llm", "tool"])
def kind(request):
    return request.param


@pytest.mark.parametrize("verdict", [Block("no"), Block("no", result=True), Replace(True)])
def test_whoever_stops_or_answers_before_a_call_stops_it_in_every_module(agx, bus, kind, verdict):
    bus.signal(f"pre_{kind}_start").connect(lambda sender: verdict, name="stop")
    assert core_of(agx, kind, "execute_before_{}_call_hooks")(core_context(agx, kind)) is False
    assert legacy_of(agx, kind, "execute_before_{}_call_hooks")(legacy_context(agx, kind)) is False
    registry = agx.runtime.HookRegistry()
    if kind == "tool":
        outcome = asyncio.run(registry.run_before_tool_call("rm", {}, None))
        assert outcome.blocked is True and outcome.reason


def test_what_is_withheld_after_a_call_is_replaced_by_the_reason(agx, bus, kind):
    bus.signal(f"pre_{kind}_end").connect(
        lambda sender: Block("it is secret"), role="guard", name="guard"
    )
    core, legacy = core_context(agx, kind), legacy_context(agx, kind)
    names = ("response", "response") if kind == "llm" else ("result", "tool_result")
    for context, name in zip((core, legacy), names):
        setattr(context, name, "the secret text")
    assert core_of(agx, kind, "execute_after_{}_call_hooks")(core) is True
    assert legacy_of(agx, kind, "execute_after_{}_call_hooks")(legacy).endswith("it is secret")
    for context, name in zip((core, legacy), names):
        assert getattr(context, name).endswith("it is secret")
    if kind == "tool":
        result = asyncio.run(
            agx.runtime.HookRegistry().run_after_tool_call("read", "the secret text", None)
        )
        assert result.endswith("it is secret")


def test_a_receiver_changes_the_arguments_that_hooks_and_caller_see(agx, bus):
    bus.signal("pre_tool_start").connect(
        lambda sender, args: {"args": {**args, "path": "/sandbox"}}, name="sandbox"
    )
    core = agx.core.ToolCallHookContext("me", tool_name="read", tool_args={"path": "/etc"})
    legacy = agx.tool.ToolCallHookContext("read", {"path": "/etc"})
    assert agx.core.execute_before_tool_call_hooks(core) and core.tool_args == {"path": "/sandbox"}
    assert agx.tool.execute_before_tool_call_hooks(legacy) and legacy.tool_input == {
        "path": "/sandbox"
    }
    arguments = {"path": "/etc"}
    assert (
        asyncio.run(
            agx.runtime.HookRegistry().run_before_tool_call("read", arguments, None)
        ).blocked
        is False
    )
    assert arguments == {"path": "/sandbox"}


def test_the_name_of_a_tool_cannot_be_changed(agx, bus):
    bus.signal("pre_tool_start").connect(lambda sender: {"tool_name": "rm"}, name="rename")
    with pytest.raises(HookError, match="the name of a tool cannot be changed"):
        agx.core.execute_before_tool_call_hooks(
            agx.core.ToolCallHookContext("me", tool_name="read")
        )


def test_hooks_of_agents_that_are_asked_at_once_are_each_asked_about_their_own(agx):
    both_wait, answers = threading.Barrier(2), {}

    def work(name):
        def own(ctx):
            both_wait.wait(5)
            asked.append((name, ctx.agent_id))
            return name == "a"

        context = agx.core.ToolCallHookContext(name, tool_name="read")
        answers[name] = agx.core.execute_before_tool_call_hooks(context, [own])

    asked = []
    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(asked) == [("a", "a"), ("b", "b")] and answers == {"a": True, "b": False}


if IS_INSTALLED:
    from agenticx.hooks import HookEvent, HookRegistry, tool_hooks

    from .agenticx_run import execute, made_executor

real = pytest.mark.in_environment("agenticx")


@pytest.fixture
def installed(bus, strict, monkeypatch):
    monkeypatch.setattr("agenticx.tools.executor.time.sleep", lambda seconds: None)
    with modules_in("installed", bus, strict=strict) as modules:
        yield modules


@real
def test_a_plain_event_about_a_call_reaches_all_of_its_hooks_though_one_vetoes(installed):
    asked = []
    tool_hooks.register_before_tool_call_hook(lambda ctx: bool(asked.append("no")))
    tool_hooks.register_before_tool_call_hook(lambda ctx: asked.append("later"))
    from agenticx.hooks.registry import get_global_hook_registry

    about = {"tool_context": tool_hooks.ToolCallHookContext("read", {})}
    assert (
        get_global_hook_registry().trigger_sync(
            HookEvent("tool", "before_call", "me", context=about)
        )
        is False
    )
    assert asked == ["no", "later"]


@real
def test_only_the_arguments_of_a_tool_call_can_be_changed(installed, bus):
    ran = []
    bus.signal("pre_tool_call").connect(lambda sender: {"name": "rm"}, name="rename")
    with pytest.raises(HookError, match="only the arguments of a tool call can be changed"):
        execute(made_executor(read=lambda: ran.append(1)), "read")
    assert ran == []


@real
def test_a_receiver_answers_for_a_tool_and_rescues_one_that_failed(installed, bus):
    def broken():
        raise LookupError("no such file")

    executor = made_executor(read=broken)
    with bus.signal("error_tool_call").connected_to(
        lambda sender: Replace("an empty file"), name="rescue"
    ):
        assert execute(executor, "read").events[-1].result == "an empty file"
    with bus.signal("pre_tool_call").connected_to(
        lambda sender: Replace(["from the cache"]), name="cache"
    ):
        assert execute(executor, "read").events[-1].result == ["from the cache"]
    with pytest.raises(Exception, match="no such file"):
        execute(executor, "read")


@real
def test_an_async_handler_of_a_plain_call_reads_the_contextvars_of_its_caller(installed):
    word, heard, registry = contextvars.ContextVar("word", default=""), [], HookRegistry()

    async def hear(event):
        heard.append(word.get())

    async def inside():
        word.set("inside")
        registry.trigger_sync(HookEvent("command", "new", "me"))

    registry.register("command", hear)
    asyncio.run(inside())
    assert heard == ["inside"]
