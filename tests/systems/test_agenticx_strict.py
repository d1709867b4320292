"""AgenticX with `strict=True`: its defects are cured, in the four modules and in the real executor
and runtime."""

import asyncio
import functools
import gc
import logging
import warnings

import pytest

from hookbus import Block, HookError
from hookbus.events import Failed
from hookbus.testing import record

from .agenticx_parts import IS_INSTALLED, modules_in
from .test_agenticx_preserve import core_context, core_of, legacy_context, legacy_of


@pytest.fixture(params=["namespaces", "installed"] if IS_INSTALLED else ["namespaces"])
def agx(request, bus):
    with modules_in(request.param, bus, strict=True) as modules:
        yield modules


@pytest.fixture(params=["llm", "tool"])
def kind(request):
    return request.param


@pytest.fixture(params=["core", "legacy"])
def of(request, agx, kind):
    """Return a function of either of the twin modules, and one that makes a context for it."""
    find, make = (core_of, core_context) if request.param == "core" else (legacy_of, legacy_context)
    return lambda what: make(agx, kind) if what == "context" else find(agx, kind, what)


def before(of, *hooks):
    for hook in hooks:
        of("register_before_{}_call_hook")(hook)
    return of("execute_before_{}_call_hooks")(of("context"))


def test_agenticx_x02_none_is_no_decision_in_both_modules(of):
    assert before(of, lambda ctx: None, lambda ctx: True) is True
    assert before(of, lambda ctx: False) is False


def test_agenticx_x03_an_async_policy_is_awaited_and_blocks(of):
    async def policy(ctx):
        await asyncio.sleep(0)
        return False

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert before(of, policy) is False
        gc.collect()


def test_agenticx_x04_a_policy_that_raises_blocks_and_is_told(of, bus):
    def policy(ctx):
        raise LookupError("the policy file is gone")

    with record(bus) as fired:
        assert before(of, policy) is False
    [failed] = fired.of(Failed)
    assert (failed.receiver, failed.action, type(failed.exception)) == (
        "policy",
        "blocked",
        LookupError,
    )


def test_agenticx_x05_partials_and_objects_are_hooks_and_a_failed_registration_leaves_no_trace(of):
    class Policy:
        def __call__(self, ctx):
            asked.append("object")

    asked = []
    with pytest.raises(HookError, match="not callable"):
        of("register_before_{}_call_hook")("policy")
    assert (
        before(of, Policy(), functools.partial(lambda note, ctx: note.append("partial"), asked))
        is True
    )
    assert asked == ["object", "partial"]


def test_agenticx_x05_hooks_without_a_name_are_listed(agx, kind):
    core_of(agx, kind, "register_before_{}_call_hook")(functools.partial(lambda ctx: True))
    assert core_of(agx, kind, "get_registered_{}_hooks")() == {"before": ["<lambda>"], "after": []}


def test_agenticx_x06_a_hook_that_takes_itself_out_skips_nobody(of):
    def once(ctx):
        of("unregister_before_{}_call_hook")(once)

    assert before(of, once, lambda ctx: False) is False


def test_agenticx_x07_a_bound_method_that_was_unregistered_does_not_run(of):
    class Policy:
        def check(self, ctx):
            asked.append(1)

    asked, policy = [], Policy()
    register, unregister = (
        of(f"{what}_before_{{}}_call_hook") for what in ("register", "unregister")
    )
    for _ in range(2):
        register(policy.check)
        unregister(policy.check)
    assert before(of) is True and asked == []
    register(policy.check)
    assert before(of) is True and asked == [1]


@pytest.mark.parametrize("answer", [0, "", "yes", {"blocked": False}])
def test_agenticx_x12_an_answer_that_means_nothing_blocks_and_is_told_with_its_type(
    of, bus, answer
):
    with record(bus) as fired:
        assert before(of, lambda ctx: answer) is False
    assert type(answer).__name__ in str(fired.of(Failed)[0].exception)


def test_agenticx_x25_x12_after_hooks_chain_and_what_is_no_text_is_not_let_through(agx, kind):
    attribute = "response" if kind == "llm" else "tool_result"
    register, execute = (
        legacy_of(agx, kind, what)
        for what in ("register_after_{}_call_hook", "execute_after_{}_call_hooks")
    )
    context = legacy_context(agx, kind)
    setattr(context, attribute, "the secret")
    register(lambda ctx: getattr(ctx, attribute).replace("the", "a"))
    register(lambda ctx: getattr(ctx, attribute).upper())
    assert execute(context) == "A SECRET"

    def redact(ctx):
        return {"text": "***"}

    register(redact)
    setattr(context, attribute, "the secret")
    text = execute(context)
    assert "secret" not in text.lower() and "redact returned dict" in text


def test_agenticx_x16_x23_a_plain_call_inside_a_loop_keeps_its_thread_and_makes_no_loop(
    of, monkeypatch
):
    def nested(ctx):
        if len(asked) > 2:
            return True
        return asked.append(1) or of("execute_before_{}_call_hooks")(of("context"))

    def no_loop():
        raise AssertionError("a loop was made")

    asked = []

    async def inside():
        monkeypatch.setattr(asyncio, "new_event_loop", no_loop)
        return before(of, nested)

    assert asyncio.run(inside()) is True and len(asked) == 3


# -- runtime.hooks ---------------------------------------------------------------------------------


def hook_with(agx, **methods):
    return type("Hook", (agx.runtime.AgentHook,), methods)()


def test_agenticx_x10_x11_a_hook_that_fails_ends_nothing_and_the_next_is_asked(agx, bus):
    async def broken(self, *args):
        raise LookupError("the log is full")

    async def ends(self, text, session):
        ended.append(text)

    ended, registry = [], agx.runtime.HookRegistry()
    methods = (
        "before_model", "after_model", "on_agent_start", "after_tool_call", "on_compaction",
        "on_agent_end",
    )  # fmt: skip
    registry.register(hook_with(agx, **dict.fromkeys(methods, broken)))
    registry.register(hook_with(agx, on_agent_end=ends))

    async def turn():
        await registry.run_on_agent_start(None, "me", "hello")
        assert await registry.run_before_model(["hello"], None) == ["hello"]
        await registry.run_after_model("answer", None)
        assert await registry.run_after_tool_call("read", "text", None) == "text"
        await registry.run_on_compaction(1, "", None)
        await registry.run_on_agent_end("bye", None)

    with record(bus) as fired:
        asyncio.run(turn())
    assert ended == ["bye"] and [event.action for event in fired.of(Failed)] == ["isolated"] * 6


def test_agenticx_x04_x10_a_hook_that_fails_before_a_tool_blocks_it(agx):
    async def broken(self, *args):
        raise LookupError("the policy file is gone")

    registry = agx.runtime.HookRegistry()
    registry.register(hook_with(agx, before_tool_call=broken))
    outcome = asyncio.run(registry.run_before_tool_call("rm", {}, None))
    assert outcome.blocked and "Hook" in outcome.reason and "LookupError" in outcome.reason


@pytest.mark.parametrize("answer", [False, True, "no", {"blocked": True}])
def test_agenticx_x12_an_outcome_of_the_wrong_type_blocks_and_is_told(agx, bus, answer):
    async def odd(self, *args):
        return answer

    registry = agx.runtime.HookRegistry()
    registry.register(hook_with(agx, before_tool_call=odd))
    with record(bus) as fired:
        assert asyncio.run(registry.run_before_tool_call("rm", {}, None)).blocked
    assert f"Hook returned {type(answer).__name__}, and not HookOutcome" in str(
        fired.of(Failed)[0].exception
    )


def test_agenticx_x12_plain_methods_are_hooks_and_a_result_that_is_no_text_is_withheld(agx):
    def deny(self, tool_name, arguments, session):
        return agx.runtime.HookOutcome(True, "no rm") if tool_name == "rm" else None

    async def redact(self, tool_name, result, session):
        return {"text": "***"}

    registry = agx.runtime.HookRegistry()
    registry.register(hook_with(agx, before_tool_call=deny, after_tool_call=redact))
    assert asyncio.run(registry.run_before_tool_call("rm", {}, None)).reason == "no rm"
    result = asyncio.run(registry.run_after_tool_call("read", "the secret", None))
    assert "secret" not in result and "Hook returned dict" in result


def test_agenticx_x13_a_hook_has_the_methods_it_needs(agx):
    class Duck:
        async def before_tool_call(self, tool_name, arguments, session):
            return Block("no rm") if tool_name == "rm" else None

    registry = agx.runtime.HookRegistry()
    registry.register(Duck())
    asyncio.run(registry.run_on_agent_start(None, "me", "hello"))
    assert asyncio.run(registry.run_before_tool_call("rm", {}, None)) == agx.runtime.HookOutcome(
        True, "no rm"
    )


def test_agenticx_x21_a_hook_is_registered_once_and_can_be_taken_out(agx):
    async def end(self, text, session):
        ended.append(1)

    ended, registry = [], agx.runtime.HookRegistry()
    hook = hook_with(agx, on_agent_end=end)
    registry.register(hook)
    registry.register(hook, priority=3)
    asyncio.run(registry.run_on_agent_end("bye", None))
    assert ended == [1] and registry._entries == [(3, hook)]
    assert (registry.unregister(hook), registry.unregister(hook)) == (True, False)
    registry.register(hook)
    registry.clear()
    asyncio.run(registry.run_on_agent_end("bye", None))
    assert ended == [1] and registry.has_hooks() is False


# -- the real executor and runtime -----------------------------------------------------------------

if IS_INSTALLED:
    from agenticx.core.hooks import tool_hooks as core_tool_hooks
    from agenticx.hooks import (
        HookEvent,
        HookRegistry,
        clear_hooks,
        llm_hooks,
        register_hook,
        tool_hooks,
    )  # fmt: skip
    from agenticx.hooks.registry import get_global_hook_registry
    from agenticx.runtime.hooks import HookRegistry as RuntimeRegistry
    from agenticx.tools.guardrails import AllowlistProvider

    from .agenticx_run import (
        Tool,
        ToolExecutor,
        execute,
        finish,
        made_agent,
        made_executor,
        made_runtime,
        note,
        run,
        turn,
    )  # fmt: skip

real = pytest.mark.in_environment("agenticx")


@pytest.fixture
def strict(bus, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("agenticx.tools.executor.time.sleep", lambda seconds: None)
    with modules_in("installed", bus, strict=True) as modules:
        yield modules


def broken_tool():
    raise LookupError("no such file")


@real
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


@real
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


@real
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


@real
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


@real
def test_agenticx_x09_the_arguments_that_a_runtime_shows_are_those_that_run(strict):
    async def sandbox(self, tool_name, arguments, session):
        arguments["key"] = "sandbox"

    registry = RuntimeRegistry()
    registry.register(hook_with(strict, before_tool_call=sandbox))
    done = turn(made_runtime([note("k", "v"), "bye"], registry))
    assert done.rows[0] == ("tool_call", {"key": "sandbox", "value": "v"}) and done.notes == {
        "sandbox": "v"
    }


@real
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


@real
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


@real
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


@real
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


@real
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


@real
def test_agenticx_x19_a_blocked_call_has_no_after_hook(strict):
    notes = []
    tool_hooks.register_before_tool_call_hook(lambda ctx: False)
    tool_hooks.register_after_tool_call_hook(lambda ctx: notes.append("after"))
    with pytest.raises(ValueError, match="blocked by hook"):
        execute(made_executor(read=broken_tool), "read")
    assert notes == []


@real
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


@real
def test_agenticx_x21_two_runtimes_that_share_a_registry_have_one_of_each_of_agenticxs_own_hooks(
    strict,
):
    registry = RuntimeRegistry()
    made_runtime(hooks=registry)
    first = [type(hook) for _, hook in registry._entries]
    made_runtime(hooks=registry)
    assert [type(hook) for _, hook in registry._entries] == first and len(first) == 6


@real
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


@real
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


@real
def test_agenticx_x26_an_empty_allowlist_allows_nothing(strict):
    from agenticx.tools.guardrails import GuardrailRequest

    request = GuardrailRequest(tool_name="rm", tool_input={})
    assert AllowlistProvider(allowed_tools=[]).evaluate(request).allow is False
    assert AllowlistProvider().evaluate(request).allow is True


@real
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


@real
def test_agenticx_x18_a_tool_that_calls_a_tool_is_asked_about_twice(strict):
    asked = []
    tool_hooks.register_before_tool_call_hook(lambda ctx: asked.append(ctx.tool_name))
    inner = Tool("inner", lambda: "inside")
    executor = made_executor(outer=lambda: ToolExecutor().execute(inner).result)
    assert execute(executor, "outer").events[-1].result == "inside" and asked == ["outer", "inner"]
