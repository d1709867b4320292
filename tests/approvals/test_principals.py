"""G47: an approval is spent only by the call it was given for, of the principal who asked."""

import io
import sys
import threading
import time

import pytest

from hookbus import Ask, Bus, HookBlocked, HookError, baggage, hookable
from hookbus.approvals import ApprovalPending, Approved, Denied, Inbox, terminal

OTHERS = {
    "another user": {"user": "eve"},
    "another session": {"session": "s-2"},
    "no user": {"user": None},
    "another question": {"question": "pay the bill?"},
    "another code": {"code": "bill"},
    "another tool of the factory": {"account": "savings"},
    "another guard": {"guard": "second"},
    "other arguments": {"to": "bob"},
    "another amount": {"amount": 500.5},
}

FIRST = {
    "user": "ada", "session": "s-1", "question": "pay?", "code": None, "account": "giro",
    "guard": "first", "to": "ann", "amount": 500,
}  # fmt: skip




def tool_for(account, bus, ran):
    """Return the tool of an account, as a factory makes it: each is a function of one name."""

    @hookable("pay", bus=bus, identity=lambda tool: account)
    def pay(to, amount):
        ran.append((account, to, amount))
        return "paid"

    return pay


def call(bus, tools, about):
    """Make one call, of this principal, about which this guard asks this."""

    def guard(sender):
        return Ask(about["question"], code=about["code"])

    known = {name: about[name] for name in ("user", "session") if about[name] is not None}
    with baggage(**known), bus.signal("pre_pay").connected_to(
        guard, role="guard", name=about["guard"]
    ):
        return tools[about["account"]](about["to"], about["amount"])


@pytest.fixture
def bank():
    bus, ran = Bus(), []
    return bus, {name: tool_for(name, bus, ran) for name in ("giro", "savings")}, ran


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_no_call_of_another_spends_an_approval_of_a_store(bank, stores, other):
    bus, tools, ran = bank
    store = bus.approver(stores.open())
    with pytest.raises(ApprovalPending) as first:
        call(bus, tools, FIRST)
    store.answer(first.value.id, Approved("grace", remember=60))
    with pytest.raises(ApprovalPending) as second:
        call(bus, tools, FIRST | other)
    assert second.value.id != first.value.id and not ran
    assert call(bus, tools, FIRST) == "paid" and len(ran) == 1


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_no_call_of_another_is_folded_into_a_request_or_covered_by_what_is_remembered(bank, other):
    bus, tools, ran = bank
    inbox = bus.approver(Inbox(), timeout=10)
    results = {}

    def run(name, about):
        try:
            results[name] = call(bus, tools, about)
        except HookBlocked as blocked:
            results[name] = blocked.reason

    def begin(name, about, waiting):
        thread = threading.Thread(target=run, args=(name, about))
        thread.start()
        until = time.monotonic() + 10
        while len(inbox.pending()) < waiting and time.monotonic() < until:
            time.sleep(0.001)
        return thread

    one = begin("first", FIRST, 1)
    first = inbox.pending()[0].id
    inbox.answer(first, Approved("grace", remember=60))
    one.join()
    assert call(bus, tools, FIRST) == "paid"  # it is remembered for the same call
    two = begin("second", FIRST | other, 1)
    [request] = inbox.pending()
    inbox.answer(request.id, Denied("grace", "not this one"))
    two.join()
    assert results["first"] == "paid" and "not this one" in results["second"]


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("approver", ["function", "terminal"])
def test_what_a_person_said_to_be_remembered_is_for_that_call_alone(
    bank, other, approver, monkeypatch, capsys
):
    bus, tools, ran = bank
    if approver == "terminal":
        bus.approver(terminal)
        monkeypatch.setattr(sys, "stdin", io.StringIO("yes\nno\n"))
    else:
        answers = [Approved("grace", remember=60), Denied("grace", "not this one")]
        bus.approver(lambda request: answers.pop(0))
    assert call(bus, tools, FIRST) == "paid"
    with pytest.raises(HookBlocked, match="denied"):
        call(bus, tools, FIRST | other)
    assert len(ran) == 1


def test_an_approval_may_be_bound_to_less_and_the_person_sees_to_what(bank, stores):
    bus, tools, ran = bank
    store = bus.approver(stores.open())
    bus.signal("pre_pay").connect(
        lambda sender, amount: Ask("pay?", bind=("user",)), role="guard", weak=False
    )
    pay = tools["giro"]
    with baggage(user="ada", session="s-1"), pytest.raises(ApprovalPending) as waiting:
        pay("ann", 500)
    [request] = store.pending()
    assert request.bound == {"user": "ada"} and request.baggage["session"] == "s-1"
    store.answer(waiting.value.id, Approved("grace"))
    with baggage(user="eve", session="s-1"), pytest.raises(ApprovalPending):
        pay("ann", 500)
    with baggage(user="ada", session="s-2"):
        assert pay("ann", 500) == "paid"


def test_what_has_no_name_that_lasts_needs_an_identity_for_a_store_and_none_in_the_process(
    stores,
):
    def pay_of(bus):
        @hookable("pay", bus=bus)
        def pay(to):
            return to

        bus.signal("pre_pay").connect(lambda sender: Ask("pay?"), role="guard", weak=False)
        return pay

    bus = Bus()
    bus.approver(stores.open())
    with pytest.raises(HookBlocked, match=r"other processes cannot identify .*identity="):
        pay_of(bus)("ann")
    bus, asked = Bus(), []
    bus.approver(lambda request: asked.append(request) or Approved("grace", remember=60))
    first, second = pay_of(bus), pay_of(bus)
    assert first("ann") == second("ann") == first("ann") == "ann"
    assert len(asked) == 2  # each of them once


@pytest.mark.parametrize("returned", ["", None, 7])
def test_an_identity_that_is_no_name_blocks(returned):
    bus = Bus()
    pay = hookable("pay", bus=bus, identity=lambda sender: returned)(lambda to: to)
    bus.signal("pre_pay").connect(lambda sender: Ask("pay?"), role="guard", weak=False)
    bus.approver(lambda request: Approved("grace"))
    with pytest.raises(HookBlocked, match="identity= of pay returned"):
        pay("ann")
    with pytest.raises(HookError, match="identity='account' must be a plain function"):
        hookable("pay", identity="account")


# -- the world moves on while a person thinks ------------------------------------------------------


def test_guards_that_did_not_ask_are_called_once_more_after_a_wait(bank):
    bus, tools, ran = bank
    judged = []
    bus.signal("pre_pay").connect(lambda sender: judged.append("limit"), role="guard", priority=1)
    bus.signal("pre_pay").connect(lambda sender: Ask("pay?"), role="guard", weak=False)
    bus.approver(lambda request: judged.append("person") or Approved("grace"))
    assert tools["giro"]("ann", 500) == "paid"
    assert judged == ["limit", "person", "limit"]


@pytest.mark.parametrize("is_new", [False, True])
def test_an_emergency_stop_pulled_while_the_person_thinks_stops_the_call(bank, is_new):
    from hookbus import Block

    bus, tools, ran = bank
    stopped = []

    def stop(sender):
        return Block("stopped by the operator") if stopped else None

    def person(request):
        stopped.append(True)
        if is_new:
            bus.signal("pre_pay").connect(stop, role="guard")
        return Approved("grace")

    if not is_new:
        bus.signal("pre_pay").connect(stop, role="guard")
    bus.signal("pre_pay").connect(lambda sender: Ask("pay?"), role="guard", weak=False)
    bus.approver(person)
    with pytest.raises(HookBlocked, match="stopped by the operator"):
        tools["giro"]("ann", 500)
    assert not ran


# -- what people and files get to see --------------------------------------------------------------


def test_what_redactors_take_out_is_shown_to_nobody_and_runs(bank, stores):
    bus, _, _ = bank
    paid = []

    @hookable("log_in", bus=bus, identity=lambda sender: "door")
    def log_in(user, password):
        paid.append((user, password))

    bus.redact(names=["password"])
    store = bus.approver(stores.open())
    bus.signal("pre_log_in").connect(
        lambda sender, password: Ask(f"log in with {password}?"), role="guard", weak=False
    )
    with pytest.raises(ApprovalPending) as waiting:
        log_in("ada", "hunter2-hunter2")
    assert "hunter2" not in str(waiting.value) and "hunter2" not in repr(store.pending())
    store.answer(waiting.value.id, Approved("grace"))
    log_in("ada", "hunter2-hunter2")
    assert paid == [("ada", "hunter2-hunter2")]
    store.close()
    assert b"hunter2" not in stores.contents()


def test_an_edit_that_leaves_a_placeholder_stands_for_the_value(bank):
    bus, _, _ = bank
    paid = []

    @hookable("log_in", bus=bus)
    def log_in(user, password):
        paid.append((user, password))

    bus.redact(names=["password"])
    bus.signal("pre_log_in").connect(lambda sender: Ask("?"), role="guard", weak=False)
    bus.approver(
        lambda request: Approved("grace", arguments={**request.arguments, "user": "bob"})
    )
    log_in("ada", "hunter2")
    assert paid == [("bob", "hunter2")]


def test_a_request_that_nobody_answers_in_time_takes_no_answer(bank, stores):
    from hookbus.approvals import RequestExpired

    bus, tools, ran = bank
    store = bus.approver(stores.open(answer_within=60.0))
    bus.signal("pre_pay").connect(lambda sender: Ask("pay?"), role="guard", weak=False)
    with pytest.raises(ApprovalPending) as waiting:
        tools["giro"]("ann", 500)
    stores.let_pass(61)
    assert store.pending() == [] and store.get(waiting.value.id).state == "expired"
    with pytest.raises(RequestExpired):
        store.answer(waiting.value.id, Approved("grace"))
    assert not ran
