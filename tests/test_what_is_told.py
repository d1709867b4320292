"""What events, the report and the log say: of the right receiver, and no more than that."""

import asyncio
import gc
import logging
import sys
from contextlib import suppress

import pytest

from hookbus import (
    Ask,
    Block,
    Bus,
    HookBlocked,
    events,
    hookable,
    hookspec,
    report,
)
from hookbus.approvals import Approved, Denied

from ._seams import agent_of, all_at_once, failures_of, turns_of


@pytest.fixture
def bus():
    return Bus()


def test_an_around_that_hands_on_none_has_lost_no_result(bus):
    @hookable("reply", bus=bus)
    def reply(msg):
        return msg or None

    bus.events.connect(lambda bus, event: None)
    bus.signal("around_reply").connect(lambda reply, call_next: call_next() and None, name="lossy")
    reply("")
    assert not any("lossy" in finding for finding in report(bus).findings)
    reply("a")
    assert any("lossy" in finding for finding in report(bus).findings)


def test_methods_of_the_sender_and_guards_of_items_are_known_to_have_had_turns(bus):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            yield msg

        def own(self, agent):
            return None

        def around(self, agent, call_next):
            yield from call_next()

    agent = Agent()
    for name, method, role in (
        ("pre_reply", agent.own, "guard"), ("post_reply", agent.own, "modify"),
        ("item_reply", agent.own, "guard"), ("around_reply", agent.around, None),
    ):  # fmt: skip
        bus.signal(name).connect(method, sender=agent, role=role)
    bus.signal("item_reply").connect(lambda agent, item: None, role="guard")
    assert len(report(bus).findings) == 5
    assert list(agent.reply("a")) == ["a"] and report(bus).findings == ()


async def test_of_observers_side_by_side_each_is_told_with_its_own_answer_and_seconds(bus):
    async def slow(agent):
        await asyncio.sleep(0.2)

    async def breaks(agent):
        raise ValueError

    def plain(agent):
        return slow(agent)

    told = {}
    bus.events.connect(
        lambda bus, event: told.setdefault(event.receiver, event), kinds=(events.Invoked,)
    )
    for receiver in (slow, breaks, plain, lambda agent: None):
        bus.signal("pre_think").connect(receiver, role="observe", name=receiver.__name__)
    bus.signal("post_think").connect(lambda agent: None, name="after")
    await agent_of(bus, []).think("a")
    assert {name: event.answer for name, event in told.items()} == {
        "<lambda>": "nothing", "slow": "nothing", "breaks": "failed", "plain": "nothing",
        "after": "nothing",
    }  # fmt: skip
    assert [name for name, event in told.items() if event.seconds > 0.19] == ["plain", "slow"]


def test_a_receiver_whose_filter_never_held_has_never_fired(bus):
    bus.signal("pre_reply").connect(lambda agent, msg: None, when=lambda msg: False, name="passed")
    bus.signal("pre_reply").connect(lambda agent, msg: None, name="asked")
    agent_of(bus, []).reply("a")
    [finding] = report(bus).findings
    assert finding.startswith("never fired: passed")


def test_who_hears_the_log_finds_no_secret_in_what_is_being_handled(bus):
    found = []

    def breaks(agent, msg):
        raise ValueError(msg)

    class Handler(logging.Handler):
        def emit(self, record):
            error = sys.exc_info()[1]
            while error is not None:
                found.append(str(error))
                error = error.__cause__ or error.__context__

    logging.getLogger("hookbus").addHandler(handler := Handler())
    try:
        bus.signal("pre_reply").connect(breaks)
        agent_of(bus, []).reply("hunter2")
    finally:
        logging.getLogger("hookbus").removeHandler(handler)
    assert len(found) == 1 and "hunter2" not in found[0]


def test_a_class_that_came_after_its_guard_is_warned_of_at_the_first_call_that_is_seen(bus, caplog):
    class Base:
        @hookable("pay", bus=bus)
        def pay(self, amount):
            return amount

    bus.signal("pre_pay").connect(lambda agent: None, role="guard", name="watch")
    Later = type("Later", (Base,), {"pay": lambda self, amount: Base.pay(self, amount) + 1})
    assert Later().pay(1) == 2 == Later().pay(1)
    [record] = caplog.records
    assert "watch" in record.message and "does not guard all of" in record.message


async def test_a_deadline_that_passed_is_told_as_that_and_an_own_timeout_is_not(bus):
    async def hangs(agent):
        await asyncio.sleep(60)

    async def times_out(agent):
        raise TimeoutError("of its own")

    said = {}
    bus.events.connect(
        lambda bus, event: said.update({event.receiver: str(event.exception)}),
        kinds=(events.Failed,),
    )
    bus.signal("pre_think").connect(hangs, timeout=0.01, name="late")
    bus.signal("pre_think").connect(times_out, timeout=60.0, name="own")
    await agent_of(bus, []).think("a")
    assert said == {"late": "did not answer within 0.01 seconds", "own": "of its own"}


def test_a_listener_that_is_held_weakly_hears_as_long_as_it_lives(bus):
    class Log:
        def __init__(self):
            self.heard = []

        def hear(self, bus, event):
            self.heard.append(event)

    log = Log()
    bus.events.connect(log.hear, weak=True)
    agent = agent_of(bus, [])
    agent.reply("a")
    assert [type(event) for event in log.heard] == [events.Started, events.Finished]
    del log
    gc.collect()
    agent.reply("a")
    assert not bus.events.connections()


def test_who_had_a_turn_before_an_item_was_blocked_has_fired(bus):
    @hookable("tokens", bus=bus)
    def tokens():
        yield 1

    bus.signal("pre_tokens").connect(lambda tokens: None, role="guard")
    bus.signal("around_tokens").connect(lambda tokens, call_next: call_next())
    bus.signal("item_tokens").connect(lambda tokens, item: Block("no"), role="guard")
    with pytest.raises(HookBlocked):
        list(tokens())
    assert report(bus).findings == ()


def test_a_guard_that_cannot_be_asked_is_told_once_however_often_the_method_is_attempted(bus):
    @hookable("stream", bus=bus)
    def stream():
        yield 1

    ran = []

    class Agent:
        @hookable("stream", bus=bus)
        def reply(self, msg):
            ran.append(msg)

    failures = failures_of(bus)
    bus.signal("item_stream").connect(
        lambda it, item: None, role="guard", shadow=True, name="early"
    )
    bus.signal("pre_stream").connect(lambda it: None, role="guard")
    bus.signal("around_stream").connect(lambda it, call_next: (call_next(msg="b"), call_next())[1])
    Agent().reply("a")
    assert ran == ["b", "a"] and [failure.receiver for failure in failures] == ["early"]


def breaks(request):
    raise ValueError


@pytest.mark.parametrize(
    "approver, is_spoilt",
    [
        (lambda request: Denied("ada", "no"), False),
        (lambda request: Approved("ada", arguments={"msg": ["b"], "tone": "kind"}), False),
        (lambda request: Approved("ada"), True),
        (breaks, False),
    ],
    ids=["denied", "edited", "changed since", "fails"],
)
def test_what_came_of_an_approval_is_not_told_of_the_next_receiver(bus, approver, is_spoilt):
    told = turns_of(bus)
    bus.approver(approver)
    bus.signal("pre_reply").connect(lambda agent, msg: Ask("?"), role="guard", name="asks")
    bus.signal("pre_reply").connect(lambda agent: None, role="guard", name="silent")
    bus.signal("pre_reply").connect(
        lambda agent, msg: msg.append("eve") if is_spoilt else None, role="observe", name="look"
    )
    bus.signal("finally_reply").connect(lambda agent: None, name="last")
    with suppress(HookBlocked):
        agent_of(bus, []).reply(["a"])
    others = [one for one in told if one[0] in ("silent", "look", "last")]
    assert {name for name, _ in others} >= {"silent", "last"}
    assert {answer for _, answer in others} == {"nothing"}


def test_an_around_is_not_reported_with_the_answer_of_a_modifier_before_it(bus):
    told = turns_of(bus)
    bus.signal("pre_reply").connect(lambda agent, msg: {"msg": msg.upper()}, name="upper")
    bus.signal("around_reply").connect(lambda agent, call_next: call_next(), name="around")
    agent_of(bus, []).reply("a")
    assert told == [("upper", "changed"), ("around", "nothing")]


def test_what_an_around_has_patched_is_not_told_of_the_guard_that_is_asked_again(bus):
    told = turns_of(bus)
    bus.signal("around_reply").connect(lambda agent, call_next: call_next(msg="b"), name="patches")
    bus.signal("pre_reply").connect(lambda agent: None, role="guard", name="silent")
    agent_of(bus, []).reply("a")
    assert told == [("silent", "nothing"), ("silent", "nothing"), ("patches", "nothing")]


def test_what_an_around_has_patched_is_not_told_of_who_answers_the_question(bus):
    @hookspec(all_at_once, bus=bus)
    def choose(x): ...

    told = turns_of(bus)
    choose.connect(lambda x: None, name="silent")
    bus.signal("around_choose").connect(lambda it, call_next: call_next(x="b"), name="patches")
    choose("a")
    assert told[0] == ("silent", "nothing")


def test_a_modifier_of_post_changes_the_result_if_only_changes_have_a_listener():
    bus, changes = Bus(), []

    class Agent:
        @hookable("reply", bus=bus)
        def reply(self):
            return "x"

    bus.signal("post_reply").connect(lambda agent, result: result.upper())
    bus.events.connect(lambda bus, event: changes.append(event.name), kinds=events.Mutated)
    assert (Agent().reply(), changes) == ("X", ["result"])
