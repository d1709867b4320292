"""What OpenClaw's hooks do, hook by hook and rule by rule, in its own manner."""

import asyncio
import json
import logging
import threading
from pathlib import Path

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, explain, load_plugins, report
from hookbus.adapters.openclaw import (
    GLOBAL_POLICY,
    HOOKS,
    NULL,
    Background,
    HandlerError,
    HandlerErrors,
    HookRunner,
    IsolationError,
    Registry,
    ToolCalls,
)  # fmt: skip
from hookbus.testing import record

VECTORS = {
    vector["name"]: vector
    for vector in json.loads((Path(__file__).parent / "openclaw_vectors.json").read_text())
}


class Host:
    """A registry, a runner set up as OpenClaw's global one, and what handlers noted."""

    def __init__(self, registry=None, **options):
        self.registry = registry or Registry()
        self.runner = HookRunner(self.registry, **{"failure_policy": GLOBAL_POLICY, **options})
        self.seen = []

    def returns(self, plugin, hook, value=None, **options):
        def handler(event, ctx):
            self.seen.append((plugin, event))
            return value

        return self.registry.on(plugin, hook, handler, **options)

    async def run(self, hook, event=None, ctx=None, **options):
        result = self.runner.run(hook, {} if event is None else event, ctx, **options)
        return result if HOOKS[hook].kind == "sync" else await result

    @property
    def order(self):
        return [plugin for plugin, _ in self.seen]


@pytest.fixture
def host():
    return Host()


def raising(error):
    def handler(event, ctx):
        raise error

    return handler


# -- the kinds -------------------------------------------------------------------------------------


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


# -- registration, order, budgets, failure ---------------------------------------------------------


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


def timeouts_of(registry):
    return {each.hook.name: each.timeout for each in registry.typed_hooks}


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


async def test_openclaw_O8_a_matcher_names_exact_tools(host):
    host.returns("a", "before_tool_call", {}, matcher=["exec", " READ "])
    host.returns("a", "after_tool_call", matcher=["exec"])
    for tool in ("exec", "read", "write"):
        await host.run("before_tool_call", {"toolName": tool, "params": {}})
        await host.run("after_tool_call", {"toolName": tool})
    assert [event["toolName"] for _, event in host.seen] == ["exec", "exec", "read"]


async def test_openclaw_O9_P13_eligibility_is_judged_at_dispatch(host):
    host.returns("a", "before_agent_reply", {"handled": True}, eligible_triggers=["cron"])
    host.returns("b", "reply_dispatch", {"handled": True}, eligible_dispatch_kinds=["agent"])
    assert await host.run("before_agent_reply", ctx={"trigger": "user"}) is None
    assert await host.run("before_agent_reply", ctx={"trigger": "cron"}) == {"handled": True}
    assert await host.run("reply_dispatch", ctx={"dispatchKind": "acp"}) is None
    assert await host.run("reply_dispatch", ctx={"dispatchKind": "something newer"}) == {
        "handled": True
    }
    runner = host.runner
    assert [
        runner.has_hooks("before_agent_reply", ctx)
        for ctx in (None, {"trigger": "user"}, {"trigger": "cron"}, {})
    ] == [
        True,
        False,
        True,
        False,
    ]
    assert runner.get_hook_count("before_agent_reply") == 1


async def test_openclaw_O10_handlers_that_require_tool_authority_have_a_build_of_their_own(host):
    kept = []

    def authorised(event, ctx):
        authority = ctx["toolAuthority"]
        kept.append(authority)
        return {
            "prependContext": str(authority.allows("BASH")),
            "systemPrompt": "mine",
            "toolsAllow": ["exec"],
        }

    host.registry.on("a", "before_prompt_build", authorised, requires_tool_authority=True)
    host.returns("b", "before_prompt_build", {"appendContext": "ordinary"})
    assert await host.run("before_prompt_build", {"prompt": "p"}) == {"appendContext": "ordinary"}
    build = host.runner.run_authorized_prompt_build
    assert await build({"prompt": "p"}, {}, active_tools=["exec"], fingerprint="f") == {
        "prependContext": "True"
    }
    assert await build({"prompt": "p"}, {}, active_tools=["read"], fingerprint="f") == {
        "prependContext": "False"
    }
    assert await build({"prompt": "p"}, {}, active_tools=["read"], fingerprint=" ") is None
    assert kept[0].fingerprint != kept[1].fingerprint
    with pytest.raises(RuntimeError, match="no longer active"):
        kept[0].allows("exec")
    with pytest.raises(LookupError):
        await build(
            {}, {}, active_tools=[], fingerprint="f",
            assert_host_active=lambda: {}["the host is gone"],
        )  # fmt: skip


async def test_openclaw_O11_a_registration_id_tells_the_handlers_of_one_plugin_apart(host):
    for registration_id in ("rules", "model"):
        host.returns(
            "grader", "skill_proposal_evaluate", {"decision": registration_id},
            registration_id=registration_id,
        )  # fmt: skip
    outcomes = await host.run("skill_proposal_evaluate", {})
    assert [
        (each["evaluatorId"], each["pluginId"], each["result"]["decision"]) for each in outcomes
    ] == [
        ("rules", "grader", "rules"),
        ("model", "grader", "model"),
    ]


async def test_openclaw_O12_every_plugin_has_its_own_config(host):
    def register(api):
        api.on(
            "session_start",
            lambda event, ctx: host.seen.append((api.plugin_id, api.config["word"])),
        )
        with pytest.raises(TypeError):
            api.config["word"] = "other"

    event = {"id": 1}
    for plugin in ("a", "b"):
        host.registry.load(plugin, register, config={"word": f"of {plugin}"})
    await host.run("session_start", event)
    assert host.seen == [("a", "of a"), ("b", "of b")] and event == {"id": 1}


def test_openclaw_O13_P16_an_unknown_hook_is_a_warning_and_the_plugin_still_loads(host):
    plugin = host.registry.load(
        "a", lambda api: [api.on("before_agent_start", print), api.on("session_start", print)]
    )
    assert plugin.status == "loaded" and [each.hook.name for each in host.registry.typed_hooks] == [
        "session_start"
    ]
    [diagnostic] = host.registry.diagnostics
    assert (diagnostic.level, diagnostic.message) == (
        "warn",
        'unknown typed hook "before_agent_start" ignored',
    )
    with pytest.raises(HookError, match="did you mean 'session_start'"):
        host.runner.run("sesion_start", {})


def test_openclaw_O15_it_is_cheap_to_ask_whether_anybody_is_there(host):
    assert (
        not host.runner.has_hooks("session_start")
        and host.runner.get_hook_count("session_start") == 0
    )
    host.returns("a", "session_start")
    host.returns("a", "session_start")
    assert (
        host.runner.has_hooks("session_start") and host.runner.get_hook_count("session_start") == 2
    )


async def test_openclaw_O16_a_runner_sees_the_registry_as_it_is_and_overlays_of_the_request(host):
    def saying(word):
        return lambda api: api.on(
            "session_start", lambda event, ctx: host.seen.append((word, event))
        )

    for word in ("old", "new"):
        host.registry.load("a", saying(word))
        await host.run("session_start")
    host.returns("b", "session_start")
    with host.registry.overlay("a", saying("of the request")):
        await host.run("session_start")
        outside = asyncio.get_running_loop().create_task(host.run("session_start"))
    await outside
    await host.run("session_start")
    assert host.order == ["old", "new", "b", "of the request", "new", "b", "new", "b"]
    current = [Registry(), Registry()]
    runner = HookRunner(lambda: current[0])
    current[1].on(
        "x", "session_start", lambda event, ctx: host.seen.append(("the other registry", event))
    )
    current.reverse()
    await runner.run("session_start", {})
    assert host.order[-1] == "the other registry"


async def test_openclaw_O17_what_nobody_waits_for_is_bounded(caplog):
    gate, background = asyncio.Event(), Background(most_running=2, most_queued=3, seconds=0.01)
    fitted = [background.start(gate.wait, f"hook {number}") for number in range(7)]
    assert fitted == [True] * 5 + [False] * 2
    assert (background.running, background.dropped) == (2, 2)
    await asyncio.sleep(0.05)
    gate.set()
    await background.drain()
    assert background.running == 0
    assert (
        "hook 6: queue full; dropping hook" in caplog.text
        and "hook 0: timed out after 10ms" in caplog.text
    )


async def test_openclaw_O18_what_is_logged_is_one_clean_short_line(host, caplog):
    host.registry.on(
        "a", "session_end", raising(LookupError("one\r\ntwo\x1b[31m\u2028three " + "😀" * 600))
    )
    await host.run("session_end")
    said = caplog.messages[0].partition("failed: ")[2]
    assert (
        said.startswith("one two [31m three 😀")
        and len(said.encode("utf-16-le")) <= 1000
        and said.isprintable()
    )


async def test_openclaw_O19_every_handlers_verdict_can_be_recorded(host):
    kept = []
    host.returns("a", "before_tool_call", None)
    host.returns("b", "before_tool_call", {"requireApproval": {"title": "T"}})
    host.returns("c", "before_tool_call", {"block": True})
    await host.run(
        "before_tool_call", {"toolName": "x", "params": {}}, receipt=lambda *said: kept.append(said)
    )
    assert kept == [("a", "allowed"), ("b", "approval_required"), ("c", "blocked")]
    broken, kept = Host(), []
    broken.registry.on("d", "before_tool_call", raising(LookupError("x")))
    with pytest.raises(HandlerError):
        await broken.run(
            "before_tool_call", {"toolName": "x"}, receipt=lambda *said: kept.append(said)
        )
    open_runner = HookRunner(broken.registry)
    await open_runner.run(
        "before_tool_call", {"toolName": "x"}, receipt=lambda *said: kept.append(said)
    )
    assert kept == [("d", "failed_closed"), ("d", "failed_open")]


# -- merge rules -----------------------------------------------------------------------------------


async def merged(hook, *returned, event=None):
    host = Host()
    for number, value in enumerate(returned):
        host.returns(f"p{number}", hook, value, priority=-number)
    return await host.run(hook, {} if event is None else event)


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


# -- tool calls ------------------------------------------------------------------------------------


class Tools(Host):
    """A host with a tool, `exec`, and somebody who approves."""

    def __init__(self, decision="allow-once", **options):
        super().__init__(**options)
        self.ran, self.requests, self.decision = [], [], decision
        self.calls = ToolCalls(self.runner, {"exec": self.ran.append}, approve=self.approve)

    async def approve(self, request):
        self.requests.append(request)
        self.seen.append(("approval", request))
        return await self.decision() if callable(self.decision) else self.decision

    async def call(self, **params):
        return await self.calls.call("exec", params, {})


async def test_openclaw_O20_policies_their_approval_handlers_approval_and_then_the_tool():
    host = Tools()

    def policy(plugin, answer):
        def evaluate(event, ctx):
            host.seen.append((plugin, event))
            return {**answer, "params": {**event["params"], plugin: True}}

        return evaluate

    host.returns(
        "handler", "before_tool_call", {"requireApproval": {"title": "mine"}}, priority=1e6
    )
    host.registry.trust("installed", policy("installed", {"requireApproval": {"title": "trusted"}}))
    host.registry.trust("bundled", policy("bundled", {}), is_bundled=True)
    host.registry.trust("elsewhere", raising(LookupError("never asked")), matcher=["read"])
    await host.call(cmd="ls")
    assert host.order == ["bundled", "installed", "approval", "handler", "approval"]
    assert [request.title for request in host.requests] == ["trusted", "mine"]
    assert host.ran == [{"cmd": "ls", "bundled": True, "installed": True}]
    host.registry.trust(
        "strictest", lambda event, ctx: {"allow": False, "reason": "never"}, is_bundled=True
    )
    with pytest.raises(HookBlocked, match="never"):
        await host.call(cmd="ls")
    assert len(host.ran) == 1 and host.order[5:] == ["bundled"]


async def test_openclaw_O20_a_policy_that_breaks_blocks():
    host = Tools()
    host.registry.trust("broken", raising(LookupError("secret")))
    with pytest.raises(HookBlocked) as blocked:
        await host.call(cmd="ls")
    assert host.ran == [] and "secret" not in str(blocked.value)


@pytest.mark.parametrize("decision, ran, told", [
    ("allow-once", True, "allow-once"), ("allow-always", False, "timeout"), ("deny", False, "deny"),
    ("yes", False, "timeout"), (None, False, "timeout"), (True, False, "timeout"),
    (asyncio.Event().wait, False, "timeout"), (lambda: asyncio.sleep(0, 1 / 0), False, "cancelled"),
])  # fmt: skip
async def test_openclaw_O21_only_a_decision_that_was_offered_lets_the_tool_run(decision, ran, told):
    host, resolutions = Tools(decision), []
    host.returns("a", "before_tool_call", {"params": {"cmd": "pwd"}, "requireApproval": {
        "title": "T" * 100, "description": "D" * 600, "allowedDecisions": ["allow-once"],
        "timeoutMs": 20, "timeoutBehavior": "allow", "onResolution": resolutions.append,
    }})  # fmt: skip
    if ran:
        await host.call(cmd="ls")
    else:
        with pytest.raises(HookBlocked):
            await host.call(cmd="ls")
    assert host.ran == ([{"cmd": "pwd"}] if ran else []) and resolutions == [told]
    [request] = host.requests
    assert (len(request.title), len(request.description), request.decisions) == (
        80,
        512,
        ("allow-once", "deny"),
    )
    assert (request.plugin_id, request.params, request.severity) == ("a", {"cmd": "pwd"}, "warning")


async def test_openclaw_O21_without_anybody_to_ask_and_when_the_run_is_cancelled_nothing_runs():
    host, resolutions = Tools(asyncio.Event().wait), []
    host.returns(
        "a",
        "before_tool_call",
        {"requireApproval": {"title": "T", "onResolution": resolutions.append}},
    )
    calls = ToolCalls(host.runner, {"exec": host.ran.append})
    with pytest.raises(HookBlocked, match="no approval route"):
        await calls.call("exec", {})
    run = asyncio.ensure_future(host.call(cmd="ls"))
    while not host.requests:
        await asyncio.sleep(0)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert host.ran == [] and resolutions == ["cancelled", "cancelled"]
    assert host.requests[0].seconds == 120


@pytest.mark.parametrize(
    "scope, shown",
    [
        (
            {"kind": "payment", "amount": "49\x1b.99", "currency": "EUR", "target": "Stripe"},
            {"kind": "payment", "amount": "49.99", "currency": "EUR", "target": "Stripe"},
        ),
        (
            {
                "kind": "message-send",
                "target": "email",
                "recipientCount": 9,
                "recipients": list("abcdefg"),
            },
            {
                "kind": "message-send",
                "target": "email",
                "recipientCount": 9,
                "recipients": list("abcde"),
            },
        ),
        (
            {"kind": "external-post", "target": "github", "visibility": "public"},
            {"kind": "external-post", "target": "github", "visibility": "public"},
        ),
        ({"kind": "external-post", "target": "g" * 129}, None),
        ({"kind": "unheard of", "target": "x"}, None),
        ("everything", None),
    ],
)
async def test_openclaw_O22_a_scope_is_shown_within_its_bounds_or_not_at_all(scope, shown):
    host = Tools()
    host.returns("a", "before_tool_call", {"requireApproval": {"title": "T", "scope": scope}})
    await host.call(cmd="ls")
    assert host.requests[0].scope == shown and len(host.ran) == 1


async def test_openclaw_O23_after_tool_call_tells_of_success_error_and_block(host):
    def tool(params):
        if params["cmd"] == "rm":
            raise LookupError("no rm here")
        return "done"

    calls = ToolCalls(host.runner, {"exec": tool, "disk": tool})
    host.returns(
        "g", "before_tool_call", {"block": True, "blockReason": "never dd"}, matcher=["disk"]
    )
    host.returns("a", "after_tool_call")
    for command in ("ls", "rm", "dd"):
        try:
            await calls.call(
                "disk" if command == "dd" else "exec", {"cmd": command}, toolCallId=command
            )
        except (LookupError, HookBlocked):
            pass
    told = [
        (event["toolCallId"], event.get("result"), event.get("error"))
        for plugin, event in host.seen
        if plugin == "a"
    ]
    assert told == [("ls", "done", None), ("rm", None, "no rm here"), ("dd", None, "never dd")]
    assert all(event["durationMs"] >= 0 for plugin, event in host.seen if plugin == "a")


# -- plugins, manifests, conflicts -----------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    def add(name, register, manifest=""):
        (tmp_path / name).mkdir()
        hooks = 'hooks = ["pre_tool_call", "session_start"]'
        (tmp_path / name / "hookbus-plugin.toml").write_text(
            f'format = 1\nid = "{name}"\nversion = "1.0"\n{hooks}\n{manifest}'
        )
        (tmp_path / name / "plugin.py").write_text(f"def register(api):\n    {register}\n")
        return tmp_path

    return add


def test_openclaw_O27_P19_a_manifest_is_read_without_importing_code(host, folder):
    path = folder("good", 'api.connect("session_start", lambda event, ctx: None)')
    folder("bad", "import sys; sys.modules['openclaw_bad_was_imported'] = sys", "unheard_of = 1")
    plugins = load_plugins(host.registry.bus, user=path, installed=False)
    assert plugins.loaded == ("good",) and [
        row.status for row in plugins.rows() if row.plugin == "bad"
    ] == ["refused"]
    import sys

    assert "openclaw_bad_was_imported" not in sys.modules
    plugins.close()


def test_openclaw_O28_P19_deny_wins_over_allow_before_code_is_imported(host, folder):
    path = folder("one", "raise SystemExit('imported')")
    folder("two", 'api.connect("session_start", lambda event, ctx: None)')
    plugins = load_plugins(
        host.registry.bus, user=path, installed=False, allow=["one", "two"], deny=["one"]
    )
    assert plugins.loaded == ("two",)
    plugins.close()


def test_openclaw_O29_P18_the_first_registration_stands_and_the_later_one_is_told_who_owns_it(host):
    assert host.registry.provide("a", "command", "deploy", 1) is True
    assert host.registry.provide("b", "command", "deploy", 2) is False
    assert host.registry.provide("b", "route", "deploy", 3) is True
    assert host.registry.provided("command") == {"deploy": 1}
    [diagnostic] = host.registry.diagnostics
    assert (diagnostic.level, diagnostic.plugin_id) == ("error", "b")
    assert diagnostic.message == "command already registered: deploy (a)"
    host.registry.on("a", "session_start", print)
    host.registry.on("b", "session_start", print)
    assert len(host.registry.typed_hooks) == 2 and len(host.registry.diagnostics) == 1
    host.registry.disable("a")
    assert host.registry.provide("b", "command", "deploy", 4) is True


async def test_openclaw_O31_explain_and_report_show_every_handler_where_it_stands(host):
    host.returns("low", "before_tool_call", {}, priority=-1)
    host.returns("high", "before_tool_call", {}, priority=7)
    rows = explain(host.registry.specs["before_tool_call"])
    assert [(row.receiver, row.priority) for row in rows] == [("high", 7), ("low", -1)]
    assert all(Path(__file__).name in row.where for row in rows)
    with record(host.registry.bus) as fired:
        await host.run("before_tool_call", {"toolName": "x", "params": {}})
    assert fired.count("before_tool_call") == 1
    modes = {row["hook"]: row["mode"] for row in report(host.registry.bus).hooks}
    assert modes["before_model_resolve"] == "modify: modelOverride first, providerOverride first"
    assert modes["reply_payload_sending"].startswith("modify_gate: payload chained")


# -- what has to stay ------------------------------------------------------------------------------


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
    with pytest.raises(HookError, match="one bus has one registry"):
        Registry(registry.bus)
    with pytest.raises(HookError, match=r"HookRunner\(registry\).run\('session_start'"):
        asyncio.run(registry.specs["session_start"]({}, {}))


def test_the_logger_can_be_ones_own(caplog):
    host = Host(logger=logging.getLogger("mine"))
    host.registry.on("a", "session_end", raising(LookupError("x")))
    asyncio.run(host.run("session_end"))
    assert [record.name for record in caplog.records] == ["mine"]
