"""Receivers that come, go, die or are muted between calls: each call asks those of its moment."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from hookbus import Bus, hookable
from hookbus._calls import writer as _writer

from ._calm import Stage


def test_a_receiver_that_comes_or_goes_is_asked_or_not_from_the_next_call_on(stage):
    for priority in (1, -1):
        second = stage.connect("second", priority=priority)
        expected = ["second", "first"] if priority > 0 else ["first", "second"]
        assert stage.agent.think([]) == [*expected, "guard", "body"]
        stage.warm()
        assert stage.agent.think([]) == [*expected, "guard", "body"]
        stage.bus.signal("pre_think").disconnect(second)
        assert stage.agent.think([]) == ["first", "guard", "body"]
        stage.warm()


def test_what_comes_goes_or_is_muted_for_all_counts_for_an_agent_with_receivers_of_its_own(stage):
    stage.connect("own", sender=stage.agent)
    stage.warm()
    second = stage.connect("second")
    assert stage.agent.think([]) == ["own", "first", "second", "guard", "body"]
    stage.warm()
    with stage.bus.signal("pre_think").muted():
        assert stage.agent.think([]) == ["guard", "body"]
    stage.warm()
    stage.bus.signal("pre_think").disconnect(second)
    assert stage.agent.think([]) == ["own", "first", "guard", "body"]


@pytest.mark.parametrize("sender", ["the agent", "its class", "anyone"])
def test_a_connection_that_is_switched_off_and_on_says_so_to_the_next_call(stage, sender):
    options = {
        "the agent": {"sender": stage.agent},
        "its class": {"sender": stage.Agent},
        "anyone": {},
    }[sender]
    with stage.bus.signal("pre_think").connected_to(
        lambda agent, notes: notes.append("switched"), **options
    ) as connection:
        for _ in range(3):
            stage.warm()
            assert "switched" in stage.agent.think([])
            connection.disable()
            assert "switched" not in stage.agent.think([])
            stage.warm()
            assert "switched" not in stage.agent.think([])
            connection.enable()
            assert "switched" in stage.agent.think([])
    assert stage.agent.think([]) == ["first", "guard", "body"]


def test_muting_holds_from_the_next_call_on_and_only_inside_and_never_for_guards(stage):
    for _ in range(3):
        with stage.bus.signal("pre_think").muted():
            assert [stage.agent.think([]) for _ in range(3)] == [["guard", "body"]] * 3
        assert [stage.agent.think([]) for _ in range(3)] == [["first", "guard", "body"]] * 3


async def test_muting_in_one_task_leaves_the_calls_of_another_alone(stage):
    stage.connect("first", hook="reply")
    for _ in range(3):
        await stage.agent.reply([])

    async def muted():
        with stage.bus.signal("pre_reply").muted():
            await asyncio.sleep(0)
            return [await stage.agent.reply([]) for _ in range(3)]

    async def heard():
        await asyncio.sleep(0)
        return [await stage.agent.reply([]) for _ in range(3)]

    assert await asyncio.gather(muted(), heard()) == [[["body"]] * 3, [["first", "body"]] * 3]


@pytest.mark.parametrize("phase", ["pre", "post", "finally"])
def test_a_receiver_that_is_held_weakly_dies_under_a_plan_and_the_calls_go_on(stage, phase):
    def receiver(agent, notes):
        notes.append("weak")

    stage.bus.signal(f"{phase}_think").connect(receiver, weak=True)
    stage.warm()
    assert "weak" in stage.agent.think([])
    gone = weakref.ref(receiver)
    del receiver
    gc.collect()
    assert gone() is None
    assert stage.agent.think([]) == ["first", "guard", "body"]
    stage.warm()
    assert stage.agent.think([]) == ["first", "guard", "body"]


def test_a_plan_keeps_no_agent_alive_whose_own_method_is_its_receiver():
    stage = Stage()

    class Careful(stage.Agent):
        def careful(self, agent, notes):
            notes.append("own")

    agent = Careful()
    stage.bus.signal("pre_think").connect(agent.careful, sender=agent, role="guard")
    stage.warm(agent)
    assert agent.think([]) == ["own", "body"]
    gone = weakref.ref(agent)
    del agent
    gc.collect()
    assert gone() is None
    assert not stage.bus.signal("pre_think").connections()


def test_the_receivers_of_one_agent_are_asked_about_no_other_also_while_they_are_being_connected(
    stage, monkeypatch
):
    other, board = stage.Agent(), stage.bus._switchboard
    changed = board.changed

    def late(signal, sender, **more):
        stage.connect_later = [stage.agent.think([]), other.think([])]  # another thread's, just now
        changed(signal, sender, **more)

    board.muting(stage.bus.signal("pre_think"))  # so that everything has to be looked up
    monkeypatch.setattr(board, "changed", late)
    stage.connect("own", sender=stage.agent)
    monkeypatch.undo()
    for _ in range(3):
        assert stage.agent.think([]) == ["own", "first", "guard", "body"]
        assert other.think([]) == ["first", "guard", "body"]


def test_a_listener_that_comes_under_a_plan_is_told_of_the_next_call(stage):
    told = []
    listener = stage.bus.events.connect(lambda bus, event: told.append(type(event).__name__))
    stage.agent.think([])
    assert told == ["Started", "Finished"]
    stage.bus.events.disconnect(listener)
    stage.warm()
    assert told == ["Started", "Finished"]
    stage.bus.events.connect(listener)
    stage.agent.think([])
    assert told == ["Started", "Finished"] * 2


def test_who_is_asked_once_is_asked_once(stage):
    stage.connect("once", once=True)
    told = [stage.agent.think([]) for _ in range(3)]
    assert told == [["first", "once", "guard", "body"], *[["first", "guard", "body"]] * 2]


def test_a_class_is_collected_after_calls_also_with_receivers_on_it(stage):
    class Child(stage.Agent):
        @hookable("think", bus=stage.bus)
        def think(self, notes):
            return super().think(notes)

    stage.connect("of the child", sender=Child)
    stage.warm(Child())
    gone = weakref.ref(Child)
    del Child
    gc.collect()
    assert gone() is None
    assert stage.agent.think([]) == ["first", "guard", "body"]


def test_a_class_made_after_its_parents_receivers_has_them_from_its_first_call_on(stage):
    stage.connect("of the parent", sender=stage.Agent)
    stage.warm()

    class Late(stage.Agent):
        pass

    class Overriding(stage.Agent):
        @hookable("think", bus=stage.bus)
        def think(self, notes):
            notes.append("override")
            return notes

    for _ in range(3):
        assert Late().think([]) == ["of the parent", "first", "guard", "body"]
        assert Overriding().think([]) == ["of the parent", "first", "guard", "override"]


def test_a_receiver_that_dies_during_a_call_is_passed_over():
    stage, held = Stage(), []

    def receiver(agent, notes):
        notes.append("weak")

    stage.bus.signal("pre_think").connect(
        lambda agent, notes: held.clear() if "drop" in notes else None
    )
    stage.bus.signal("pre_think").connect(receiver, weak=True)
    held.append(receiver)
    del receiver
    stage.warm()
    assert stage.agent.think([]) == ["weak", "body"]
    assert stage.agent.think(["drop"]) == ["drop", "body"]
    (first,) = stage.bus.signal("pre_think").connections()
    assert first.failures == 0


def test_a_receiver_of_one_agent_that_comes_while_a_plan_is_made_is_not_part_of_that_of_its_class(
    stage, monkeypatch
):
    other, build_plan, waiting = stage.Agent(), _writer.build_plan, []
    board = stage.bus._switchboard

    def connect_meanwhile(*arguments):
        monkeypatch.undo()
        with (
            monkeypatch.context() as patch
        ):  # another thread has registered it, and is yet to say so
            patch.setattr(board, "changed", lambda *given, **more: waiting.append(given))
            stage.connect("own", sender=stage.agent)
        return build_plan(*arguments)

    stage.connect("second")  # every plan has to be made anew
    monkeypatch.setattr(_writer, "build_plan", connect_meanwhile)
    stage.agent.think([])
    board.changed(*waiting.pop())
    for _ in range(3):
        assert stage.agent.think([]) == ["own", "first", "second", "guard", "body"]
        assert other.think([]) == ["first", "second", "guard", "body"]


def test_a_method_that_takes_itself_as_the_first_of_its_star_args_is_the_sender_and_fires_once_through_its_parent():  # noqa: E501
    bus, senders = Bus(), []

    class Parent:
        @hookable("think", bus=bus)
        def think(*args):
            return args[1:]

    class Child(Parent):
        @hookable("think", bus=bus)
        def think(*args):
            return Parent.think(*args)

    class Heir(Parent):
        pass

    bus.signal("pre_think").connect(lambda agent: senders.append(agent), weak=False)
    for agent in (Child(), Heir(), Parent()):
        senders.clear()
        assert [agent.think(1, 2) for _ in range(3)] == [(1, 2)] * 3
        assert senders == [agent] * 3
