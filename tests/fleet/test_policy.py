"""fleet.policy: the guards of one bus decide the calls of agents elsewhere."""

import asyncio
import json
import time
from contextlib import closing

import pytest

from hookbus import Ask, Block, Bus, HookBlocked, HookError, Replace, baggage, hookable
from hookbus.approvals import ApprovalPending, Approved, Store
from hookbus.fleet import policy
from hookbus.guards import quarantine, rate_limit, redact, remote, tool_policy

from ..guards.policy_servers import serving

TOKEN = "a-token-of-the-agents"
ENOUGH = 30.0


@pytest.fixture
def central():
    return Bus()


def question(name="pay", patches=False, **changes):
    """Return a question in the form of guards.remote, with some parts changed."""
    made = {
        "subject": {"type": "agent", "id": "ada", "properties": {"baggage": {"user": "ada"}}},
        "action": {
            "name": "tool_call",
            "properties": {"arguments": {"name": name, "arguments": {"to": "bob"}}},
        },
        "resource": {"type": "tool", "id": name},
        "context": {"hookbus": 1, "phase": "pre", "deadline": ENOUGH, "patches": patches},
    }
    return {**made, **changes}


def post(app, body, token=TOKEN, path="/access/v1/evaluation", method="POST", pieces=1):
    """Send a request to an ASGI app without a network, and return its status and answer."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    size = max(1, -(-len(text) // pieces))
    parts = [text[at : at + size] for at in range(0, len(text), size)] or [b""]
    headers = [] if token is None else [(b"authorization", f"Bearer {token}".encode())]
    scope = {"type": "http", "method": method, "path": path, "headers": headers}
    sent = []

    async def receive():
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])


def decided(app, **changes):
    status, answer = post(app, question(**changes))
    assert status == 200
    return answer


def denial(reason, code=None):
    context = {"reason": reason} if code is None else {"reason": reason, "code": code}
    return {"decision": False, "context": context}


def test_agents_elsewhere_are_decided_by_its_guards(central):
    central.register(tool_policy(allow="read", deny="rm", default="block"))
    central.register(rate_limit(2, per="user"))
    agent, made = Bus(), []

    @hookable("tool_call", bus=agent)
    def call(name, arguments):
        made.append((name, arguments))

    with serving(policy(central, tokens=["another-token-1234", TOKEN])) as url:
        agent.register(remote(url, token=TOKEN, deadline=ENOUGH))
        with baggage(user="ada"):
            call("read", {"path": "a"})
            with pytest.raises(HookBlocked, match="remote: tool 'rm' is not allowed"):
                call("rm", {})
            with pytest.raises(HookBlocked, match="limit of 2 calls per user") as error:
                call("read", {})
        with baggage(user="bob"):
            call("read", {})
    assert error.value.verdict.code == "limit" and len(made) == 2


def test_modifiers_change_the_arguments_of_those_who_take_patches(central):
    central.register(redact(personal=False, patterns="[0-9]{4}"))
    central.register(tool_policy(allow="*"))
    agent, made = Bus(), []

    @hookable("tool_call", bus=agent)
    async def call(name, arguments):
        made.append(arguments["pin"])

    with serving(policy(central, tokens=TOKEN)) as url:
        off = agent.register(remote(url, token=TOKEN, deadline=ENOUGH, patches=True))
        asyncio.run(call("pay", {"pin": "pin 4711"}))
        off()
        agent.register(remote(url, token=TOKEN, deadline=ENOUGH))
        with pytest.raises(HookBlocked, match="the client accepts no changes"):
            asyncio.run(call("pay", {"pin": "pin 4711"}))
    assert len(made) == 1 and "4711" not in made[0]


def test_an_approval_is_parked_at_the_policy_and_passes_once(central, tmp_path):
    def large(sender, name):
        return Ask("pay?")

    central.signal("pre_tool_call").connect(large, role="guard")
    app = policy(central, tokens=TOKEN)
    with closing(Store(tmp_path / "approvals.db")) as store:
        central.approver(store)
        first = decided(app)
        assert first["decision"] is False and first["context"]["code"] == "pending"
        [request] = store.pending()
        assert request.id in first["context"]["reason"] and request.bound == {"user": "ada"}
        assert request.arguments["arguments"] == {"to": "bob"}
        store.answer(request.id, Approved("eve"))
        assert decided(app) == {"decision": True}
        assert decided(app)["context"]["code"] == "pending"


def test_no_guard_no_permit(central):
    app = policy(central, tokens=TOKEN)
    assert decided(app)["decision"] is False
    central.signal("pre_tool_call").connect(lambda sender: None, role="guard", weak=False)
    assert decided(app) == {"decision": True}


class Secret(Exception):
    pass


def fail(sender):
    raise Secret("hunter2")


async def fail_async(sender):
    raise HookError("hunter2")


def wrong(sender):
    return "hunter2"


def unwritable(sender):
    return {"arguments": {"to": {1}}}


def around(sender, call_next):
    raise Secret("hunter2")


BROKEN = {
    "a guard": (fail, {"role": "guard"}), "an async guard": (fail_async, {"role": "guard"}),
    "an answer": (wrong, {"role": "guard"}), "a modifier": (fail, {"on_error": "block"}),
    "a modifier that raises": (fail, {"on_error": "raise"}), "no JSON": (unwritable, {}),
    "an around": (around, {}),
}  # fmt: skip


@pytest.mark.parametrize("receiver, options", BROKEN.values(), ids=BROKEN)
def test_what_breaks_is_answered_as_blocked_and_without_its_text(
    central, caplog, receiver, options
):
    central.register(tool_policy(allow="*"))
    phase = "around" if receiver is around else "pre"
    central.signal(f"{phase}_tool_call").connect(receiver, **options)
    assert decided(policy(central, tokens=TOKEN)) == denial("blocked")
    assert any(each.levelname == "ERROR" for each in caplog.records)


def replaced(sender):
    return Replace("done")


def with_result(sender):
    return Block("no", result="a text")


def withheld(sender):
    return Block("too late", code="late", result="a text")


@pytest.mark.parametrize("phase, receiver, role", [
    ("pre", replaced, "modify"), ("pre", with_result, "guard"), ("post", withheld, "guard"),
    ("around", lambda sender, call_next: "cached", None),
], ids=["replaced", "blocked with a result", "blocked in post", "cached"])  # fmt: skip
def test_a_result_of_a_receiver_is_no_permit(central, phase, receiver, role):
    central.register(tool_policy(allow="*"))
    options = {} if role is None else {"role": role}
    central.signal(f"{phase}_tool_call").connect(receiver, weak=False, **options)
    assert decided(policy(central, tokens=TOKEN)) == denial("not allowed by the policy")


def test_guards_that_look_at_results_do_not_disturb(central):
    for each in (tool_policy(allow="*"), redact(), quarantine()):
        central.register(each)
    assert decided(policy(central, tokens=TOKEN)) == {"decision": True}


def test_a_decision_that_takes_too_long_is_a_denial(central):
    async def slow(sender):
        await asyncio.sleep(20)

    central.signal("pre_tool_call").connect(slow, role="guard")
    app = policy(central, tokens=TOKEN)
    context = {**question()["context"], "deadline": 0.05}
    began = time.monotonic()
    assert decided(app, context=context) == denial("the policy did not decide in time")
    assert time.monotonic() - began < 15


def test_requests_side_by_side_are_each_decided_with_their_own_baggage(central):
    async def judge(sender, baggage, arguments):
        await asyncio.sleep(0.001)
        return None if baggage["user"] == arguments["to"] else Block("another user")

    central.signal("pre_tool_call").connect(judge, role="guard")
    agent = Bus()

    @hookable("tool_call", bus=agent)
    async def call(name, arguments):
        return arguments["to"]

    async def one(number):
        with baggage(user=str(number)):
            return await call("pay", {"to": str(number - number % 2)})

    async def main():
        return await asyncio.gather(*map(one, range(60)), return_exceptions=True)

    with serving(policy(central, tokens=TOKEN)) as url:
        agent.register(remote(url, token=TOKEN, deadline=ENOUGH))
        answers = asyncio.run(main())
    assert answers[::2] == [str(number) for number in range(0, 60, 2)]
    assert all("another user" in str(each) for each in answers[1::2])


# --- requests that are refused


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper()])
def test_without_its_token_nothing_is_decided(central, token):
    asked = []
    central.signal("pre_tool_call").connect(
        lambda sender: asked.append(1), role="guard", weak=False
    )
    status, answer = post(policy(central, tokens=TOKEN), question(), token=token)
    assert status == 401 and TOKEN not in str(answer) and asked == []


@pytest.mark.parametrize("changes, status", [
    ({"path": "/"}, 404), ({"path": "/access/v1/evaluations"}, 404), ({"method": "GET"}, 405),
])  # fmt: skip
def test_another_path_or_method_is_refused(central, changes, status):
    assert post(policy(central, tokens=TOKEN), question(), **changes)[0] == status


@pytest.mark.parametrize("pieces", [1, 7])
def test_a_body_that_is_too_long_is_not_read(central, pieces):
    app = policy(central, tokens=TOKEN, max_bytes=1_000)
    assert post(app, b" " * 1_001, pieces=pieces)[0] == 413


def with_baggage(id, **values):
    return {"type": "agent", "id": id, "properties": {"baggage": values}}


def with_arguments(**values):
    return {"name": "tool_call", "properties": {"arguments": values}}


CONTEXT = question()["context"]
BAD = {
    "empty": (b"", "not valid JSON"), "a list": (b"[]", "subject.id"),
    "no UTF-8": (b'"\xff"', "not UTF-8"), "a number": (b"7", "subject.id"),
    "a name twice": (b'{"subject": 1, "subject": 2}', "duplicated"),
    "NaN": (b'{"a": NaN}', "NaN"), "nested": (b"[" * 200_000, "nested"),
    "no subject": (question(subject=None), "subject"),
    "no id": (question(subject=with_baggage(7)), "subject.id"),
    "half a character": (question(subject=with_baggage("\ud800")), "subject.id"),
    "another id": (question(subject=with_baggage("ada", user="eve")), "subject.id must be the"),
    "no baggage": (question(subject={"id": "ada", "properties": {}}), "baggage must be"),
    "another hook": (question(action={"name": "pay"}), "action.name must be 'tool_call'"),
    "no arguments": (question(action=with_arguments(name="pay")), "name and arguments"),
    "more arguments": (
        question(action=with_arguments(name="pay", arguments={}, cwd="/")), "nothing else",
    ),
    "a list of arguments": (
        question(action=with_arguments(name="pay", arguments=[])), "name and arguments",
    ),
    "another tool": (question(resource={"type": "tool", "id": "read"}), "resource.id"),
    "a hook": (question(resource={"type": "hook", "id": "pay"}), "resource.type"),
    "no context": (question(context=None), "context must be"),
    "a later version": (question(context={**CONTEXT, "hookbus": 2}), "context.hookbus"),
    "no version": (question(context={**CONTEXT, "hookbus": True}), "context.hookbus"),
    "another phase": (question(context={**CONTEXT, "phase": "post"}), "context.phase"),
    "no deadline": (question(context={**CONTEXT, "deadline": "1"}), "context.deadline"),
    "zero": (question(context={**CONTEXT, "deadline": 0}), "context.deadline"),
}  # fmt: skip


@pytest.mark.parametrize("body, words", BAD.values(), ids=BAD)
def test_a_bad_request_is_refused_in_one_line(central, body, words):
    central.register(tool_policy(allow="*"))
    status, answer = post(policy(central, tokens=TOKEN), body)
    assert status == 400 and words in answer["error"] and "\n" not in answer["error"]
    assert list(answer) == ["error"]


def test_it_begins_and_ends_with_its_server(central):
    messages, sent = ["startup", "shutdown"], []

    async def receive():
        return {"type": f"lifespan.{messages.pop(0)}"}

    async def send(message):
        sent.append(message["type"])

    app = policy(central, tokens=TOKEN)
    asyncio.run(app({"type": "lifespan"}, receive, send))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    with pytest.raises(RuntimeError, match="websocket"):
        asyncio.run(app({"type": "websocket"}, receive, send))


@pytest.mark.parametrize("settings, words", [
    ({"tokens": ""}, "tokens="), ({"tokens": []}, "tokens="), ({"tokens": None}, "tokens="),
    ({"tokens": "hunter2"}, "tokens="), ({"tokens": [TOKEN, "hunter2"]}, "tokens="),
    ({"tokens": "hunter2 hunter2 hunter2"}, "tokens="), ({"tokens": TOKEN, "hook": ""}, "hook="),
    ({"tokens": TOKEN, "hook": "pay_*"}, "hook="), ({"tokens": TOKEN, "max_bytes": 0}, "max_bytes"),
    ({"tokens": TOKEN, "bus": "bus"}, "bus"), ({}, "tokens"),
], ids=str)  # fmt: skip
def test_a_wrong_setting_is_refused_without_the_token(central, settings, words):
    with pytest.raises((HookError, TypeError), match=words) as error:
        policy(**{"bus": central, **settings})
    assert "hunter2" not in str(error.value)


def test_an_approval_that_waits_is_a_blocked_call_at_the_agent(central, tmp_path):
    central.signal("pre_tool_call").connect(lambda sender: Ask("ok?"), role="guard", weak=False)
    agent = Bus()

    @hookable("tool_call", bus=agent)
    def call(name, arguments):
        return "paid"

    with closing(Store(tmp_path / "approvals.db")) as store:
        central.approver(store)
        with serving(policy(central, tokens=TOKEN)) as url:
            agent.register(remote(url, token=TOKEN, deadline=ENOUGH))
            with pytest.raises(HookBlocked) as error:
                call("pay", {})
            assert error.value.verdict.code == "pending"
            assert not isinstance(error.value, ApprovalPending)
            store.answer(store.pending()[0].id, Approved("eve"))
            assert call("pay", {}) == "paid"
