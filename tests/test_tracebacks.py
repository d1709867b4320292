"""A blocked call's traceback ends at the caller's line; of other exceptions it has every frame, and
pytest leaves out hookbus's own.
"""

from __future__ import annotations

import asyncio
import traceback

import pytest

from hookbus import Block, Bus, HookBlocked, ReceiverError, hookable, hookspec, modes

COLOURS = ["plain", "awaited", "stream", "async_stream"]


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def Agent(bus):
    class Agent:
        @hookable(bus=bus)
        def plain(self, msg):
            return act(self, msg)

        @hookable(bus=bus)
        async def awaited(self, msg):
            return act(self, msg)

        @hookable(bus=bus)
        def stream(self, msg):
            yield act(self, msg)

        @hookable(bus=bus)
        async def async_stream(self, msg):
            yield act(self, msg)

        @hookable(bus=bus)
        def act(self, msg):
            if msg == "break":
                raise KeyError(msg)
            return msg

        @hookable(bus=bus)
        def idle(self, msg):
            return self.plain(msg)

    def act(agent, msg):
        return agent.act(msg)

    return Agent


def through(agent, colour, msg):
    """Make a call and use it up."""
    made = getattr(agent, colour)(msg)
    if colour == "awaited":
        return asyncio.run(made)
    if colour == "stream":
        return list(made)
    return asyncio.run(all_of(made)) if colour == "async_stream" else made


async def all_of(items):
    found = []
    async for item in items:
        found.append(item)
    return found


def refuse(agent, msg):
    return Block("no") if msg == "bad" else None


def shown(error):
    """Return the functions of a traceback from `through` on; asyncio's own are left out."""
    frames = traceback.extract_tb(error.__traceback__)
    names = [frame.name for frame in frames if "asyncio" not in frame.filename]
    return names[names.index("through") + 1 :] if "through" in names else names


def hides(error):
    return [
        frame.name
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith("<hookbus")
    ]


USED_UP = {"plain": [], "awaited": [], "stream": [], "async_stream": ["all_of"]}


def arounds(bus, names):
    """Connect an around of each colour."""

    def passes(agent, call_next):
        return call_next()

    async def awaits(agent, call_next):
        return await call_next()

    def yields(agent, call_next):
        return (yield from call_next())

    async def yields_async(agent, call_next):
        async for item in call_next():
            yield item

    for name, around in zip(COLOURS, (passes, awaits, yields, yields_async)):
        if name in names:
            bus.signal(f"around_{name}").connect(around, weak=False)
    return dict(zip(COLOURS, ("passes", "awaits", "yields", "yields_async")))


@pytest.mark.parametrize("watched", [False, True], ids=["", "watched"])
@pytest.mark.parametrize("colour", COLOURS)
def test_a_blocked_calls_traceback_ends_at_the_callers_line(bus, Agent, colour, watched):
    bus.signal(f"pre_{colour}").connect(refuse, role="guard")
    if watched:
        bus.events.connect(lambda bus, event: None)
        bus.signal(f"finally_{colour}").connect(lambda agent: None, weak=False)
    for _ in range(2):
        with pytest.raises(HookBlocked) as caught:
            through(Agent(), colour, "bad")
        assert shown(caught.value) == USED_UP[colour]


@pytest.mark.parametrize("with_around", [False, True], ids=["", "with an around"])
@pytest.mark.parametrize("colour", COLOURS)
def test_the_frames_of_methods_and_receivers_between_stay(bus, Agent, colour, with_around):
    bus.signal("pre_act").connect(refuse, role="guard")
    bus.signal(f"post_{colour}").connect(lambda agent: None, weak=False)
    between = [arounds(bus, [colour])[colour]] if with_around else []
    with pytest.raises(HookBlocked) as caught:
        through(Agent(), colour, "bad")
    assert shown(caught.value) == [*USED_UP[colour], *between, colour, "act"]
    assert not hides(caught.value)


def test_hookables_nobody_listens_to_are_not_in_the_way_of_a_block(bus, Agent):
    bus.signal("pre_act").connect(refuse, role="guard")
    with pytest.raises(HookBlocked) as caught:
        through(Agent(), "idle", "bad")
    assert shown(caught.value) == ["idle", "plain", "act"]


@pytest.mark.parametrize("colour", ["stream", "async_stream"])
def test_a_blocked_item_ends_the_stream_at_the_line_that_asked_for_it(bus, Agent, colour):
    guard = lambda agent, item: Block("no")  # noqa: E731
    bus.signal(f"item_{colour}").connect(guard, role="guard")
    with pytest.raises(HookBlocked) as caught:
        through(Agent(), colour, "x")
    assert shown(caught.value) == USED_UP[colour]


def test_a_blocked_call_of_a_class_a_function_a_question_and_by_way_of_the_class_end_there_too(bus):
    class Agent:
        @classmethod
        @hookable("make", bus=bus)
        def make(cls, msg):
            return msg

        @hookable("reply", bus=bus)
        def reply(self, msg):
            return msg

    @hookable("tell", bus=bus)
    def tell(msg):
        return msg

    @hookspec(modes.firstresult, bus=bus)
    def who(msg): ...

    who.connect(lambda msg: msg)
    for name in ("make", "reply", "tell", "who"):
        bus.signal(f"pre_{name}").connect(refuse, role="guard")
    for call in (Agent.make, Agent().make, tell, who, lambda msg: Agent.reply(Agent(), msg)):
        with pytest.raises(HookBlocked) as caught:
            call("bad")
        ends = ["<lambda>"] if getattr(call, "__name__", "") == "<lambda>" else []
        assert [f.name for f in traceback.extract_tb(caught.value.__traceback__)][1:] == ends


def test_what_a_caller_makes_of_a_block_keeps_the_blocks_own_traceback(bus, Agent):
    bus.signal("pre_act").connect(refuse, role="guard")
    seen = []

    def turned(agent, call_next):
        try:
            return call_next()
        except HookBlocked as blocked:
            seen.append(shown(blocked))
            raise RuntimeError("not today") from blocked

    bus.signal("around_plain").connect(turned, weak=False)
    with pytest.raises(RuntimeError, match="not today") as caught:
        through(Agent(), "plain", "bad")
    assert seen == [["turned", *seen[0][1:-2], "plain", "act"]], "a receiver sees it as it is there"
    assert shown(caught.value.__cause__)[-2:] == ["plain", "act"]
    assert shown(caught.value)[-1] == "turned"


def test_an_around_that_raises_its_own_blocks_anew_keeps_its_line(bus, Agent):
    bus.signal("pre_plain").connect(refuse, role="guard")

    def again(agent, call_next, msg):
        return call_next(msg="bad")

    bus.signal("around_plain").connect(again, weak=False)
    with pytest.raises(HookBlocked) as caught:
        through(Agent(), "plain", "good")
    assert shown(caught.value) == ["again"]


@pytest.mark.parametrize("colour", COLOURS)
def test_the_methods_own_exception_keeps_every_frame(bus, Agent, colour):
    arounds(bus, [colour])
    bus.signal("pre_act").connect(refuse, role="guard")
    with pytest.raises(KeyError) as caught:
        through(Agent(), colour, "break")
    names = shown(caught.value)
    assert [name for name in names if name == "act"] and names[-1] == "act"
    assert f"call_{colour}" in names, "it is somebody else's, and nothing is taken out of it"


def visible(caught):
    """Return the functions that pytest shows of an exception."""
    entries = caught.traceback.filter(caught)
    return [entry.name for entry in entries if "asyncio" not in str(entry.path)][2:]


def test_pytest_shows_the_frames_of_users_only(bus, Agent):
    arounds(bus, COLOURS)
    bus.signal("pre_act").connect(refuse, role="guard")
    with pytest.raises(KeyError) as caught:
        through(Agent(), "plain", "break")
    assert visible(caught) == ["passes", "plain", "act", "act"]
    with pytest.raises(KeyError) as caught:
        through(Agent(), "async_stream", "break")
    assert visible(caught) == ["all_of", "yields_async", "async_stream", "act", "act"]


def test_pytest_shows_a_receiver_that_asks_to_raise_at_the_callers_line(bus, Agent):
    def broken(agent):
        raise KeyError("gone")

    bus.signal("pre_plain").connect(broken, on_error="raise")
    with pytest.raises(ReceiverError) as caught:
        through(Agent(), "plain", "x")
    assert visible(caught) == []
    assert "raise KeyError" in str(caught.getrepr(chain=True))


def test_rich_shows_a_blocked_call_without_a_line_of_hookbus(bus, Agent):
    pytest.importorskip("rich")
    from rich.traceback import Traceback

    bus.signal("pre_act").connect(refuse, role="guard")
    with pytest.raises(HookBlocked) as caught:
        through(Agent(), "plain", "bad")
    (stack,) = Traceback.extract(*caught._excinfo).stacks
    assert [frame.name for frame in stack.frames][-2:] == ["plain", "act"]
    assert not [frame for frame in stack.frames if frame.filename.startswith("<hookbus")]


def test_a_block_tells_nothing_of_the_exception_that_its_caller_is_handling(bus, Agent):
    for colour in COLOURS:
        bus.signal(f"pre_{colour}").connect(refuse, role="guard")

    async def handles(colour):
        made = getattr(Agent(), colour)
        try:
            raise ValueError("secret")
        except ValueError:
            with pytest.raises(HookBlocked) as blocked:
                if colour == "awaited":
                    await made("bad")
                elif colour == "async_stream":
                    await all_of(made("bad"))
                else:
                    list(made("bad"))
        assert blocked.value.__context__ is blocked.value.__cause__ is None, colour

    for colour in COLOURS:
        asyncio.run(handles(colour))
