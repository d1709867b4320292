"""A listener of `bus.events` that breaks is said once, and nobody else notices (the rows
`bus.events`; G17).
"""

from __future__ import annotations

import logging
import pickle
import sys

import attrs
import pytest

import hookbus
from hookbus import Bus, HookError, baggage, events

from ._cells import ROWS, TARGETS
from ._colours import make_agent, take
from ._failures import CANARY, RAISES


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def agent(bus, colour):
    return make_agent(bus, colour)


@pytest.fixture
def logged(caplog):
    """What was logged, by whatever logger of the library."""
    caplog.set_level(logging.DEBUG)
    return lambda: [record for record in caplog.records if record.name.split(".")[0] == "hookbus"]


def breaks(variant):
    def listener(bus, event):
        RAISES[variant]()

    return listener


async def a_coroutine(bus, event):
    raise AssertionError("nobody awaits it")


def returns_a_coroutine(bus, event):
    return a_coroutine(bus, event)


BROKEN = {
    **{f"raises-{variant}": breaks(variant) for variant in ROWS["raises"]},
    "async": returns_a_coroutine,
}


@pytest.mark.parametrize("colour", TARGETS)
@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_listener_changes_nothing_and_is_logged_once(bus, agent, colour, broken, logged):
    before, after = [], []
    bus.events.connect(lambda bus, event: before.append(event))
    bus.events.connect(broken)
    bus.events.connect(lambda bus, event: after.append(event))
    for _ in range(3):
        assert take(colour, agent, "hello") == "hello"
    assert [type(event) for event in before] == [events.Started, events.Finished] * 3
    assert after == before
    assert len(logged()) == 1
    assert CANARY not in logged()[0].getMessage()
    assert logged()[0].exc_info is None


@pytest.mark.parametrize("colour", TARGETS)
def test_a_coroutine_function_is_refused_as_a_listener(bus, agent, colour):
    with pytest.raises(HookError, match="a_coroutine"):
        bus.events.connect(a_coroutine)
    assert take(colour, agent, "hello") == "hello"


@pytest.mark.parametrize("colour", TARGETS)
def test_two_broken_listeners_are_each_logged(bus, agent, colour, logged):
    bus.events.connect(breaks("value_error"))
    bus.events.connect(breaks("import_error"))
    take(colour, agent, "hello")
    assert len(logged()) == 2


def test_a_broken_listener_at_the_address_of_one_that_is_gone_is_logged_too(bus, logged):
    agent = make_agent(bus, "sync")
    for _ in range(20):
        with bus.events.connected_to(breaks("value_error")):
            agent.reply("hello")
    assert len(logged()) == 20


@pytest.mark.parametrize("colour", TARGETS)
def test_the_failure_of_a_listener_is_no_event(bus, agent, colour):
    heard = []
    bus.events.connect(breaks("value_error"))
    bus.events.connect(lambda bus, event: heard.append(event))
    take(colour, agent, "hello")
    assert not any(isinstance(event, events.Failed) for event in heard)


def test_a_listener_that_calls_a_hooked_method_is_not_told_of_its_own_call(bus):
    agent, heard = make_agent(bus, "sync"), []

    def listener(bus, event):
        heard.append(event)
        agent.reply("again")

    bus.events.connect(listener)
    agent.reply("hello")
    assert [type(event) for event in heard] == [events.Started, events.Finished]


def test_what_changes_during_a_call_applies_to_its_end_even_with_a_single_listener(bus):
    agent, heard, second, muting = make_agent(bus, "sync"), [], [], bus.events.muted()
    change = []
    bus.events.connect(lambda bus, event: heard.append(event))
    bus.signal("pre_reply").connect(lambda agent: change.pop()(), role="observe")

    def users_at_the_end(during_the_call):
        heard.clear()
        second.clear()
        change.append(during_the_call)
        with baggage(user="ada"):
            agent.reply("hello")
        ends = [event for event in (*heard, *second) if type(event) is events.Finished]
        return [event.baggage["user"] for event in ends]

    def also(bus, event):
        second.append(event)

    assert users_at_the_end(lambda: None) == ["ada"]
    assert users_at_the_end(lambda: bus.events.connect(also)) == ["ada", "ada"]
    assert users_at_the_end(lambda: bus.events.disconnect(also)) == ["ada"]
    assert users_at_the_end(muting.__enter__) == []
    assert users_at_the_end(lambda: muting.__exit__(None, None, None)) == ["ada"]
    assert users_at_the_end(lambda: bus.redact(names="user")) == ["<redacted>"]


@pytest.mark.parametrize("colour", TARGETS)
def test_a_broken_listener_does_not_open_a_closed_guard(bus, agent, colour):
    bus.events.connect(breaks("value_error"))
    bus.signal("pre_reply").connect(breaks_as_guard, role="guard")
    with pytest.raises(HookError, match="blocked"):
        take(colour, agent, "hello")


def breaks_as_guard(agent):
    raise ValueError(CANARY)


def test_a_listener_hears_the_kinds_it_names_and_without_them_all_but_asked(bus):
    heard = {name: [] for name in ("all", "some", "asked")}
    bus.events.connect(lambda bus, event: heard["all"].append(type(event)))
    assert bus.events.listened_kinds == frozenset(events.KINDS) - {events.Invoked}
    with bus.events.connected_to(
        lambda bus, event: heard["asked"].append(type(event)), kinds=events.Invoked
    ):
        assert bus.events.listened_kinds == frozenset(events.KINDS)
    bus.events.connect_via(kinds=(events.Blocked, events.Failed))(
        lambda bus, event: heard["some"].append(type(event))
    )
    for kind in events.KINDS:
        bus.events.emit(kind, vars(made(kind)))
    assert heard["all"] == [kind for kind in events.KINDS if kind is not events.Invoked]
    assert heard["some"] == [events.Blocked, events.Failed] and heard["asked"] == []
    assert bus.events.listened_kinds == frozenset(events.KINDS) - {events.Invoked}


def made(kind):
    fields = {field.name: 0 for field in attrs.fields(kind) if field.default is attrs.NOTHING}
    return kind(**fields)


def test_a_listener_is_called_by_position_whatever_its_parameters_are_called(bus):
    heard = []
    for _ in range(2):  # each by itself, also where one of its kind is there
        bus.events.connect(lambda it, what: heard.append(what))
        bus.events.connect(lambda *both: heard.append(both[1]))
        bus.events.connect(lambda bus, *, event: heard.append(event))
        bus.events.connect(lambda bus, **named: heard.append(named["event"]))
    event = made(events.Lost)
    bus.events.emit(events.Lost, vars(event))
    assert heard == [event] * 8
    with pytest.raises(HookError, match="write def listener"):
        bus.events.connect(lambda bus, event, more: None)


@pytest.mark.parametrize("kinds", [events.Event, "Blocked", (events.Blocked, int), ()])
def test_kinds_are_classes_of_events(bus, kinds):
    with pytest.raises(HookError, match="write classes of hookbus.events: Started, Invoked"):
        bus.events.connect(lambda bus, event: None, kinds=kinds)
    with pytest.raises(HookError, match="connect to bus.events"):
        bus.signal("pre_reply").connect(lambda agent: None, kinds=kinds)
    assert not bus.events.listened_kinds and not bus.events.receivers


def test_an_event_is_frozen_and_keeps_the_baggage_that_it_was_made_in():
    with baggage(user="ada"), baggage(session=1) as around:
        for kind in events.KINDS:
            fields = {
                field.name: 0 for field in attrs.fields(kind) if field.default is attrs.NOTHING
            }
            event = kind(**fields)
            assert (
                event.baggage == {"user": "ada", "session": 1} and event.baggage is around
            )
            assert pickle.loads(pickle.dumps(event)) == event and hash(event) == hash(
                kind(**fields)
            )
            with pytest.raises(attrs.exceptions.FrozenInstanceError):
                event.hook = "other"
    assert made(events.Lost).baggage == {}


def test_a_call_with_two_receivers_and_a_listener_goes_through_twelve_functions_at_most():
    bus, entered = Bus(), set()
    agent = make_agent(bus, "sync")
    bus.signal("pre_reply").connect(lambda agent, msg: None)
    bus.signal("post_reply").connect(lambda agent, result: None)
    bus.events.connect(lambda bus, event: None)
    agent.reply("hi")

    def note(frame, event, _):
        code = frame.f_code
        is_ours = code.co_filename.startswith(("<hookbus ", hookbus.__path__[0]))
        if event == "call" and is_ours:
            entered.add(code)

    sys.setprofile(note)
    try:
        agent.reply("hi")
    finally:
        sys.setprofile(None)
    assert len(entered) <= 12, sorted(code.co_qualname for code in entered)
