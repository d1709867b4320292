"""What is wrong with AgenticX's hooks is right in hookbus. Each test names the defect it is the
answer to."""

import asyncio
import functools

import pytest

from hookbus import (
    Block,
    HookBlocked,
    HookError,
    explain,
    receives,
    report,
)  # fmt: skip
from hookbus.events import Failed
from hookbus.testing import record

from . import agenticx_defects_parts as parts
from .agenticx_defects_parts import deny

agent = parts.agent


def test_agenticx_x01_a_receiver_on_a_name_that_nothing_emits_is_reported(bus, agent):
    bus.signal("pre_tol").connect(deny, role="guard")
    agent.tool("rm", {})
    text = str(report(bus))
    assert "pre_tol" in text and "did you mean 'pre_tool'" in text
    bus.signal("pre_tool").connect(deny, role="guard")
    with pytest.raises(HookBlocked):
        agent.tool("rm", {})


def test_agenticx_x02_none_means_no_decision_on_every_point_sync_and_async(bus, agent):
    for hook in ("tool", "atool"):
        for phase in ("pre", "post"):
            for role in ("modify", "guard", "observe"):
                bus.signal(f"{phase}_{hook}").connect(
                    lambda agent: None, role=role, name=f"{phase} {role}"
                )
    assert agent.tool("read", {}) == asyncio.run(agent.atool("read", {})) == "read done"


def test_agenticx_x03_an_async_guard_blocks_or_is_refused(bus, agent):
    async def policy(agent, name):
        await asyncio.sleep(0)
        return Block("not today")

    bus.signal("pre_atool").connect(policy, role="guard")
    with pytest.raises(HookBlocked, match="not today"):
        asyncio.run(agent.atool("rm", {}))
    with pytest.raises(HookError, match="async"):
        bus.signal("pre_tool").connect(policy, sender=agent, role="guard")
    assert agent.ran == []


def test_agenticx_x04_a_guard_that_raises_blocks_and_is_named(bus, agent):
    def policy(agent):
        raise LookupError("the policy file is gone")

    bus.signal("pre_tool").connect(policy, role="guard")
    with pytest.raises(HookBlocked, match="policy") as blocked:
        agent.tool("rm", {})
    assert (
        blocked.value.receiver.endswith("policy")
        and "LookupError" in str(blocked.value)
        and agent.ran == []
    )


def test_agenticx_x05_any_callable_is_a_receiver_and_a_failed_registration_leaves_no_trace(
    bus, agent
):
    class Policy:
        def __call__(self, agent, name):
            heard.append(name)

    heard = []
    bus.signal("pre_tool").connect(Policy())
    bus.signal("pre_tool").connect(
        functools.partial(lambda note, agent, name: note.append(name), heard)
    )
    with pytest.raises(HookError):
        bus.signal("pre_tool").connect(lambda agent, nmae: None, sender=agent)
    agent.tool("read", {})
    assert heard == ["read", "read"] and len(explain(agent.tool)) == 2


def test_agenticx_x06_a_receiver_that_takes_itself_out_skips_nobody(bus, agent):
    def once(agent):
        bus.signal("pre_tool").disconnect(once)

    bus.signal("pre_tool").connect(once, priority=1)
    bus.signal("pre_tool").connect(deny, role="guard")
    bus.signal("pre_tool").connect(lambda agent: None, name="last")
    with pytest.raises(HookBlocked):
        agent.tool("rm", {})
    assert "once" not in [row.receiver for row in explain(agent.tool)]


def test_agenticx_x07_a_bound_method_that_was_disconnected_is_not_listed_and_does_not_run(
    bus, agent
):
    class Policy:
        def check(self, agent):
            heard.append(1)

    heard, policy = [], Policy()
    bus.signal("pre_tool").connect(policy.check, weak=False)
    bus.signal("pre_tool").disconnect(policy.check)
    agent.tool("read", {})
    assert heard == [] and list(explain(agent.tool)) == []


def test_agenticx_x08_x18_every_path_to_a_hookable_asks_the_same_receivers_once_per_call(
    bus, agent
):
    asked = []
    bus.signal("pre_atool").connect(
        lambda agent, name: asked.append(name), role="guard", name="look"
    )

    async def all_at_once():
        await asyncio.gather(
            *(agent.atool(name, {}) for name in "abc"), asyncio.create_task(agent.atool("d", {}))
        )
        await type(agent).atool(agent, "e", {})

    asyncio.run(all_at_once())
    assert sorted(asked) == list("abcde")


def test_agenticx_x09_the_arguments_that_are_shown_are_those_that_run(bus, agent):
    seen = []
    bus.signal("pre_tool").connect(
        lambda agent, args: {"args": {**args, "path": "/sandbox"}}, name="sandbox"
    )
    bus.signal("post_tool").connect(
        lambda agent, args: seen.append(args["path"]), role="observe", name="trace"
    )
    agent.tool("read", {"path": "/etc/secret"})
    assert seen == ["/sandbox"] and agent.ran == [("read", {"path": "/sandbox"})]


def test_agenticx_x10_x11_a_failing_observer_reaches_nobody_and_stops_none_after_it(bus, agent):
    heard = []

    def broken(agent):
        raise LookupError("the log is full")

    for phase in ("pre", "post", "finally"):
        bus.signal(f"{phase}_tool").connect(
            broken, role="observe", priority=1, name=f"broken {phase}"
        )
        bus.signal(f"{phase}_tool").connect(
            lambda agent, ctx: heard.append(1), role="observe", name=f"later {phase}"
        )
    with record(bus) as fired:
        assert agent.tool("read", {}) == "read done"
    assert len(heard) == 3
    assert [(event.receiver, event.action) for event in fired.of(Failed)] == [
        ("broken pre", "isolated"), ("broken post", "isolated"), ("broken finally", "isolated"),
    ]  # fmt: skip


@pytest.mark.parametrize("answer", [False, True, "no", {"blocked": True}])
def test_agenticx_x12_an_unknown_verdict_of_a_guard_blocks_and_is_told_with_receiver_and_type(
    bus, agent, answer
):
    bus.signal("pre_tool").connect(lambda agent: answer, role="guard", name="odd")
    with record(bus) as fired, pytest.raises(HookBlocked, match="odd"):
        agent.tool("rm", {})
    [failed] = fired.of(Failed)
    assert (
        failed.receiver == "odd"
        and type(answer).__name__ in str(failed.exception)
        and agent.ran == []
    )


def test_agenticx_x12_plain_and_async_receivers_serve_the_same_hook_and_results_of_any_type_replace(
    bus, agent
):
    async def slow(agent, result):
        return {"was": result}

    bus.signal("post_atool").connect(slow, priority=1)
    bus.signal("post_atool").connect(lambda agent, result: [result], name="plain")
    assert asyncio.run(agent.atool("read", {})) == [{"was": "read done"}]


def test_agenticx_x13_a_class_receiver_has_the_methods_it_needs(bus, agent):
    class Plugin:
        @receives("pre_tool", role="guard")
        def check(self, agent, name):
            return Block("no") if name == "rm" else None

    unregister = bus.register(Plugin())
    assert asyncio.run(agent.atool("rm", {})) == "rm done" and agent.tool("read", {}) == "read done"
    with pytest.raises(HookBlocked):
        agent.tool("rm", {})
    unregister()
    assert agent.tool("rm", {}) == "rm done"
