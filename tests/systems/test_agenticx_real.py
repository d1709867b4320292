"""The executor, the bus and the runtime of AgenticX behave the same on stock, on hookbus, and after
they were given back."""

import asyncio
import logging
import threading

import pytest
from agenticx.collaboration.workforce.events import WorkforceEventBus
from agenticx.collaboration.workforce.hooks import (
    create_workforce_event_hooks,
    remove_workforce_event_hooks,
)
from agenticx.core.hooks import ToolCallHookContext, execute_before_tool_call_hooks
from agenticx.hooks import (
    HookEvent,
    HookRegistry,
    dispatch_hook_event_sync,
    llm_hooks,
    register_hook,
    tool_hooks,
    trigger_hook_event,
    trigger_hook_event_sync,
    unregister_hook,
)  # fmt: skip
from agenticx.longrun.task_hooks import dispatch_task_workspace_event
from agenticx.runtime.hooks import AgentHook, HookOutcome
from agenticx.runtime.hooks import HookRegistry as RuntimeRegistry
from agenticx.tools.guardrails import AllowlistProvider, ToolGuardrailHook

from .agenticx_parts import modules_in
from .agenticx_run import (
    call,
    execute,
    finish,
    made_agent,
    made_executor,
    made_runtime,
    note,
    run,
    turn,
)  # fmt: skip


@pytest.fixture(params=["stock", "installed", "uninstalled"], autouse=True)
def setting(request, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("agenticx.tools.executor.time.sleep", lambda seconds: None)
    with modules_in(request.param):
        yield request.param


def event(kind="command", action="new", **context):
    return HookEvent(type=kind, action=action, agent_id="me", context=context)


def noting(notes, name, answer=None):
    async def handler(event):
        notes.append(name)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return handler


# -- the bus ---------------------------------------------------------------------------------------


def test_agenticx_B1_an_event_has_a_context_that_handlers_share(setting):
    async def mark(event):
        event.context["marked"] = (event.agent_id, event.session_key, event.task_id, event.messages)

    registry, made = HookRegistry(), event(cwd="/tmp")
    registry.register("command", mark)
    assert asyncio.run(registry.trigger(made)) is True
    assert (
        made.context == {"cwd": "/tmp", "marked": ("me", "", None, [])}
        and made.timestamp.tzinfo is not None
    )


def test_agenticx_B2_P4_generic_handlers_come_before_those_of_the_very_event(setting):
    notes, registry = [], HookRegistry()
    specific, generic, other = (noting(notes, name) for name in ("specific", "generic", "other"))
    registry.register("command:new", specific)
    registry.register("command", generic)
    registry.register("command", generic)
    registry.register("command:stop", other)
    assert registry.trigger_sync(event()) is True and notes == ["generic", "specific"]
    assert registry.get_registered_keys() == ["command:new", "command", "command:stop"]
    assert registry.get_registered_handlers("command") == [generic]
    assert (registry.unregister("command", generic), registry.unregister("command", generic)) == (
        True,
        False,
    )
    registry.clear()
    assert registry.get_registered_keys() == []


@pytest.mark.parametrize("answer", [None, 0, "", [], True])
def test_agenticx_B3_P4_only_false_vetoes_an_event(setting, answer):
    registry = HookRegistry()
    registry.register("command", noting([], "any", answer))
    assert asyncio.run(registry.trigger(event())) is True and registry.trigger_sync(event()) is True
    registry.register("command", noting([], "no", False))
    assert (
        asyncio.run(registry.trigger(event())) is False and registry.trigger_sync(event()) is False
    )


def test_agenticx_B3_P5_all_handlers_hear_of_a_veto_unless_the_event_is_a_gate(setting):
    notes, registry = [], HookRegistry()
    for name, answer in (("first", None), ("no", False), ("later", None)):
        registry.register("command", noting(notes, name, answer))
    assert asyncio.run(registry.trigger(event())) is False and notes == ["first", "no", "later"]
    notes.clear()
    assert asyncio.run(registry.trigger(event(), stop_on_false=True)) is False and notes == [
        "first",
        "no",
    ]
    notes.clear()
    assert registry.trigger_sync(event(), stop_on_false=True) is False and notes == ["first", "no"]


def test_agenticx_B3_what_a_handler_raises_is_logged_and_allows(setting, caplog):
    notes, registry = [], HookRegistry()
    registry.register("command", noting(notes, "broken", LookupError("no policy")))
    registry.register("command", noting(notes, "later"))
    with caplog.at_level(logging.WARNING):
        assert (
            asyncio.run(registry.trigger(event())) is True
            and registry.trigger_sync(event()) is True
        )
    assert notes == ["broken", "later"] * 2
    assert [record.getMessage() for record in caplog.records] == [
        "Hook handler failed for command:new: no policy"
    ] * 2


def test_agenticx_B4_a_plain_call_waits_for_async_handlers_also_where_a_loop_runs(setting):
    notes, registry = [], HookRegistry()

    async def slow(event):
        await asyncio.sleep(0.01)
        notes.append(threading.current_thread() is threading.main_thread())
        return False

    async def inside():
        return registry.trigger_sync(event())

    registry.register("command", slow)
    assert registry.trigger_sync(event()) is False
    assert asyncio.run(inside()) is False
    assert notes == [True, False]


def test_agenticx_B8_whoever_registers_for_a_key_hears_of_events_from_everywhere(setting, tmp_path):
    heard = []

    async def hear(event):
        heard.append((event.type, event.action, event.agent_id))

    for key in ("command", "session", "agent", "llm", "tool", "task_workspace", "message"):
        register_hook(key, hear)
    run(made_executor([call("say", text="hi"), finish("done")], say=lambda text: text))
    dispatch_task_workspace_event("created", task_id="t", path=tmp_path, timeout_sec=1, fatal=False)
    dispatch_hook_event_sync(hook_type="message", action="received", context_payload={})
    assert heard == [
        ("command", "new", "me"), ("session", "start", "me"), ("agent", "start", "me"),
        ("llm", "before_call", "me"), ("llm", "after_call", "me"), ("tool", "before_call", "me"),
        ("tool", "after_call", "me"), ("llm", "before_call", "me"), ("llm", "after_call", "me"),
        ("agent", "stop", "me"), ("command", "stop", "me"), ("session", "end", "me"),
        ("task_workspace", "created", "longrun"), ("message", "received", "longrun"),
    ]  # fmt: skip
    assert unregister_hook("command", hear) is True and unregister_hook("command", hear) is False
    assert (
        trigger_hook_event_sync(event()) is True
        and asyncio.run(trigger_hook_event(event())) is True
    )


# -- the executor ----------------------------------------------------------------------------------


def test_agenticx_P7_B7_a_blocked_model_ends_the_task_as_if_it_were_done(setting):
    llm_hooks.register_before_llm_call_hook(lambda ctx: False)
    executor = made_executor([finish("never asked")])
    done = run(executor)
    assert (done.success, done.result, executor.llm_provider.asked) == (
        True,
        "LLM call blocked by hook",
        [],
    )


def test_agenticx_P7_B7_a_blocked_tool_is_a_failed_result_and_an_error(setting):
    ran = []
    tool_hooks.register_before_tool_call_hook(lambda ctx: ctx.tool_name != "rm")
    executor = made_executor(rm=lambda path: ran.append(path))
    with pytest.raises(ValueError) as raised:
        execute(executor, "rm", path="/")
    assert str(raised.value) == "Tool call 'rm' blocked by hook" and ran == []
    done = run(
        made_executor([call("rm", path="/"), finish("gave up")], rm=lambda path: ran.append(path))
    )
    assert done.rows == [("tool_result", False, None, "Tool call blocked by hook")] and ran == []


def test_agenticx_P6_P7_the_tool_gets_what_hooks_made_of_a_copy_of_its_arguments(setting):
    def sandbox(ctx):
        ctx.tool_input["path"] = "/sandbox" + ctx.tool_input["path"]

    tool_hooks.register_before_tool_call_hook(sandbox)
    action = {"action": "tool_call", "tool": "read", "args": {"path": "/a"}}
    executor = made_executor(read=lambda path: path)
    log = execute(executor, "read", path="/a")
    assert [
        (each.type, getattr(each, "tool_args", None) or each.result) for each in log.events
    ] == [
        ("tool_call", {"path": "/sandbox/a"}),
        ("tool_result", "/sandbox/a"),
    ]
    assert action["args"] == {"path": "/a"}


@pytest.mark.parametrize("result", [0, False, [], {"a": 1}, 6, None, ""])
def test_agenticx_P7_a_result_keeps_its_type_unless_a_hook_changed_it(setting, result):
    seen = []
    tool_hooks.register_after_tool_call_hook(lambda ctx: seen.append(ctx.tool_result))
    executor = made_executor(read=lambda: result)
    assert execute(executor, "read").events[-1].result == result
    assert seen == ["" if result is None else str(result)]
    tool_hooks.register_after_tool_call_hook(lambda ctx: f"<{ctx.tool_result}>")
    assert execute(executor, "read").events[-1].result == f"<{seen[0]}>"


def test_agenticx_P7_the_model_is_asked_what_hooks_made_of_the_messages_and_its_answer_is_theirs(
    setting,
):
    def ask_kindly(ctx):
        ctx.messages.append({"role": "system", "content": "be kind"})

    llm_hooks.register_before_llm_call_hook(ask_kindly)
    llm_hooks.register_after_llm_call_hook(lambda ctx: ctx.response.replace("secret", "***"))
    executor = made_executor([finish("the secret")])
    assert run(executor).result == "the ***"
    assert executor.llm_provider.asked[0][-1] == {"role": "system", "content": "be kind"}


def test_agenticx_P8_B6_hooks_of_an_agent_come_after_the_global_ones(setting, caplog):
    notes = []

    def broken(ctx):
        raise LookupError("no policy")

    def of(name, answer=None):
        return lambda ctx: notes.append(name) or answer

    tool_hooks.register_before_tool_call_hook(of("global before"))
    tool_hooks.register_after_tool_call_hook(of("global after"))
    llm_hooks.register_before_llm_call_hook(of("global llm"))
    agent = made_agent(
        tool_hooks={
            "before": [of("agent before", 0), broken],
            "after": [broken, of("agent after")],
        },
        llm_hooks={"before": [of("agent llm")], "after": [of("agent llm after")]},
    )
    with caplog.at_level(logging.WARNING, logger="agenticx.core.agent_executor"):
        done = run(made_executor([call("say", text="hi")], say=lambda text: text), agent)
    model = ["global llm", "agent llm", "agent llm after"]
    assert notes == [*model, "global before", "agent before", "global after", "agent after", *model]
    assert done.rows == [("tool_call", {"text": "hi"}), ("tool_result", True, "hi", None)]
    assert [
        record.getMessage() for record in caplog.records if "hook error" in record.getMessage()
    ] == [
        "Agent Tool before hook error: no policy",
        "Agent Tool after hook error: no policy",
    ]


def test_agenticx_P8_B6_a_hook_of_an_agent_blocks_with_false_and_the_next_is_not_asked(setting):
    notes = []
    agent = made_agent(
        tool_hooks={"before": [lambda ctx: False, lambda ctx: notes.append("later")]},
        llm_hooks={"before": [lambda ctx: False]},
    )
    with pytest.raises(ValueError, match="Tool call 'say' blocked by hook"):
        execute(made_executor(say=lambda text: notes.append(text)), "say", agent, text="hi")
    assert notes == [] and run(made_executor(), agent).result == "LLM call blocked by hook"


@pytest.mark.parametrize("answer", [{"any": "type"}, 0, "text", False, "3"])
def test_agenticx_P8_B6_what_an_agents_after_hook_returns_replaces_the_result_of_whatever_type(
    setting, answer
):
    seen = []
    agent = made_agent(
        tool_hooks={"after": [lambda ctx: answer, lambda ctx: seen.append(ctx.tool_result)]}
    )
    result = execute(made_executor(add=lambda: 3), "add", agent).events[-1].result
    assert (result, type(result), seen) == (answer, type(answer), [answer])


def test_agenticx_C8_D1_workforce_registers_with_core_hooks_which_publish_its_events(setting):
    bus, ran = WorkforceEventBus(), []
    hooks = create_workforce_event_hooks(bus)
    try:
        assert execute_before_tool_call_hooks(ToolCallHookContext("me", tool_name="read")) is True
        published = [each.action.name for each in bus.get_event_history()]
        execute(made_executor(read=lambda: ran.append(1)), "read")
        assert (
            [each.action.name for each in bus.get_event_history()]
            == published
            == ["TOOLKIT_ACTIVATED"]
        )
    finally:
        remove_workforce_event_hooks(hooks)


# -- the runtime -----------------------------------------------------------------------------------


class Noting(AgentHook):
    def __init__(self, notes, outcome=None, change=None):
        self.notes, self.outcome, self.change = notes, outcome, change

    async def on_agent_start(self, session, agent_id, user_input):
        self.notes.append(("start", agent_id, user_input))

    async def before_model(self, messages, session):
        self.notes.append(("model", messages[-1]["role"]))

    async def before_tool_call(self, tool_name, arguments, session):
        self.notes.append(("before", tool_name, dict(arguments)))
        return self.outcome

    async def after_tool_call(self, tool_name, result, session):
        self.notes.append(("after", tool_name, result))
        return self.change

    async def on_agent_end(self, text, session):
        self.notes.append(("end", text))


def test_agenticx_R8_P13_a_runtime_registers_its_own_hooks_with_their_priorities(setting):
    registry, mine = RuntimeRegistry(), Noting([])
    registry.register(mine)
    runtime = made_runtime(hooks=registry)
    assert runtime.hooks is registry
    assert [(priority, type(hook).__name__) for priority, hook in registry._entries] == [
        (100, "LegacyEventBridgeHook"), (0, "Noting"), (-10, "MemoryHook"),
        (-20, "SessionSummaryHook"), (-30, "ObservationHook"), (-50, "SessionReviewHook"),
        (-55, "SessionFreezeHook"),
    ]  # fmt: skip
    assert len(made_runtime().hooks._entries) == 6


def test_agenticx_R1_R5_R6_R9_a_turn_asks_its_hooks_and_tells_the_bus(setting):
    notes, registry = [], RuntimeRegistry()
    registry.register(Noting(notes, change="what the model reads"))

    async def hear(event):
        notes.append((event.type, event.action, event.agent_id))

    for key in ("agent", "tool"):
        register_hook(key, hear)
    done = turn(made_runtime([note("k", "v"), "bye"], registry))
    assert notes == [
        ("agent", "start", "me"), ("start", "me", "hello"), ("model", "user"),
        ("tool", "before_call", "meta"), ("before", "scratchpad_write", {"key": "k", "value": "v"}),
        ("tool", "after_call", "meta"), ("after", "scratchpad_write", "OK: scratchpad[k] updated"),
        ("model", "tool"), ("agent", "stop", "meta"), ("end", "bye"),
    ]  # fmt: skip
    assert done.rows == [
        ("tool_call", {"key": "k", "value": "v"}),
        ("tool_result", "what the model reads"),
        ("final", "bye"),
    ]
    assert done.notes == {"k": "v"}


def test_agenticx_R4_R5_a_blocked_tool_does_not_run_and_no_after_hook_is_asked(setting):
    notes, registry = [], RuntimeRegistry()
    registry.register(Noting(notes, HookOutcome(blocked=True, reason="no notes today")))
    done = turn(made_runtime([note("k", "v"), "bye"], registry))
    assert done.rows == [
        ("tool_call", {"key": "k", "value": "v"}), ("error", "no notes today"),
        ("tool_result", "no notes today"), ("final", "bye"),
    ]  # fmt: skip
    assert done.notes == {} and not any(each[0] == "after" for each in notes)


@pytest.mark.parametrize("reason", ["no notes today", None])
def test_agenticx_P13_R9_the_bus_vetoes_a_runtimes_tool_and_says_why(setting, reason):
    async def no(event):
        event.context["block_reason"] = reason
        return False

    register_hook("tool:before_call", no)
    done = turn(made_runtime([note("k", "v"), "bye"]))
    assert done.notes == {} and done.rows[1] == ("error", reason or "工具调用被 Hook 策略阻止。")


def test_agenticx_P12_in_place_edits_show_in_the_events_of_a_runtime(setting):
    class Sandbox(AgentHook):
        async def before_tool_call(self, tool_name, arguments, session):
            arguments["key"] = "sandbox"

    registry = RuntimeRegistry()
    registry.register(Sandbox())
    done = turn(made_runtime([note("k", "v"), "bye"], registry))
    assert done.rows[0] == ("tool_call", {"key": "sandbox", "value": "v"}) and done.notes == {
        "k": "v"
    }


def test_agenticx_P11_R7_what_a_hook_raises_ends_the_turn(setting):
    class Broken(AgentHook):
        async def on_agent_end(self, text, session):
            raise LookupError("no archive")

    registry = RuntimeRegistry()
    registry.register(Broken())
    with pytest.raises(LookupError, match="no archive"):
        turn(made_runtime(["bye"], registry))


def test_agenticx_R10_guardrails_close_unless_they_are_told_not_to(setting):
    class Broken:
        name = "broken"

        async def aevaluate(self, request):
            raise LookupError("no policy")

    async def ask(hook):
        registry = RuntimeRegistry()
        registry.register(hook)
        return await registry.run_before_tool_call("rm", {}, None)

    assert asyncio.run(ask(ToolGuardrailHook(Broken()))).blocked is True
    assert asyncio.run(ask(ToolGuardrailHook(Broken(), fail_closed=False))).blocked is False
    denied = asyncio.run(ask(ToolGuardrailHook(AllowlistProvider(allowed_tools=["ls"]))))
    assert denied.blocked and "not in allowlist" in denied.reason
    assert (
        asyncio.run(ask(ToolGuardrailHook(AllowlistProvider(allowed_tools=["rm"])))).blocked
        is False
    )


def test_agenticx_R11_a_runtime_runs_tools_one_after_the_other(setting, monkeypatch):
    monkeypatch.setenv("AGX_PARALLEL_TOOLS", "1")
    notes, registry = [], RuntimeRegistry()
    registry.register(Noting(notes))
    done = turn(made_runtime([[note("a", "1"), note("b", "2")], "bye"], registry))
    asked = [
        (each[0], each[2]["key"] if each[0] == "before" else each[2])
        for each in notes
        if each[0] in ("before", "after")
    ]
    assert asked == [
        ("before", "a"), ("after", "OK: scratchpad[a] updated"), ("before", "b"),
        ("after", "OK: scratchpad[b] updated"),
    ]  # fmt: skip
    assert done.notes == {"a": "1", "b": "2"}


def test_agenticx_D2_agenticxs_own_hooks_of_a_runtime_survive_a_session_they_do_not_know(setting):
    async def end():
        runtime = made_runtime()
        await runtime.hooks.run_on_agent_start(object(), "me", "hello")
        return await runtime.hooks.run_on_agent_end("bye", object())

    assert asyncio.run(end()) is None


def test_agenticx_B9_what_is_fired_and_forgotten_runs_and_its_failure_is_logged(setting, caplog):
    from agenticx.hooks.fire_and_forget import fire_and_forget

    ran = []

    async def work(fail):
        ran.append(fail)
        if fail:
            raise LookupError("the disk is full")

    async def both():
        for fail in (False, True):
            fire_and_forget(work(fail), "archive")
        await asyncio.sleep(0.01)

    with caplog.at_level(logging.WARNING):
        asyncio.run(both())
    assert ran == [False, True] and [record.getMessage() for record in caplog.records] == [
        "archive: the disk is full"
    ]


def test_agenticx_P14_hooks_in_folders_are_found_by_name_the_later_source_wins_and_they_run(
    setting, tmp_path
):
    from agenticx.hooks import load_discovered_hooks

    def write(folder, text, condition=""):
        folder.mkdir(parents=True)
        (folder / "HOOK.yaml").write_text(
            f"name: {folder.name}\nevents: [command:careful]\nexport: handle\n{condition}"
        )
        (folder / "handler.py").write_text(
            f"async def handle(event):\n    event.context['said'] = {text!r}\n    return False\n"
        )

    write(tmp_path / ".agenticx" / "hooks" / "careful", "managed")
    write(tmp_path / "work" / "hooks" / "careful", "workspace")
    write(
        tmp_path / "work" / "hooks" / "other",
        "never",
        "requires:\n  env: [NO_SUCH_VARIABLE_HERE]\n",
    )
    load_discovered_hooks(str(tmp_path / "work"))
    made = event(action="careful")
    assert trigger_hook_event_sync(made) is False and made.context["said"] == "workspace"
