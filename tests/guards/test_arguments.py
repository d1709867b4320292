"""Guards look at everything a call carries: keys, fields of objects, items of iterables."""

import dataclasses
import enum
from collections import UserDict, UserList, deque
from types import MappingProxyType, SimpleNamespace
from typing import NamedTuple

import attrs
import pydantic
import pytest

from hookbus import HookBlocked, hookable, instrument
from hookbus.guards import paths_within, provenance, public_hosts


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


def with_attribute(value, bad):
    value.target = bad
    return value


class Text(str):
    pass


class Rows(list):
    pass


class Box(dict):
    pass


class SlottedRows(list):
    __slots__ = ("__target",)

    def __init__(self, bad):
        self.__target = bad


class SilentRows(list):
    """A list that says it has no items."""

    def __iter__(self):
        return iter(())


class Coded(enum.Enum):
    """A member whose value is not all that it has."""

    def __new__(cls, code):
        member = object.__new__(cls)
        member._value_ = code
        return member

    ONE = "a.txt"


class Named(enum.StrEnum):
    """A member that is another string than its value."""

    def __new__(cls, name):
        member = str.__new__(cls, name)
        member._value_ = name
        return member

    ONE = "a.txt"


def member(kind, bad):
    kind.ONE.__dict__["target"] = bad
    return kind.ONE


@dataclasses.dataclass
class Upload:
    """A path of its own, that has another one besides."""

    path: str
    target: object

    def __fspath__(self):
        return self.path


class Batch:
    """A collection that keeps something besides its items."""

    def __init__(self, bad):
        self._items, self.target, self.owner = ["a.txt"], bad, print

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return 1

    def __contains__(self, item):
        return True


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
    "an attribute of a string": lambda bad: with_attribute(Text("a.txt"), bad),
    "an attribute of a list": lambda bad: with_attribute(Rows(), bad),
    "an attribute of a dict": lambda bad: with_attribute(Box(), bad),
    "a private slot of a list": SlottedRows,
    "a list that hides its items": lambda bad: SilentRows([bad]),
    "an attribute of a member": lambda bad: member(Coded, bad),
    "an attribute of a member that is a string": lambda bad: member(Named, bad),
    "an attribute of a path": lambda bad: Upload("a.txt", bad),
    "an attribute of a collection": Batch,
    "a model in a list in a dataclass": lambda bad: Data([Model(target={bad: 1})]),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_path_is_found_in_every_shape(call, bus, tmp_path, monkeypatch, shape):
    monkeypatch.chdir(tmp_path)
    bus.register(paths_within(tmp_path))
    with pytest.raises(HookBlocked) as error:
        call("read", files=shape("/etc/passwd"))
    assert error.value.verdict.code == "path" and "/etc" not in error.value.reason
    call("read", text=shape("/etc/passwd"))
    assert len(call.made) == 1


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_an_address_is_found_in_every_shape(call, bus, shape):
    bus.register(public_hosts())
    with pytest.raises(HookBlocked) as error:
        call("fetch", urls=shape("http://10.0.0.1/"))
    assert error.value.verdict.code == "host" and call.made == []


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_value_the_user_never_said_is_found_in_every_shape(call, bus, shape):
    guard = provenance({"send": "recipients"})
    bus.register(guard)
    guard.trust("send it to ada")
    with pytest.raises(HookBlocked) as error:
        call("send", recipients=shape("eve@evil.test"))
    assert error.value.verdict.code == "provenance" and call.made == []


def test_fields_of_objects_are_found_by_their_name(call, bus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bus.register(paths_within(tmp_path))
    box = dataclasses.make_dataclass("Box", ["path"])
    call("read", box=box("a.txt"), choice=enum.Enum("E", "A").A)
    for bad in (box("/etc/passwd"), [{"deep": box(["/etc"])}]):
        with pytest.raises(HookBlocked, match="outside the allowed folders"):
            call("read", box=bad)
    with pytest.raises(HookBlocked, match="outside the allowed folders"):
        call("read", path=Choice.BAD)


@dataclasses.dataclass
class Moved:
    root: str

    @property
    def path(self):
        return self.root


@dataclasses.dataclass
class Odd:
    @property
    def path(self):
        raise OSError


class Computed(pydantic.BaseModel):
    root: str

    @pydantic.computed_field
    @property
    def path(self) -> str:
        return self.root


def test_a_property_is_judged_where_its_name_is_covered(call, bus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bus.register(paths_within(tmp_path))
    call("read", box=[Moved("a.txt"), Computed(root="a.txt")])
    for bad in (Moved("/etc"), Computed(root="/etc"), [Moved("/etc")]):
        with pytest.raises(HookBlocked, match="path is outside the allowed folders"):
            call("read", box=bad)
    with pytest.raises(HookBlocked, match="path is not a path"):
        call("read", box=Odd())


class Field(enum.Enum):
    PATH = "path"


@pytest.mark.parametrize("name", [b"path", Field.PATH, Text("path")], ids=repr)
def test_a_key_that_is_no_plain_string_is_a_name_too(call, bus, tmp_path, name):
    bus.register(paths_within(tmp_path))
    with pytest.raises(HookBlocked, match="outside the allowed folders"):
        call("read", box={name: "/etc/passwd"})


class Sly(str):
    """A string that says it is another one."""

    def _say(self, *_):
        return True

    __eq__ = startswith = _say
    __hash__ = str.__hash__

    def strip(self):
        return self

    def casefold(self):
        return "harmless"


def test_what_a_class_of_strings_says_of_them_counts_for_nothing(call, bus, tmp_path):
    bus.register(paths_within(tmp_path))
    bus.register(public_hosts())
    for name, bad in (("path", Sly("/etc/passwd")), (Sly("path"), "/etc"), ("url", Sly("//a@b"))):
        with pytest.raises(HookBlocked):
            call.given("read", {name: bad})
    assert call.made == []


def test_plain_data_beside_the_arguments_of_a_tool_is_judged_and_objects_are_not(bus, tmp_path):
    bus.register(paths_within(tmp_path))
    bus.register(public_hosts())
    ran = []

    @hookable("tool_call", bus=bus)
    def tool_call(name, arguments, cwd=None, url=None, context=None):
        ran.append(name)

    tool_call("read", {}, cwd=str(tmp_path), url="https://8.8.8.8/", context=Opaque())
    for options in ({"cwd": "/etc"}, {"url": "http://10.0.0.1/"}, {"context": {"path": "/etc"}}):
        with pytest.raises(HookBlocked):
            tool_call("read", {}, **options)
        with pytest.raises(HookBlocked):
            tool_call("read", {"cwd": ".", "url": "8.8.8.8", "context": 1}, **options)
    assert ran == ["read"]


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
    guards = paths_within(tmp_path), public_hosts(), provenance({"read": "recipient"})
    for guard in guards:
        off = bus.register(guard)
        with pytest.raises(HookBlocked, match="cannot be inspected"):
            call("read", box=value)
        off()
    call("read", box=value)
    assert len(call.made) == 1


def test_read_only_containers_of_receivers_are_looked_at_as_plain_ones(bus, tmp_path):
    class Tool:
        def tool_call(self, name, arguments):
            return "ran"

    instrument(Tool, "tool_call", bus=bus, read_only=("arguments",))  # as adapters do
    call_tool = Tool().tool_call
    bus.register(paths_within(tmp_path))
    bus.register(public_hosts())
    inside = str(tmp_path / "a")
    assert call_tool("read", {"paths": [inside], "box": {"path": inside}, "urls": []}) == "ran"
    with pytest.raises(HookBlocked, match=r"paths\[1\] is outside"):
        call_tool("read", {"paths": [inside, "/etc/passwd"]})


class CountedOnce(ReadOnce):
    """What can be read once only, and has a length."""

    def __len__(self):
        return 1

    def __contains__(self, item):
        return False


@pytest.mark.parametrize("make", [iter, lambda items: CountedOnce()])
def test_an_iterator_is_left_as_it_was(call, bus, tmp_path, make):
    bus.register(paths_within(tmp_path))
    items = make(["/etc/passwd"])
    with pytest.raises(HookBlocked):
        call("read", paths=items)
    assert list(items) == ["/etc/passwd"]


def test_values_that_are_too_many_or_hold_themselves_are_a_block(call, bus, tmp_path, monkeypatch):
    bus.register(paths_within(tmp_path))
    circle = []
    circle.append(circle)
    shared = ["x"]
    for _ in range(40):
        shared = [shared, shared]  # 2 to the power of 40 ways to the bottom
    for bad in (circle, shared, {"a": {1: circle}}):
        with pytest.raises(HookBlocked, match="nested more than 50 levels deep|too large"):
            call("read", box=bad)
    assert call.made == []


def test_collections_that_lead_to_each_other_are_looked_through_or_a_block(call, bus, tmp_path):
    bus.register(paths_within(tmp_path))
    one, other = Batch(None), Batch(None)
    one.target, other.target = other, one
    with pytest.raises(HookBlocked, match="nested more than 50 levels deep"):
        call("read", box=one)


def test_addresses_of_a_library_are_read_as_their_string(call, bus):
    bus.register(public_hosts())
    address = pydantic.TypeAdapter(pydantic.HttpUrl).validate_python
    call("fetch", url=address("https://8.8.8.8/"))
    with pytest.raises(HookBlocked, match="public host"):
        call("fetch", url=address("http://10.0.0.1/"))


def test_a_megabyte_of_small_mappings_is_looked_through(bus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bus.register(paths_within(tmp_path))
    bus.register(public_hosts())
    ran = []

    @hookable("tool_call", bus=bus)
    def tool_call(name, arguments):
        ran.append(name)

    tool_call("read", {"files": [{"f": "a.txt"} for _ in range(80_000)]})
    tool_call("fetch", {"urls": [{"8.8.8.8": None} for _ in range(80_000)]})
    assert ran == ["read", "fetch"]
