"""With `strict=True`, in the real executor and runtime: how calls end, and what stays."""

import asyncio

import pytest
from agenticx.core.hooks import tool_hooks as core_tool_hooks
from agenticx.hooks import clear_hooks, llm_hooks, register_hook, tool_hooks
from agenticx.hooks.registry import get_global_hook_registry
from agenticx.runtime.hooks import HookRegistry as RuntimeRegistry
from agenticx.tools.guardrails import AllowlistProvider

from . import agenticx_strict_settings as parts
from .agenticx_run import (
    Tool,
    ToolExecutor,
    execute,
    finish,
    made_agent,
    made_executor,
    made_runtime,
    run,
)  # fmt: skip

strict = parts.strict


def broken_tool():
    raise LookupError("no such file")


def test_agenticx_x17_clear_and_load_brings_every_handler_back(strict, tmp_path):
    from agenticx.hooks import load_discovered_hooks

    def handlers():
        registry = get_global_hook_registry()
        return sum(
            len(registry.get_registered_handlers(key)) for key in registry.get_registered_keys()
        )

    clear_hooks()
    load_discovered_hooks(str(tmp_path))
    first = handlers()
    clear_hooks()
    assert handlers() == 0
    load_discovered_hooks(str(tmp_path))
    assert handlers() == first > 0


def test_agenticx_x19_after_hooks_come_for_a_tool_or_model_that_failed(strict):
    notes = []

    def ended(ctx):
        notes.append(
            (
                type(ctx).__name__,
                getattr(ctx, "tool_result", None),
                type(ctx.error).__name__,
                ctx.success,
            )
        )

    tool_hooks.register_before_tool_call_hook(lambda ctx: notes.append("before"))
    tool_hooks.register_after_tool_call_hook(ended)
    llm_hooks.register_after_llm_call_hook(ended)
    agent = made_agent(tool_hooks={"after": [lambda ctx: notes.append("agent")]})
    with pytest.raises(Exception, match="no such file"):
        execute(made_executor(read=broken_tool), "read", agent)
    assert notes == ["before", ("ToolCallHookContext", None, "ToolError", False), "agent"]
    notes.clear()
    done = run(made_executor([LookupError("no model"), finish("done")]))
    assert notes[0] == ("LLMCallHookContext", None, "LookupError", False) and done.success


def test_agenticx_x19_a_blocked_call_has_no_after_hook(strict):
    notes = []
    tool_hooks.register_before_tool_call_hook(lambda ctx: False)
    tool_hooks.register_after_tool_call_hook(lambda ctx: notes.append("after"))
    with pytest.raises(ValueError, match="blocked by hook"):
        execute(made_executor(read=broken_tool), "read")
    assert notes == []


def test_agenticx_x20_five_failing_calls_are_five_ended_spans_with_error_status(strict):
    from agenticx.observability.otel.hooks import (
        _active_spans,
        register_otel_hooks,
        unregister_otel_hooks,
    )
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    assert register_otel_hooks(tracer_provider=provider)
    try:
        for _ in range(5):
            with pytest.raises(Exception, match="no such file"):
                execute(made_executor(read=broken_tool), "read")
        assert _active_spans == {}
    finally:
        unregister_otel_hooks()
    assert [span.status.status_code.name for span in exporter.get_finished_spans()] == ["ERROR"] * 5


def test_agenticx_x21_two_runtimes_that_share_a_registry_have_one_of_each_of_agenticxs_own_hooks(
    strict,
):
    registry = RuntimeRegistry()
    made_runtime(hooks=registry)
    first = [type(hook) for _, hook in registry._entries]
    made_runtime(hooks=registry)
    assert [type(hook) for _, hook in registry._entries] == first and len(first) == 6


def test_agenticx_x22_the_order_of_a_call_is_told_with_its_scopes(strict, bus):
    from hookbus import explain

    def of_core(ctx):
        return True

    def of_bus(ctx):
        return None

    def of_agent(ctx):
        return None

    agent = made_agent(tool_hooks={"before": [of_agent]})
    core_tool_hooks.register_before_tool_call_hook(of_core)
    tool_hooks.register_before_tool_call_hook(of_bus)
    execute(made_executor(read=lambda: "text"), "read", agent)
    rows = list(explain(agent.tool_start))
    assert [row.receiver for row in rows] == ["of_core", "of_bus", "of_agent"]
    assert [row.on_error for row in rows] == ["block"] * 3


@pytest.mark.parametrize("result", [0, False, [], {"a": 1}])
def test_agenticx_x25_results_keep_their_type_on_every_path(strict, result):
    tool_hooks.register_after_tool_call_hook(lambda ctx: None)
    executor = made_executor(read=lambda: result)
    assert execute(executor, "read").events[-1].result == result
    parallel = asyncio.run(executor.execute_parallel_tool_calls([{"tool": "read"}]))
    assert (
        parallel.results[0].result
        == result
        == ToolExecutor().execute(executor.tool_registry.get("read")).result
    )


def test_agenticx_x26_an_empty_allowlist_allows_nothing(strict):
    from agenticx.tools.guardrails import GuardrailRequest

    request = GuardrailRequest(tool_name="rm", tool_input={})
    assert AllowlistProvider(allowed_tools=[]).evaluate(request).allow is False
    assert AllowlistProvider().evaluate(request).allow is True


def test_agenticx_x03_an_async_handler_and_an_async_hook_of_an_agent_guard_the_executor(strict):
    async def no(ctx):
        await asyncio.sleep(0)
        return False

    ran = []
    with pytest.raises(ValueError, match="blocked by hook"):
        execute(
            made_executor(rm=lambda: ran.append(1)), "rm", made_agent(tool_hooks={"before": [no]})
        )
    register_hook("tool:before_call", no)

    async def on_a_loop():
        with pytest.raises(ValueError, match="blocked by hook"):
            execute(made_executor(rm=lambda: ran.append(1)), "rm")

    asyncio.run(on_a_loop())
    assert ran == []


def test_agenticx_x18_a_tool_that_calls_a_tool_is_asked_about_twice(strict):
    asked = []
    tool_hooks.register_before_tool_call_hook(lambda ctx: asked.append(ctx.tool_name))
    inner = Tool("inner", lambda: "inside")
    executor = made_executor(outer=lambda: ToolExecutor().execute(inner).result)
    assert execute(executor, "outer").events[-1].result == "inside" and asked == ["outer", "inner"]
