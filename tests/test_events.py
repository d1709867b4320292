"""What is told of a call, and that telling never hurts it."""

import asyncio
import gc
import logging

import attrs
import pytest

from hookbus import Block, Bus, HookBlocked, Replace, events, hookable
from hookbus.events import HIDDEN


def agent_on(bus):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg, temperature=0.7):
            return "re: " + msg

        @hookable("outer", bus=bus)
        def outer(self, msg):
            return self.reply(msg)

    return Agent()


@pytest.fixture
def told():
    return []


@pytest.fixture
def bus(told):
    bus = Bus(values=True)
    bus.events.connect(lambda bus, event: told.append(event))
    return bus


def test_a_call_tells_its_start_its_changes_and_its_end(bus, told):
    agent = agent_on(bus)
    bus.signal("pre_reply").connect(lambda agent, msg: {"msg": msg.upper()}, name="shout")
    bus.signal("post_reply").connect(lambda agent, result: result + "!", name="stress")
    agent.reply("a")
    started, first, second, finished = told
    assert (type(started), started.hook, started.arguments) == (
        events.Started, "reply", ("msg", "temperature"),
    )  # fmt: skip
    assert started.values == {"msg": "a", "temperature": 0.7}
    assert (first.receiver, first.name, first.before, first.after) == ("shout", "msg", "a", "A")
    assert (second.receiver, second.name, second.before, second.after) == (
        "stress", "result", "re: A", "re: A!",
    )  # fmt: skip
    assert (type(finished), finished.outcome, finished.result, finished.error) == (
        events.Finished, "returned", "re: A!", None,
    )  # fmt: skip
    assert finished.seconds > 0 and finished.at >= started.at > 1e9
    assert len({event.call_id for event in told}) == 1


@pytest.mark.parametrize("is_redacted", [False, True])
def test_events_of_every_kind_have_the_fields_that_their_class_gives_them(is_redacted):
    bus, told = Bus(values=True), []
    bus.events.connect(lambda bus, event: told.append(event), kinds=events.KINDS)
    if is_redacted:
        bus.redact(names="nothing here")
    agent, pre = agent_on(bus), bus.signal("pre_reply")

    def twice(agent, call_next):
        call_next()
        return call_next()

    def fails(agent):
        raise ValueError

    def leaves(agent):
        return None

    bus.signal("around_reply").connect(twice)
    pre.connect(fails)
    pre.connect(lambda agent, msg: {"msg": msg.upper()})
    pre.connect(lambda agent, msg: Block("no") if msg == "B" else None, role="guard", name="g")
    bus.signal("pre_outer").connect(leaves, weak=True)
    agent.reply("a")
    with pytest.raises(HookBlocked):
        agent.reply("b")
    del leaves
    gc.collect()
    bus.switch("g", "shadow", by="a test")
    from_files = {events.Reloaded}  # tests/guards/test_policy.py
    assert {type(event) for event in told} == {*events.KINDS} - from_files
    for event in told:
        kind = type(event)
        assert [*vars(event)] == [field.name for field in attrs.fields(kind)]
        assert kind(**vars(event)) == event


def test_values_stay_out_of_events_unless_the_bus_asks_for_them():
    bus, told = Bus(), []
    bus.events.connect(lambda bus, event: told.append(event))
    bus.signal("pre_reply").connect(lambda agent, msg: {"msg": "SECRET"})
    bus.signal("post_reply").connect(lambda agent, result: Replace("SECRET too"))
    agent_on(bus).reply("SECRET before")
    assert "SECRET" not in repr(told)
    assert told[0].values is HIDDEN and told[1].before is HIDDEN and told[-1].result is HIDDEN


def test_the_text_of_a_failing_guards_exception_is_in_the_event_and_never_in_the_verdict(bus, told):
    def guard(agent):
        raise ValueError("SECRET key 123")

    bus.signal("pre_reply").connect(guard, role="guard", name="guard")
    with pytest.raises(HookBlocked) as error:
        agent_on(bus).reply("a")
    assert "SECRET" not in str(error.value) + repr(error.value) and error.value.__cause__ is None
    assert (
        error.value.reason == "guard failed: ValueError"
        and error.value.receiver == "guard"
        and error.value.hook == "reply"
    )
    failed, blocked = told[1:3]
    assert (failed.exception.args, failed.action, failed.role, failed.phase) == (
        ("SECRET key 123",), "blocked", "guard", "pre",
    )  # fmt: skip
    assert (blocked.receiver, blocked.phase, blocked.reason) == (
        "guard", "pre", "guard failed: ValueError",
    )  # fmt: skip


def test_a_nested_call_names_its_parent_and_a_task_that_outlives_it_does_not(bus, told):
    agent = agent_on(bus)
    agent.outer("a")
    outer, inner = [event for event in told if isinstance(event, events.Started)]
    assert (outer.parent_id, inner.parent_id) == (None, outer.call_id)
    told.clear()

    class Spawner:
        @hookable("spawn", bus=bus)
        async def spawn(self, gate):
            async def later():
                await gate.wait()
                agent.reply("later")

            return asyncio.create_task(later())

    async def main():
        gate = asyncio.Event()
        task = await Spawner().spawn(gate)
        gate.set()
        await task

    asyncio.run(main())
    started = [event for event in told if isinstance(event, events.Started)]
    assert [(event.hook, event.parent_id) for event in started] == [
        ("spawn", None),
        ("reply", None),
    ]


def test_events_are_frozen_and_say_the_sender_without_holding_it(bus, told):
    agent = agent_on(bus)
    agent.reply("a")
    assert told[0].sender == f"{type(agent).__qualname__} at {id(agent):#x}"
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        told[0].hook = "other"


def test_listeners_run_in_order_and_one_that_raises_is_logged_once_and_hurts_nobody(
    bus, told, caplog
):
    ran = []

    def broken(bus, event):
        ran.append("broken")
        raise RuntimeError("SECRET")

    bus.events.connect(broken, priority=5)
    bus.events.connect(lambda bus, event: ran.append("late"), priority=-5)
    with caplog.at_level(logging.DEBUG):
        for _ in range(3):
            assert agent_on(bus).reply("a") == "re: a"
    assert ran == ["broken", "late"] * 6 and len(told) == 6
    assert len(caplog.records) == 1 and "broken" in caplog.text and "SECRET" not in caplog.text


def test_a_listener_that_calls_a_hooked_method_is_not_told_of_it_again(bus, told):
    agent, depth = agent_on(bus), []

    def curious(bus, event):
        depth.append(event.hook)
        agent.reply("from the listener")

    bus.events.connect(curious)
    agent.outer("a")
    assert depth == ["outer", "reply", "reply", "outer"]


def test_a_keyboard_interrupt_in_a_listener_goes_out_after_the_others_were_told(bus, told):
    def interrupt(bus, event):
        raise KeyboardInterrupt

    bus.events.connect(interrupt, priority=9)
    with pytest.raises(KeyboardInterrupt):
        agent_on(bus).reply("a")
    assert isinstance(told[0], events.Started)


def test_a_replaced_a_blocked_and_a_raised_call_end_as_such(bus, told):
    agent = agent_on(bus)
    with bus.signal("pre_reply").connected_to(lambda agent: Replace("instead")):
        assert agent.reply("a") == "instead"
    with bus.signal("pre_reply").connected_to(
        lambda agent: Block("no", result="refused"), role="guard"
    ):
        assert agent.reply("a") == "refused"
    with pytest.raises(TypeError) as error:
        agent.reply(3)
    ends = [event for event in told if isinstance(event, events.Finished)]
    assert [end.outcome for end in ends] == ["replaced", "blocked", "raised"]
    assert [end.error for end in ends] == [None, None, error.value]


def test_nobody_on_events_means_no_call_is_observed():
    bus, told = Bus(), []
    agent = agent_on(bus)
    connection = bus.events.connected_to(lambda bus, event: told.append(event))
    agent.reply("a")
    connection.disconnect()
    agent.reply("a")
    assert len(told) == 2


def test_asked_says_who_had_a_turn_and_what_came_of_it():
    bus, asked = Bus(), []
    bus.events.connect(lambda bus, event: asked.append(event), kinds=events.Invoked)
    pre, agent = bus.signal("pre_reply"), agent_on(bus)
    pre.connect(lambda agent, msg: {"msg": msg.upper()}, name="changes")
    pre.connect(lambda agent: None, name="silent")
    pre.connect(lambda agent: {"msg": "no"}, name="elsewhere", when={"msg": "other"})
    pre.connect(lambda agent: 1 / 0, name="breaks")
    pre.connect(
        lambda agent, msg: Block("no") if msg == "BAD" else None, role="guard", name="guard"
    )
    pre.connect(lambda agent: "whatever", role="observe", name="looks")
    bus.signal("around_reply").connect(lambda agent, call_next: call_next(), name="around")
    bus.signal("post_reply").connect(lambda agent, ctx: ctx.result + "!", name="louder")
    assert agent.reply("good") == "re: GOOD!"
    assert [(event.phase, event.receiver, event.answer) for event in asked] == [
        ("pre", "changes", "changed"),
        ("pre", "silent", "nothing"),
        ("pre", "elsewhere", "not asked"),
        ("pre", "breaks", "failed"),
        ("pre", "guard", "nothing"),
        ("pre", "looks", "nothing"),
        ("around", "around", "nothing"),
        ("post", "louder", "changed"),
    ]
    assert all(event.seconds >= 0 for event in asked)
    with pytest.raises(HookBlocked):
        agent.reply("bad")
    assert (asked[-1].receiver, asked[-1].role, asked[-1].answer) == ("guard", "guard", "blocked")


def test_attempted_tells_each_of_several_attempts_and_of_one_alone_nothing():
    bus, tried = Bus(), []
    bus.events.connect(
        lambda bus, event: tried.append((event.receiver, event.number, event.outcome)),
        kinds=events.Attempted,
    )

    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return "re: " + msg

    def retries(agent, msg, call_next):
        if msg == "once":
            return call_next()
        with pytest.raises(TypeError):
            call_next(msg=None)
        return call_next()

    bus.signal("around_reply").connect(retries, name="retries")
    assert Agent().reply("once") == "re: once" and tried == []
    assert Agent().reply("twice") == "re: twice"
    assert tried == [("retries", 1, "raised"), ("retries", 2, "returned")]
    tried.clear()
    try:
        raise ValueError
    except ValueError:  # an exception that the caller handles is not one of the attempts
        assert Agent().reply("twice") == "re: twice"
    assert tried == [("retries", 1, "raised"), ("retries", 2, "returned")]


def test_a_call_whose_final_observer_is_interrupted_has_ended_by_that(bus, told):
    class Interrupt(BaseException):
        pass

    @bus.signal("finally_reply").connect
    def interrupts(agent):
        raise Interrupt

    with pytest.raises(Interrupt):
        agent_on(bus).reply("a")
    assert told[-1].outcome == "raised" and isinstance(told[-1].error, Interrupt)


def test_a_result_that_was_withheld_is_in_no_event(bus, told):
    bus.signal("post_reply").connect(lambda agent: Block("no"), role="guard")
    with pytest.raises(HookBlocked):
        agent_on(bus).reply("secret")
    assert "re: secret" not in [getattr(event, "result", None) for event in told]


def test_what_is_told_of_an_unheard_call_names_the_call_it_was_made_in(bus, told):
    other = Bus()
    other.events.connect(lambda bus, event: told.append(event), kinds=events.Failed)
    other.signal("pre_reply").connect(lambda agent: 1 / 0)
    bus.signal("post_reply").connect(lambda agent: agent_on(other).reply("inner"), role="observe")
    agent_on(bus).reply("outer")
    [failed] = [event for event in told if isinstance(event, events.Failed)]
    assert failed.parent_id == told[0].call_id


def test_a_listener_may_name_the_bus_as_its_sender(bus, told):
    bus.events.connect(lambda bus, event: told.append("named"), sender=bus)
    agent_on(bus).reply("a")
    assert told.count("named") == 2


def test_arounds_that_pass_a_result_on_have_changed_nothing(bus, told):
    for name in ("outer", "inner"):
        bus.signal("around_reply").connect(lambda agent, call_next, name=name: call_next())
    assert agent_on(bus).reply("a") == "re: a"
    assert [type(event) for event in told] == [events.Started, events.Finished]


async def test_between_two_items_a_stream_is_inside_its_call_and_its_consumer_is_not(bus, told):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self):
            pass

        @hookable("tokens", bus=bus)
        def tokens(self):
            yield 1
            self.reply()

        @hookable("tokens", bus=bus)
        async def later(self):
            yield 1
            self.reply()

    agent = Agent()
    for _ in agent.tokens():
        agent.reply()
    async for _ in agent.later():
        agent.reply()
    begun = [event for event in told if isinstance(event, events.Started)]
    sync, later = [event.call_id for event in begun if event.hook == "tokens"]
    assert [event.parent_id for event in begun if event.hook == "reply"] == [
        None, sync, None, later,
    ]  # fmt: skip


class MadeByHand(HookBlocked):
    def __init__(self, why):
        super().__init__(why)


@pytest.mark.parametrize("phase", ["pre", "post", "finally"])
@pytest.mark.parametrize("made", [HookBlocked("no"), MadeByHand("no")])
def test_an_observer_that_raises_a_block_of_its_own_making_hurts_nobody(bus, told, phase, made):
    def raises(agent):
        raise made

    agent = agent_on(bus)
    bus.signal(f"{phase}_reply").connect(raises, role="observe")
    assert agent.reply("a") is not None
    failed = [event for event in told if isinstance(event, events.Failed)]
    assert [event.exception for event in failed] == [made] and "no" in str(made)


def test_a_block_of_another_process_is_none_of_this_call(bus):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, number):
            foreign = HookBlocked("no", "guard", "reply")
            foreign.call_id = number
            raise foreign

    bus.signal("around_reply").connect(lambda agent, call_next: call_next(), weak=False)
    bus.signal("pre_reply").connect(lambda agent, ctx: {"number": ctx.call_id}, weak=False)
    rescue = lambda agent, error: Replace("rescued")  # noqa: E731
    bus.signal("error_reply").connect(rescue, weak=False, role="modify")
    assert Agent().reply(0) == "rescued"
