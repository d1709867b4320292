"""The contract of every adapter for requests to a model, in every way of its framework.

A subclass says how a request is made. A scripted model answers `ANSWER`, whole or in parts. Each
way is a method marked with `@way`, an `async def` if the framework requires it. It returns the
strings that its reader saw, in order, each by itself.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from hookbus import Block, Bus, HookBlocked, HookError
from hookbus.events import Failed, Finished, Started
from hookbus.testing import record

from .writes import ROLES, places_of_hello

PIN = "4711"
PARTS = ("the pin ", f"is {PIN} ", "today")
ANSWER = "".join(PARTS)


def way(method: Any) -> Any:
    """Mark a way to make a request."""
    method.is_way = True
    return method


class ModelContract:
    """A guard of `pre` and of `post`, a redactor, and observers, in each way.

    Attributes:
        asked: how often the model itself was asked, counted by the sample.
        left: what a way that streams has read so far, for where it is interrupted.
    """

    asked: list[Any]
    left: list[str]
    install: Callable[..., Callable[[], None]]

    def changed(self, result: Any) -> Any:
        """Return an answer with the pin taken out of it."""
        raise NotImplementedError

    def text(self, result: Any) -> str:
        """Return the text of an answer."""
        return str(result)

    def said(self, messages: Any) -> str:
        """Return the text of a request."""
        return str(messages)

    def ask_named(self) -> Any:
        """Ask a model called "m-1", of a provider's class where one is installed: it is blocked."""
        raise NotImplementedError

    def run(self, way: str) -> list[str]:
        method = getattr(self, way)
        made = method()
        return asyncio.run(made) if inspect.isawaitable(made) else made

    @pytest.fixture
    def bus(self):
        self.asked = []
        bus = Bus()
        undo = type(self).install(bus)
        yield bus
        undo()

    def test_an_answer_nobody_looks_at_is_what_it_was(self, bus, way):
        assert ANSWER in "".join(self.run(way)) and len(self.asked) == 1

    def test_a_guard_that_blocks_the_request_keeps_the_model_from_being_asked(self, bus, way):
        seen = []

        @bus.signal("pre_model_call").connect_via(role="guard")
        def no(model, messages):
            seen.append(self.said(messages))
            return Block("not this")

        bus.require_guard("model_call")
        with pytest.raises(HookBlocked, match="not this"):
            self.run(way)
        assert self.asked == [] and len(seen) == 1 and "hello" in seen[0]

    @pytest.mark.parametrize("role", ROLES)
    def test_a_write_into_a_message_is_never_what_a_model_is_asked_unjudged(self, bus, way, role):
        judged, places = [], []

        @bus.signal("pre_model_call").connect_via(role="guard", priority=1)
        def judge(model, messages):
            judged.append(self.said(messages))

        def write(model, messages):
            places.extend(found := [*places_of_hello(messages)])
            for put in found:
                put("eve")

        def around(model, messages, call_next):
            write(model, messages)
            return call_next()

        if role == "around":
            bus.signal("around_model_call").connect(around, name="write")
        else:
            bus.signal("pre_model_call").connect(write, role=role, name="write")
        with record(bus) as fired, suppress(HookError):
            self.run(way)
        asked = " ".join(map(self.said, self.asked))
        for put in places:
            with suppress(HookError):  # what is read-only was not written either
                put("hello")
        failures = [each.receiver for each in fired.of(Failed)]
        assert judged and ("eve" in asked) == (role == "modify" and "eve" in judged[-1])
        if role != "modify":  # what a modifier writes is judged like what it returns
            assert bool(failures) == bool(places)  # a text alone cannot be written
            assert role == "observe" or not (places and self.asked)
        assert all("write" in each for each in failures)

    @pytest.mark.parametrize("role", ROLES)
    def test_a_write_into_options_reaches_no_model_and_is_reported(self, bus, way, role):
        def write(model, options):
            options["hello"] = "eve"

        def around(model, options, call_next):
            write(model, options)
            return call_next()

        if role == "around":
            bus.signal("around_model_call").connect(around, name="write")
        else:
            bus.signal("pre_model_call").connect(write, role=role, name="write")
        with record(bus) as fired, suppress(HookError):
            self.run(way)
        acted = {"guard": "blocked", "around": "raised"}.get(role, "isolated")
        assert {(each.receiver, each.action) for each in fired.of(Failed)} == {("write", acted)}
        assert len(self.asked) == (role in ("modify", "observe"))

    def test_a_guard_that_blocks_the_answer_lets_no_part_of_it_leave(self, bus, way):
        seen = []

        @bus.signal("post_model_call").connect_via(role="guard")
        def no_pin(model, result):
            seen.append(self.text(result))
            return Block("a pin") if PIN in seen[-1] else None

        self.left = []
        with pytest.raises(HookBlocked, match="a pin"):
            self.run(way)
        assert PIN in seen[0] and PIN not in "".join(self.left) and len(seen) == 1

    def test_a_redactor_of_the_answer_leaves_nothing_of_what_it_took_out(self, bus, way):
        bus.signal("post_model_call").connect(
            lambda model, result: self.changed(result), on_error="block"
        )
        left = "".join(self.run(way))
        assert PIN not in left and "***" in left

    def test_a_guard_that_agrees_with_the_answer_changes_nothing(self, bus, way):
        bus.signal("post_model_call").connect(lambda model, result: None, role="guard")
        assert ANSWER in "".join(self.run(way))

    def test_observers_get_the_answer_as_a_whole_and_one_call_is_told(self, bus, way):
        seen = []
        bus.signal("post_model_call").connect(
            lambda model, result: seen.append(self.text(result)), role="observe"
        )
        with record(bus) as fired:
            assert ANSWER in "".join(self.run(way))
        hooks = [each.hook for each in fired.of(Finished)]
        assert hooks.count("model_call") == 1 and "model_stream" not in hooks
        assert len(seen) == 1 and PIN in seen[0]

    def test_a_request_is_labelled_with_the_name_of_the_model_not_of_its_class(self, bus):
        bus.signal("pre_model_call").connect(lambda sender: Block("no"), role="guard")
        with record(bus) as fired, pytest.raises(HookBlocked):
            made = self.ask_named()
            if inspect.isawaitable(made):
                asyncio.run(made)
        labels = [each.labels for each in fired.of(Started) if each.hook == "model_call"]
        assert [each["model"] for each in labels] == ["m-1"]


def pytest_generate_tests(metafunc: Any) -> None:
    """Run what takes a way in each that the class has; import this into the test's module."""
    if "way" in metafunc.fixturenames:
        ways = [name for name, each in inspect.getmembers(metafunc.cls) if hasattr(each, "is_way")]
        metafunc.parametrize("way", ways)
