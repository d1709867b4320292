"""Receivers that write in place into the arguments of a call, and the effect in every system."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import suppress
from copy import deepcopy
from functools import partial
from types import FunctionType
from typing import Any

import pytest

from hookbus import Bus
from hookbus.events import Failed
from hookbus.testing import record

PLACES = ("top level", "nested")
ROLES = ("modify", "guard", "observe", "around")


def connect_writer(bus: Bus, role: str, place: str, **options: Any) -> None:
    """Connect a receiver called `write`, which writes into arguments before the tool runs."""

    def write(sender: Any, arguments: Any) -> None:
        if place == "top level":
            arguments["to"] = "eve"
        elif "lines" in arguments:
            arguments["lines"][0]["to"] = "eve"

    def around(sender: Any, arguments: Any, call_next: Any) -> Any:
        write(sender, arguments)
        return call_next()

    if role == "around":
        bus.signal("around_tool_call").connect(around, name="write", **options)
    else:
        bus.signal("pre_tool_call").connect(write, role=role, name="write", **options)


def connect_lines(bus: Bus, **options: Any) -> None:
    """Have receivers of `pay(amount, to)` get a dict in a list besides, and the tool be called with
    what stands in it then."""

    def with_lines(sender: Any, arguments: Any) -> dict[str, Any]:
        return {"arguments": {**arguments, "lines": [{"to": arguments["to"]}]}}

    def without_lines(sender: Any, arguments: Any, call_next: Any) -> Any:
        to = arguments["lines"][0]["to"]
        return call_next(arguments={"amount": arguments["amount"], "to": to})

    bus.signal("pre_tool_call").connect(with_lines, priority=10, **options)
    bus.signal("around_tool_call").connect(without_lines, priority=-10, **options)


GIVEN = {"to": "ann", "lines": [{"to": "ann"}]}


def places_of_hello(value: Any, seen: Set[int] = frozenset()) -> Iterator[Callable[[str], Any]]:
    """Yield what writes another text in place of each with "hello" in containers and objects."""
    if id(value) in seen or isinstance(value, (str, int, type, FunctionType)):
        return
    seen = {id(value), *seen}
    if isinstance(value, (dict, list)):
        parts = [*(value.items() if isinstance(value, dict) else enumerate(value))]
        put = value.__setitem__
    else:
        slots = [name for cls in type(value).__mro__ for name in vars(cls).get("__slots__", ())]
        names = {**getattr(value, "__dict__", {}), **dict.fromkeys(slots)}
        parts = [(name, getattr(value, name, None)) for name in names]
        put = partial(setattr, value)
    for name, each in parts:
        if isinstance(each, str) and "hello" in each:
            yield partial(put, name)
        else:
            yield from places_of_hello(each, seen)


class WriteContract:
    """For a system whose adapter has a hook `tool_call` of its own.

    Attributes:
        is_read_only: whether a write is refused; else it blocks the call where a guard has judged
            the arguments already.
    """

    is_read_only = True

    def put_on(self, bus: Bus) -> Callable[[], Any]:
        raise NotImplementedError

    def call_tool(self, bus: Bus, body: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        """Have the system call a tool whose body is called with these arguments by name."""
        raise NotImplementedError

    @pytest.mark.parametrize("place", PLACES)
    @pytest.mark.parametrize("role", ROLES)
    def test_a_write_in_place_is_never_what_runs_unjudged_and_is_reported(self, role, place):
        bus, judged, ran = Bus(), [], []
        undo = self.put_on(bus)

        @bus.signal("pre_tool_call").connect_via(role="guard", priority=1)
        def judge(sender: Any, arguments: Mapping[str, Any]) -> None:
            judged.append(deepcopy(dict(arguments)))

        connect_writer(bus, role, place)
        try:
            with record(bus) as fired, suppress(Exception):
                self.call_tool(bus, lambda **given: ran.append(deepcopy(given)), deepcopy(GIVEN))
        finally:
            undo()
        if self.is_read_only:
            assert ran == ([GIVEN] if role in ("modify", "observe") else [])
        elif role == "modify":  # it was judged as it was written
            assert ran == judged != [GIVEN]
        else:
            assert ran == []
        is_told = self.is_read_only or role != "modify"
        failures = [each.receiver for each in fired.of(Failed)]
        assert judged and bool(failures) == is_told
        assert all("write" in each for each in failures)
