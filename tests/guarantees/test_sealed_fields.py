"""Objects in the arguments and results of hooks under an adapter, such as messages: what a guard
judged in their fields is what runs."""

import asyncio
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import attrs
import pydantic
import pytest

from hookbus import Bus, HookBlocked, instrument, report
from hookbus.events import Failed, Mutated
from hookbus.testing import record

from ._kinds import KINDS, agent_of, around_of, called

pytestmark = pytest.mark.filterwarnings("error")


@dataclass
class Record:
    to: str
    lines: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class SlottedRecord:
    to: str
    lines: list[Any] = field(default_factory=list)


class HeirOfRecord(Record):
    pass


@attrs.define
class SlottedMessage:
    to: str
    lines: list[Any] = attrs.field(factory=list)


@attrs.define(slots=False)
class Message:
    to: str
    lines: list[Any] = attrs.field(factory=list)


class Model(pydantic.BaseModel):
    to: str
    lines: list[Any] = []
    old: Any = pydantic.Field(default=None, deprecated="it is old")


class OpenModel(pydantic.BaseModel, extra="allow"):
    lines: list[Any] = []


class Plain:
    """A message of a framework whose adapter says what its fields are."""

    __hookbus_fields__ = ("to", "lines")

    def __init__(self, to, lines=()):
        self.to, self.lines = to, lines


class Items(OrderedDict):
    """A mapping of a framework's own."""


Pair = namedtuple("Pair", "to lines")

MADE = {each.__name__: each for each in (
    Record, SlottedRecord, HeirOfRecord, SlottedMessage, Message, Model, OpenModel, Plain,
)}  # fmt: skip


def sealed(kind="sync", body=lambda given: given, guard=lambda agent: None, **options):
    """Return an agent, as an adapter would make one, whose calls a guard agrees with."""
    bus, ran = Bus(), []
    made = agent_of(kind, bus, lambda given: ran.append(given) or body(given))

    class Plain:
        pay = type(made).pay.__wrapped__

    options = {"read_only": ("arguments",), "sealed_fields": ("arguments", "result"), **options}
    instrument(Plain, "pay", bus=bus, **options)
    bus.signal("pre_pay").connect(guard, role="guard", name="agrees")
    return bus, Plain(), ran


@KINDS
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize("place", ["observer", "around", "guard"])
def test_a_field_that_is_written_after_the_verdict_blocks_the_call(kind, make, place):
    bus, agent, ran = sealed(kind)

    def write(arguments):
        arguments["messages"][0].to = "eve"

    if place == "around":
        bus.signal("around_pay").connect(around_of(kind, write), name="writer")
    else:
        role = "guard" if place == "guard" else "observe"
        bus.signal("pre_pay").connect(
            lambda agent, arguments: write(arguments), role=role, priority=-1, name="writer"
        )
    with record(bus) as fired, pytest.raises(HookBlocked, match=r"\['messages'\]\[0\]\..* was ch"):
        called(kind, agent, {"messages": [make(to="ann")]})
    assert not ran and [(each.receiver, each.action) for each in fired.of(Failed)] == [
        ("agrees, writer", "blocked")
    ]
    if make is Record:  # a report looks at every class of the program
        assert "ran after the guards in a call" in str(report(bus))


@pytest.mark.parametrize("make", [*MADE.values(), Pair], ids=[*MADE, "Pair"])
def test_what_a_field_holds_is_sealed_at_any_depth(make):
    bus, agent, ran = sealed()
    bus.signal("pre_pay").connect(
        lambda agent, arguments: arguments["message"].lines[0]["who"].lines.append("eve"),
        role="observe",
    )
    message = make(to="ann", lines=[{"who": make(to="bob", lines=[])}])
    with pytest.raises(HookBlocked, match=r"changed in place"):
        agent.pay({"message": message})
    assert not ran


def test_the_block_names_the_field():
    bus, agent, _ = sealed()

    def write(agent, arguments):
        arguments["message"].lines[0].to = "eve"

    bus.signal("pre_pay").connect(write, role="observe")
    message = Record("ann", lines=[Model(to="bob")])
    with pytest.raises(HookBlocked, match=r"arguments\['message'\]\.lines\[0\]\.to was changed"):
        agent.pay({"message": message})


@pytest.mark.parametrize(
    "write",
    [
        lambda items: items.update(to="eve"),
        lambda items: items.move_to_end("to", last=False),
        lambda items: items["who"].append("eve"),
    ],
    ids=["a key", "order", "inside"],
)
def test_subclasses_of_containers_are_sealed_too(write):
    bus, agent, ran = sealed()
    bus.signal("pre_pay").connect(
        lambda agent, arguments: write(arguments["items"]), role="observe"
    )
    with pytest.raises(HookBlocked, match=r"arguments\['items'\]"):
        agent.pay({"items": Items(who=["ann"], to="ann")})
    assert not ran


def test_what_an_object_works_out_for_itself_is_no_change():
    class Reader(pydantic.BaseModel):
        text: str
        _read: int = pydantic.PrivateAttr(0)

        @cached_property
        def words(self):
            self._read += 1
            return self.text.split()

    @dataclass
    class Counted:
        text: str
        count: ClassVar[int] = 0

        @cached_property
        def words(self):
            Counted.count += 1
            return self.text.split()

    bus, agent, ran = sealed()
    bus.signal("pre_pay").connect(
        lambda agent, arguments: [each.words for each in arguments["read"]], role="observe"
    )
    agent.pay({"read": [Reader(text="a b"), Counted("a b")]})
    assert len(ran) == 1


def test_reading_fields_runs_no_code_of_the_object_and_no_warning():
    read = []

    class Silent(Model):
        def __getattribute__(self, name):
            assert not read, f"{name} was read"
            return super().__getattribute__(name)

        __hash__ = __eq__ = __iter__ = None

    @attrs.define
    class Unset:
        to: str = attrs.field(init=False)

    given = {"all": [Silent(to="ann"), Unset()]}
    bus, agent, ran = sealed()
    bus.signal("post_pay").connect(lambda agent, result: read.clear(), role="guard")
    read.append("from now on")
    agent.pay(given)
    assert len(ran) == 1


def test_an_equal_text_in_a_field_is_no_change_and_each_attempt_is_sealed_anew():
    bus, agent, ran = sealed()
    message, seen = Model(to="ann"), []

    def same(agent, arguments):
        arguments["message"].to = "".join(["a", "nn"])

    bus.signal("pre_pay").connect(same, role="observe")
    bus.signal("pre_pay").connect(
        lambda agent, arguments: seen.append(arguments["message"].to), role="guard"
    )
    agent.pay({"message": message})
    message.to = "bob"
    bus.signal("around_pay").connect(lambda agent, arguments, call_next: call_next())
    bus.signal("pre_pay").disconnect(same)
    agent.pay({"message": message})
    assert seen == ["ann", "bob"] and len(ran) == 2


def test_messages_that_know_each_other_are_sealed_once():
    bus, agent, ran = sealed()
    first, second = Record("ann"), Record("bob")
    first.lines, second.lines = [second], [first]
    agent.pay({"messages": [first, second] * 100})
    assert len(ran) == 1
    bus.signal("pre_pay").connect(
        lambda agent, arguments: second.lines.append(1), role="observe", name="writer"
    )
    with pytest.raises(HookBlocked, match=r"\[1\]\.lines|\[0\]\.lines"):
        agent.pay({"messages": [first, second] * 100})


def test_an_object_that_is_an_argument_itself_is_sealed():
    bus, agent, ran = sealed()
    bus.signal("pre_pay").connect(
        lambda agent, arguments: setattr(arguments, "to", "eve"), role="observe"
    )
    with pytest.raises(HookBlocked, match=r"arguments\.to was changed"):
        agent.pay(Model(to="ann"))
    assert not ran


def test_objects_of_other_arguments_and_classes_without_fields_may_change():
    class Own:
        to = "ann"

    bus, agent, ran = sealed(sealed_fields=())
    bus.signal("pre_pay").connect(
        lambda agent, arguments: setattr(arguments[0], "to", "eve"), role="observe"
    )
    agent.pay([Model(to="ann")])
    bus, other, ran_too = sealed()
    bus.signal("pre_pay").connect(
        lambda agent, arguments: setattr(arguments[0], "to", "eve"), role="observe"
    )
    other.pay([Own()])
    assert ran[0][0].to == ran_too[0][0].to == "eve"


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("phase", ["post", "finally"])
def test_a_field_of_a_result_that_is_written_after_its_guard_is_withheld(kind, phase):
    bus, agent, _ = sealed(kind, lambda given: [Model(to="ann")])
    bus.signal("post_pay").connect(lambda agent, result: None, role="guard")
    bus.signal(f"{phase}_pay").connect(
        lambda agent, result: setattr(result[0], "to", "a secret"), role="observe"
    )
    with pytest.raises(HookBlocked, match=r"result\[0\]\.to was changed"):
        called(kind, agent, {})


@pytest.mark.parametrize("kind", ["generator", "async generator"])
def test_a_field_of_an_item_that_is_written_after_its_guard_does_not_leave(kind):
    bus, agent, _ = sealed(kind, lambda given: Record("ann"))
    bus.signal("item_pay").connect(lambda agent, item: None, role="guard")
    bus.signal("item_pay").connect(
        lambda agent, item: setattr(item, "to", "a secret"), role="observe"
    )
    with pytest.raises(HookBlocked, match=r"item\.to was changed"):
        called(kind, agent, {})


async def test_a_task_that_writes_while_an_async_guard_thinks_blocks_the_call():
    message, thinks = Model(to="ann"), asyncio.Event()

    async def guard(agent):
        thinks.set()
        await asyncio.sleep(0.01)

    _, agent, ran = sealed("async", guard=guard)

    async def write():
        await thinks.wait()
        message.to = "eve"

    with pytest.raises(HookBlocked, match=r"\.to was changed"):
        await asyncio.gather(agent.pay({"message": message}), write())
    assert not ran


def test_a_patch_of_another_argument_tells_no_change_of_what_is_read_only():
    bus = Bus()

    class Agent:
        def ask(self, messages, options):
            return messages, options

    instrument(Agent, "ask", bus=bus, read_only=("messages", "options"))
    bus.signal("pre_ask").connect(lambda agent: {"options": {"n": 2}}, name="change")
    with record(bus) as fired:
        assert Agent().ask(({"to": "ann"},), {}) == (({"to": "ann"},), {"n": 2})
    assert [each.name for each in fired.of(Mutated)] == ["options"]
