"""OpenClaw's defects in tool calls, matchers and reloads are not hookbus's."""

import asyncio
import re

import pytest

from hookbus import (
    Block,
    Bus,
    HookBlocked,
    HookError,
    ReceiverError,
    Replace,
    explain,
    hookable,
    load_plugins,
    report,
)  # fmt: skip
from hookbus.adapters.openclaw import Background, HandlerError
from hookbus.events import Mutated
from hookbus.testing import record

from . import openclaw_defects_parts as parts
from .openclaw_defects_parts import EVENT, Strict, redact, stamp

Agent = parts.Agent
strict = parts.strict


async def test_openclaw_XO8_around_calls_the_tool_never_once_or_often(bus, Agent):
    async def retrying(agent, call_next, params):
        if "cached" in params:
            return "from the cache"
        await call_next()
        return await call_next(params={"again": True})

    bus.signal("around_tool").connect(retrying)
    agent = Agent()
    assert await agent.tool("exec", {"cached": 1}) == "from the cache" and agent.bodies == []
    assert await agent.tool("exec", {}) == "exec ran" and agent.bodies == [{}, {"again": True}]


async def test_openclaw_XO8_around_and_replacing_in_the_adapter(strict):
    async def twice(tools, call_next):
        return [await call_next(), await call_next()]

    strict.bus.signal("around_tool_call").connect(twice)
    assert await strict.call(cmd="ls") == ["done", "done"] and len(strict.ran) == 2
    strict.bus.signal("pre_tool_call").connect(lambda tools: Replace("from the cache"))
    assert await strict.call(cmd="ls") == "from the cache" and len(strict.ran) == 2


async def test_openclaw_XO9_globs_and_predicates_and_a_plan_that_is_made_once(bus, Agent):
    seen = []
    bus.signal("pre_tool").connect(
        lambda agent, name: seen.append(name), when={"name": "ba*"}, name="glob"
    )
    bus.signal("pre_tool").connect(
        lambda agent, name: seen.append(name), when=lambda name: name[0] == "e", name="predicate"
    )
    agent = Agent()
    for name in ("bash", "exec", "read"):
        await agent.tool(name, {})
    assert seen == ["bash", "exec"]


async def test_openclaw_XO9_globs_patterns_and_predicates_in_the_adapter(strict):
    seen = []
    matchers = {
        "glob": ["re*", "x"],
        "pattern": re.compile("read|write"),
        "predicate": lambda tool: tool.endswith("d"),
    }
    for plugin, matcher in matchers.items():
        strict.registry.on(
            plugin, "before_tool_call", lambda event, ctx, plugin=plugin: seen.append(plugin),
            matcher=matcher,
        )  # fmt: skip
    await strict.runner.run("before_tool_call", {"toolName": "read", "params": {}})
    await strict.runner.run("before_tool_call", {"toolName": "write", "params": {}})
    assert seen == ["glob", "pattern", "predicate", "pattern"]
    for wrong in ([], [""], 5, [5]):
        with pytest.raises(TypeError):
            strict.registry.on("a", "before_tool_call", print, matcher=wrong)


async def test_openclaw_XO10_what_does_not_fit_is_counted_told_and_refused_if_so_declared():
    told, gate = [], asyncio.Event()
    background = Background(most_running=1, most_queued=0, on_full="raise", on_drop=told.append)
    assert background.start(gate.wait, "fits")
    with pytest.raises(HookError, match="the queue is full for a: 1 running"):
        background.start(gate.wait, "a")
    first, background = background, Background(most_running=1, most_queued=1, on_drop=told.append)
    assert [background.start(gate.wait, label) for label in "bcd"] == [True, True, False]
    assert (background.dropped, told) == (1, ["a", "d"])
    gate.set()
    await first.drain()
    await background.drain()
    with pytest.raises(HookError, match="'drop' or 'raise'"):
        Background(on_full="wait")


def test_openclaw_OI1_what_never_fires_is_listed_with_a_suggestion(bus, Agent):
    bus.signal("pre_tol").connect(lambda agent: None, name="misspelt")
    bus.signal("pre_tool").connect(lambda agent: None, name="quiet")
    findings = "\n".join(report(bus).findings)
    assert "nothing emits pre_tol" in findings and "did you mean 'pre_tool'" in findings
    assert any(
        finding.startswith("never fired: ") and "quiet" in finding
        for finding in report(bus).findings
    )


def test_openclaw_OI1_what_never_fires_is_refused_or_listed_in_the_adapter(strict):
    with pytest.raises(HookError, match="did you mean 'session_start'"):
        strict.registry.on("a", "sesion_start", print)
    with pytest.raises(HookError, match="ignores tool matcher"):
        strict.registry.on("a", "session_start", print, matcher=["exec"])
    strict.registry.on("a", "session_start", print)
    assert any(
        "never fired" in finding and "session_start" in finding
        for finding in report(strict.bus).findings
    )


async def test_openclaw_OI2_twice_connected_is_once(bus, Agent):
    seen = []

    def note(agent):
        seen.append(1)

    for _ in range(3):
        bus.signal("pre_tool").connect(note)
    await Agent().tool("exec", {})
    assert seen == [1]


async def test_openclaw_OI2_twice_registered_or_reloaded_is_once_in_the_adapter(strict):
    seen = []

    def note(event, ctx):
        seen.append(event.get("toolName"))

    def register(api):
        api.on("before_tool_call", note)
        api.on("before_tool_call", note, priority=3)

    for _ in range(3):
        strict.registry.load("a", register)
    strict.registry.on("a", "before_tool_call", note, priority=5)
    await strict.call(cmd="ls")
    await strict.runner.run("before_tool_call", EVENT)
    assert seen == ["exec", "exec"] and [each.priority for each in strict.registry.typed_hooks] == [
        5
    ]


async def test_openclaw_OI4_references_held_across_a_reload_reach_the_current_receivers(
    bus, Agent, tmp_path
):
    (tmp_path / "p").mkdir()
    manifest = 'format = 1\nid = "p"\nversion = "1"\nhooks = ["post_tool"]'
    (tmp_path / "p" / "hookbus-plugin.toml").write_text(manifest)
    source = (
        "def hide(agent, result):\n    return {!r}\n"
        "def register(api):\n    api.connect('post_tool', hide)\n"
    )
    (tmp_path / "p" / "plugin.py").write_text(source.format("old"))
    plugins, agent = load_plugins(bus, user=tmp_path, installed=False), Agent()
    held = agent.tool
    before = await held("exec", {})
    (tmp_path / "p" / "plugin.py").write_text(source.format("the new one"))
    plugins.reload("p")
    assert (before, await held("exec", {})) == ("old", "the new one")
    plugins.close()


async def test_openclaw_OI4_references_held_across_a_reload_in_the_adapter(strict):
    seen, held = [], strict.runner.run

    def saying(word):
        return lambda api: api.on("session_start", lambda event, ctx: seen.append(word))

    for word in ("old", "new"):
        strict.registry.load("a", saying(word))
        await held("session_start", {})
    assert seen == ["old", "new"]


async def test_openclaw_OI5_every_change_is_attributed_and_guards_see_what_is_used(bus, Agent):
    bus.signal("pre_tool").connect(
        lambda agent, params: {"params": {**params, "b": 2}}, name="changer"
    )
    seen = []
    bus.signal("pre_tool").connect(
        lambda agent, params: seen.append(params), role="guard", name="last word", priority=99
    )
    with record(bus) as fired:
        await Agent().tool("exec", {"a": 1})
    [change] = fired.of(Mutated)
    assert (change.receiver, change.before, change.after) == ("changer", {"a": 1}, {"a": 1, "b": 2})
    assert seen == [{"a": 1, "b": 2}]


async def test_openclaw_OI5_an_approval_freezes_params_and_changes_are_attributed_in_the_adapter():
    requests = []

    def approve(request):
        requests.append(request.params)
        return "allow-once"

    strict = Strict(approve)
    strict.registry.on("redact", "before_tool_call", redact, priority=9)
    strict.registry.on(
        "asks", "before_tool_call", lambda event, ctx: {"requireApproval": {"title": "T"}},
        priority=5,
    )  # fmt: skip
    with record(strict.bus) as fired:
        await strict.call(secret="4711")
    changes = [(change.receiver, change.name) for change in fired.of(Mutated)]
    assert changes == [("redact", "arguments"), ("asks", "approval")]
    assert requests == strict.ran == [{"secret": "***"}]
    strict.registry.on("late", "before_tool_call", stamp)
    with pytest.raises(HookBlocked) as blocked:
        await strict.call(secret="4711")
    assert blocked.value.receiver == "late" and len(strict.ran) == 1
    with pytest.raises(HandlerError, match="an approval was already requested"):
        await strict.runner.run("before_tool_call", EVENT)


async def test_openclaw_OI5_who_changes_params_past_an_approval_has_it_asked_again():
    requests = []
    strict = Strict(lambda request: requests.append(request.params) or "allow-once")
    strict.registry.on(
        "asks", "before_tool_call", lambda event, ctx: {"requireApproval": {"title": "T"}}
    )

    async def twice(tools, call_next):
        await call_next()
        return await call_next(arguments={"cmd": "rm"})

    strict.bus.signal("around_tool_call").connect(twice)
    await strict.call(cmd="ls")
    assert requests == strict.ran == [{"cmd": "ls"}, {"cmd": "rm"}]


def test_openclaw_OI6_a_guard_stops_the_outermost_call_and_one_decorator_is_enough():
    bus, ran = Bus(), []

    @hookable(bus=bus)
    def run(prompt):
        ran.append(prompt)

    @bus.signal("pre_run").connect_via(role="guard", name="gate")
    def gate(function, prompt):
        return Block("not now") if "rm" in prompt else None

    run("ls")
    with pytest.raises(HookBlocked, match="not now"):
        run("rm -rf")
    assert ran == ["ls"] and [row.receiver for row in explain(run)] == ["gate"]


async def test_openclaw_OI6_a_guard_stops_a_run_in_the_adapter(strict):
    strict.bus.signal("pre_before_agent_run").connect(
        lambda spec, event: Block("not now"), role="guard", name="gate"
    )
    asked = []
    strict.registry.on("a", "before_agent_run", lambda event, ctx: asked.append(1))
    with pytest.raises(HookBlocked, match="not now"):
        await strict.runner.run("before_agent_run", {"prompt": "p"})
    assert asked == []


async def test_a_modifier_that_asks_to_raise_is_told_apart_from_the_tools_own_error(strict):
    def broken(tools):
        raise LookupError("the log is full")

    strict.bus.signal("pre_tool_call").connect(broken, on_error="raise", name="broken")
    with pytest.raises(ReceiverError, match="broken"):
        await strict.call(cmd="ls")
    assert strict.ran == []
