"""The real runtime of AgenticX does the same before, on and after hookbus."""

import asyncio
import logging

import pytest
from agenticx.hooks import register_hook, trigger_hook_event_sync
from agenticx.runtime.hooks import AgentHook, HookOutcome
from agenticx.runtime.hooks import HookRegistry as RuntimeRegistry
from agenticx.tools.guardrails import AllowlistProvider, ToolGuardrailHook

from . import agenticx_settings as parts
from .agenticx_run import made_runtime, note, turn
from .agenticx_settings import event

setting = parts.setting


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
