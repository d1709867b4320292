"""What leaves a call, and what it leaves behind: exceptions of every kind, names of every kind,
interrupts at every line.
"""

from __future__ import annotations

import asyncio
import builtins
import copy
import dataclasses
import gc
import linecache
import pickle
import sys
import types
import weakref

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, events, explain, hookable

from ._cells import TARGETS
from ._colours import make_agent, take


@pytest.fixture(params=TARGETS)
def colour(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["unheard", "heard"])
def bus(request):
    bus = Bus()
    if request.param:
        bus.events.connect(lambda bus, event: None)
    return bus


@pytest.fixture
def without_collections():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


# -- circles ---------------------------------------------------------------------------------------


class Broken(Exception):
    pass


def breaks(agent):
    raise Broken


def passes_on(colour):
    def around(agent, call_next):
        return call_next()

    def around_stream(agent, call_next):
        return (yield from call_next())

    async def around_async(agent, call_next):
        return await call_next()

    async def around_async_stream(agent, call_next):
        async for item in call_next():
            yield item

    return {
        "async": around_async,
        "generator": around_stream,
        "async_generator": around_async_stream,
    }.get(colour, around)


ENDINGS = {
    "a block": lambda bus: bus.signal("pre_reply").connect(lambda agent: Block("no"), role="guard"),
    "a block of the result": lambda bus: bus.signal("post_reply").connect(
        lambda agent: Block("no")
    ),
    "a guard that fails": lambda bus: bus.signal("pre_reply").connect(breaks, role="guard"),
    "a modifier that raises": lambda bus: bus.signal("pre_reply").connect(breaks, on_error="raise"),
    "an isolated failure": lambda bus: bus.signal("pre_reply").connect(breaks),
    "observers that fail": lambda bus: [
        bus.signal(f"{phase}_reply").connect(each, role="observe")
        for phase in ("pre", "finally")
        for each in (breaks, lambda agent: 1 / 0)
    ],
    "an error that is looked at": lambda bus: (
        bus.signal("pre_reply").connect(lambda agent: {"msg": Broken}),
        bus.signal("error_reply").connect(lambda agent, error: None),
        bus.signal("error_reply").connect(lambda agent, error: None, role="observe"),
        bus.signal("finally_reply").connect(lambda agent, error: None),
    ),
}


def prepared(bus, colour, ending, *, with_around):
    made = make_agent(bus, colour)
    ENDINGS[ending](bus)
    if with_around:
        bus.signal("around_reply").connect(passes_on(colour))
    return type(made)


@pytest.mark.parametrize("with_around", [False, True], ids=["", "around"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_no_exception_that_leaves_keeps_an_agent_alive(
    bus, colour, ending, with_around, without_collections
):
    Agent = prepared(bus, colour, ending, with_around=with_around)
    alive = []

    async def live_async():
        for _ in range(20):
            agent = Agent()
            alive.append(weakref.ref(agent))
            try:
                if colour == "async":
                    await agent.reply("hi")
                else:
                    async for _ in agent.reply("hi"):
                        pass
            except (HookError, Broken):
                pass
            del agent

    def live():
        for _ in range(20):
            agent = Agent()
            alive.append(weakref.ref(agent))
            try:
                take(colour, agent, "hi")
            except (HookError, Broken):
                pass
            del agent

    asyncio.run(live_async()) if "async" in colour.split("_") else live()
    assert sum(each() is not None for each in alive) == 0


@pytest.mark.parametrize("with_around", [False, True], ids=["", "around"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_hundred_hot_calls_leave_no_object_behind(
    bus, colour, ending, with_around, without_collections
):
    agent = prepared(bus, colour, ending, with_around=with_around)()

    async def call_async(times):
        for _ in range(times):
            try:
                if colour == "async":
                    await agent.reply("hi")
                else:
                    async for _ in agent.reply("hi"):
                        pass
            except (HookError, Broken):
                pass
        return len(gc.get_objects())

    def call(times):
        for _ in range(times):
            try:
                take(colour, agent, "hi")
            except (HookError, Broken):
                pass
        return len(gc.get_objects())

    async def both():
        return await call_async(20), await call_async(100)

    before, after = asyncio.run(both()) if "async" in colour.split("_") else (call(20), call(100))
    assert after - before < 10


# -- odd exceptions, odd answers -------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    code: int = 1


class Liar(Exception):
    @property
    def __class__(self):
        return HookBlocked


class Wordless(Exception):
    @property
    def args(self):
        raise Broken


class Untrue(Exception):
    def __bool__(self):
        raise Broken


ODD = [Frozen, Liar, Wordless, Untrue]


def raising(bus, colour, error):
    class Agent:
        @hookable("sync", bus=bus)
        def sync(self):
            raise error

        @hookable("async_", bus=bus)
        async def async_(self):
            raise error

        @hookable("generator", bus=bus)
        def generator(self):
            yield 1
            raise error

        @hookable("async_generator", bus=bus)
        async def async_generator(self):
            yield 1
            raise error

    return Agent(), {"async": "async_"}.get(colour, colour)


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_exception_goes_out_as_it_is(bus, colour, kind):
    agent, name = raising(bus, colour, error := kind())
    for phase in ("error", "finally"):
        bus.signal(f"{phase}_{name}").connect(breaks, role="observe")
        bus.signal(f"{phase}_{name}").connect(lambda agent, error: None, role="observe")
    bus.signal(f"error_{name}").connect(breaks)
    method = getattr(agent, name)

    async def take_async():
        if colour == "async":
            return await method()
        return [item async for item in method()]

    with pytest.raises(kind) as caught:
        if "async" in colour:
            asyncio.run(take_async())
        else:
            method() if colour == "sync" else list(method())
    assert caught.value is error


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("policy", ["pre", "post", "guard", "observe", "around"])
def test_an_odd_exception_of_a_receiver_is_its_failure(bus, colour, policy, kind):
    agent = make_agent(bus, colour)

    def fails(agent):
        raise kind

    def fails_around(agent, call_next):
        raise kind

    phase = {"guard": "pre", "observe": "pre"}.get(policy, policy)
    role = {"role": policy} if policy in ("guard", "observe") else {}
    bus.signal(f"{phase}_reply").connect(fails_around if policy == "around" else fails, **role)
    if policy in ("guard", "around"):
        with pytest.raises(HookBlocked if policy == "guard" else kind):
            take(colour, agent, "hi")
    else:
        assert take(colour, agent, "hi") == "hi"


@pytest.mark.parametrize("phase", ["pre", "post", "finally"])
def test_of_observers_that_interrupt_the_first_wins_and_all_have_their_turn(bus, colour, phase):
    class Stop(BaseException):
        def __bool__(self):
            raise Broken

    agent, stops, seen = make_agent(bus, colour), [Stop(), Stop()], []

    def first(agent):
        raise stops[0]

    def second(agent):
        raise stops[1]

    for look in (first, second, lambda agent: seen.append("third")):
        bus.signal(f"{phase}_reply").connect(look, role="observe")
    with pytest.raises(Stop) as caught:
        take(colour, agent, "hi")
    assert caught.value is stops[0] and seen == ["third"]


class Odd:
    @property
    def __class__(self):
        raise Broken("its class is nobody's business")


@pytest.mark.parametrize(
    ("phase", "role"),
    [
        ("pre", "modify"),
        ("pre", "guard"),
        ("pre", "observe"),
        ("post", "modify"),
        ("post", "observe"),
        ("error", "modify"),
        ("finally", "observe"),
    ],
)
def test_an_answer_whose_class_raises_is_judged_by_its_type(bus, colour, phase, role):
    agent, odd = make_agent(bus, colour), Odd()
    bus.signal(f"{phase}_reply").connect(lambda agent: odd, role=role)
    if role == "guard":
        with pytest.raises(HookBlocked):
            take(colour, agent, "hi")
        return
    got = take(colour, agent, "hi")
    assert got == "hi" or (phase == "post" and colour in ("sync", "async") and got is odd)


@pytest.mark.parametrize("role", ["modify", "guard", "observe"])
def test_what_types_coroutine_makes_is_awaited_or_refused(bus, colour, role):
    agent, ran = make_agent(bus, colour), []

    @types.coroutine
    def old_style(agent):
        yield from asyncio.sleep(0).__await__()
        ran.append("awaited")

    bus.signal("pre_reply").connect(lambda agent: old_style(agent), role=role)
    if "async" in colour:
        assert take(colour, agent, "hi") == "hi" and ran == ["awaited"]
    elif role == "guard":
        with pytest.raises(HookBlocked):
            take(colour, agent, "hi")
    else:
        assert take(colour, agent, "hi") == "hi" and ran == []


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda block: pickle.loads(pickle.dumps(block))]
)
def test_a_copy_of_a_block_without_a_result_has_none(bus, colour, again):
    agent, block = make_agent(bus, colour), again(Block("no", code="c"))
    assert block == Block("no", code="c")
    bus.signal("pre_reply").connect(lambda agent: block, role="guard")
    with pytest.raises(HookBlocked):
        take(colour, agent, "hi")


# -- names -----------------------------------------------------------------------------------------

OURS = tuple(
    (
        "answer call result marks type plan body seat0 r0 error item _x out waiting view draft left outcome leaving "  # noqa: E501
        "replaced fresh fresh_ fired fired_ rescue raised dropped source advance value index end thrown nest next_0 "  # noqa: E501
        "outermost attempt patch clock seat receiver many0 when0 kept held0 opened_0 began began_0 turn_0 inside deeper "  # noqa: E501
        "values first names context baggage sender around0 HookContext ENCLOSING Call Attempt call_reply PLAIN "  # noqa: E501
    ).split()
)
BUILTINS = tuple(
    name
    for name in dir(builtins)
    if name.isidentifier() and name not in ("None", "True", "False", "__debug__")
)


def named(bus, colour, names, separator):
    head = {"sync": "def", "generator": "def"}.get(colour, "async def")
    says = {"sync": "return", "async": "return"}.get(colour, "yield")
    given = ", ".join(names)
    space = {"__name__": __name__, "hookable": hookable, "bus_": bus}
    exec(
        f"class Agent_:\n    @hookable('reply', bus=bus_)\n    {head} reply(self_, {separator}{given}):\n"  # noqa: E501
        f"        {says} ({given},)\n",
        space,
    )
    return space["Agent_"]()


@pytest.mark.parametrize("separator", ["", "*, "], ids=["any", "keyword-only"])
@pytest.mark.parametrize("names", [OURS, BUILTINS], ids=["ours", "builtins"])
def test_arguments_may_be_called_as_anything_in_our_text_is(bus, colour, names, separator):
    agent, seen = named(bus, colour, names, separator), []
    values = {name: number for number, name in enumerate(names)}

    def asks(agent_, ctx):
        seen.append(dict(ctx.kwargs) == values)

    for phase in ("pre", "post", "finally", *(["item"] if "generator" in colour else [])):
        bus.signal(f"{phase}_reply").connect(asks, role="observe")
        bus.signal(f"{phase}_reply").connect(lambda agent_, ctx: seen.append(True), role="observe")
    for role in ("modify", "guard"):
        bus.signal("pre_reply").connect(asks, role=role)
    bus.signal("pre_reply").connect(lambda agent_, **everything: {names[0]: everything[names[0]]})
    bus.signal("pre_reply").connect(lambda agent_: None, once=True)
    bus.signal("pre_reply").connect(lambda agent_: None, when={names[0]: "0"})
    bus.signal("around_reply").connect(passes_on(colour))
    bus.signal("error_reply").connect(lambda agent_: None)

    def call():
        made = agent.reply(**values)
        if colour == "sync":
            return made
        if colour == "async":
            return asyncio.run(_awaited(made))
        return list(made)[0] if colour == "generator" else asyncio.run(_first(made))

    for _ in range(2):
        assert call() == tuple(values.values())
    assert all(seen) and len(seen) > 8


async def _awaited(made):
    return await made


async def _first(made):
    return [item async for item in made][0]


# -- interrupts ------------------------------------------------------------------------------------


OF_A_CALL = ("hookbus/_calls", "hookbus/_contents", "hookbus/_waiting")


class InterruptAt:
    """Raises KeyboardInterrupt at a line of the written function or of what it calls of hookbus, by
    number.

    Not at a `try:`, where Python looks for no signals and has no handler yet.
    """

    def __init__(self, number, text):
        self.left, self.text = number, text.splitlines()

    def __call__(self, frame, event, argument):
        name = frame.f_code.co_filename
        is_generated = name.startswith("<hookbus ") and "tests." not in name
        return self.line if is_generated or any(each in name for each in OF_A_CALL) else None

    def line(self, frame, event, argument):
        name = frame.f_code.co_filename
        line = (
            self.text[frame.f_lineno - 1]
            if name.startswith("<hookbus ")
            else linecache.getline(name, frame.f_lineno)
        )
        if event == "line" and line.strip() != "try:":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self.line


def test_an_interrupt_at_any_line_leaves_no_call_without_an_end(colour):
    bus, told = Bus(), []
    bus.events.connect(lambda bus, event: told.append(event))
    agent = make_agent(bus, colour)
    bus.signal("pre_reply").connect(lambda agent, msg: {"msg": msg})
    bus.signal("pre_reply").connect(lambda agent: None, role="guard")
    bus.signal("post_reply").connect(lambda agent, result: None)
    bus.signal("finally_reply").connect(lambda agent: None)
    bus.signal("finally_reply").connect(lambda agent, ctx: None)
    take(colour, agent, "hi")
    text = str(explain(agent.reply, source=True).source).split("\n\n", 1)[1]
    number, is_over = 0, False
    while not is_over:
        number += 1
        told.clear()
        tracer = InterruptAt(number, text)
        before = sys.gettrace()
        try:
            sys.settrace(tracer)
            take(colour, agent, "hi")
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        is_over = tracer.left > 0
        started = [event for event in told if isinstance(event, events.Started)]
        finished = [event for event in told if isinstance(event, events.Finished)]
        assert len(finished) >= len(started), number
    assert number > 20
