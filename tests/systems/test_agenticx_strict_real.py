"""With `strict=True`, in the real executor and runtime: who is asked about a call, and when."""

import asyncio
import logging

import pytest
from agenticx.core.hooks import tool_hooks as core_tool_hooks
from agenticx.hooks import HookEvent, HookRegistry, tool_hooks
from agenticx.runtime.hooks import HookRegistry as RuntimeRegistry

from . import agenticx_strict_settings as parts
from .agenticx_parts import hook_with
from .agenticx_run import (
    Tool,
    ToolExecutor,
    execute,
    finish,
    made_executor,
    made_runtime,
    note,
    run,
    turn,
)  # fmt: skip

strict = parts.strict


def test_agenticx_x01_hooks_of_core_are_asked_by_the_executor_and_share_its_arguments(strict):
    def policy(ctx):
        ctx.tool_args["path"] = "/sandbox"
        return ctx.tool_name != "rm"

    ran, results = [], []
    core_tool_hooks.register_before_tool_call_hook(policy)
    core_tool_hooks.register_after_tool_call_hook(
        lambda ctx: results.append((ctx.result, ctx.success))
    )
    executor = made_executor(rm=ran.append, read=lambda path: ran.append(path) or "text")
    with pytest.raises(ValueError, match="blocked by hook"):
        execute(executor, "rm", path="/")
    execute(executor, "read", path="/etc")
    assert ran == ["/sandbox"] and results == [("text", True)]


def test_agenticx_x01_hooks_of_core_see_the_calls_of_models(strict):
    from agenticx.core.hooks import register_after_llm_call_hook, register_before_llm_call_hook

    seen = []
    register_before_llm_call_hook(
        lambda ctx: seen.append((ctx.agent_id, ctx.model, len(ctx.messages)))
    )
    register_after_llm_call_hook(
        lambda ctx: setattr(ctx, "response", ctx.response.replace("secret", "***"))
    )
    assert run(made_executor([finish("the secret")])).result == "the ***" and seen == [
        ("me", "scripted", 1)
    ]


@pytest.mark.parametrize("path", ["executor", "parallel", "direct", "runtime"])
def test_agenticx_x08_x18_hooks_of_tools_are_asked_once_on_every_path(strict, bus, path):
    asked = []
    tool_hooks.register_before_tool_call_hook(lambda ctx: asked.append(("bus", ctx.tool_name)))
    core_tool_hooks.register_before_tool_call_hook(
        lambda ctx: asked.append(("core", ctx.tool_name))
    )
    tool_hooks.register_after_tool_call_hook(lambda ctx: asked.append(("after", ctx.tool_result)))
    bus.signal("pre_tool_call").connect(
        lambda sender, name: asked.append(("guard", name)), role="guard", name="guard"
    )
    executor = made_executor(read=lambda: "text")
    name, result = "read", "text"
    if path == "executor":
        execute(executor, "read")
    elif path == "parallel":
        asyncio.run(executor.execute_parallel_tool_calls([{"tool": "read", "args": {}}]))
    elif path == "direct":
        ToolExecutor().execute(Tool("read", lambda: "text"))
    else:
        name, result = "scratchpad_write", "OK: scratchpad[k] updated"
        turn(made_runtime([note("k", "v"), "bye"]))
    assert asked == [("core", name), ("bus", name), ("guard", name), ("after", result)]


@pytest.mark.parametrize("path", ["parallel", "direct", "runtime"])
def test_agenticx_x08_x18_a_global_hook_blocks_and_changes_on_every_path(strict, path):
    ran = []

    def policy(ctx):
        if ctx.tool_input.get("key") == "k":
            ctx.tool_input["key"] = "sandbox"
        return ctx.tool_input.get("key") != "no"

    tool_hooks.register_before_tool_call_hook(policy)
    tool_hooks.register_after_tool_call_hook(lambda ctx: f"<{ctx.tool_result}>")
    executor = made_executor(write=lambda key: ran.append(key) or key)
    if path == "parallel":
        calls = [{"tool": "write", "args": {"key": key}} for key in ("k", "no")]
        done = asyncio.run(executor.execute_parallel_tool_calls(calls)).results
        results = [each.result if each.success else each.error for each in done]
        assert results == ["<sandbox>", "Tool call 'write' blocked by hook"]
    elif path == "direct":
        tool = executor.tool_registry.get("write")
        assert ToolExecutor().execute(tool, key="k").result == "<sandbox>"
        assert (
            str(ToolExecutor().execute(tool, key="no").error) == "Tool call 'write' blocked by hook"
        )
    else:
        done = turn(made_runtime([note("k", "v"), note("no", "v"), "bye"]))
        ran += done.notes
        results = [text for what, text in done.rows if what == "tool_result"]
        assert results == ["<OK: scratchpad[sandbox] updated>", "it returned False"]
    assert ran == ["sandbox"]


def test_agenticx_x09_the_arguments_that_a_runtime_shows_are_those_that_run(strict):
    async def sandbox(self, tool_name, arguments, session):
        arguments["key"] = "sandbox"

    registry = RuntimeRegistry()
    registry.register(hook_with(strict, before_tool_call=sandbox))
    done = turn(made_runtime([note("k", "v"), "bye"], registry))
    assert done.rows[0] == ("tool_call", {"key": "sandbox", "value": "v"}) and done.notes == {
        "sandbox": "v"
    }


def test_agenticx_x10_x11_a_runtimes_hook_that_fails_does_not_end_the_turn(strict):
    async def broken(self, *args):
        raise LookupError("the log is full")

    async def end(self, text, session):
        ended.append(text)

    ended, registry = [], RuntimeRegistry()
    registry.register(
        hook_with(
            strict,
            on_agent_start=broken,
            before_model=broken,
            after_tool_call=broken,
            on_agent_end=broken,
        )
    )
    registry.register(hook_with(strict, on_agent_end=end), priority=-100)
    done = turn(made_runtime([note("k", "v"), "bye"], registry))
    assert done.rows[-1] == ("final", "bye") and done.notes == {"k": "v"} and ended == ["bye"]


def test_agenticx_x16_events_inside_of_events_do_not_wait_for_each_other_in_a_running_loop(strict):
    registry, notes = HookRegistry(), []

    async def nested(event):
        notes.append(event.action)
        if event.action == "inner":
            return True
        return registry.trigger_sync(HookEvent("command", "inner", "me"))

    registry.register("command", nested)

    async def inside():
        return registry.trigger_sync(HookEvent("command", "outer", "me"))

    assert asyncio.run(inside()) is True and notes == ["outer", "inner"]


def test_agenticx_x04_x12_a_handler_that_breaks_or_says_nothing_known_closes_a_gate_only(
    strict, caplog
):
    def gate(handler):
        registry = HookRegistry()
        registry.register("command", handler)
        event = HookEvent("command", "new", "me")
        return registry.trigger_sync(event, stop_on_false=True), registry.trigger_sync(event)

    async def broken(event):
        raise LookupError("no policy")

    with caplog.at_level(logging.WARNING):
        assert gate(broken) == (False, True)
        assert gate(lambda event: {"allow": True}) == (False, True)
        assert gate(lambda event: None) == (True, True)  # a plain handler is one, too
