"""Guards look at everything a call carries: keys, fields of objects, items of iterables."""

import dataclasses
import enum
from collections import UserDict, UserList, deque
from types import MappingProxyType, SimpleNamespace
from typing import NamedTuple

import attrs
import pydantic
import pytest

from hookbus import HookBlocked
from hookbus.guards import inside, provenance, public_hosts


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    target: object = None
    _hidden: object = pydantic.PrivateAttr(None)


class Root(pydantic.RootModel[list[object]]):
    def __iter__(self):
        return iter(())


@dataclasses.dataclass
class Data:
    target: object

    def __post_init__(self):
        self.later = self.target


@dataclasses.dataclass(slots=True)
class Slotted:
    target: object


@attrs.frozen
class Attrs:
    target: object


class Pair(NamedTuple):
    target: object
    other: int = 0


class Choice(enum.Enum):
    BAD = "/etc/passwd"
    HOST = "10.0.0.1"


class Again:
    """An iterable that can be read again and again."""

    def __init__(self, item):
        self._items = [item]

    def __iter__(self):
        return iter(self._items)


SHAPES = {
    "a key": lambda bad: {bad: "x"},
    "a key of a nested mapping": lambda bad: {"more": [{bad: None}]},
    "a key in a tuple": lambda bad: {("a", bad): 1},
    "a model": lambda bad: Model(target=bad),
    "an extra field of a model": lambda bad: Model(other=bad),
    "a root model": lambda bad: Root([bad]),
    "a dataclass": Data,
    "a dataclass with slots": Slotted,
    "an attrs object": Attrs,
    "a named tuple": Pair,
    "a namespace": lambda bad: SimpleNamespace(target=bad),
    "a deque": lambda bad: deque([bad]),
    "keys of a dict": lambda bad: {bad: 1}.keys(),
    "values of a dict": lambda bad: {1: bad}.values(),
    "a mapping proxy": lambda bad: MappingProxyType({"target": bad}),
    "a mapping of one's own": lambda bad: UserDict({bad: 1}),
    "a list of one's own": lambda bad: UserList([bad]),
    "an iterable": Again,
    "a model in a list in a dataclass": lambda bad: Data([Model(target={bad: 1})]),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_path_is_found_in_every_shape(call, bus, tmp_path, monkeypatch, shape):
    monkeypatch.chdir(tmp_path)
    bus.plug(inside(tmp_path))
    with pytest.raises(HookBlocked) as error:
        call("read", files=shape("/etc/passwd"))
    assert error.value.verdict.code == "path" and "/etc" not in error.value.reason
    call("read", text=shape("/etc/passwd"))
    assert len(call.made) == 1


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_an_address_is_found_in_every_shape(call, bus, shape):
    bus.plug(public_hosts())
    with pytest.raises(HookBlocked) as error:
        call("fetch", urls=shape("http://10.0.0.1/"))
    assert error.value.verdict.code == "host" and call.made == []


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_value_the_user_never_said_is_found_in_every_shape(call, bus, shape):
    guard = provenance({"send": "recipients"})
    bus.plug(guard)
    guard.heard("send it to ada")
    with pytest.raises(HookBlocked) as error:
        call("send", recipients=shape("eve@evil.test"))
    assert error.value.verdict.code == "provenance" and call.made == []


def test_fields_of_objects_are_found_by_their_name(call, bus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bus.plug(inside(tmp_path))
    box = dataclasses.make_dataclass("Box", ["path"])
    call("read", box=box("a.txt"), choice=enum.Enum("E", "A").A)
    for bad in (box("/etc/passwd"), [{"deep": box(["/etc"])}]):
        with pytest.raises(HookBlocked, match="outside the folders"):
            call("read", box=bad)
    with pytest.raises(HookBlocked, match="outside the folders"):
        call("read", path=Choice.BAD)


class Opaque:
    def __init__(self):
        self.path = "/etc/passwd"


class HalfAMapping:
    def keys(self):
        return []

    def __getitem__(self, key):
        return "/etc/passwd"

    def __iter__(self):
        return iter(())


class ReadOnce:
    def __init__(self):
        self._items = iter(["/etc/passwd"])

    def __iter__(self):
        return self._items


@pytest.mark.parametrize(
    "make",
    [Opaque, HalfAMapping, ReadOnce, lambda: iter(["/etc"]), lambda: (each for each in ["/etc"]),
     lambda: map(str, ["/etc"]), object, lambda: Data(Opaque()), lambda: print],
)  # fmt: skip
def test_an_object_that_cannot_be_looked_into_is_a_block(
    call, bus, tmp_path, make
):
    value = make()
    guards = inside(tmp_path), public_hosts(), provenance({"read": "recipient"})
    for guard in guards:
        off = bus.plug(guard)
        with pytest.raises(HookBlocked, match="cannot be looked into"):
            call("read", box=value)
        off()
    call("read", box=value)
    assert len(call.made) == 1


def test_an_iterator_is_left_as_it_was(call, bus, tmp_path):
    bus.plug(inside(tmp_path))
    items = iter(["/etc"])
    with pytest.raises(HookBlocked):
        call("read", paths=items)
    assert list(items) == ["/etc"]


def test_values_that_are_too_many_or_hold_themselves_are_a_block(call, bus, tmp_path, monkeypatch):
    bus.plug(inside(tmp_path))
    circle = []
    circle.append(circle)
    shared = ["x"]
    for _ in range(40):
        shared = [shared, shared]  # 2 to the power of 40 ways to the bottom
    for bad in (circle, shared, {"a": {1: circle}}):
        with pytest.raises(HookBlocked, match="nested more than 50 deep|too large"):
            call("read", box=bad)
    assert call.made == []
