"""How handlers of OpenClaw's hooks are ordered and timed, and what a failure does."""

import asyncio

import pytest

from hookbus import HookError
from hookbus.adapters.openclaw import (
    GLOBAL_POLICY,
    HOOKS,
    HandlerError,
    HandlerErrors,
    HookRunner,
    Registry,
)  # fmt: skip

from . import openclaw_parts as parts
from .openclaw_parts import Host, raising

host = parts.host


async def test_openclaw_O1_on_registers_in_process_and_returns_nothing(host):
    assert host.returns("a", "session_start") is None
    plugin = host.registry.load(
        "b", lambda api: api.on("session_start", lambda event, ctx: host.seen.append(("b", event)))
    )
    assert plugin.status == "loaded"
    await host.run("session_start", {"id": 1})
    assert host.seen == [("a", {"id": 1}), ("b", {"id": 1})]
    with pytest.raises(HookError, match="not callable"):
        host.registry.on("a", "session_start", None)


def test_openclaw_O1_a_plugin_that_fails_to_register_has_registered_nothing(host):
    def register(api):
        api.on("session_start", print)
        raise LookupError("no config")

    with pytest.raises(LookupError):
        host.registry.load("a", register)
    assert host.registry.typed_hooks == () and not host.registry.plugins


async def test_openclaw_O2_P1_higher_priority_first_ties_in_order_of_registration(host):
    for plugin, priority in (("a", None), ("low", -5), ("b", 0), ("high", 10), ("c", None)):
        host.returns(plugin, "before_tool_call", {}, priority=priority)
    await host.run("before_tool_call", {"toolName": "x", "params": {}})
    host.returns("higher", "before_tool_call", {}, priority=11)
    await host.run("before_tool_call", {"toolName": "x", "params": {}})
    assert host.order == ["high", "a", "b", "c", "low", "higher", "high", "a", "b", "c", "low"]


def test_openclaw_O3_the_operators_word_goes_before_the_plugins():
    registry = Registry(timeouts={"a": {"session_start": 1, "*": 2}, "b": 3})
    for plugin in ("a", "b", "c"):
        registry.on(plugin, "session_start", print, timeout=0.5)
        registry.on(plugin, "session_end", print, timeout=0.5)
    assert [each.timeout for each in registry.typed_hooks] == [1, 2, 3, 3, 0.5, 0.5]
    for wrong in ({"a": 601}, {"a": {"session_start": 0}}, {"a": {"sesion_start": 1}}):
        with pytest.raises(HookError):
            Registry(timeouts=wrong)


def test_openclaw_O4_P17_the_default_budgets():
    budgets = {name: hook.budget for name, hook in HOOKS.items() if hook.budget is not None}
    assert budgets == {
        **dict.fromkeys(
            (
                "before_agent_run",
                "before_install",
                "before_tool_call",
                "before_agent_finalize",
                "before_prompt_build",
                "message_sending",
                "reply_payload_sending",
                "resolve_exec_env",
            ),
            15.0,
        ),
        **dict.fromkeys(
            (
                "agent_end",
                "before_compaction",
                "after_compaction",
                "skill_changed",
                "skill_proposal_changed",
            ),
            30.0,
        ),
        "skill_proposal_evaluate": 120.0,
        "gateway_stop": 5.0,
        "channel_pairing_requested": 2.0,
    }


async def test_openclaw_O4_a_runner_has_budgets_of_its_own(caplog):
    host = Host(timeouts={"session_end": 0.01})
    host.registry.on("a", "session_end", lambda event, ctx: asyncio.Event().wait())
    await host.run("session_end")
    assert "session_end handler from a failed: timed out after 10ms" in caplog.text


async def test_openclaw_O5_a_timeout_drops_the_late_result_and_the_handler_is_cancelled(host):
    ended = asyncio.Event()

    async def late(event, ctx):
        assert ctx["abortSignal"] == "of the tool call"
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
            # It swallows the cancellation, which must not hold up anybody.
            return {"content": "late"}  # noqa: B012

    host.registry.on("a", "message_sending", late, timeout=0.01)
    host.returns("b", "message_sending", {"content": "in time"})
    assert await host.run("message_sending", ctx={"abortSignal": "of the tool call"}) == {
        "content": "in time"
    }
    await ended.wait()


async def test_openclaw_O6_an_invocation_is_active_while_the_runner_waits(host):
    kept = []

    def handler(event, ctx):
        ctx["hookInvocation"].assert_active()
        kept.append(ctx["hookInvocation"])

    host.registry.on("a", "before_prompt_build", handler)
    await host.run("before_prompt_build", {"prompt": "p"}, {"runId": "r"})
    with pytest.raises(RuntimeError, match="no longer active"):
        kept[0].assert_active()


@pytest.mark.parametrize("hook", sorted(HOOKS))
async def test_openclaw_O7_a_failing_handler_is_logged_or_raised_as_the_policy_of_its_hook_says(
    hook, caplog
):
    host = Host()
    host.registry.on("boom", hook, raising(LookupError("x")))
    if hook in GLOBAL_POLICY:
        with pytest.raises(HandlerError, match=f"{hook} handler from boom failed: x"):
            await host.run(hook, {"toolName": "exec", "message": "m"})
    else:
        await host.run(hook, {"toolName": "exec", "message": "m"})
        assert f"[hooks] {hook} handler from boom failed: " in caplog.text


async def test_openclaw_O7_P7_errors_not_caught_are_raised_with_their_cause_and_several_as_one(
    host,
):
    host = Host(host.registry, catch_errors=False)
    host.registry.on("a", "session_end", raising(LookupError("x")))
    with pytest.raises(
        HandlerError, match=r"^\[hooks\] session_end handler from a failed: x$"
    ) as one:
        await host.run("session_end")
    assert isinstance(one.value.__cause__, LookupError) and (
        one.value.hook,
        one.value.plugin_id,
    ) == ("session_end", "a")
    host.registry.on("b", "session_end", raising(ValueError("y")))
    with pytest.raises(HandlerErrors) as several:
        await host.run("session_end")
    assert str(several.value) == "; ".join(
        f"[hooks] session_end handler from {a} failed: {b}" for a, b in ("ax", "by")
    )
    assert [error.plugin_id for error in several.value.exceptions] == ["a", "b"]


async def test_openclaw_O7_a_runner_without_options_closes_only_before_agent_run(caplog):
    registry = Registry()
    runner = HookRunner(registry)
    registry.on("a", "before_tool_call", raising(LookupError("x")))
    registry.on("a", "before_agent_run", raising(LookupError("x")))
    assert await runner.run("before_tool_call", {"toolName": "x"}) is None
    with pytest.raises(HandlerError):
        await runner.run("before_agent_run", {})
    with pytest.raises(HookError, match="'fail-closed'"):
        HookRunner(registry, failure_policy={"before_tool_call": "closed"})
