"""Observers, listeners of events, and what runs in the background."""

import time

from ._told import Topic

TOPIC = Topic("Observers and events", {})


def listens(*args, **options):
    def make(bus, Agent):
        bus.events.connect(*args, **options)

    return make


async def to_the_log(bus, event): ...


@TOPIC.mistake("an observer that takes 0.2 s, without `timeout=`")
def a_slow_observer(bus, Agent):
    def audit(agent):
        time.sleep(0.2)

    bus.signal("post_reply").connect(audit, sender=Agent, role="observe")
    return lambda: Agent().reply("hi")


@TOPIC.mistake("`background=True` for a guard")
def a_guard_in_the_background(bus, Agent):
    def no_keys(agent): ...

    bus.signal("pre_reply").connect(no_keys, sender=Agent, role="guard", background=True)


@TOPIC.mistake("an observer that raises: `1 / 0`")
def an_observer_breaks(bus, Agent):
    def audit(agent, result):
        return 1 / 0

    bus.signal("post_reply").connect(audit, sender=Agent, role="observe")
    return lambda: Agent().reply("hi")


@TOPIC.mistake("`ctx.result = ...` in an observer")
def an_observer_sets_the_result(bus, Agent):
    def shorten(agent, ctx):
        ctx.result = ""

    bus.signal("post_reply").connect(shorten, sender=Agent, role="observe")
    return lambda: Agent().reply("hi")


@TOPIC.mistake('`return {"msg": ""}` in an observer')
def an_observer_patches(bus, Agent):
    def scrub(agent):
        return {"msg": ""}

    bus.signal("pre_reply").connect(scrub, sender=Agent, role="observe")
    return lambda: Agent().reply("hi")


@TOPIC.mistake('`role="guard"` on `finally_reply`')
def a_guard_at_the_end(bus, Agent):
    bus.signal("finally_reply").connect(to_the_log, sender=Agent, role="guard", name="audit")


TOPIC.mistake("`async def` as a listener of events")(listens(to_the_log))
TOPIC.mistake("`def listener(event)`: no bus")(listens(lambda event: None, name="to_the_log"))
TOPIC.mistake('`kinds="Failed"`: the name of the class')(listens(print, kinds="Failed"))
TOPIC.mistake("`@bus.events.connect_via` without parentheses")(
    lambda bus, Agent: bus.events.connect_via(lambda bus, event: None) and None
)


@TOPIC.mistake("a listener that raises")
def a_listener_breaks(bus, Agent):
    def to_the_log(bus, event):
        return event.resaon

    bus.events.connect(to_the_log)
    return lambda: Agent().reply("hi")


@TOPIC.mistake('an observer that modifies an argument after a guard ran: `msg["to"] = ...`')
def an_observer_writes_in_place(bus, Agent):
    def no_keys(agent, msg): ...

    def audit(agent, msg):
        msg["to"] = "eve"

    bus.signal("pre_reply").connect(no_keys, sender=Agent, role="guard")
    bus.signal("pre_reply").connect(audit, sender=Agent, role="observe")
    return lambda: Agent().reply({"to": "ada"})
