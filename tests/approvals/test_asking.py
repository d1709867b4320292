"""A guard that asks: an approval covers one attempt, with exactly the arguments that were shown."""

import asyncio
import gc
import math
import pickle
import sys
import threading
import time
import warnings

import pytest

from hookbus import Ask, Block, Bus, HookBlocked, HookError, Replace, hookable, hookspec, modes
from hookbus.approvals import ApprovalPending, Approved, Denied, Parked, Request, terminal
from hookbus.events import Blocked, Failed, Invoked, Mutated
from hookbus.testing import record


def approver_of(function):
    bus = Bus()
    bus.approver(function)
    return bus._approver


def blocked(bank, *args, **kwargs):
    with pytest.raises(HookBlocked) as error:
        bank.pay(*args, **kwargs)
    assert bank.paid == []
    return error.value


def test_without_anybody_to_ask_it_is_a_no(bank, asks):
    said = blocked(bank, "ada", 500)
    advice = "no approver is configured; set one with bus.approver(...)"
    assert said.reason == f"pay 500 to ada? {advice}"
    assert said.receiver.endswith("large") and said.verdict.code == "large"
    assert bank.pay("ada", 5) == 5


@pytest.mark.parametrize("reads", [1, 2])
def test_a_call_whose_approver_is_set_while_it_is_compiled_is_blocked_for_want_of_one(
    bank, bus, asks, monkeypatch, reads
):
    approver = approver_of(lambda request: Approved("ada"))
    found = iter([None] * reads + [approver] * 9)
    monkeypatch.setattr(Bus, "_approver", property(lambda bus: next(found)), raising=False)
    assert "no approver is configured" in blocked(bank, "bob", 500).reason


def test_without_an_approver_the_guards_after_the_one_that_asks_are_not_called(bank, bus, asks):
    called = []
    bus.signal("pre_pay").connect(lambda me: called.append("later"), role="guard", priority=-1)
    blocked(bank, "ada", 500)
    assert called == []


def test_an_approver_that_is_set_after_the_first_call_is_asked(bank, bus, asks):
    blocked(bank, "ada", 500)
    bus.approver(lambda request: Approved("ada"))
    assert bank.pay("bob", 500) == 500
    bus.approver(None)
    bank.paid.clear()
    assert "no approver is configured" in blocked(bank, "bob", 500).reason


@pytest.mark.parametrize("before", [None, Approved("ada")])
def test_a_call_whose_approver_is_set_or_removed_meanwhile_is_blocked(bank, bus, asks, before):
    bus.approver(before and (lambda request: before))

    def change_approver(me):
        bus.approver(None if before else lambda request: Approved("ada"))

    bus.signal("pre_pay").connect(change_approver, role="guard", priority=1)
    assert "no approver is configured" in blocked(bank, "bob", 500).reason


@pytest.mark.parametrize("is_inherited", [False, True])
def test_require_guard_counts_a_guard_that_asked_and_was_disconnected_while_a_person_decided(
    bus, is_inherited
):
    class Base:
        @hookable("work", bus=bus, require_guard=True)
        async def work(self):
            return "done"

    class Derived(Base):
        @hookable("work", bus=bus)
        async def work(self):
            return await super().work()

    agent = (Derived if is_inherited else Base)()
    signal = bus.signal("pre_work")

    def careful(me):
        return Ask("go?")

    @bus.approver
    async def ada(request):
        await asyncio.sleep(0)
        signal.disconnect(careful)
        return Approved("ada")

    signal.connect(careful, role="guard")
    assert asyncio.run(agent.work()) == "done"
    with pytest.raises(HookBlocked, match="no guard covers this call"):
        asyncio.run(agent.work())


def test_a_yes_lets_the_call_through_once(bank, bus, asks):
    shown = []

    @bus.approver
    def ada(request):
        shown.append(request)
        return Approved("ada")

    assert bank.pay("bob", 500) == 500 and bank.pay("bob", 500) == 500
    assert bank.paid == [("bob", 500)] * 2 and len(shown) == 2
    request = shown[0]
    assert isinstance(request, Request) and request.hook == "pay" and request.code == "large"
    assert request.question == "pay 500 to bob?" and request.receiver.endswith("large")
    assert request.arguments == {"to": "bob", "amount": 500} and request.deadline is None
    assert len({request.digest for request in shown}) == 1
    assert len({request.id for request in shown}) == 2


def test_a_small_sum_is_nobodys_question(bank, bus, asks):
    bus.approver(lambda request: pytest.fail("nobody asked"))
    assert bank.pay("bob", 100) == 100


def test_a_no_is_said_with_its_reason(bank, bus, asks):
    bus.approver(lambda request: Denied("ada", "too much"))
    said = blocked(bank, "bob", 500)
    assert said.reason == "pay 500 to bob? denied by ada: too much"
    assert said.verdict.code == "denied"


@pytest.mark.parametrize(
    "answer",
    [None, True, "yes", 1, Approved, Denied, Block("no"), Replace(1), {"by": "ada"}, Approved(""),
     Approved(None), Approved("ada", arguments={"to": "bob"}), Approved("ada", arguments=[1]),
     Approved("ada", arguments={"to": "bob", "amount": 1, "more": 2}), Approved("ada", remember=0),
     Approved("ada", arguments={"to": object(), "amount": 1}), Approved("ada", remember="long"),
     Approved("ada", remember=math.nan), Approved("ada", remember=True), Denied("ada", None),
     Denied("", "no"), Denied(None, "no"), Denied(" ", "no")],
)  # fmt: skip
def test_any_other_answer_is_a_no(bank, bus, asks, answer):
    bus.approver(lambda request: answer)
    with record(bus) as events:
        said = blocked(bank, "bob", 500)
    assert said.reason.startswith("guard failed: ")
    assert [event.action for event in events.of(Failed)] == ["blocked"]


@pytest.mark.parametrize("error", [ValueError("secret"), EOFError(), HookError("secret")], ids=repr)
def test_an_approver_that_raises_has_said_no_and_its_text_stays_inside(bank, bus, asks, error):
    @bus.approver
    def ada(request):
        raise error

    assert blocked(bank, "bob", 500).reason == f"guard failed: {type(error).__name__}"


def test_ctrl_c_at_the_question_passes_and_nothing_runs(bank, bus, asks):
    @bus.approver
    def ada(request):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bank.pay("bob", 500)
    assert bank.paid == []


def test_a_person_who_is_late_has_said_no_and_a_guards_own_deadline_is_not_theirs(bank, bus, asks):
    release = threading.Event()
    bus.approver(lambda request: release.wait(20) and Approved("ada"), timeout=0.05)
    with record(bus) as events:
        blocked(bank, "bob", 500)
    release.set()
    assert [type(event.exception) for event in events.of(Failed)] == [TimeoutError]
    bus.approver(None)
    bus.timeout = 0.2

    @bus.approver
    def slow(request):
        threading.Event().wait(0.4)
        return Approved("ada")

    assert bank.pay("bob", 500) == 500


def test_the_person_is_asked_after_all_guards_and_once_for_all_who_ask(bank, bus, asks):
    @bus.signal("pre_pay").connect_via(role="guard", priority=-1)
    def odd(account, to):
        return Ask(f"who is {to}?", details={"to": to})

    @bus.signal("pre_pay").connect_via(role="guard", priority=-2)
    def strict(account, amount):
        return Block("far too much") if amount > 1000 else None

    shown = []
    bus.approver(lambda request: (shown.append(request), Approved("ada"))[1])
    assert blocked(bank, "bob", 5000).reason == "far too much"
    assert shown == [] and bank.pay("bob", 500) == 500
    (request,) = shown
    assert request.question == "pay 500 to bob?\nwho is bob?"
    assert [name.rpartition(".")[2] for name in request.receiver.split(", ")] == ["large", "odd"]
    assert [*request.details.values()] == [{"to": "bob"}]


def test_what_the_person_edits_is_judged_again_and_runs(bank, bus, asks):
    bus.approver(lambda request: Approved("ada", arguments={"to": "eve", "amount": 300}))
    with record(bus) as events:
        assert bank.pay("bob", 500) == 300
    assert bank.paid == [("eve", 300)] and asks == [("bob", 500), ("eve", 300)]
    assert {event.name for event in events.of(Mutated)} == {"to", "amount"}


def test_an_edit_does_not_lift_a_block_of_another_guard(bank, bus, asks):
    @bus.signal("pre_pay").connect_via(role="guard", priority=-1)
    def known(account, to):
        return None if to == "bob" else Block(f"{to} is nobody we know")

    bus.approver(lambda request: Approved("ada", arguments={"to": "eve", "amount": 300}))
    assert blocked(bank, "bob", 500).reason == "eve is nobody we know"


def test_a_guard_that_asks_only_about_what_was_edited_gets_an_answer_of_its_own(bank, bus, asks):
    @bus.signal("pre_pay").connect_via(role="guard", priority=-1)
    def strangers(account, to):
        return Ask(f"who is {to}?", code="large") if to != "bob" else None

    shown = []

    @bus.approver
    def ada(request):
        shown.append(request.question)
        return Approved("ada", arguments={"to": "eve", "amount": 300} if len(shown) == 1 else None)

    assert bank.pay("bob", 500) == 300
    assert shown == ["pay 500 to bob?", "pay 300 to eve?\nwho is eve?"]


def test_what_changes_under_the_persons_eyes_is_not_what_they_said_yes_to(bank, bus):
    @bus.signal("pre_pay").connect_via(role="guard")
    def always(account, to):
        return Ask("pay?")

    to = ["bob"]
    bus.approver(lambda request: (to.append("eve"), Approved("ada"))[1])
    said = blocked(bank, to, 1)
    assert "changed after it was approved" in said.reason and said.verdict.code == "drift"


@pytest.mark.parametrize("phase", ["observer", "around"])
def test_what_changes_after_the_yes_does_not_run(bank, bus, phase):
    @bus.signal("pre_pay").connect_via(role="guard")
    def always(account, to):
        return Ask("pay?")

    bus.approver(lambda request: Approved("ada"))
    to = ["bob"]
    if phase == "observer":
        bus.signal("pre_pay").connect(lambda account: to.append("eve"), role="observe", weak=False)
    else:
        bank.around(lambda to, amount: to.append("eve") or {})
    assert blocked(bank, to, 1).verdict.code == "drift"


def test_another_class_of_the_sender_is_not_who_was_approved(bank, bus, asks):
    bus.approver(lambda request: Approved("ada"))

    class Other(type(bank.account)):
        pass

    @bus.signal("pre_pay").connect_via(role="observe")
    def becomes(account):
        account.__class__ = Other

    assert blocked(bank, "bob", 500).verdict.code == "drift"


def test_an_around_that_patches_has_the_person_asked_again(bank, bus, asks):
    shown = []

    @bus.approver
    def ada(request):
        shown.append(request.arguments["to"])
        return Approved("ada") if request.arguments["to"] == "bob" else Denied("ada", "not her")

    bank.around(lambda to, amount: {"to": "eve"})
    blocked(bank, "bob", 500)
    assert shown == ["bob", "eve"]


def test_an_edit_of_a_patched_attempt_is_what_runs(bank, bus, asks):
    bank.around(lambda to, amount: {"to": "eve"})

    @bus.approver
    def ada(request):
        edited = {"to": "zoe", "amount": 200} if request.arguments["to"] == "eve" else None
        return Approved("ada", arguments=edited)

    assert bank.pay("bob", 500) == 200 and bank.paid == [("zoe", 200)]


@pytest.mark.parametrize(
    "odd",
    [2**53, math.nan, math.inf, "\ud800", b"x", {1: 2}, object(), 1j, {"deep": [{"er": {1, 2}}]},
     type("Text", (str,), {})("x"), type("Dict", (dict,), {})()],
    ids=lambda odd: type(odd).__name__,
)  # fmt: skip
def test_what_has_no_canonical_json_cannot_be_approved(bank, bus, odd):
    bus.signal("pre_pay").connect(lambda account: Ask("pay?"), role="guard", weak=False)
    bus.approver(lambda request: Approved("ada"))
    said = blocked(bank, odd, 1)
    assert said.reason.startswith("this call cannot be approved: arguments['to']")


@pytest.mark.parametrize("make", [list, dict])
def test_what_holds_itself_cannot_be_approved(bank, bus, make):
    gc.collect()  # garbage of other tests would be finalized at the recursion limit
    odd = make()
    odd.append(odd) if make is list else odd.update(odd=odd)
    bus.signal("pre_pay").connect(lambda account: Ask("pay?"), role="guard", weak=False)
    bus.approver(lambda request: Approved("ada"))
    assert "cannot be approved: to contains itself" in blocked(bank, odd, 1).reason


@pytest.mark.parametrize("question", ["", " \n", None, 5, ["pay?"], b"pay?"])
def test_what_asks_nothing_is_its_guards_failure(bank, bus, question):
    bus.signal("pre_pay").connect(lambda account: Ask(question), role="guard", weak=False)
    asked = []
    bus.approver(lambda request: asked.append(request) or Approved("ada"))
    assert "returned an Ask without a question" in blocked(bank, "bob", 1).reason
    assert not asked and not bank.paid


def test_a_parked_call_is_pending_under_one_number_until_it_is_answered(bank, bus, asks):
    answers = [Parked(), Parked(), Approved("ada"), Parked()]
    bus.approver(lambda request: answers.pop(0))
    first, second = blocked(bank, "bob", 500), blocked(bank, "bob", 500)
    assert isinstance(first, ApprovalPending) and first.id == second.id
    assert f"approval pending (request {first.id}" in first.reason
    again = pickle.loads(pickle.dumps(first))
    assert isinstance(again, ApprovalPending) and again.id == first.id
    assert bank.pay("bob", 500) == 500
    with pytest.raises(ApprovalPending) as error:
        bank.pay("bob", 500)
    assert error.value.id != first.id


def test_a_yes_that_is_remembered_is_for_the_same_call_only(bank, bus, asks):
    shown = []

    @bus.approver
    def ada(request):
        shown.append(request.arguments["to"])
        return Approved("ada", remember=60)

    for to in ("bob", "bob", "eve", "bob"):
        bank.pay(to, 500)
    assert shown == ["bob", "eve"]


def test_using_a_remembered_yes_does_not_make_it_longer(bus):
    shown = []

    @hookable("pay", bus=bus)
    def pay(to):
        return to

    bus.signal("pre_pay").connect(lambda sender: Ask("pay?"), role="guard", weak=False)
    bus.approver(lambda request: (shown.append(request), Approved("ada", remember=0.2))[1])
    for _ in range(10):
        pay("bob")
        time.sleep(0.05)
    assert len(shown) > 1


def test_in_shadow_nobody_is_asked(bank, bus):
    @bus.signal("pre_pay").connect_via(role="guard", shadow=True)
    def trial(account, to):
        return Ask(f"pay {to}?")

    bus.approver(lambda request: pytest.fail("in shadow"))
    with record(bus) as events:
        assert bank.pay("bob") == 1
    assert [(event.reason, event.enforced) for event in events.of(Blocked)] == [("pay bob?", False)]


@pytest.mark.parametrize("phase, role", [("pre", "modify"), ("pre", "observe"), ("post", "modify")])
def test_only_a_guard_of_pre_may_ask(bank, bus, phase, role):
    signal = bus.signal(f"{phase}_pay")
    signal.connect(lambda account: Ask("pay?"), role=role, weak=False)
    bus.approver(lambda request: pytest.fail("it is no guard"))
    with record(bus) as events:
        if role == "observe":  # it cannot affect the call
            assert bank.pay("bob") == 1
        else:
            with pytest.raises(HookBlocked, match="connect it there with role='guard'"):
                bank.pay("bob")
    (failed,) = events.of(Failed)
    assert "returned an Ask" in str(failed.exception)
    assert failed.action == ("isolated" if role == "observe" else "blocked")
    assert "role='guard'" in str(failed.exception)
    assert bank.paid == ([] if phase == "pre" and role != "observe" else [("bob", 1)])


def test_every_step_is_told(bank, bus, asks):
    told = []
    bus.approver(lambda request: Approved("ada"))
    bus.events.connect(lambda bus, event: told.append(event), kinds=Invoked, weak=False)
    bank.pay("bob", 500)
    assert [(event.receiver.rpartition(".")[2], event.answer, event.by) for event in told] == [
        ("large", "asked", None), ("large", "approved", "ada"),
    ]  # fmt: skip


def test_one_bus_has_one_approver_and_none_takes_it_away(bus):
    assert bus.approver(terminal) is terminal
    said = r"already has an approver, terminal: call bus.approver\(None\) first"
    with pytest.raises(HookError, match=said):
        bus.approver(lambda request: Approved("eve"))
    assert bus.approver(terminal) is terminal  # which is the one it asks
    with pytest.raises(HookError, match="already has an approver, terminal"):
        bus.approver(terminal, timeout=5.0)
    assert bus.approver(None) is None
    for wrong in (3, type(terminal), "ada"):
        with pytest.raises(HookError):
            bus.approver(wrong)
    for seconds in (0, -1, True, math.nan, "1"):
        with pytest.raises(HookError, match="timeout="):
            bus.approver(lambda request: Approved("ada"), timeout=seconds)
    bus.approver(terminal)


def test_an_approver_may_have_hours_and_no_call_warns_of_that(bank, bus):
    bus.approver(lambda request: Approved("ada"), timeout=3 * 3600)
    bus.signal("pre_pay").connect(lambda bank: Ask("pay?"), role="guard")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bank.pay("ada", 5)
    assert bank.paid == [("ada", 5)]


def test_without_the_library_nobody_can_be_asked_and_that_is_said_at_once(bus, monkeypatch):
    monkeypatch.setitem(sys.modules, "rfc8785", None)
    message = r"approvals need the package rfc8785; run: pip install 'hookbus\[app"
    with pytest.raises(HookError, match=message):
        bus.approver(terminal)
    bus.approver(None)
    monkeypatch.undo()
    assert bus.approver(terminal) is terminal


async def test_an_async_approver_serves_async_calls_and_a_cancelled_one_is_over(bus):
    waiting = asyncio.Event()

    @hookable("pay", bus=bus)
    async def pay(to):
        return to

    bus.signal("pre_pay").connect(lambda sender: Ask("pay?"), role="guard", weak=False)

    @bus.approver
    async def ada(request):
        if request.arguments["to"] == "bob":
            return Approved("ada")
        waiting.set()
        return await asyncio.sleep(60)

    assert await pay("bob") == "bob"
    task = asyncio.ensure_future(pay("eve"))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_an_async_approver_closes_a_plain_call_unless_that_awaits(bus):
    async def ada(request):
        return Approved("ada")

    bus.approver(ada)
    bus.signal("pre_pay").connect(lambda sender: Ask("pay?"), role="guard", weak=False)

    @hookable("pay", bus=bus)
    def pay(to):
        return to

    with pytest.raises(HookBlocked, match="the hook is a plain def: write a plain def approver"):
        pay("bob")

    @hookable("pay", bus=bus, async_receivers=True)
    def pay_and_wait(to):
        return to

    assert pay_and_wait("bob") == "bob"


def test_calls_side_by_side_have_each_their_own_yes():
    bus, paid = Bus(), []

    @hookable("pay", bus=bus)
    async def pay(to):
        paid.append(to)

    bus.signal("pre_pay").connect(lambda sender: Ask("pay?"), role="guard", weak=False)

    @bus.approver
    async def ada(request):
        await asyncio.sleep(0)
        return Approved("ada") if request.arguments["to"] % 2 else Denied("ada", "odd ones only")

    async def main():
        return await asyncio.gather(*(pay(i) for i in range(100)), return_exceptions=True)

    ended = asyncio.run(main())
    assert sorted(paid) == [*range(1, 100, 2)]
    assert sum(isinstance(each, HookBlocked) for each in ended) == 50


def test_what_a_framework_says_around_a_tool_call_is_not_part_of_what_is_approved(bus):
    digests = []
    bus.signal("pre_tool_call").connect(lambda tool: Ask("run?"), role="guard", weak=False)
    bus.approver(lambda request: (digests.append(request.digest), Approved("ada"))[1])

    @hookable("tool_call", bus=bus, sender="tool")
    def tool_call(name, arguments, call_id, kind, tool, caller):
        return name

    first, second = object(), object()
    tool_call("pay", {"to": "bob"}, "c1", "function", first, object())
    tool_call("pay", {"to": "bob"}, "c2", "function", second, None)
    tool_call("pay", {"to": "eve"}, "c3", "function", first, None)
    tool_call("pay", {"to": "bob"}, "c4", "mcp", first, None)
    assert digests[0] == digests[1] and len({*digests}) == 3


def test_what_a_tool_call_of_ones_own_has_besides_is_shown_and_approved(bus):
    ran = []

    @hookable("tool_call", bus=bus, sender="tool")
    def tool_call(name, arguments, call_id, kind, tool, caller, call):
        ran.append(call["cmd"])

    def changes(call):
        call["cmd"] = "rm -rf /"

    signal = bus.signal("pre_tool_call")
    signal.connect(lambda tool: Ask("run?"), role="guard", weak=False)
    signal.connect(lambda tool, call: changes(call), role="observe", weak=False)
    no = Denied("ada", "no")
    bus.approver(lambda request: Approved("ada") if request.arguments["call"] else no)
    with pytest.raises(HookBlocked, match="changed after it was approved"):
        tool_call("sh", {}, "1", "function", object(), None, {"cmd": "ls"})
    assert not ran


def test_a_yes_to_one_function_is_none_to_another_of_the_same_hook(bus):
    def declare(where):
        def wipe(disk):
            return where

        wipe.__module__ = where
        return hookable("wipe", bus=bus)(wipe)

    digests = []
    bus.signal("pre_wipe").connect(lambda sender: Ask("wipe?"), role="guard", weak=False)
    bus.approver(lambda request: (digests.append(request.digest), Approved("ada"))[1])
    staging, production = declare("staging"), declare("production")
    for wipe in (staging, staging, production):
        wipe("sda")
    assert digests[0] == digests[1] != digests[2]


def test_what_else_a_tool_call_of_ones_own_has_is_part_of_what_is_approved(bus):
    digests = []
    bus.signal("pre_tool_call").connect(lambda tool: Ask("run?"), role="guard", weak=False)
    bus.approver(lambda request: (digests.append(request.digest), Approved("ada"))[1])
    tool_call = hookable("tool_call", bus=bus)(lambda name, arguments, call: name)
    for call in ("first", "second"):
        tool_call("pay", {"to": "bob"}, call)
    assert len({*digests}) == 2


def test_a_guard_of_a_question_that_is_connected_during_the_wait_gets_the_argument_named_ctx(bus):
    @hookspec(modes.firstresult, bus=bus)
    async def choose(ctx): ...

    choose.connect(lambda ctx: ctx)
    signal = bus.signal("pre_choose")
    signal.connect(lambda choose: Ask("choose?"), role="guard")

    def judge(choose, ctx):
        return Block("evil") if ctx == "evil" else None

    @bus.approver
    async def ada(request):
        signal.connect(judge, role="guard")
        await asyncio.sleep(0)
        return Approved("ada")

    assert asyncio.run(choose(ctx="good")) == "good"
    signal.disconnect(judge)
    with pytest.raises(HookBlocked, match="evil"):
        asyncio.run(choose(ctx="evil"))
