"""A call that waits at a store under `hookbus run --wait`, and what happens meanwhile."""

import asyncio
import threading
import time

import pytest

from hookbus import Ask, Block, Bus, HookBlocked, hookable
from hookbus._program.waiting import Waited
from hookbus.approvals import ApprovalPending, Approved


def paid(to):
    return to


async def paid_later(to):
    return to


@pytest.fixture
def bus():
    bus = Bus()
    bus.signal("pre_pay").connect(lambda sender: Ask("pay?"), role="guard", weak=False)
    return bus


@pytest.mark.parametrize("body", [paid, paid_later])
@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_stop_that_is_pulled_while_a_call_waits_at_a_store_stops_it(
    bus, store, body, is_stopped
):
    pay, stops, ended = hookable("pay", bus=bus)(body), [], []
    bus.approver(Waited(store, 60.0))
    bus.signal("pre_pay").connect(
        lambda sender: Block("stopped by the operator") if stops else None, role="guard", weak=False
    )

    def call():
        try:
            ended.append(pay("ann") if body is paid else asyncio.run(pay("ann")))
        except HookBlocked as blocked:
            ended.append(blocked.reason)

    thread = threading.Thread(target=call)
    thread.start()
    until = time.monotonic() + 20
    while not store.pending() and time.monotonic() < until:
        time.sleep(0.01)
    stops.extend([True] * is_stopped)
    store.answer(store.pending()[0].id, Approved("grace"))
    thread.join(20)
    assert ended == ["stopped by the operator" if is_stopped else "ann"]


def test_an_answer_that_was_there_already_calls_no_guard_twice(bus, store):
    judged = []
    bus.approver(Waited(store, 0.01))
    bus.signal("pre_pay").connect(lambda sender: judged.append(1), role="guard", weak=False)
    pay = hookable("pay", bus=bus)(paid)
    with pytest.raises(ApprovalPending) as pending:
        pay("ann")
    store.answer(pending.value.id, Approved("grace"))
    judged.clear()
    assert pay("ann") == "ann" and judged == [1]


def test_who_waits_at_a_store_needs_a_name_that_lasts_as_the_store_does(bus, store):
    bus.approver(Waited(store, 0.01))
    pay = hookable("pay", bus=bus)(lambda to: to)
    with pytest.raises(HookBlocked, match="other processes cannot identify .*identity="):
        pay("ann")
    assert store.pending() == []


@pytest.mark.parametrize("shape", ["method", "classmethod", "staticmethod", "star", "sender="])
def test_guards_are_called_once_more_whatever_the_hookable_is(bus, shape):
    seen = []
    bus.approver(lambda request: Approved("grace"))
    bus.signal("pre_pay").connect(
        lambda sender, to: seen.append((sender, to)), role="guard", weak=False
    )
    if shape == "sender=":
        pay = hookable("pay", bus=bus, sender="call")(lambda to, call: to)
        sender = pay_of = "the tool"
        assert pay("ann", pay_of) == "ann"
    else:
        made = {
            "method": lambda self, to: to, "classmethod": classmethod(lambda cls, to: to),
            "staticmethod": staticmethod(lambda to: to), "star": lambda *args, to: to,
        }[shape]  # fmt: skip
        Bank = type("Bank", (), {"pay": hookable("pay", bus=bus)(made)})
        bank = Bank()
        sender = {"classmethod": Bank, "staticmethod": Bank.pay}.get(shape, bank)
        assert bank.pay(to="ann") == "ann"
    assert seen == [(sender, "ann")] * 2
