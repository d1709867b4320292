"""What `bus.redact` keeps out of events, and what it never touches."""

import json
import logging
import random
import time

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, Replace, baggage, guards, hookable
from hookbus.events import KINDS, Mutated, Started

from .canaries import CANARIES, FORM, Tool, call_with, called, canary_of, holds

REDACTED, FAILED = "<redacted>", "<could not be redacted>"


@pytest.fixture
def bus():
    return Bus(values=True)


@pytest.fixture
def told(bus):
    told = []
    bus.events.connect(lambda bus, event: told.append(event), kinds=KINDS)
    return told


def said(told):
    """Return all that listeners could write down of events."""
    return repr(told) + json.dumps([event.as_dict() for event in told])


def test_G41_no_canary_gets_into_an_event_a_repr_a_record_a_report_or_a_log(bus, caplog):
    from hookbus import report
    from hookbus.testing import record

    draw = random.Random(41)
    bus.redact(patterns=FORM)
    with caplog.at_level(logging.DEBUG):
        for _ in range(CANARIES):
            canary = canary_of(draw)
            with record(bus) as happened:
                call_with(bus, draw, canary)
            assert len(happened.events) >= 2
            everything = said(happened.events) + str(happened) + caplog.text
            assert not holds(canary, everything)
            caplog.clear()
    assert "SECRET-" not in str(report(bus))


def test_a_secret_that_is_split_over_the_items_of_a_stream_is_told_at_no_split(bus):
    canary = "SECRET-abcdefgh"

    @hookable("tokens", bus=bus)
    def tokens(pieces):
        yield from pieces

    bus.signal("item_tokens").connect(lambda tokens, item: item.upper(), name="upper")
    told = []
    bus.events.connect(lambda bus, event: told.append(event))
    undo = bus.redact(patterns="(?i)" + FORM, names="pieces")
    for at in range(1, len(canary)):
        assert "".join(tokens([canary[:at], canary[at:]])) == canary.upper()
    items = [event for event in told if isinstance(event, Mutated)]
    assert {(event.before, event.after) for event in items} == {("<item of a stream>",) * 2}
    undo()
    list(tokens(["open"]))
    assert (told[-2].before, told[-2].after) == ("open", "OPEN")


# -- what is taken out -----------------------------------------------------------------------------


def test_what_stands_under_a_name_is_taken_out_at_any_depth_and_in_any_case(bus, told):
    bus.redact(names=("*PassWord*", "token"))
    arguments = {"Password": "p1", "of": [{"db_password": {"deep": "p2"}}], "token": 3, "x": "ok"}
    called(bus)("login", arguments)
    assert told[0].values["arguments"] == {
        "Password": REDACTED, "of": [{"db_password": REDACTED}], "token": REDACTED, "x": "ok",
    }  # fmt: skip
    assert told[-1].result == told[0].values["arguments"]


def test_an_argument_that_changes_is_known_by_its_name(bus, told):
    bus.redact(names="password")

    @hookable("login", bus=bus)
    def login(password):
        return "in"

    bus.signal("pre_login").connect(lambda login: {"password": {"new": "other"}})
    login("first")
    assert (told[1].before, told[1].after) == (REDACTED, REDACTED)


def test_patterns_that_overlap_leave_nothing_of_either(bus, told):
    bus.redact(patterns=("ab", "bc", "(?=y)", "wxyz", "x"))
    called(bus)("t", "1abc2y3wxyz4")
    assert told[0].values["arguments"] == "1<redacted>2y3<redacted>4"


def test_a_number_is_looked_at_as_a_text(bus, told):
    bus.redact(patterns=r"^4711$")
    called(bus)("t", [4711, 4712, 4711.5, True])
    assert told[0].values["arguments"] == [REDACTED, 4712, 4711.5, True]


def test_a_function_is_given_each_name_and_value_and_says_what_is_told(bus, told):
    bus.redact(function=lambda name, value: value if name in ("n", "name") else f"{name}?")
    called(bus)("t", {"n": 1, "m": [None, "secret"], "": {"": "secret"}})
    assert told[0].values["arguments"] == {"n": 1, "m": ["m?", "m?"], "": {"": "?"}}


def test_the_ready_guard_redacts_events_with_the_tokens_of_the_session(bus, told):
    redact = guards.redact(reversible="pay")
    bus.register(redact)
    bus.redact(guards=redact)
    for session, name in (("s", "ann"), ("t", "bob"), ("s", "bob")):
        with baggage(session=session):
            called(bus)("t", f"mail {name}@example.org")
    shown = [event.values["arguments"] for event in told if isinstance(event, Started)]
    tokens = [redact.text("ann@example.org", session="s"), redact.text("bob@example.org", "t"),
              redact.text("bob@example.org", "s")]  # fmt: skip
    assert shown == [f"mail {token}" for token in tokens] and len(set(tokens)) == 3
    assert "ann@" not in said(told) and "bob@" not in said(told)


def test_declared_labels_are_in_events_without_values_and_redacted_too():
    bus, told = Bus(), []
    bus.events.connect(lambda bus, event: told.append(event))

    @hookable(bus=bus, labels=("name", "kind", "call_id", "caller"))
    def tool_call(name, arguments, call_id, kind, tool, caller):
        return "SECRET"

    tool_call("pay", "SECRET", 7, None, Tool("x"), Tool("ada"))
    assert told[0].labels == told[1].labels == {"name": "pay", "call_id": "7", "caller": "ada"}
    assert "SECRET" not in said(told)
    undo = bus.redact(names="caller", patterns="pay")
    tool_call("pay it", {}, "7", "function", None, object())
    assert told[2].labels == {
        "name": "<redacted> it", "kind": "function", "call_id": "7", "caller": REDACTED,
    }  # fmt: skip
    undo()
    tool_call("x" * 10_000, {}, None, None, None, object())
    assert told[4].labels == {"name": "<text of 10000 characters>", "caller": "object"}


def test_a_hook_of_ones_own_called_as_one_of_the_vocabulary_has_only_the_labels_it_declares():
    bus, told = Bus(), []
    bus.events.connect(lambda bus, event: told.append(event), kinds=Started)

    @hookable(bus=bus)
    def tool_call(name, arguments):
        pass

    @hookable("model_call", bus=bus, labels=["model"])
    def ask(model, caller):
        pass

    tool_call("SECRET", {})
    ask("m", "SECRET")
    assert [event.labels for event in told] == [{}, {"model": "m"}]


# -- what goes wrong -------------------------------------------------------------------------------


def test_a_redactor_that_fails_leaves_a_placeholder_and_is_logged_once(bus, told, caplog):
    def broken(name, value):
        if name == "arguments":
            raise RuntimeError(f"cannot read {value}")
        return value

    bus.redact(function=broken)
    tool_call = called(bus)
    with caplog.at_level(logging.DEBUG):
        assert tool_call("t", "SECRET") == tool_call("t", "SECRET") == "SECRET"
    assert told[0].values == {"name": "t", "arguments": FAILED}
    [logged] = caplog.records
    assert "redact(function=) failed: RuntimeError" in caplog.text and "SECRET" not in caplog.text


@pytest.mark.parametrize("answer", [b"SECRET", {"a": "SECRET"}, Tool("SECRET"), ["SECRET"]])
def test_what_a_function_may_not_return_is_not_told(bus, told, answer):
    bus.redact(function=lambda name, value: answer)
    called(bus)("t", "a")
    assert "SECRET" not in said(told)


def test_a_pattern_that_takes_for_ever_is_given_up_and_nothing_more_is_told(bus, told):
    bus.redact(patterns=r"(a|a)+$")
    called(bus)("t", ["a" * 60 + "b", "open"])
    assert told[0].values["arguments"] == [FAILED, FAILED]


def test_after_a_while_nothing_more_is_shown_to_a_guard_that_is_slow(bus, told):
    class Slow:
        def text(self, text, session, timeout):
            if text == "slow":
                time.sleep(0.11)
            return text

    bus.redact(guards=Slow())
    called(bus)("t", ["fast", "slow", "fast"])
    assert told[0].values["arguments"] == ["fast", "slow", FAILED]


def test_a_text_too_long_for_the_forms_of_the_ready_guard_is_not_told(bus, told):
    bus.redact(guards=guards.redact())
    called(bus)("t", ["a" * 4_001, "a" * 4_000])
    assert told[0].values["arguments"] == [FAILED, "a" * 4_000]


def test_hostile_values_leave_the_call_as_it_is(bus, told):
    bus.redact(patterns=FORM)

    class Odd(dict):
        def items(self):
            raise RuntimeError("SECRET-abcdefgh")

        __repr__ = __iter__ = __eq__ = __hash__ = __deepcopy__ = items

    ring = []
    ring.append(ring)
    deep = "SECRET-abcdefgh"
    for _ in range(10_000):
        deep = [deep]
    tool_call = called(bus)
    for value in (Odd(a=1), ring, deep, "x" * 10**7 + "SECRET-abcdefgh"):
        assert tool_call("t", value) is value
    assert "abcdefgh" not in said(told)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "has nothing to redact"), ({"names": ""}, "names="), ({"names": [1]}, "names="),
        ({"patterns": "("}, "patterns=: element .0. is not a valid pattern"),
        ({"patterns": [b"x"]}, "patterns="),
        ({"guards": object()}, "guards= takes"), ({"function": 1}, "function= takes"),
    ],
)  # fmt: skip
def test_what_cannot_redact_is_refused(bus, given, said):
    with pytest.raises(HookError, match=said):
        bus.redact(**given)


# -- what it leaves alone --------------------------------------------------------------------------


def test_G44_receivers_the_body_and_the_caller_get_what_they_got_without_it(bus, told):
    seen = []
    bus.redact(names="*", patterns=".")
    bus.signal("pre_tool_call").connect(lambda _, arguments: seen.append(arguments), role="guard")
    bus.signal("post_tool_call").connect(
        lambda _, result, baggage: seen.append((result, baggage["user"])), role="observe"
    )
    value = {"a": ["SECRET"]}
    with baggage(user="ada"):
        assert called(bus)("t", value) is value
    assert seen[0] is value and seen[1][0] is value and seen[1][1] == "ada"
    assert value == {"a": ["SECRET"]}
    with bus.signal("post_tool_call").connected_to(lambda _: Replace("SECRET")):
        assert called(bus)("t", value) == "SECRET"
    with bus.signal("pre_tool_call").connected_to(lambda _: Block("SECRET"), role="guard"):
        with pytest.raises(HookBlocked, match="SECRET"):  # the guard's own words
            called(bus)("t", value)
    assert "SECRET" not in said(told)


def test_what_is_taken_back_redacts_no_more_and_others_still_do(bus, told):
    undo, _ = bus.redact(patterns="x"), bus.redact(patterns="y")
    tool_call = called(bus)
    tool_call("t", "xy")
    undo()
    undo()
    tool_call("t", "xy")
    assert [event.result for event in told if hasattr(event, "result")] == [
        REDACTED * 2, f"x{REDACTED}",
    ]  # fmt: skip


def test_another_bus_is_not_redacted(bus, told):
    Bus(values=True).redact(patterns="a")
    called(bus)("t", "a")
    assert told[0].values["arguments"] == "a"
