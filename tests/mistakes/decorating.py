"""Making methods hookable."""

import functools

from hookbus import hook_overrides, hookable, instrument

from ._told import Topic

TOPIC = Topic("Decorating", {})


class Tool:
    """What a framework's `@tool` makes of a function."""

    def __init__(self, func):
        self.func = func


@TOPIC.mistake("`@hookable` above a framework's `@tool`")
def above_a_tool(bus, Agent):
    @hookable(bus=bus)
    @Tool
    def search(text): ...


@TOPIC.mistake("`@hookable` above `@property`")
def above_a_property(bus, Agent):
    class Person:
        @hookable(bus=bus)
        @property
        def name(self): ...


@TOPIC.mistake("`@hookable` above `@cached_property`")
def above_a_cached_property(bus, Agent):
    class Person:
        @hookable(bus=bus)
        @functools.cached_property
        def name(self): ...


@TOPIC.mistake("`@hookable` above a class")
def above_a_class(bus, Agent):
    @hookable(bus=bus)
    class Person: ...


@TOPIC.mistake("`hookable(agent.reply)`: the method of an object")
def of_an_object(bus, Agent):
    class Person:
        def name(self): ...

    hookable(bus=bus)(Person().name)


@TOPIC.mistake("`hookable(len)`: a built-in")
def a_built_in(bus, Agent):
    hookable(bus=bus)(len)


@TOPIC.mistake("a function decorated twice, with two names")
def two_names(bus, Agent):
    hookable("answer", bus=bus)(Agent.reply)


@TOPIC.mistake("`@hookable` above a decorator that hides an `async def`")
def above_what_hides_the_colour(bus, Agent):
    def logged(function):
        @functools.wraps(function)
        def call(*args):
            return function(*args)

        return call

    class Person:
        @hookable(bus=bus)
        @logged
        async def greet(self): ...


@TOPIC.mistake('`instrument(Agent, "replay")`: no such method')
def a_method_that_is_not_there(bus, Agent):
    instrument(Agent, "replay", bus=bus)


@TOPIC.mistake('`instrument(agent, "reply")`: an object')
def an_object(bus, Agent):
    instrument(Agent(), "reply", bus=bus)


@TOPIC.mistake("`instrument(Agent)`: no method names")
def no_method(bus, Agent):
    instrument(Agent, bus=bus)


@TOPIC.mistake('`instrument(list, "append")`: a built-in')
def a_built_in_class(bus, Agent):
    instrument(list, "append", bus=bus)


@TOPIC.mistake("`@hook_overrides` above a class without a hook")
def nothing_to_override(bus, Agent):
    @hook_overrides
    class Person: ...


@TOPIC.mistake("`require_guard=1`")
def guarded_by_a_number(bus, Agent):
    hookable("pay", bus=bus, require_guard=1)


@TOPIC.mistake('`on_block="no"`: a string')
def blocked_by_a_text(bus, Agent):
    hookable("pay", bus=bus, on_block="no")
