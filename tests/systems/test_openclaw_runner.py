"""Whom a runner of OpenClaw's hooks asks, what it shows of that, and what it logs."""

import asyncio

import pytest

from hookbus import HookError
from hookbus.adapters.openclaw import Background, HandlerError, HookRunner, Registry

from . import openclaw_parts as parts
from .openclaw_parts import Host, raising

host = parts.host


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
