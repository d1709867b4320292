"""Whose call it is: told by who calls right now, whatever classes say of themselves or become."""

import asyncio
import ctypes
import gc
import linecache

import pytest

from hookbus import Block, Bus, HookBlocked, hookable

COLOURS = ["sync", "async", "generator", "async generator"]


@pytest.fixture
def bus():
    return Bus()


def body_of(colour):
    def sync(self, n=0):
        return [n]

    async def later(self, n=0):
        return [n]

    def stream(self, n=0):
        yield n

    async def feed(self, n=0):
        yield n

    return dict(zip(COLOURS, (sync, later, stream, feed), strict=True))[colour]


def call(colour, function, *args):
    async def awaited():
        if colour == "async":
            return await function(*args)
        return [item async for item in function(*args)]

    if "async" in colour:
        return asyncio.run(awaited())
    return list(function(*args))


def blocks(agent):
    return Block("no")


def is_blocked(colour, agent):
    try:
        call(colour, agent.reply)
    except HookBlocked:
        return True
    return False


@pytest.fixture(params=COLOURS)
def colour(request):
    return request.param


@pytest.fixture
def make(bus, colour):
    """Return what makes a class with a hookable `reply`."""

    def make(name="Agent", bases=(), kind=type, **attributes):
        namespace = {"reply": hookable("reply", bus=bus)(body_of(colour)), **attributes}
        return kind(name, bases, namespace)

    return make


def test_a_guard_that_is_a_method_of_its_own_sender_stays_when_that_method_is_redefined(
    bus, make, colour
):
    Agent = make(check=lambda self, agent: Block("no"))
    agent = Agent()
    bus.signal("pre_reply").connect(agent.check, sender=agent, role="guard")
    assert is_blocked(colour, agent)
    Agent.check = lambda self, agent: None
    gc.collect()
    assert is_blocked(colour, agent)
    bus.signal("pre_reply").connect(lambda agent: None, sender=agent)
    assert is_blocked(colour, agent)


class Equal(type):
    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return 1


class Unhashable(type):
    def __eq__(cls, other):
        raise RuntimeError("nobody asked for this")


@pytest.mark.parametrize("kind", [Equal, Unhashable])
def test_what_a_metaclass_says_of_equality_mixes_up_no_plans(bus, make, colour, kind):
    Guarded, Free = make("Guarded", kind=kind), make("Free", kind=kind)
    bus.signal("pre_reply").connect(blocks, sender=Guarded, role="guard")
    for _ in range(3):
        assert is_blocked(colour, Guarded()) and not is_blocked(colour, Free())
    assert bus._checks.uncovered() == []


def test_an_object_that_changes_its_class_is_guarded_as_what_it_has_become(bus, make, colour):
    (Base,) = (make("Base"),)
    Free, Guarded = type("Free", (Base,), {}), type("Guarded", (Base,), {})
    bus.signal("pre_reply").connect(blocks, sender=Guarded, role="guard")
    for has_own in (False, True):
        agent = Free()
        if has_own:
            bus.signal("pre_reply").connect(lambda agent: None, sender=agent)
        for _ in range(3):
            agent.__class__ = Free
            assert not is_blocked(colour, agent)
            agent.__class__ = Guarded
            assert is_blocked(colour, agent)


def test_a_class_that_changes_its_bases_is_guarded_as_what_it_has_become(bus, make, colour):
    Base = make("Base")
    Free, Guarded = type("Free", (Base,), {}), type("Guarded", (Base,), {})
    bus.signal("pre_reply").connect(blocks, sender=Guarded, role="guard")
    Child = type("Child", (Free,), {})
    agent, own = Child(), Child()
    bus.signal("pre_reply").connect(lambda agent: None, sender=own)
    for _ in range(3):
        Child.__bases__ = (Free,)
        assert not is_blocked(colour, agent) and not is_blocked(colour, own)
        Child.__bases__ = (Guarded,)
        assert is_blocked(colour, agent) and is_blocked(colour, own)


def test_a_class_that_changes_its_bases_twice_in_a_row_is_guarded_as_what_it_is_now(
    bus, make, colour
):
    Base = make("Base")
    Free, Guarded = type("Free", (Base,), {}), type("Guarded", (Base,), {})
    bus.signal("pre_reply").connect(blocks, sender=Guarded, role="guard")
    Child = type("Child", (Free,), {})
    agent, own = Child(), Child()
    bus.signal("pre_reply").connect(lambda agent: None, sender=own)
    for _ in range(30):
        Child.__bases__ = (Free,)
        assert not is_blocked(colour, agent) and not is_blocked(colour, own)
        Child.__bases__ = (Free, Guarded)
        Child.__bases__ = (Guarded,)
        assert is_blocked(colour, agent) and is_blocked(colour, own)


def test_a_new_class_is_never_run_as_one_whose_bases_were_changed(bus, make, colour):
    Base = make("Base")
    Free, Guarded = type("Free", (Base,), {}), type("Guarded", (Base,), {})
    bus.signal("pre_reply").connect(blocks, sender=Guarded, role="guard")
    for _ in range(30):
        Left = type("Left", (Free,), {})
        assert not is_blocked(colour, Left())
        Left.__bases__ = (Guarded,)
        assert all(is_blocked(colour, type("Other", (Guarded,), {})()) for _ in range(3))


class Unbound:
    """What a framework puts where something is to be found later."""

    @property
    def __class__(self):
        raise RuntimeError("working outside of a request")


def test_what_cannot_be_asked_for_its_class_neither_breaks_a_call_nor_opens_it(bus, make, colour):
    Agent, Free = make(current=Unbound()), make(bases=(Unbound,))
    assert call(colour, Agent().reply) == call(colour, Free().reply) == [0]
    bus.signal("pre_reply").connect(lambda agent: None)
    assert call(colour, Agent().reply) == call(colour, Free().reply) == [0]
    bus.signal("pre_reply").connect(blocks, sender=Agent, role="guard")
    assert is_blocked(colour, Agent()) and not is_blocked(colour, Free())
    bus.signal("pre_reply").connect(blocks, sender=Free, role="guard")
    assert is_blocked(colour, Free())
    bus.require_guard("reply")


def test_a_class_that_takes_no_attribute_from_python_is_guarded_as_what_it_has_become(
    bus, make, colour
):
    Base = make("Base")
    Free, Guarded = type("Free", (Base,), {}), type("Guarded", (Base,), {})
    bus.signal("pre_reply").connect(blocks, sender=Guarded, role="guard")
    Child = type(ctypes.Structure)("Child", (Free, ctypes.Structure), {})
    for _ in range(30):
        Child.__bases__ = (Free, ctypes.Structure)
        assert not is_blocked(colour, Child())
        Child.__bases__ = (Free, Guarded, ctypes.Structure)
        Child.__bases__ = (Guarded, ctypes.Structure)
        assert is_blocked(colour, Child())


def test_an_object_of_its_own_is_never_run_as_one_of_a_class_that_is_gone(bus, make, colour):
    Base = make("Base")
    Free, Guarded = type("Free", (Base,), {}), type("Guarded", (Base,), {})
    bus.signal("pre_reply").connect(blocks, sender=Guarded, role="guard")
    own = Base()
    bus.signal("pre_reply").connect(lambda agent: None, sender=own)
    for _ in range(10):
        own.__class__ = type("Left", (Free,), {})
        assert not is_blocked(colour, own)
        own.__class__ = Base
        gc.collect()
        for other in [type("Other", (Guarded,), {}) for _ in range(5)]:
            own.__class__ = other
            assert is_blocked(colour, own)
        own.__class__ = Base


def test_an_agent_that_becomes_another_while_it_is_settled_who_runs_is_guarded_from_then_on(
    bus, make, colour, monkeypatch
):
    Base = make("Base")
    Free, Guarded = type("Free", (Base,), {}), type("Guarded", (Base,), {})
    pre = bus.signal("pre_reply")
    pre.connect(blocks, sender=Guarded, role="guard")
    first, other = Guarded(), Guarded()
    matching = pre._matching

    def matching_meanwhile(sender):
        first.__class__ = Free
        return matching(sender)

    monkeypatch.setattr(pre, "_matching", matching_meanwhile)
    call(colour, first.reply)
    monkeypatch.undo()
    assert not is_blocked(colour, first) and is_blocked(colour, other)


def test_a_classmethod_is_guarded_for_each_class_alone(bus, colour):
    class Base:
        reply = classmethod(hookable("reply", bus=bus)(body_of(colour)))

    class Guarded(Base):
        pass

    class Free(Base):
        pass

    bus.signal("pre_reply").connect(blocks, sender=Guarded, role="guard")
    for _ in range(3):
        assert (
            is_blocked(colour, Guarded)
            and not is_blocked(colour, Free)
            and not is_blocked(colour, Base)
        )
    Free.__bases__ = (Guarded,)
    assert is_blocked(colour, Free)


def test_a_hookable_called_as_a_function_is_a_method_once_a_class_holds_it(bus, colour):
    function = body_of(colour)
    function.__name__ = function.__qualname__ = "reply"
    reply = hookable("reply", bus=bus)(function)

    class Agent:
        pass

    agent = Agent()
    bus.signal("pre_reply").connect(blocks, sender=Agent, role="guard")
    for _ in range(3):
        assert call(colour, reply, agent) == [0]
    Agent.reply = reply
    assert is_blocked(colour, agent) and is_blocked(colour, agent)


def test_a_call_in_the_end_of_an_agent_is_guarded_also_in_a_circle(bus, make, colour):
    seen = []
    Agent = make(__del__=lambda self: seen.append(is_blocked(colour, self)))
    for in_circle in (False, True):
        for _ in range(2):
            agent = Agent()
            bus.signal("pre_reply").connect(blocks, sender=agent, role="guard")
            agent.me = agent if in_circle else None
            del agent
            gc.collect()
            later = [Agent() for _ in range(9)]
            assert not any(is_blocked(colour, each) for each in later)
            later.clear()
            assert seen == [True] + [False] * 9
            seen.clear()
    gc.collect()
    assert not bus.signal("pre_reply").receivers


def test_classes_made_again_and_again_leave_no_texts_behind(bus, make, colour):
    def live(times):
        for number in range(times):
            Agent = make(f"Agent{number}")
            bus.signal("pre_reply").connect(lambda agent: None, sender=Agent)
            call(colour, Agent().reply)

    live(3)
    before = len(linecache.cache)
    live(30)
    assert len(linecache.cache) <= before


@pytest.mark.parametrize(
    "names",
    [
        "find",
        "body",
        "type",
        "id",
        "runs",
        "own",
        "run",
        "shell",
        "name",
        "getattr",
        "make",
        "forward",
    ],
)
def test_a_parameter_may_have_the_name_of_anything_the_generated_code_reads(bus, names):
    space = {}
    exec(f"def reply({names}, {names}_=2, *, body__=3): return [{names}, {names}_, body__]", space)
    agents = [7, object(), type("Agent", (), {})()]
    reply = hookable("reply", bus=bus)(space["reply"])
    for connect in (False, True):
        if connect:
            bus.signal("pre_reply").connect(lambda sender: None)
        for agent in agents * 3:
            assert reply(agent) == [agent, 2, 3]
