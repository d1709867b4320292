"""At the end of the stack a guard still closes, and the call is over like any other (C14; G3, G8,
G15).
"""

from __future__ import annotations

import asyncio
import gc
import sys

import pytest

from hookbus import Bus, HookBlocked, events, hookable, report

LEVELS = range(40)
"""Where on the stack the first call starts, so that the end of it comes at another place of the
call each time.
"""


@pytest.fixture(autouse=True)
def _no_collection():
    # What other tests left for the collector, such as event loops, would be finalised where there
    # is no room for that.
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Recursion:
    """An agent that calls itself until the stack is full, and who was asked about which depth."""

    def __init__(self):
        self.bus, self.answered, self.bodies, self.over = Bus(), set(), set(), []
        recursion = self

        class Agent:
            @hookable("think", bus=self.bus)
            def think(self, depth):
                recursion.bodies.add(depth)
                return self.think(depth + 1)

            @hookable("reply", bus=self.bus)
            async def reply(self, depth):
                recursion.bodies.add(depth)
                return await self.reply(depth + 1)

        self.agent = Agent()
        for hook in ("think", "reply"):
            self.bus.signal(f"pre_{hook}").connect(self.guard, role="guard")
            self.bus.signal(f"finally_{hook}").connect(self.last)

    def guard(self, agent, depth):
        self.answered.add(depth)

    def last(self, agent, depth, ctx):
        self.over.append((depth, ctx.outcome))

    def fill_the_stack(self, colour, level):
        """Call the agent this far up the stack, until there is no room left."""
        if level:
            self.fill_the_stack(colour, level - 1)
            return
        # A guard that finds no room has failed, and so blocks; whoever else finds none raises.
        with pytest.raises((RecursionError, HookBlocked)):
            self.agent.think(0) if colour == "sync" else asyncio.run(self.agent.reply(0))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("colour", ["sync", "async"])
def test_at_the_end_of_the_stack_no_body_is_entered_that_the_guard_has_not_answered_for(
    colour, level
):
    recursion = Recursion()
    recursion.fill_the_stack(colour, level)
    assert recursion.bodies
    assert recursion.bodies <= recursion.answered


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("colour", ["sync", "async"])
def test_every_call_that_found_room_to_end_has_ended_once_and_in_order(colour, level):
    recursion = Recursion()
    recursion.fill_the_stack(colour, level)
    depths = [depth for depth, _ in recursion.over]
    assert depths == sorted(set(depths), reverse=True)
    # At the very end of the stack `finally` itself may find no room.
    assert set(range(max(recursion.bodies) - 8)) <= set(depths)
    assert {outcome for _, outcome in recursion.over[8:]} == {"raised"}


def thinker():
    bus = Bus()

    class Agent:
        @hookable("think", bus=bus)
        def think(self, depth):
            return depth

    return bus, Agent()


class Asking:
    def __call__(self, agent, depth):
        agent.think(depth + 1)


@pytest.mark.parametrize(
    "asks_again",
    [lambda agent, depth: agent.think(depth + 1), Asking()],
    ids=["a function", "an object"],
)
@pytest.mark.parametrize("role", ["observe", "guard"])
def test_a_receiver_that_makes_the_call_it_is_asked_in_is_told_so_and_fails_by_its_role(
    asks_again, role
):
    bus, agent = thinker()
    failed = []
    bus.events.connect(
        lambda bus, event: failed.append(event) if isinstance(event, events.Failed) else None,
        weak=False,
    )
    bus.signal("pre_think").connect(asks_again, role=role)
    if role == "guard":
        with pytest.raises(HookBlocked):
            agent.think(0)
    else:
        assert agent.think(0) == 0
    assert isinstance(failed[0].exception, RecursionError)
    assert "if it calls think, stop the recursion with a condition" in failed[0].message


@pytest.mark.parametrize("is_alone", [True, False], ids=["alone", "side by side with another"])
def test_an_awaited_observer_that_makes_the_call_it_is_asked_in_fails_though_each_is_in_a_task_of_its_own(  # noqa: E501
    is_alone,
):
    bus = Bus()
    turns = 0

    class Agent:
        @hookable("think", bus=bus)
        async def think(self, is_endless):
            return "done"

    @bus.signal("post_think").connect_via(role="observe")
    async def asks_again(agent, is_endless):
        nonlocal turns
        turns += is_endless
        assert turns <= sys.getrecursionlimit(), "without end"
        if is_endless:
            await agent.think(True)

    @bus.signal("post_think").connect_via(role="observe")
    async def another(agent): ...

    if is_alone:
        bus.signal("post_think").disconnect(another)

    async def main():
        agent = Agent()
        await agent.think(False)
        return await agent.think(True)

    assert asyncio.run(main()) == "done"
    found = " ".join(report(bus).findings)
    assert (
        0 < turns <= sys.getrecursionlimit()
        and "asks_again" in found
        and "failed open once: " in found
        and "stop the recursion with a condition" in found
    )


def test_a_receiver_that_ends_its_own_calls_by_a_condition_has_not_failed():
    bus, agent = thinker()
    seen = []

    @bus.signal("pre_think").connect
    def asks_again(agent, depth):
        seen.append(depth)
        if depth < 5:
            agent.think(depth + 1)

    assert agent.think(0) == 0 and seen == [0, 1, 2, 3, 4, 5]
    assert [connection.failures for connection in bus.signal("pre_think").connections()] == [0]
