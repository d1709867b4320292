"""A hookable that a class gets after calls is that class's method, and its hooks run once."""

import types

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, hookable, instrument


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def senders(bus):
    found = []
    bus.signal("pre_reply").connect(lambda _: found.append(_))
    return found


@pytest.mark.parametrize("has_own", [False, True])
@pytest.mark.parametrize("attribute", ["reply", "answer"])
def test_a_function_that_became_a_method_after_its_calls_runs_no_hooks_twice(
    bus, senders, attribute, has_own
):
    class Base:
        pass

    class Child(Base):
        pass

    @hookable("reply", bus=bus)
    def reply(agent, msg):
        return msg

    @hookable("reply", bus=bus)
    def override(agent, msg):
        return getattr(Base, attribute)(agent, msg)

    setattr(Child, attribute, override)
    child = Child()
    if has_own:
        bus.signal("post_reply").connect(lambda _: None, sender=child)
    reply(child, "as a function")
    assert senders == [reply]
    setattr(Base, attribute, reply)
    senders.clear()
    assert getattr(child, attribute)("hi") == "hi"
    assert senders == [child]


def test_a_function_that_became_a_method_is_guarded_as_one(bus):
    class Agent:
        pass

    @hookable("reply", bus=bus)
    def reply(agent):
        return "sent"

    bus.signal("pre_reply").connect(lambda _: Block("no"), sender=Agent, role="guard")
    assert reply(Agent()) == "sent"
    Agent.answer = reply
    with pytest.raises(HookBlocked):
        Agent().answer()


@pytest.mark.parametrize("place", ["its class", "a parent", "a metaclass"])
@pytest.mark.parametrize("before", ["another attribute", "another function"])
def test_a_class_that_has_as_many_attributes_as_before_got_a_method_all_the_same(
    bus, senders, place, before
):
    class Meta(type):
        pass

    class Base(metaclass=Meta):
        pass

    class Child(Base):
        pass

    holder = {"its class": Child, "a parent": Base, "a metaclass": Meta}[place]
    name = "reply" if before == "another function" else "other"
    setattr(holder, name, lambda *_: "plain")

    @hookable("reply", bus=bus)
    def reply(agent, msg):
        return msg

    first = Child if place == "a metaclass" else Child()
    assert [reply(first, "as a function"), reply(first, "again")] == ["as a function", "again"]
    assert senders == [reply, reply]
    delattr(holder, name)
    holder.reply = reply
    senders.clear()
    assert first.reply("hi") == "hi"
    assert senders == [first]


def test_an_object_that_was_given_another_class_is_called_as_one_of_that(bus, senders):
    class Agent:
        pass

    @hookable("reply", bus=bus)
    def reply(agent):
        return "sent"

    class Other:
        answer = reply

    agent = Agent()
    reply(agent)
    agent.__class__ = Other
    senders.clear()
    assert agent.answer() == "sent"
    assert senders == [agent]


def test_a_function_that_became_a_classmethod_is_guarded_as_one(bus):
    class Agent:
        pass

    @hookable("reply", bus=bus)
    def reply(cls):
        return "sent"

    bus.signal("pre_reply").connect(lambda _: Block("no"), sender=Agent, role="guard")
    assert reply(Agent) == "sent"
    Agent.reply = classmethod(reply)
    with pytest.raises(HookBlocked):
        Agent.reply()


@pytest.mark.parametrize("has_own", [False, True])
def test_an_override_that_a_class_got_after_its_calls_runs_the_hooks_once(bus, senders, has_own):
    class Base:
        @hookable("reply", bus=bus)
        def reply(self):
            return "sent"

    class Child(Base):
        pass

    override = hookable("reply", bus=bus)(lambda self: Base.reply(self))
    child = Child()
    if has_own:
        bus.signal("post_reply").connect(lambda _: None, sender=child)
    child.reply()
    Child.reply = override
    senders.clear()
    assert child.reply() == "sent"
    assert senders == [child]


def old_generator():
    yield


def old_function():
    return old_generator()


@pytest.mark.parametrize("function", [old_generator, old_function])
def test_what_types_coroutine_made_is_refused(bus, function):
    made = types.coroutine(types.FunctionType(function.__code__, globals(), "reply"))
    with pytest.raises(HookError, match=r"types\.coroutine.*define it with async def"):
        hookable("reply", bus=bus)(made)

    class Agent:
        reply = made

    with pytest.raises(HookError, match=r"types\.coroutine.*define it with async def"):
        instrument(Agent, "reply", bus=bus)
    assert Agent.reply is made
