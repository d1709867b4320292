"""Every event as JSON, whatever stands in it."""

import json
import math
from pathlib import Path

import pytest

from hookbus import Block, Bus, HookBlocked, baggage, events, hookable
from hookbus.events import HIDDEN, KINDS


class Odd:
    """Nothing of it can be read."""

    def __repr__(self):
        raise RuntimeError("SECRET")

    __str__ = __eq__ = __len__ = __iter__ = __hash__ = __repr__

    @property
    def __class__(self):
        raise RuntimeError("SECRET")


class OddList(list):
    def __iter__(self):
        raise RuntimeError("SECRET")


class Agent:
    pass


def as_json(value):
    """Return what a value is in an event once it has been JSON."""
    event = events.Finished(
        call_id=1, parent_id=None, hook="h", sender="s", at=1.5, outcome="returned", seconds=0.5,
        result=value,
    )  # fmt: skip
    return json.loads(json.dumps(event.as_dict(), allow_nan=False))["result"]


def nested(levels):
    value = "deep"
    for _ in range(levels):
        value = [value]
    return value


CASES = [
    ({"a": [1, 2.5, None, True, "x"]}, {"a": [1, 2.5, None, True, "x"]}),
    ((1, {2}), [1, [2]]),
    ([math.nan, math.inf, -math.inf], ["nan", "inf", "-inf"]),
    ({1: "a", None: "b", (1, 2): "c"}, {"1": "a", "None": "b", "<tuple>": "c"}),
    ({1: "a", "1": "b"}, {"1": "a", "1 (2)": "b"}),
    (b"SECRET", "<6 bytes>"),
    (Agent(), "<Agent>"),
    (Agent, "<type>"),
    ([ValueError("SECRET")], ["<ValueError>"]),
    (ValueError("SECRET"), {"type": "ValueError", "place": None}),
    ("\ud800", "\\ud800"),
    (2**63 - 1, 2**63 - 1),
    (2**64, "18446744073709551616"),
    (10**5000, "<integer of 16610 bits>"),
    ("x" * 200_000, "<text of 200000 characters>"),
    (Odd(), "<Odd, which cannot be read>"),
    ({Odd: 1}, {"<type>": 1}),
    (OddList([1]), "<OddList, which cannot be read>"),
    ({"a": HIDDEN}, {"a": "<_Hidden>"}),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_any_value_is_told_as_json(number):
    value, told = CASES[number]
    assert as_json(value) == told


def test_what_holds_itself_or_is_too_deep_or_too_large_ends_in_words():
    ring = []
    ring.append(ring)
    assert as_json(ring) == ["<list, which contains itself>"]
    assert as_json({"a": [ring]}) == {"a": [["<list, which contains itself>"]]}
    assert "too deep" in json.dumps(as_json(nested(10_000)))
    wide = as_json([[0] * 1000] * 1000)
    assert sum(map(len, wide[:-1])) < 10_100 and wide[-1][-1] == "<too many values>"
    assert list(as_json(dict.fromkeys(range(20_000))).values())[-1] == "<too many values>"


def test_hostile_values_are_told_in_bounded_words():
    doubled = []
    for _ in range(60):
        doubled = [doubled, doubled]
    hostile = ["x" * 10**8, nested(10_000), doubled, {Agent(): 1 for _ in range(10_000)}]
    for value in hostile:
        assert len(json.dumps(as_json(value))) < 10**6  # some would take minutes, or for ever


@pytest.fixture
def told():
    """One event of every kind, of calls that go wrong in every way."""
    bus, told = Bus(values=True), []
    bus.events.connect(lambda bus, event: told.append(event), kinds=KINDS)

    @hookable("reply", bus=bus)
    def reply(msg, agent):
        if msg == "bad":
            raise LookupError("SECRET")
        return {"said": msg}

    def twice(reply, call_next):
        call_next()
        return call_next()

    def broken(reply):
        raise OSError("SECRET")

    class Dies:
        def looks(self, reply):
            pass

    bus.signal("pre_reply").connect(lambda reply, msg: {"msg": msg + "!"} if msg == "a" else None)
    bus.signal("pre_reply").connect(broken, role="observe", name="broken")
    bus.signal("pre_reply").connect(
        lambda reply, msg: Block("no", code="c", details={"n": math.nan}) if msg == "x" else None,
        role="guard", name="guard",
    )  # fmt: skip
    bus.signal("around_reply").connect(twice, name="twice")
    bus.signal("pre_reply").connect(Dies().looks, role="observe", weak=True)
    with baggage(session="s", trace=Agent()):
        reply("a", Agent())
        for msg, error in (("bad", LookupError), ("x", HookBlocked)):
            with pytest.raises(error):
                reply(msg, Agent())
        bus.switch("broken", "disable", by="ada")
    return told


def test_every_kind_of_event_is_json_and_says_its_fields_and_no_strangers_text(told):
    from_files = {events.Reloaded}  # tests/guards/test_policy.py
    assert {type(event) for event in told} == set(KINDS) - from_files
    for event in told:
        said = json.loads(json.dumps(event.as_dict(), allow_nan=False))
        assert list(said)[:7] == [
            "event", "call_id", "parent_id", "hook", "sender", "at", "baggage",
        ]  # fmt: skip
        assert said["event"] == type(event).__name__
        if type(event) is not events.Lost:
            assert said["baggage"] == {"session": "s", "trace": "<Agent>"}
        assert "SECRET" not in repr(event) + json.dumps(said)


def of(told, kind):
    return [event.as_dict() for event in told if type(event) is kind]


def test_an_exception_is_told_by_its_type_and_the_line_of_the_receiver_or_of_what_raised(told):
    failed = of(told, events.Failed)[0]
    assert failed["exception"] == {"type": "OSError", "place": failed["place"]}
    file, _, line = failed["place"].rpartition(":")
    lines = Path(__file__).read_text().split("\n")
    assert file == __file__ and 'raise OSError("SECRET")' in lines[int(line) - 1]
    [raised] = [each for each in of(told, events.Finished) if each["outcome"] == "raised"]
    assert raised["error"]["type"] == "LookupError" and raised["error"]["place"].startswith(file)


def test_what_hookbus_says_of_a_failure_is_told():
    bus, told = Bus(), []
    bus.events.connect(lambda bus, event: told.append(event.as_dict()), kinds=events.Failed)
    bus.signal("pre_reply").connect(lambda reply: True, role="guard", name="nods")
    with pytest.raises(HookBlocked):
        hookable("reply", bus=bus)(lambda msg: msg)("a")
    assert "nods" in told[0]["message"]
    assert told[0]["exception"]["type"] == "hookbus.exceptions.HookError"


def test_what_is_hidden_is_left_out():
    bus, told = Bus(), []
    bus.events.connect(lambda bus, event: told.append(event.as_dict()))
    bus.signal("pre_reply").connect(lambda reply, msg: {"msg": "b"})
    hookable("reply", bus=bus)(lambda msg: msg)("a")
    assert [set(each) & {"values", "before", "after", "result"} for each in told] == [set()] * 3
    assert told[0]["arguments"] == ["msg"] and told[1]["name"] == "msg"


class Basket(dict):
    """A container of somebody's own."""


def change_in_place(value):
    """Change every container in a value, at any depth."""
    if isinstance(value, dict):
        for each in list(value.values()):
            change_in_place(each)
        value["later"] = "LATER"
    elif isinstance(value, (list, tuple)):
        for each in value:
            change_in_place(each)
        if isinstance(value, list):
            value.append("LATER")
    elif isinstance(value, set):
        value.add("LATER")
    elif isinstance(value, bytearray):
        value.extend(b"LATER")


def containers():
    return {"a": [1, {"b": {2}}], "t": (["x"], bytearray(b"12")), "own": Basket(c=[3])}


def test_an_event_that_is_kept_says_what_the_values_were_when_it_was_made():
    bus, told, given, live = Bus(values=True), [], [], []

    def listener(bus, event):
        told.append(event)
        given.append(json.dumps(event.as_dict()))

    def fresh(*_):
        live.append(containers())
        return live[-1]

    bus.events.connect(listener, kinds=KINDS)

    @hookable("whole", bus=bus)
    def whole(value):
        return fresh()

    @hookable("items", bus=bus)
    def items(value):
        yield fresh()

    for hook in ("whole", "items"):
        bus.signal(f"pre_{hook}").connect(lambda _: {"value": fresh()}, name="argument")
    bus.signal("post_whole").connect(fresh, name="result")
    bus.signal("item_items").connect(fresh, name="item")
    details = fresh()
    bus.signal("pre_blocked").connect(
        lambda _: Block("no", details=details, result=details), role="guard", name="guard"
    )
    around = fresh()
    with baggage(session="s", around=around):
        whole(fresh())
        list(items(fresh()))
        hookable("blocked", bus=bus)(lambda: None)()
        bus.switch("guard", "shadow", by="ada")
    for value in live:
        change_in_place(value)
    assert [json.dumps(event.as_dict()) for event in told] == given
    assert "LATER" not in repr(told) and len(live) > 8
    assert {type(event) for event in told} >= {
        events.Started, events.Mutated, events.Blocked, events.Finished, events.Switched,
    }  # fmt: skip


def test_a_listener_that_writes_into_the_values_of_an_event_changes_no_call():
    bus = Bus(values=True)

    def writes(bus, event):
        for name in ("values", "before", "after", "result"):
            change_in_place(getattr(event, name, None))

    bus.events.connect(writes)
    bus.signal("pre_reply").connect(lambda _, value: {"value": {**value, "more": [1]}})
    assert hookable("reply", bus=bus)(lambda value: value)({"to": ["ann"]}) == {
        "to": ["ann"], "more": [1],
    }  # fmt: skip


def test_objects_that_are_no_containers_are_themselves_in_an_event():
    bus, told, agent = Bus(values=True), [], Agent()
    bus.events.connect(lambda bus, event: told.append(event))
    hookable("reply", bus=bus)(lambda value: (value, 2))([agent, b"1", 2.5])
    assert told[0].values["value"][0] is agent and told[1].result == ([agent, b"1", 2.5], 2)
    assert told[1].as_dict()["result"] == [["<Agent>", "<1 bytes>", 2.5], 2]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_kept_value_is_told_as_the_value_would_have_been(number):
    value, said = CASES[number]
    bus, told = Bus(values=True), []
    bus.events.connect(lambda bus, event: told.append(event), kinds=events.Started)
    hookable("reply", bus=bus)(lambda value: None)([value])
    expected = ["<ValueError>"] if type(value) is ValueError else [said]
    assert told[0].as_dict()["values"]["value"] == expected
