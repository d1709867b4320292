"""Senders of a connection."""

from typing import Generic, TypeVar

from hookbus import Bus, hookable

from ._told import Topic

TOPIC = Topic("Connecting to a sender", {})

T = TypeVar("T")


def no_keys(agent):
    return None


def ok(agent):
    return None


@TOPIC.mistake('`sender="Agent"`: the name of the class')
def the_name_of_a_class(bus, Agent):
    bus.signal("pre_reply").connect(no_keys, sender="Agent")


@TOPIC.mistake('`connect(no_keys, Agent, "guard")`: the third parameter is `weak`')
def a_role_by_position(bus, Agent):
    bus.signal("pre_reply").connect(no_keys, Agent, "guard")


@TOPIC.mistake('`connect(no_keys, "guard")`: the second parameter is `sender`')
def a_role_for_a_sender(bus, Agent):
    bus.signal("pre_reply").connect(no_keys, "guard")


@TOPIC.mistake("a guard on `Agent()`, an object that nothing else references")
def a_temporary_object(bus, Agent):
    bus.signal("pre_reply").connect(no_keys, sender=Agent(), role="guard")



@TOPIC.mistake("`sender=Agent.reply`: the method")
def a_method(bus, Agent):
    bus.signal("pre_reply").connect(no_keys, sender=Agent.reply)


@TOPIC.mistake("`sender=agent.reply`: the method of an object")
def a_bound_method(bus, Agent):
    bus.signal("pre_reply").connect(no_keys, sender=Agent().reply)


@TOPIC.mistake("`@signal(...).connect_via` without parentheses")
def connect_via_without_parentheses(bus, Agent):
    bus.signal("pre_reply").connect_via(no_keys)


@TOPIC.mistake("`sender=Shop[str]`: an annotation")
def an_annotation(bus, Agent):
    class Shop(Generic[T]):
        @hookable(bus=bus)
        def buy(self): ...

    bus.signal("pre_buy").connect(no_keys, sender=Shop[str])


@TOPIC.mistake("a guard on a class that has no such hook")
def a_class_that_never_calls(bus, Agent):
    class Assistant: ...

    bus.signal("pre_reply").connect(no_keys, sender=Assistant, role="guard")
    return lambda: (Assistant, Agent().reply("hi"))  # it lives


@TOPIC.mistake("an observer on a class that has no such hook")
def an_observer_of_a_class_that_never_calls(bus, Agent):
    class Assistant: ...

    bus.signal("pre_reply").connect(no_keys, sender=Assistant, role="observe")
    return lambda: (Assistant, Agent().reply("hi"))  # it lives


@TOPIC.mistake("a guard on one object, and `require_guard` for another one")
def a_guard_of_another_object(bus, Agent):
    first, second = Agent(), Agent()
    bus.signal("pre_reply").connect(no_keys, sender=first, role="guard")
    bus.require_guard("reply", sender=second)


@TOPIC.mistake("a signal of another bus")
def another_bus(bus, Agent):
    elsewhere = Bus()

    @hookable("ask_bank", bus=elsewhere)
    def ask_bank(msg):
        return msg

    bus.signal("pre_ask_bank").connect(no_keys, role="guard")
    return lambda: ask_bank("hi")


@TOPIC.mistake("`connect(no_keys(agent))`: the result of a call instead of the function")
def no_callable(bus, Agent):
    bus.signal("pre_reply").connect(no_keys(Agent()), sender=Agent)


@TOPIC.mistake("`async def` on a sync `def reply`")
def an_async_receiver_of_a_plain_method(bus, Agent):
    async def look_up(agent, msg): ...

    bus.signal("pre_reply").connect(look_up, sender=Agent)


@TOPIC.mistake("a `def` that returns a coroutine, on a sync `def reply`")
def a_coroutine_for_a_plain_method(bus, Agent):
    async def look_up(agent): ...

    bus.signal("pre_reply").connect(lambda agent: look_up(agent), sender=Agent, name="look_up")
    return lambda: Agent().reply("hi")


@TOPIC.mistake("connected in a loop, with a new `def` each time")
def connected_in_a_loop(bus, Agent):
    for _ in range(3):

        def note(agent): ...

        bus.signal("pre_reply").connect(note, sender=Agent)
    return lambda: Agent().reply("hi")


@TOPIC.mistake("`weak=True`, and nothing else references the receiver")
def a_lambda_that_is_lost(bus, Agent):
    bus.signal("pre_reply").connect(lambda agent: {"msg": ""}, sender=Agent, weak=True, name="hide")
    return lambda: Agent().reply("hi")


@TOPIC.mistake("`prioritty=10`: a typo in an option")
def a_typo_in_an_option(bus, Agent):
    bus.signal("pre_reply").connect_via(Agent, prioritty=10)(no_keys)


@TOPIC.mistake('`priority="high"`')
def a_priority_in_words(bus, Agent):
    bus.signal("pre_reply").connect(no_keys, sender=Agent, priority="high")


@TOPIC.mistake('`timeout="2s"`')
def a_deadline_with_a_unit(bus, Agent):
    bus.signal("pre_reply").connect(no_keys, sender=Agent, timeout="2s")


@TOPIC.mistake("`timeout=500`: milliseconds")
def a_deadline_in_milliseconds(bus, Agent):
    bus.signal("pre_reply").connect(no_keys, sender=Agent, timeout=500)



@TOPIC.mistake('`before="redakt"`: an unknown name')
def before_nobody(bus, Agent):
    bus.signal("pre_reply").connect(no_keys, sender=Agent, name="redact")
    bus.signal("pre_reply").connect(ok, sender=Agent, before="redakt")
    return lambda: Agent().reply("hi")


@TOPIC.mistake("a cycle of `before=` and `after=`")
def a_circle(bus, Agent):
    bus.signal("pre_reply").connect(no_keys, sender=Agent, before="ok")
    bus.signal("pre_reply").connect(ok, sender=Agent, before="no_keys")


@TOPIC.mistake("a guard with `before=` a modifier")
def a_guard_ahead_of_a_modifier(bus, Agent):
    bus.signal("pre_reply").connect(no_keys, sender=Agent)
    bus.signal("pre_reply").connect(ok, sender=Agent, role="guard", before="no_keys")
