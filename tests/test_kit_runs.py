"""Runs of agents in parts, hooked with the kit for adapters."""

import asyncio

import pytest

from hookbus import Bus, HookError
from hookbus.adapters.kit import Adapter
from hookbus.testing import record
from tests import kit_parts
from tests.kit_parts import VERSION

installed = kit_parts.installed


class Agent:
    async def arun(self, task, stream=False):
        return self.parts(task) if stream else f"{task} done"

    def run(self, task, stream=True):
        return iter([task, "done"]) if stream else f"{task} done"

    def start(self, task, stream=False):
        return self.parts(task) if stream else f"{task} done"

    def always(self, task):
        return self.parts(task)

    async def begun(self, task):
        return self.parts(task)

    async def parts(self, task):
        yield task
        yield "done"


async def listed(parts):
    return [each async for each in parts]


async def awaited(call):
    return await listed(await call)


def bus_of(installed, method, stream):
    adapter = Adapter("pluggy", tested=(VERSION, VERSION))
    adapter.run(f"{__name__}:Agent.{method}", stream=stream)
    bus = installed(adapter)
    for hook in ("agent_run", "agent_stream"):
        bus.signal(f"pre_{hook}").connect(lambda agent, input: {"input": "walk"}, weak=False)
    return bus


def test_an_async_method_with_a_parameter_for_parts_returns_them(installed):
    with record(bus_of(installed, "arun", "stream")) as calls:
        assert asyncio.run(Agent().arun("work")) == "walk done"
        assert asyncio.run(awaited(Agent().arun("work", stream=True))) == ["walk", "done"]
    assert calls.hooks == ["agent_run", "agent_stream"]


def test_an_async_method_that_always_returns_parts_is_a_stream(installed):
    with record(bus_of(installed, "begun", True)) as calls:
        assert asyncio.run(awaited(Agent().begun("work"))) == ["walk", "done"]
    assert calls.hooks == ["agent_stream"]


def test_a_parameter_that_is_left_out_has_its_default(installed):
    with record(bus_of(installed, "run", "stream")) as calls:
        assert [*Agent().run("work")] == ["walk", "done"]
        assert Agent().run("work", stream=False) == "walk done"
    assert calls.hooks == ["agent_stream", "agent_run"]


@pytest.mark.parametrize(("method", "stream", "why"), [
    ("always", True, "neither a generator nor async"), ("parts", False, "yields its parts"),
    ("arun", "steam", "no such parameter"),
])  # fmt: skip
def test_a_method_that_does_not_fit_is_refused_at_install(method, stream, why):
    adapter = Adapter("pluggy", tested=(VERSION, VERSION))
    adapter.run(f"{__name__}:Agent.{method}", stream=stream)
    stock = getattr(Agent, method)
    with pytest.raises(HookError, match=why):
        adapter.install(Bus())
    assert getattr(Agent, method) is stock


def test_an_override_that_does_not_fit_is_refused_when_it_is_called(installed):
    bus_of(installed, "parts", True)

    class Child(Agent):
        def parts(self, task):
            raise AssertionError("it ran")

    with pytest.raises(HookError, match="neither a generator nor async"):
        Child().parts("work")


def test_async_parts_of_a_method_that_is_not_async_are_refused_in_words(installed):
    bus_of(installed, "start", "stream")
    assert Agent().start("work") == "walk done"
    with pytest.raises(HookError, match="is not async, but its parts are"):
        [*Agent().start("work", stream=True)]
