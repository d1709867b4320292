"""Identity is checked, not trusted: an id that is used again never brings a dead sender's receivers
back.
"""

import copy
import gc
import weakref

import pytest

from hookbus import ANY, Bus, HookError, hookable


@pytest.mark.parametrize("deferred", [False, True])
def test_a_dead_senders_connection_is_never_taken_for_that_of_a_new_object_at_its_address(
    monkeypatch, deferred
):
    bus, fired = Bus(), []

    class Agent:
        @hookable("reply", bus=bus)
        def reply(self):
            return 1

    signal = bus.signal("pre_reply")
    for _ in range(200):
        agent = Agent()
        signal.connect(lambda a: fired.append(1), sender=agent, role="observe")
        if deferred:
            # As when somebody asks before the end of the former sender was told.
            with monkeypatch.context() as patch:
                patch.setattr(type(signal._registry), "_end", lambda *_: None)
                del agent
            successor = Agent()
            assert signal._matching(successor) == []
        else:
            del agent
            successor = Agent()
        successor.reply()
        del successor
    assert fired == []
    assert deferred or len(signal.connections()) == 0


def test_a_check_for_a_class_that_has_gone_never_counts_for_a_new_class():
    bus = Bus()

    class First:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return msg

    class Second:
        @hookable("reply", bus=bus)
        def reply(self, text):
            return text

    signal = bus.signal("pre_reply")
    for _ in range(50):
        child = type("Child", (First,), {})
        signal.connect(lambda agent, msg: None, sender=child)
        del child
        gc.collect()
        children = [type("Child", (Second,), {}) for _ in range(5)]
        for child in children:
            with pytest.raises(HookError, match="has a parameter 'msg', which reply does not have"):
                signal.connect(lambda agent, msg: None, sender=child)


def test_a_receiver_is_checked_again_when_the_hooks_have_changed():
    bus = Bus()

    class First:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return msg

    signal = bus.signal("pre_reply")
    signal.connect(lambda agent, msg: None)
    del First
    gc.collect()

    class Second:
        @hookable("reply", bus=bus)
        def reply(self, text):
            return text

    with pytest.raises(HookError, match="has a parameter 'msg', which reply does not have"):
        signal.connect(lambda agent, msg: None)
    signal.connect(lambda agent, text: None)
    assert len(signal.connections()) == 2 and Second().reply("hi") == "hi"


@pytest.mark.parametrize("scope", ["anyone", "its class", "an instance"])
def test_a_class_that_is_given_up_is_collected_with_its_hookables_and_their_bus(scope):
    bus = Bus()

    class Agent:
        @hookable("reply", bus=bus)
        def reply(self):
            return 1

    agent = Agent()
    bus.signal("pre_reply").connect(
        lambda a: None, sender={"anyone": ANY, "its class": Agent, "an instance": agent}[scope]
    )
    for _ in range(20):
        agent.reply()
    gone = [weakref.ref(Agent), weakref.ref(Agent.reply), weakref.ref(bus)]
    del Agent, agent, bus
    gc.collect()
    gc.collect()
    assert [reference() for reference in gone] == [None, None, None]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy])
def test_what_holds_a_bus_or_a_signal_of_it_can_be_copied_and_has_the_same(again):
    bus = Bus()
    made = again({"bus": bus, "signal": bus.signal("pre_reply")})
    assert made["bus"] is bus and made["signal"] is bus.signal("pre_reply")
