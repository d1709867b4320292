"""A call that the body of an approved one hands on, as mounted servers do, has the same approval.

The guards here are a user's own, which know nothing of layers.
"""

import asyncio
import contextvars
import inspect
import threading
from operator import attrgetter

import pytest

from hookbus import Ask, HookBlocked, baggage, hookable
from hookbus.approvals import ApprovalPending, Approved, Denied, Inbox
from hookbus.events import Invoked
from hookbus.guards import tool_policy

from .conftest import COLOURS

NAMES = ("shop_bank_pay", "bank_pay", "pay")
ARGUMENTS = {"to": "ada", "sums": [1, {"a": 2}]}


class Server:
    """A server that hands a call of its tool on to another one, `below`.

    `hand_on(call, arguments)` calls that one, as often and with what it likes.
    """

    def __init__(self, ran, name, below=None, hand_on=lambda call, arguments: call(arguments)):
        self.ran, self.name, self.below, self.hand_on = ran, name, below, hand_on

    def call(self, arguments):
        kind = "function" if self.below is None else "mcp"
        return self.run(self.name, dict(arguments), kind)

    def body(self, name, arguments):
        self.ran.append(name)
        return "done" if self.below is None else self.hand_on(self.below.call, arguments)


def server_class(bus, colour="sync"):
    known_by = attrgetter("name")

    class Sync(Server):
        @hookable("tool_call", bus=bus, identity=known_by)
        def run(self, name, arguments, kind):
            return self.body(name, arguments)

    class Async(Server):
        @hookable("tool_call", bus=bus, identity=known_by)
        async def run(self, name, arguments, kind):
            await asyncio.sleep(0)
            result = self.body(name, arguments)
            return await result if inspect.iscoroutine(result) else result

    class Stream(Server):
        @hookable("tool_call", bus=bus, identity=known_by)
        def run(self, name, arguments, kind):
            yield "first"
            result = self.body(name, arguments)
            yield [*result] if hasattr(result, "send") else result

    class AsyncStream(Server):
        @hookable("tool_call", bus=bus, identity=known_by)
        async def run(self, name, arguments, kind):
            yield "first"
            result = self.body(name, arguments)
            yield [item async for item in result] if hasattr(result, "asend") else result

    return dict(zip(COLOURS, (Sync, Async, Stream, AsyncStream)))[colour]


def layers(make, names=NAMES, hand_on=None):
    """Return servers that hand on to each other, the outermost, and what ran."""
    ran, server = [], None
    more = {} if hand_on is None else {"hand_on": hand_on}
    for name in reversed(names):
        server = make(ran, name, server, **more)
    return server, ran


def run(result):
    """Read a result of any colour to its end."""

    async def read():
        if hasattr(result, "asend"):
            return [item async for item in result]
        return await result

    if hasattr(result, "asend") or inspect.iscoroutine(result):
        return asyncio.run(read())
    return [*result] if hasattr(result, "send") else result


@pytest.fixture
def guard(bus):
    """A guard that asks about each call."""
    return bus.signal("pre_tool_call").connect(
        lambda sender, name: Ask(f"run {name}?"), role="guard", name="careful", weak=False
    )


@pytest.fixture
def asked(bus, guard):
    """What the person was asked, who approves all."""
    questions = []
    bus.approver(lambda request: (questions.append(request.question), Approved("ada"))[1])
    return questions


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("names", [NAMES, ("pay", "pay", "pay"), ("mcp__bank.pay", "pay")])
def test_the_person_is_asked_once_for_all_layers(bus, asked, colour, names):
    server, ran = layers(server_class(bus, colour), names)
    run(server.call(ARGUMENTS))
    assert asked == [f"run {names[0]}?"] and ran == [*names]
    run(server.call(ARGUMENTS))
    assert len(asked) == 2


def test_each_layer_tells_who_approved(bus, asked):
    told = []
    bus.events.connect(lambda bus, event: told.append(event), kinds=Invoked, weak=False)
    layers(server_class(bus))[0].call(ARGUMENTS)
    assert [(event.receiver, event.answer, event.by) for event in told] == [
        ("careful", "asked", None), ("careful", "approved", "ada")
    ] * 3  # fmt: skip


def test_a_client_and_a_server_with_a_hook_of_the_same_name_are_two_layers(bus, asked):
    class End:
        @hookable("pay", bus=bus)
        def pay(self, to):
            return to

    class Client(End):
        @hookable("pay", bus=bus)
        def pay(self, to):
            return End().pay(to)

    bus.signal("pre_pay").connect(lambda sender, to: Ask(f"pay {to}?"), role="guard", weak=False)
    assert Client().pay("bob") == "bob" and asked == ["pay bob?"]


@pytest.mark.parametrize(
    "names, arguments",
    [(("tidy", "pay"), ARGUMENTS), (("repay", "pay"), ARGUMENTS), (("pay", "bank_pay"), ARGUMENTS),
     (("bank_pay", "pay"), {**ARGUMENTS, "to": "eve"}), (("bank_pay", "pay"), {"to": "ada"}),
     (("bank_pay", "pay"), {**ARGUMENTS, "sums": [1, {"a": 2.5}]})],
    ids=repr,
)  # fmt: skip
def test_another_tool_or_other_arguments_are_asked_about(bus, asked, names, arguments):
    server, _ = layers(server_class(bus), names, lambda call, given: call(arguments))
    server.call(ARGUMENTS)
    assert asked == [f"run {name}?" for name in names]


def test_arguments_that_the_body_changed_in_place_are_other_arguments(bus, asked):
    def hand_on(call, arguments):
        arguments["to"] = "eve"
        return call(arguments)

    layers(server_class(bus), ("bank_pay", "pay"), hand_on)[0].call(ARGUMENTS)
    assert asked == ["run bank_pay?", "run pay?"]


def test_other_baggage_is_asked_about_where_the_approval_is_bound_to_it(bus, asked, guard):
    def hand_on(call, arguments):
        with baggage(user="eve"):
            return call(arguments)

    server, _ = layers(server_class(bus), ("bank_pay", "pay"), hand_on)
    with baggage(user="ada"):
        server.call(ARGUMENTS)
    assert asked == ["run bank_pay?", "run pay?"]
    bus.signal("pre_tool_call").disconnect(guard)
    bus.signal("pre_tool_call").connect(
        lambda sender: Ask("run?", bind=()), role="guard", weak=False
    )
    server.call(ARGUMENTS)
    assert asked[2:] == ["run?"]


@pytest.mark.parametrize(
    "question, also",
    [(Ask("run pay?", code="worse"), None), (Ask("really run pay?"), None),
     (Ask("run pay?", bind=()), None), (None, Ask("is it late?"))],
    ids=repr,
)  # fmt: skip
def test_another_question_is_asked(bus, guard, question, also):
    bus.signal("pre_tool_call").disconnect(guard)
    shown = []
    bus.approver(lambda request: (shown.append(request.question), Approved("ada"))[1])
    signal = bus.signal("pre_tool_call")
    usual = lambda sender, name: (name == "pay" and question) or Ask(f"run {name}?")  # noqa: E731
    signal.connect(usual, role="guard", weak=False)
    signal.connect(lambda sender, name: also if name == "pay" else None, role="guard", weak=False)
    layers(server_class(bus), ("bank_pay", "pay"))[0].call(ARGUMENTS)
    assert len(shown) == 2


def test_a_call_of_another_hook_is_asked_about(bus, asked):
    class Other:
        @hookable("other_call", bus=bus)
        def run(self, name, arguments, kind):
            return name

    bus.signal("pre_other_call").connect(
        lambda sender, name: Ask(f"run {name}?"), role="guard", name="careful", weak=False
    )
    server, _ = layers(
        server_class(bus), ("pay", "x"), lambda call, given: Other().run("pay", given, "mcp")
    )
    server.call(ARGUMENTS)
    assert asked == ["run pay?", "run pay?"]


def test_a_layer_that_nobody_approved_hands_no_approval_on(bus, asked, guard):
    bus.signal("pre_tool_call").disconnect(guard)
    bus.signal("pre_tool_call").connect(
        lambda sender, name: Ask("run?") if name == "pay" else None, role="guard", weak=False
    )
    layers(server_class(bus))[0].call(ARGUMENTS)
    assert asked == ["run?"]


def test_each_further_call_in_the_same_body_is_asked_about_and_a_denial_holds(bus, guard):
    shown = []

    @bus.approver
    def answer(request):
        shown.append(request.question)
        return Approved("ada") if len(shown) < 3 else Denied("ada", "enough")

    server, ran = layers(
        server_class(bus), ("bank_pay", "pay"), lambda call, given: [call(given) for _ in range(5)]
    )
    with pytest.raises(HookBlocked, match="denied by ada: enough"):
        server.call(ARGUMENTS)
    assert shown == ["run bank_pay?", "run pay?", "run pay?"] and ran == ["bank_pay", "pay", "pay"]


def test_another_approved_call_in_the_body_takes_nothing_away(bus, asked):
    other, _ = layers(server_class(bus), ("look",))
    server, _ = layers(
        server_class(bus), ("bank_pay", "pay"), lambda call, given: other.call({}) and call(given)
    )
    server.call(ARGUMENTS)
    assert asked == ["run bank_pay?", "run look?"]


def test_a_tool_that_calls_itself_is_asked_about_each_time(bus, asked):
    server, ran = layers(server_class(bus), ("pay",))
    server.below, server.hand_on = server, lambda call, given: len(ran) < 3 and call(given)
    server.call(ARGUMENTS)
    assert len(asked) == 3


def test_two_tools_that_call_each_other_are_asked_about(bus, asked):
    (first, ran), (second, _) = (layers(server_class(bus), ("pay",)) for _ in range(2))
    second.ran = ran
    first.below, second.below = second, first
    first.hand_on = second.hand_on = lambda call, given: len(ran) < 4 and call(given)
    first.call(ARGUMENTS)
    assert len(ran) == 4 and len(asked) == 2


@pytest.mark.parametrize("handed_on, count", [({"to": "eve"}, 1), ({"to": "ada"}, 2)])
def test_what_the_person_edited_is_what_is_approved_inside(bus, guard, handed_on, count):
    shown = []

    @bus.approver
    def edit(request):
        shown.append(request.question)
        edited = {**request.arguments, "arguments": {"to": "eve"}}
        return Approved("ada", arguments=edited if len(shown) == 1 else None)

    server, ran = layers(
        server_class(bus), ("bank_pay", "pay"), lambda call, given: call(handed_on)
    )
    server.call({"to": "ada"})
    assert len(shown) == count and ran == ["bank_pay", "pay"]


def test_an_attempt_that_is_repeated_is_asked_about_again_and_so_is_one_inside(bus, asked):
    server, ran = layers(server_class(bus), ("bank_pay", "pay"))
    around = bus.signal("around_tool_call")

    def twice(sender, call_next):
        call_next()
        return call_next()

    with around.connected_to(twice, sender=server):
        server.call(ARGUMENTS)
    assert asked == ["run bank_pay?"] * 2 and ran == ["bank_pay", "pay"] * 2
    with around.connected_to(twice, sender=server.below):
        server.call(ARGUMENTS)
    assert asked[2:] == ["run bank_pay?", "run pay?"]


def test_an_approval_ends_with_the_body_also_in_a_copy_of_its_context(bus, asked):
    kept = []
    server, _ = layers(
        server_class(bus), ("bank_pay", "pay"),
        lambda *handed: kept.append((contextvars.copy_context(), *handed)),
    )  # fmt: skip
    server.call(ARGUMENTS)
    context, call, arguments = kept[0]
    context.run(call, arguments)
    assert asked == ["run bank_pay?", "run pay?"]


@pytest.mark.parametrize("has_context", [True, False])
def test_a_thread_hands_on_with_the_context_of_its_caller(bus, asked, has_context):
    def hand_on(call, arguments):
        run = contextvars.copy_context().run if has_context else lambda call, given: call(given)
        thread = threading.Thread(target=run, args=(call, arguments))
        thread.start()
        thread.join()

    layers(server_class(bus), ("bank_pay", "pay"), hand_on)[0].call(ARGUMENTS)
    assert len(asked) == (1 if has_context else 2)


@pytest.mark.parametrize("colour", ["generator", "async generator"])
def test_between_two_items_the_reader_has_no_approval(bus, asked, colour):
    client, ran = layers(server_class(bus, colour), ("bank_pay", "pay"))
    other, _ = layers(server_class(bus), ("pay",))

    async def read():
        items = client.call(ARGUMENTS)
        if colour == "generator":
            assert next(items) == "first"
        else:
            assert await anext(items) == "first"
        other.call(ARGUMENTS)
        assert ran == [] and asked == ["run bank_pay?", "run pay?"]
        if colour == "generator":
            return [*items]
        return [item async for item in items]

    assert asyncio.run(read()) == [["first", "done"]] and len(asked) == 2


def test_what_changes_after_it_was_handed_on_does_not_run(bus, asked):
    def change(sender, name, arguments):
        if name == "pay":
            arguments["to"] = "eve"

    bus.signal("pre_tool_call").connect(change, role="observe", weak=False)
    server, ran = layers(server_class(bus), ("bank_pay", "pay"))
    with pytest.raises(HookBlocked):
        server.call(ARGUMENTS)
    assert ran == ["bank_pay"]


@pytest.mark.parametrize(
    "other, reason",
    [(None, "no approver is configured"), (lambda request: Denied("eve", "no"), "denied by eve")],
)
def test_another_approver_is_asked_and_without_one_the_call_inside_is_blocked(
    bus, asked, other, reason
):
    def hand_on(call, arguments):
        bus.approver(None)
        bus.approver(other)
        return call(arguments)

    server, ran = layers(server_class(bus), ("bank_pay", "pay"), hand_on)
    with pytest.raises(HookBlocked, match=reason):
        server.call(ARGUMENTS)
    assert ran == ["bank_pay"]


def test_a_guard_that_knows_layers_keeps_its_questions_beside_one_that_does_not(bus, asked):
    bus.register(tool_policy(ask="*"))
    server, _ = layers(
        server_class(bus), ("bank_pay", "pay"), lambda call, given: [call(given) for _ in range(2)]
    )
    server.call(ARGUMENTS)
    assert asked == ["run bank_pay?\ncall 'bank_pay'?", "run pay?\ncall 'pay'?"]


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_a_parked_call_that_is_made_again_hands_on(bus, guard, stores, colour):
    store = bus.approver(stores.open())
    server, ran = layers(server_class(bus, colour))
    for _ in range(2):
        with pytest.raises(ApprovalPending) as error:
            run(server.call(ARGUMENTS))
    store.answer(error.value.id, Approved("ada"))
    assert run(server.call(ARGUMENTS)) == "done" and ran == [*NAMES]
    assert [case.state for case in store.history()] == ["used"]
    with pytest.raises(ApprovalPending):
        run(server.call(ARGUMENTS))


async def test_at_an_inbox_one_request_waits_for_all_layers(bus, guard):
    inbox = bus.approver(Inbox())
    server, ran = layers(server_class(bus, "async"))
    call = asyncio.create_task(server.call(ARGUMENTS))
    inbox.answer((await inbox.next()).id, Approved("ada"))
    assert await call == "done" and ran == [*NAMES] and inbox.pending() == []
