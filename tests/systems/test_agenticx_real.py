"""The bus of AgenticX's events behaves the same on stock, on hookbus, and after uninstall."""

import asyncio
import logging
import threading

import pytest
from agenticx.hooks import (
    HookRegistry,
    dispatch_hook_event_sync,
    register_hook,
    trigger_hook_event,
    trigger_hook_event_sync,
    unregister_hook,
)  # fmt: skip
from agenticx.longrun.task_hooks import dispatch_task_workspace_event

from . import agenticx_settings as parts
from .agenticx_run import (
    call,
    finish,
    made_executor,
    run,
)  # fmt: skip
from .agenticx_settings import event, noting

setting = parts.setting


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
