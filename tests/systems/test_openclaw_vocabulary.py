"""OpenClaw's tools speak the vocabulary: a guard written for another framework holds here."""

import pytest

from hookbus import Block, HookBlocked
from hookbus.adapters.openclaw import GLOBAL_POLICY, HookRunner, Registry, ToolCalls

from .vocabulary import Words


@pytest.fixture(params=[False, True], ids=["default", "strict"])
def registry(request):
    return Registry(strict=request.param)


def calls_of(registry, approve=None, **tools):
    return ToolCalls(HookRunner(registry, failure_policy=GLOBAL_POLICY), tools, approve=approve)


def mailing(sent):
    def mail(params):
        sent.append(params["to"])
        return f"mail to {params['to']}"

    return mail


async def test_a_guard_in_the_words_of_the_vocabulary_holds(registry):
    words, sent = Words(registry.bus), []
    mail = mailing(sent)
    calls = calls_of(registry, mail=mail)
    assert await calls.call("mail", {"to": " bob "}, toolCallId="1") == "mail to bob"
    with pytest.raises(HookBlocked, match="eve is outside"):
        await calls.call("mail", {"to": " eve "}, {"agentId": "main"})
    assert sent == ["bob"] and words.only("name", "arguments", "call_id", "caller") == [
        ("mail", {"to": "bob"}, "1", None),
        ("mail", {"to": "eve"}, None, "main"),
    ]
    assert words.only("sender", "tool", "kind") == [(mail, mail, "function")] * 2


async def test_a_guard_sees_what_a_plugin_made_of_a_call(registry):
    words, sent = Words(registry.bus), []
    registry.on("p", "before_tool_call", lambda event, ctx: {"params": {"to": "eve"}})
    with pytest.raises(HookBlocked, match="eve is outside"):
        await calls_of(registry, mail=mailing(sent)).call("mail", {"to": "bob"})
    assert sent == [] and words.only("arguments") == [({"to": "eve"},)]


async def test_a_guard_of_one_tool_guards_that_tool_alone(registry):
    sent = []
    guarded, other = mailing(sent), mailing(sent)
    registry.bus.signal("pre_tool_call").connect(
        lambda tool: Block("not this one"), sender=guarded, role="guard", name="stop"
    )
    calls = calls_of(registry, mail=guarded, post=other)
    with pytest.raises(HookBlocked, match="not this one"):
        await calls.call("mail", {"to": "bob"})
    assert await calls.call("post", {"to": "bob"}) == "mail to bob" and sent == ["bob"]


async def test_each_caller_of_tools_is_asked_for_the_approvals_of_its_own_calls(registry):
    asked = []

    def asking(word):
        return lambda request: asked.append((word, request.params["to"])) or "allow-once"

    for name in ("one", "two"):
        registry.trust(name, lambda event, ctx: {"requireApproval": {"title": "Send"}})
    for word in ("first", "second"):
        await calls_of(registry, asking(word), mail=mailing([])).call("mail", {"to": word})
    assert asked == [("first", "first"), ("second", "second")]


async def test_only_the_arguments_of_a_call_can_be_changed(registry):
    sent, other = [], []
    registry.bus.signal("pre_tool_call").connect(
        lambda sender: {"name": "post", "tool": mailing(other)}, name="another"
    )
    calls = calls_of(registry, mail=mailing(sent), post=mailing(other))
    assert await calls.call("mail", {"to": "bob"}) == "mail to bob"
    assert (sent, other) == (["bob"], [])
