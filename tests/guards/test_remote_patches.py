"""guards.remote(patches=True): a permit may change the arguments, and these are judged, too."""

import pytest

from hookbus import HookBlocked
from hookbus.guards import remote

from .policy_servers import PERMIT, answering

ENOUGH = 30.0


def patch(**arguments):
    return {"decision": True, "context": {"arguments": arguments}}


def test_a_permit_changes_the_arguments_and_the_other_guards_judge_these(call, bus):
    def policy(question):
        to = question["action"]["properties"]["arguments"]["arguments"]["to"]
        return patch(arguments={"to": "ann"}) if to == "bob" else {"decision": True}

    seen = []

    def other(sender, ctx):
        seen.append(dict(ctx.kwargs["arguments"]))

    with answering(policy) as server:
        bus.register(remote(server.url, deadline=ENOUGH, patches=True))
        bus.signal("pre_tool_call").connect(other, role="guard")
        call("pay", to="bob")
        call("pay", to="eve")
    assert [arguments for _, arguments in call.made] == [{"to": "ann"}, {"to": "eve"}]
    assert seen == [{"to": "ann"}, {"to": "eve"}]
    asked = [
        (each["action"]["properties"]["arguments"]["arguments"]["to"], each["context"]["patches"])
        for each in server.questions
    ]
    assert asked == [("bob", True), ("eve", True)]


def test_what_a_later_modifier_makes_of_a_patch_is_asked_about(call, bus):
    def policy(question):
        to = question["action"]["properties"]["arguments"]["arguments"]["to"]
        return {"decision": False} if to == "eve" else patch(arguments={"to": "ann"})

    def later(sender, arguments):
        return {"arguments": {"to": "eve"}}

    with answering(policy) as server:
        bus.register(remote(server.url, deadline=ENOUGH, patches=True))
        bus.signal("pre_tool_call").connect(later, priority=-2e6)
        with pytest.raises(HookBlocked, match="not allowed by the policy"):
            call("pay", to="bob")
    assert call.made == [] and len(server.questions) == 2


def test_what_another_modifier_or_an_attempt_changes_is_asked_about(call, bus):
    def retry(sender, call_next):
        call_next(arguments={"to": "first"})
        return call_next()

    async def retry_async(sender, call_next):
        await call_next(arguments={"to": "first"})
        return await call_next()

    with answering(PERMIT) as server:
        bus.register(remote(server.url, deadline=ENOUGH, patches=True))
        again = retry_async if call.is_async else retry
        bus.signal("around_tool_call").connect(again)
        call("pay", to="bob")
    asked = [each["action"]["properties"]["arguments"]["arguments"] for each in server.questions]
    assert asked == [{"to": "bob"}, {"to": "first"}, {"to": "bob"}]


PATCHES = {
    "unknown": (patch(amount=1), "an argument that the call does not have"),
    "a label": (patch(kind="x"), "an argument that the call does not have"),
    "a list": (
        {"decision": True, "context": {"arguments": []}}, "arguments that are not an object",
    ),
    "no mapping": (patch(arguments=[1]), "something that is not an object"),
    "no name": (patch(name=7), "something that is not a string"),
}  # fmt: skip


@pytest.mark.parametrize("answer, words", PATCHES.values(), ids=PATCHES)
def test_a_bad_patch_blocks(call, bus, answer, words):
    with answering(answer) as server:
        bus.register(remote(server.url, deadline=ENOUGH, patches=True))
        with pytest.raises(HookBlocked, match=words) as error:
            call("pay", to="bob")
    assert error.value.verdict.details["failure"] == "malformed" and call.made == []


def test_where_patches_are_taken_a_server_that_is_away_blocks(call, bus):
    bus.register(remote("http://127.0.0.1:9", deadline=ENOUGH, patches=True))
    with pytest.raises(HookBlocked, match="cannot be reached"):
        call("pay")
    assert call.made == []
