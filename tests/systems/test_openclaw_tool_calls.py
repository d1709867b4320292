"""The way of a tool call through OpenClaw's policies, hooks and approvals."""

import asyncio

import pytest

from hookbus import HookBlocked
from hookbus.adapters.openclaw import ToolCalls

from . import openclaw_parts as parts
from .openclaw_parts import Host, raising

host = parts.host


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
