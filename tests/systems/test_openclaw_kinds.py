"""The kinds of OpenClaw's hooks: who is asked, in which order, and when it ends."""

import asyncio

import pytest

from hookbus.adapters.openclaw import HOOKS, Registry

from . import openclaw_parts as parts

host = parts.host


@pytest.mark.parametrize("hook", [name for name, hook in HOOKS.items() if hook.kind == "modify"])
async def test_openclaw_contract_modify_asks_one_after_the_other(host, hook):
    active = []

    def handler(plugin):
        async def slow(event, ctx):
            active.append(plugin)
            assert len(active) == 1
            await asyncio.sleep(0)
            host.seen.append((active.pop(), event))

        return slow

    for plugin in ("a", "b", "c"):
        host.registry.on(plugin, hook, handler(plugin))
    await host.run(hook)
    assert host.order == ["a", "b", "c"]


async def test_openclaw_contract_gate_a_block_stops_the_rest(host):
    host.returns("a", "before_agent_run", {"outcome": "block", "reason": "r"})
    host.returns("b", "before_agent_run", {"outcome": "pass"})
    assert await host.run("before_agent_run") == {
        "decision": {"outcome": "block", "reason": "r"},
        "pluginId": "a",
    }
    assert host.order == ["a"]


@pytest.mark.parametrize("hook, end", [
    ("before_tool_call", "block"), ("before_install", "block"),
    ("message_sending", "cancel"), ("reply_payload_sending", "cancel"),
])  # fmt: skip
async def test_openclaw_contract_modify_gate_ends_with_a_block_or_a_cancel(host, hook, end):
    host.returns("a", hook, {end: False})
    host.returns("b", hook, {end: True})
    host.returns("c", hook, {end: True})
    result = await host.run(hook, {"toolName": "exec", "payload": {}})
    assert result[end] is True and host.order == ["a", "b"]


@pytest.mark.parametrize("hook", [name for name, hook in HOOKS.items() if hook.kind == "claim"])
async def test_openclaw_contract_claim_the_first_that_handles_wins(host, hook):
    host.returns("a", hook, {"handled": False})
    host.returns("b", hook, {"handled": True, "text": "b"})
    host.returns("c", hook, {"handled": True})
    assert await host.run(hook) == {"handled": True, "text": "b"}
    assert host.order == ["a", "b"]


@pytest.mark.parametrize("hook", ["tool_result_persist", "before_message_write"])
def test_openclaw_contract_sync_modify_gate_answers_at_once_and_without_a_loop(host, hook):
    host.returns("a", hook, {"message": "A"})
    host.returns("b", hook)
    assert host.runner.run(hook, {"message": "c"}) == {"message": "A"}
    assert [event["message"] for _, event in host.seen] == ["c", "A"]


async def test_openclaw_contract_evaluate_runs_side_by_side_on_a_frozen_event(host):
    both = asyncio.Barrier(2)

    async def evaluator(event, ctx):
        await both.wait()
        with pytest.raises(TypeError):
            event["proposal"]["id"] = "2"
        with pytest.raises(TypeError):
            event["files"].append("x")
        return {"decision": "pass"}

    host.registry.on("a", "skill_proposal_evaluate", evaluator)
    host.registry.on("b", "skill_proposal_evaluate", evaluator)
    outcomes = await host.run("skill_proposal_evaluate", {"proposal": {"id": "1"}, "files": []})
    assert [(outcome["evaluatorId"], outcome["status"]) for outcome in outcomes] == [
        ("a", "completed"),
        ("b", "completed"),
    ]


@pytest.mark.parametrize("hook", [name for name, hook in HOOKS.items() if hook.kind == "observe"])
async def test_openclaw_contract_observe_runs_side_by_side_and_ignores_what_is_returned(host, hook):
    both = asyncio.Barrier(2)

    async def observer(event, ctx):
        await both.wait()
        return {"block": True, "params": {}}

    host.registry.on("a", hook, observer)
    host.registry.on("b", hook, observer)
    assert await host.run(hook, {"toolName": "exec"}) is None


def test_there_are_the_42_hooks_of_openclaw_each_a_hookspec():
    registry = Registry()
    assert len(HOOKS) == 42 == len(registry.bus.hook_names())
    assert {name for name, hook in HOOKS.items() if hook.kind == "claim"} == {
        "before_agent_reply", "inbound_claim", "before_dispatch", "reply_dispatch",
    }  # fmt: skip
