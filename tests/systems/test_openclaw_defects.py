"""OpenClaw's defects are hookbus's neither by itself nor under the adapter with `strict=True`."""

import asyncio

import pytest

from hookbus import Bus, HookBlocked, hookspec, modes, report
from hookbus.adapters.openclaw import HOOKS, HandlerError, HookRunner, Registry
from hookbus.events import Failed
from hookbus.testing import record

from . import openclaw_defects_parts as parts
from .openclaw_defects_parts import EVENT, redact, stamp

Agent = parts.Agent
strict = parts.strict


async def test_openclaw_XO1_rewrites_compose(bus, Agent):
    bus.signal("pre_tool").connect(
        lambda agent, params: {"params": {**params, "secret": "***"}}, priority=10
    )
    bus.signal("pre_tool").connect(lambda agent, params: {"params": {**params, "stamp": 1}})
    agent = Agent()
    await agent.tool("exec", EVENT["params"])
    assert agent.bodies == [{"cmd": "ls", "secret": "***", "stamp": 1}]


async def test_openclaw_XO1_rewrites_compose_in_the_adapter(strict):
    strict.registry.on("redact", "before_tool_call", redact, priority=10)
    strict.registry.on("stamp", "before_tool_call", stamp)
    strict.registry.on(
        "partial", "before_tool_call", lambda event, ctx: {"params": {"more": 2}}, priority=-1
    )
    expected = {"cmd": "ls", "secret": "***", "stamp": 1, "more": 2}
    assert await strict.runner.run("before_tool_call", EVENT) == {"params": expected}
    await strict.call(**EVENT["params"])
    assert strict.ran == [expected]


def test_openclaw_XO2_any_rule_but_the_usual_one_is_named_where_it_stands(bus):
    @hookspec(modes.merge("last", tools="intersect"), bus=bus)
    def limits(agent): ...

    [row] = report(bus).hooks
    assert row["mode"] == "merge(last, tools=intersect)"


async def test_openclaw_XO2_handlers_see_the_latest_in_the_adapter(strict):
    seen = []

    def handler(event, ctx):
        seen.append(event["content"])
        return {"content": event["content"] + "!"}

    for plugin in ("a", "b"):
        strict.registry.on(plugin, "message_sending", handler)
    assert await strict.runner.run("message_sending", {"content": "hi"}) == {"content": "hi!!"}
    assert seen == ["hi", "hi!"]
    rules = {row["hook"]: row["mode"] for row in report(strict.bus).hooks}
    assert all(rules[name] for name in HOOKS)
    assert (
        "params chained" in rules["before_tool_call"]
        and "content chained" in rules["message_sending"]
    )


async def test_openclaw_XO3_an_observer_cannot_tamper(bus, Agent):
    seen = []

    def tamper(agent, ctx):
        ctx.kwargs["params"] = "TAMPERED"

    bus.signal("post_tool").connect(tamper, role="observe", priority=10)
    bus.signal("post_tool").connect(
        lambda agent, params, result: seen.append((params, result)), role="observe"
    )
    with record(bus) as fired:
        assert await Agent().tool("exec", {"cmd": "ls"}) == "exec ran"
    assert seen == [({"cmd": "ls"}, "exec ran")] and len(fired.of(Failed)) == 1


@pytest.mark.parametrize("hook", [name for name, hook in HOOKS.items() if hook.kind == "observe"])
async def test_openclaw_XO3_an_observer_cannot_tamper_in_the_adapter(strict, hook):
    seen = []

    def tamper(event, ctx):
        event["result"]["text"] = "TAMPERED"

    strict.registry.on("evil", hook, tamper, priority=10)
    strict.registry.on("audit", hook, lambda event, ctx: seen.append(event["result"]["text"]))
    event = {"toolName": "exec", "result": {"text": "real"}}
    with record(strict.bus) as fired:
        await strict.runner.run(hook, event)
    assert seen == ["real"] and event["result"] == {"text": "real"}
    assert [(failed.receiver, type(failed.exception)) for failed in fired.of(Failed)] == [
        ("evil", TypeError)
    ]


@pytest.mark.parametrize("malformed", ["deny", {"deny": True}, True, False, 5], ids=repr)
async def test_openclaw_XO4_a_malformed_verdict_of_a_guard_blocks_and_names_it(
    bus, Agent, malformed
):
    bus.signal("pre_tool").connect(lambda agent: malformed, role="guard", name="policy")
    agent = Agent()
    with pytest.raises(HookBlocked) as blocked:
        await agent.tool("exec", {})
    assert blocked.value.receiver == "policy" and agent.bodies == []


@pytest.mark.parametrize(
    "malformed",
    ["deny", {"deny": True}, True, {"block": "yes"}, {"block": 1}, 5, ["block"]],
    ids=repr,
)
async def test_openclaw_XO4_a_malformed_verdict_blocks_in_the_adapter(strict, malformed):
    strict.registry.on("policy", "before_tool_call", lambda event, ctx: malformed)
    with (
        record(strict.bus) as fired,
        pytest.raises(HandlerError, match="from policy failed") as refused,
    ):
        await strict.runner.run("before_tool_call", EVENT)
    assert refused.value.plugin_id == "policy" and [
        failed.receiver for failed in fired.of(Failed)
    ] == ["policy"]
    with pytest.raises(HookBlocked) as blocked:
        await strict.call(cmd="ls")
    assert blocked.value.receiver == "policy" and strict.ran == []


async def test_openclaw_XO5_OI3_a_deadline_cancels_and_returns_control(bus, Agent):
    cancelled = []

    async def hung(agent):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(1)
            raise

    bus.signal("pre_tool").connect(hung, timeout=0.01)
    agent = Agent()
    assert await agent.tool("exec", {}) == "exec ran" and cancelled == [1]
    bus.signal("pre_tool").connect(hung, role="guard", timeout=0.01)
    with pytest.raises(HookBlocked):
        await agent.tool("exec", {})
    assert Bus(timeout=5.0).timeout == 5.0


@pytest.mark.parametrize("hook", [name for name, hook in HOOKS.items() if hook.kind != "sync"])
async def test_openclaw_XO5_OI3_every_hook_has_a_budget_in_the_adapter(hook, caplog):
    registry = Registry(strict=True)
    assert registry.hooks[hook].budget > 0
    cancelled = []

    async def hung(event, ctx):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(1)
            raise

    registry.on("hung", hook, hung)
    runner = HookRunner(
        registry, timeouts={hook: 0.01}, failure_policy={"before_agent_run": "fail-open"}
    )
    await runner.run(hook, {"toolName": "x", "payload": {}})
    await asyncio.sleep(0)
    assert (
        cancelled == [1] and f"{hook} handler from hung failed: timed out after 10ms" in caplog.text
    )


def test_openclaw_XO6_anybody_can_declare_a_hook(strict):
    @hookspec(modes.firstresult, bus=strict.bus)
    def pick_voice(language): ...

    strict.bus.signal("pick_voice").connect(
        lambda language: "Anna" if language == "de" else None, name="voices"
    )
    assert pick_voice("de") == "Anna" and pick_voice("en") is None


async def test_openclaw_XO7_one_receiver_can_be_disconnected_and_scopes_say_whom_it_is_for(
    bus, Agent
):
    class Other(Agent):
        pass

    seen, one, other = [], Agent(), Other()
    everyone = bus.signal("pre_tool").connected_to(lambda agent: seen.append("every"), name="every")
    bus.signal("pre_tool").connect(lambda agent: seen.append("class"), Other, name="class")
    bus.signal("pre_tool").connect(lambda agent: seen.append("instance"), one, name="instance")
    await one.tool("exec", {})
    await other.tool("exec", {})
    everyone.disconnect()
    with bus.signal("pre_tool").connected_to(lambda agent: seen.append("call"), other, name="call"):
        await other.tool("exec", {})
    await other.tool("exec", {})
    assert seen == ["instance", "every", "class", "every", "call", "class", "class"]


async def test_openclaw_XO7_one_handler_can_be_taken_out_of_the_adapter(strict):
    seen = []
    off = strict.registry.on("a", "session_start", lambda event, ctx: seen.append("a1"))
    strict.registry.on("a", "session_start", lambda event, ctx: seen.append("a2"))
    off()
    off()
    await strict.runner.run("session_start", {})
    assert seen == ["a2"] and strict.runner.get_hook_count("session_start") == 1
