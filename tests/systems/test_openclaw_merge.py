"""How OpenClaw merges what several handlers say, hook by hook."""

import pytest

from hookbus.adapters.openclaw import NULL, HookRunner, Registry, ToolCalls

from . import openclaw_parts as parts
from .openclaw_parts import merged, raising

host = parts.host


async def test_openclaw_merge_before_model_resolve_the_first_override_stands():
    assert await merged(
        "before_model_resolve",
        {"modelOverride": "m1"},
        {"modelOverride": "m2", "providerOverride": "p"},
    ) == {
        "modelOverride": "m1",
        "providerOverride": "p",
    }


async def test_openclaw_merge_before_prompt_build_first_joined_and_intersected():
    first = {
        "systemPrompt": "S1", "prependContext": "a", "appendSystemContext": "x",
        "toolsAllow": ["mcp_*", "Bash", "read"],
    }  # fmt: skip
    second = {
        "systemPrompt": "S2", "prependContext": "b", "appendContext": "c",
        "toolsAllow": ["mcp_one", "exec", "write"],
    }  # fmt: skip
    assert await merged("before_prompt_build", first, second) == {
        "systemPrompt": "S1", "prependContext": "a\n\nb", "appendContext": "c",
        "appendSystemContext": "x", "toolsAllow": ["exec", "mcp_one"],
    }  # fmt: skip
    assert await merged(
        "before_prompt_build", {"toolsAllow": ["exec"]}, {"toolsAllow": "exec"}
    ) == {"toolsAllow": []}
    three = [{"toolsAllow": tools} for tools in (["a*"], ["*b"], ["axb", "axc"])]
    assert await merged("before_prompt_build", *three) == {"toolsAllow": []}


async def test_openclaw_merge_before_prompt_build_shares_a_snapshot_and_skips_its_own_dispatch(
    host,
):
    async def handler(event, ctx):
        host.seen.append(("a", list(event["messages"])))
        event["messages"].append("mine")
        return {"appendContext": str(await host.run("before_prompt_build", event))}

    host.registry.on("a", "before_prompt_build", handler)
    host.returns("b", "before_prompt_build")
    event = {
        "prompt": "p",
        "messages": [{"role": "toolResult", "details": "secret", "content": "c"}],
    }
    assert await host.run("before_prompt_build", event) == {"appendContext": "None"}
    assert host.seen[1][1]["messages"] == [{"role": "toolResult", "content": "c"}, "mine"]
    assert event["messages"] == [{"role": "toolResult", "details": "secret", "content": "c"}]


@pytest.mark.parametrize("hook", ["agent_turn_prepare", "heartbeat_prompt_contribution"])
async def test_openclaw_merge_agent_turn_prepare_heartbeat_contexts_are_joined(hook):
    assert await merged(
        hook, {"prependContext": "a", "appendContext": "x"}, {"prependContext": "b"}
    ) == {
        "prependContext": "a\n\nb",
        "appendContext": "x",
    }


@pytest.mark.parametrize(
    "malformed",
    [
        NULL,
        "pass",
        True,
        {"outcome": "ask", "reason": "r"},
        {"outcome": "pass", "why": "x"},
        {"outcome": "block"},
        {"outcome": "block", "reason": " "},
        {"outcome": "block", "reason": "r", "metadata": []},
    ],
)
async def test_openclaw_merge_before_agent_run_P6_what_is_no_decision_blocks(malformed):
    assert await merged("before_agent_run", {"outcome": "pass"}, malformed) == {
        "decision": {"outcome": "block", "reason": "before_agent_run returned an invalid decision"},
        "pluginId": "p1",
    }  # fmt: skip


async def test_openclaw_merge_before_agent_run_P6_what_is_one_stands():
    assert await merged("before_agent_run", {"outcome": "pass"}, None) == {
        "decision": {"outcome": "pass"},
        "pluginId": "p0",
    }
    block = {
        "outcome": "block", "reason": "r", "message": "m", "category": "c", "metadata": {"k": 1},
    }  # fmt: skip
    assert await merged("before_agent_run", block) == {"decision": block, "pluginId": "p0"}


async def test_openclaw_merge_before_agent_finalize_finalize_before_revise_before_continue():
    hook = "before_agent_finalize"
    go, revise, end = (
        {"action": action, "reason": action} for action in ("continue", "revise", "finalize")
    )
    assert await merged(hook, go, revise, go) == revise
    assert await merged(hook, revise, end, revise) == end
    retries = [
        {
            "action": "revise",
            "reason": f"r{n}",
            "retry": {"instruction": f" i{n} ", "maxAttempts": n},
        }
        for n in (1, 2)
    ]
    result = await merged(hook, *retries)
    assert result == {
        "action": "revise",
        "reason": "r1\n\nr2",
        "retry": {"instruction": "i1", "maxAttempts": 1},
    }
    assert [each["instruction"] for each in result.candidates] == ["i1", "i2"]


async def test_openclaw_merge_before_tool_call_P11_the_last_params_and_a_block_that_keeps_them():
    event = {"toolName": "exec", "params": {"cmd": "ls"}}
    one, two = {"params": {"a": 1}, "blockReason": "early"}, {"params": {"b": 2}}
    assert await merged("before_tool_call", one, two, event=event) == {
        "params": {"b": 2},
        "blockReason": "early",
    }
    block = {"block": True}
    assert await merged("before_tool_call", one, block, two, event=event) == {**one, **block}


async def test_openclaw_merge_message_sending_the_last_content_and_a_cancel_that_keeps_it():
    returned = [
        {"content": "A", "metadata": {"k": 1}},
        {"content": "B", "cancel": True, "cancelReason": "r"},
        {"content": "C"},
    ]
    assert await merged("message_sending", *returned, event={"content": "hi"}) == {
        "content": "B", "cancel": True, "cancelReason": "r", "metadata": {"k": 1},
    }  # fmt: skip


async def test_openclaw_merge_reply_payload_sending_chains_copies_of_the_latest(host):
    def adding(word):
        def handler(event, ctx):
            assert "trustedLocalMedia" not in event["payload"]
            event["payload"]["text"] += word
            return {"payload": event["payload"]}

        return handler

    host.registry.on("a", "reply_payload_sending", adding(" a"))
    host.registry.on("b", "reply_payload_sending", adding(" b"))
    event = {"payload": {"text": "hi", "mediaUrl": "file", "trustedLocalMedia": True}}
    assert await host.run("reply_payload_sending", event) == {
        "payload": {"text": "hi a b", "mediaUrl": "file", "trustedLocalMedia": True}
    }
    host.returns(
        "c",
        "reply_payload_sending",
        {"payload": {"mediaUrl": "other", "trustedLocalMedia": True}, "cancel": True},
    )
    assert await host.run("reply_payload_sending", event) == {
        "payload": {"mediaUrl": "other"},
        "cancel": True,
    }
    assert event["payload"]["text"] == "hi"


def test_openclaw_merge_tool_result_persist_before_message_write_chain_and_block(host):
    for hook in ("tool_result_persist", "before_message_write"):
        host.returns("a", hook, {"message": "A"}, priority=2)
        host.returns("b", hook, {"block": True, "message": "B"}, priority=1)
        host.returns("c", hook, {"message": "C"})
    assert host.runner.run("tool_result_persist", {"message": "c"}) == {"message": "C"}
    assert host.runner.run("before_message_write", {"message": "c"}) == {"block": True}
    assert host.order == ["a", "b", "c", "a", "b"]


async def test_openclaw_merge_before_install_findings_add_up_until_a_block():
    one, two = {"findings": [1]}, {"findings": [2], "block": True, "blockReason": "r"}
    assert await merged("before_install", one, two, one) == {
        "findings": [1, 2],
        "block": True,
        "blockReason": "r",
    }


async def test_openclaw_merge_resolve_exec_env_the_later_value_of_a_key_stands():
    assert await merged("resolve_exec_env", {"K": "1", "A": "a"}, {"K": "2"}) == {
        "K": "2",
        "A": "a",
    }


async def test_openclaw_merge_subagent_delivery_target_the_first_origin_stands():
    assert await merged(
        "subagent_delivery_target", {}, {"origin": {"to": 1}}, {"origin": {"to": 2}}
    ) == {"origin": {"to": 1}}


async def test_openclaw_merge_claim_hooks_say_how_a_targeted_claim_ended(host):
    claim = host.runner.run_inbound_claim_for_plugin
    host.returns("other", "inbound_claim", {"handled": True})
    assert await claim("a", {}) == {"status": "missing_plugin"}
    host.returns("a", "session_start")
    assert await claim("a", {}) == {"status": "no_handler"}
    host.registry.on("a", "inbound_claim", raising(LookupError("one\ntwo")))
    assert await claim("a", {}) == {"status": "error", "error": "one"}
    host.returns("a", "inbound_claim", {"handled": True})
    assert await claim("a", {}) == {"status": "handled", "result": {"handled": True}}
    host.returns("b", "inbound_claim", {"handled": False})
    assert await claim("b", {}) == {"status": "declined"}
    host.registry.disable("a")
    assert await claim("a", {}) == {"status": "missing_plugin"}


async def test_openclaw_P16_the_older_before_agent_start_can_still_be_had():
    registry = Registry(older=True)
    runner = HookRunner(registry)
    registry.on(
        "a", "before_agent_start", lambda event, ctx: {"systemPrompt": "S1", "prependContext": "x"}
    )
    registry.on(
        "b", "before_agent_start", lambda event, ctx: {"systemPrompt": "S2", "prependContext": "y"}
    )
    assert await runner.run("before_agent_start", {"prompt": "p"}) == {
        "systemPrompt": "S2",
        "prependContext": "x\n\ny",
    }


async def test_openclaw_O7_the_older_tool_hook_failed_open(caplog):
    registry = Registry()
    registry.on("boom", "before_tool_call", raising(LookupError("policy down")))
    registry.on("b", "before_tool_call", lambda event, ctx: {"params": {"cmd": "pwd"}})
    calls = ToolCalls(
        HookRunner(registry, failure_policy={"before_tool_call": "fail-open"}),
        {"exec": lambda params: params},
    )
    assert await calls.call("exec", {"cmd": "ls"}) == {"cmd": "pwd"}
    assert "before_tool_call handler from boom failed: policy down" in caplog.text
