"""What plugins of OpenClaw rely on, rule by rule."""

import asyncio
import json
import logging
import threading
from pathlib import Path

import pytest

from hookbus import Block, Bus, HookBlocked, HookError
from hookbus.adapters.openclaw import (
    HOOKS,
    NULL,
    HandlerError,
    HookRunner,
    IsolationError,
    Registry,
)  # fmt: skip

from . import openclaw_parts as parts
from .openclaw_parts import Host, merged, raising

host = parts.host


VECTORS = {
    vector["name"]: vector
    for vector in json.loads((Path(__file__).parent / "openclaw_vectors.json").read_text())
}


def test_openclaw_P2_the_recorded_runs_cover_every_rule_they_are_held_against():
    from .openclaw_replay import replay

    chained = VECTORS["payload rewrites DO chain"]
    replaced = VECTORS["content: last returned wins, each handler saw the original"]
    assert [event["payload"]["text"] for event in replay(chained)["saw"]] == ["hi", "hi A"]
    assert [event["content"] for event in replay(replaced)["saw"]] == ["hi", "hi"]


@pytest.mark.parametrize("hook", sorted(HOOKS))
async def test_openclaw_P3_without_handlers_nothing_comes_back(host, hook):
    expected = {"resolve_exec_env": {}, "skill_proposal_evaluate": []}.get(hook)
    assert await host.run(hook, {"message": "m"}) == expected


def test_openclaw_P3_an_unchanged_message_is_nothing(host):
    host.returns("a", "before_message_write")
    message = {"content": "c"}
    assert host.runner.run("before_message_write", {"message": message}) is None
    host.registry.on("b", "before_message_write", lambda event, ctx: {"message": event["message"]})
    assert host.runner.run("before_message_write", {"message": message}) is None
    host.registry.on(
        "c", "before_message_write", lambda event, ctx: {"message": dict(event["message"])}
    )
    assert host.runner.run("before_message_write", {"message": message}) == {"message": message}


@pytest.mark.parametrize(
    "hook",
    [name for name, hook in HOOKS.items() if hook.kind in ("modify", "modify_gate", "claim")],
)
@pytest.mark.parametrize("nothing", [None, NULL], ids=["void", "null"])
async def test_openclaw_P4_void_and_null_are_no_opinion(host, hook, nothing):
    host.returns("a", hook, nothing)
    assert await host.run(hook, {"toolName": "x", "params": {}, "payload": {}}) == (
        {} if hook == "resolve_exec_env" else None
    )


@pytest.mark.parametrize(
    "odd", ["deny", 5, True, ["block"], {"deny": True}, {"block": "true"}, {"block": 1}], ids=repr
)
async def test_openclaw_P5_before_tool_call_does_not_validate(odd):
    assert await merged("before_tool_call", odd, event={"toolName": "x", "params": {}}) == {}


async def test_openclaw_P7_a_timeout_says_its_milliseconds(host):
    host.registry.on(
        "a", "before_install", lambda event, ctx: asyncio.Event().wait(), timeout=0.0209
    )
    with pytest.raises(
        HandlerError,
        match=r"^\[hooks\] before_install handler from a failed: timed out after 20ms$",
    ):
        await host.run("before_install")


async def test_openclaw_P8_a_failing_observer_does_not_stop_the_others(host, caplog):
    host.registry.on("boom", "message_sent", raising(LookupError("x")), priority=5)
    host.returns("a", "message_sent")
    await host.run("message_sent")
    assert host.order == ["a"] and "boom failed: x" in caplog.text


async def test_openclaw_P9_handlers_of_before_tool_call_share_nothing(host):
    kept = []

    def handler(event, ctx):
        kept.append(event)
        event["params"]["cmd"] = "EVIL"

    for plugin in ("a", "b"):
        host.registry.on(plugin, "before_tool_call", handler)
    event = {"toolName": "x", "params": {"cmd": "ls"}}
    await host.run("before_tool_call", event)
    assert event["params"] == {"cmd": "ls"} and kept[0] is not kept[1]


@pytest.mark.parametrize(
    "unique",
    [threading.Lock(), print, lambda: None, (n for n in "ab")],
    ids=lambda one: type(one).__name__,
)
async def test_openclaw_P9_what_cannot_be_copied_raises_whatever_the_policy(host, unique):
    open_runner = HookRunner(host.registry, failure_policy={"before_tool_call": "fail-open"})
    host.returns("a", "before_tool_call", {})
    with pytest.raises(IsolationError, match="mutable input isolation failed"):
        await open_runner.run("before_tool_call", {"toolName": "x", "params": {"deep": [unique]}})
    assert host.seen == []


async def test_openclaw_P9_shared_memory_raises_too(host):
    from multiprocessing.shared_memory import SharedMemory

    memory = SharedMemory(create=True, size=8)
    try:
        host.returns("a", "before_tool_call", {})
        with pytest.raises(IsolationError):
            await host.run("before_tool_call", {"toolName": "x", "params": {"deep": [memory]}})
    finally:
        memory.close()
        memory.unlink()


async def test_openclaw_P10_an_approval_freezes_the_params_and_a_block_still_wins():
    event = {"toolName": "x", "params": {"cmd": "ls"}}
    first, later = {"params": {"cmd": "a"}}, {"params": {"cmd": "b"}}
    asks = {"requireApproval": {"title": "T", "pluginId": "spoof"}}
    stamped = {"requireApproval": {"title": "T", "pluginId": "p1"}}
    assert await merged("before_tool_call", first, asks, later, event=event) == {**first, **stamped}
    stamped["requireApproval"]["pluginId"] = "p0"
    assert await merged("before_tool_call", asks, later, event=event) == stamped
    assert await merged("before_tool_call", asks, {"block": True}, event=event) == {
        **stamped,
        "block": True,
    }


def test_openclaw_P12_a_sync_hook_ignores_a_promise_and_logs_what_fails(host, caplog):
    async def later(event, ctx):
        return {"message": "late"}

    host.registry.on("a", "tool_result_persist", later)
    host.registry.on("b", "tool_result_persist", raising(TypeError("x")))
    host.returns("c", "tool_result_persist", {"message": "C"})
    assert host.runner.run("tool_result_persist", {"message": "c"}) == {"message": "C"}
    said = "returned a Promise; this hook is synchronous and the result was ignored."
    assert caplog.messages == [
        f"[hooks] tool_result_persist handler from a {said}",
        "[hooks] tool_result_persist handler from b failed: TypeError: x",
    ]  # fmt: skip


async def test_openclaw_P13_a_claim_that_throws_means_try_the_next(host, caplog):
    host.registry.on("boom", "before_dispatch", raising(LookupError("x")))
    host.returns("b", "before_dispatch", {"handled": True})
    assert await host.run("before_dispatch") == {"handled": True}
    assert "before_dispatch handler from boom failed: x" in caplog.text


async def test_openclaw_P14_an_evaluators_error_is_data_and_says_whose(host):
    def register(api):
        api.on("skill_proposal_evaluate", raising(LookupError("one\ntwo")), registration_id="scan")
        api.on("skill_proposal_evaluate", lambda event, ctx: None)

    host.registry.load("a", register, version="2.1")
    assert await host.run("skill_proposal_evaluate", {}) == [
        {
            "evaluatorId": "scan",
            "pluginId": "a",
            "pluginVersion": "2.1",
            "status": "error",
            "error": "one",
        },
        {"evaluatorId": "a", "pluginId": "a", "pluginVersion": "2.1", "status": "skipped"},
    ]


@pytest.mark.parametrize("matcher", [[], "exec", ["*"], ["bash"], ["Write"], [""], [5]], ids=repr)
def test_openclaw_P15_a_bad_matcher_is_a_type_error(host, matcher):
    with pytest.raises(TypeError, match="tool hook matcher"):
        host.registry.on("a", "before_tool_call", print, matcher=matcher)
    assert host.registry.typed_hooks == ()


async def test_openclaw_P15_other_mistakes_are_warnings_and_restrict_nothing(host):
    host.returns("a", "session_start", matcher=["exec"])
    host.returns(
        "a", "before_agent_reply", {"handled": True}, eligible_triggers=["cron", "unheard of"]
    )
    host.returns("a", "session_start", timeout="soon")
    assert [diagnostic.message for diagnostic in host.registry.diagnostics] == [
        'typed hook "session_start" ignores tool matcher',
        "typed hook \"session_start\" ignores a timeout of 'soon'",
    ]  # fmt: skip
    assert await host.run("before_agent_reply", ctx={"trigger": "user"}) == {"handled": True}


async def test_a_hookbus_receiver_answers_in_the_same_order_as_handlers(host):
    host.returns("a", "message_sending", {"content": "A"}, priority=5)
    host.registry.specs["message_sending"].connect(
        lambda event, ctx: {"content": "ours"}, name="ours", priority=1
    )
    assert await host.run("message_sending", {"content": "hi"}) == {"content": "ours"}
    host.registry.specs["message_sending"].connect(
        lambda event: Block("not today"), name="closed", priority=9
    )
    with pytest.raises(HookBlocked, match="not today"):
        await host.run("message_sending", {"content": "hi"})


def test_two_registries_do_not_share_a_bus_and_a_hook_is_not_asked_past_a_runner():
    registry = Registry(Bus())
    with pytest.raises(HookError, match="each bus can have one registry"):
        Registry(registry.bus)
    with pytest.raises(HookError, match=r"HookRunner\(registry\).run\('session_start'"):
        asyncio.run(registry.specs["session_start"]({}, {}))


def test_the_logger_can_be_ones_own(caplog):
    host = Host(logger=logging.getLogger("mine"))
    host.registry.on("a", "session_end", raising(LookupError("x")))
    asyncio.run(host.run("session_end"))
    assert [record.name for record in caplog.records] == ["mine"]
