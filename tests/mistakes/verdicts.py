"""Answers of a guard, or of a receiver that should be one."""

import asyncio
import threading
import time
from contextlib import suppress

from hookbus import Ask, Block, Drop, HookBlocked, baggage, guards, hookable

from ._told import Topic

TOPIC = Topic("Guards and verdicts", {})


def no_keys(agent):
    return None


def guard_of(bus, Agent, guard, **options):
    bus.signal("pre_reply").connect(guard, sender=Agent, role="guard", **options)
    return lambda: Agent().reply("hi")


@TOPIC.mistake("`return False` in a guard")
def a_guard_says_false(bus, Agent):
    def no_keys(agent, msg):
        return "KEY" in msg

    return guard_of(bus, Agent, no_keys)


@TOPIC.mistake("`return Block`: the class instead of an instance")
def a_guard_gives_the_class(bus, Agent):
    def no_keys(agent, msg):
        return Block

    return guard_of(bus, Agent, no_keys)


@TOPIC.mistake("`raise Block(...)`")
def a_guard_raises_its_verdict(bus, Agent):
    def no_keys(agent, msg):
        raise Block("a key")

    return guard_of(bus, Agent, no_keys)


@TOPIC.mistake('`raise HookBlocked("a key")` in a guard')
def a_guard_raises_what_its_caller_gets(bus, Agent):
    def no_keys(agent, msg):
        raise HookBlocked("a key")

    return guard_of(bus, Agent, no_keys)


@TOPIC.mistake('`raise PermissionError("a key")` in a guard')
def a_guard_raises_an_error_that_says_no(bus, Agent):
    def no_keys(agent, msg):
        raise PermissionError("a key")

    return guard_of(bus, Agent, no_keys)



@TOPIC.mistake("`Block(...)` without `return`")
def a_guard_forgets_to_return(bus, Agent):
    def no_keys(agent, msg):
        if "KEY" in msg:
            Block("a key")

    return guard_of(bus, Agent, no_keys)


@TOPIC.mistake("`Ask(...)` without `return`")
def a_guard_forgets_to_return_its_question(bus, Agent):
    def no_keys(agent, msg):
        if "KEY" in msg:
            Ask("send a key?")

    return guard_of(bus, Agent, no_keys)


@TOPIC.mistake('`yield Block("a key")` in a guard')
def a_guard_yields(bus, Agent):
    def no_keys(agent, msg):
        yield Block("a key")

    return guard_of(bus, Agent, no_keys)


@TOPIC.mistake('`return Ask("")`: an empty question')
def a_guard_asks_nothing(bus, Agent):
    def no_keys(agent, msg):
        return Ask("")

    return guard_of(bus, Agent, no_keys)


@TOPIC.mistake('`return {"msg": ...}` in a guard')
def a_guard_patches(bus, Agent):
    def no_keys(agent, msg):
        return {"msg": ""}

    return guard_of(bus, Agent, no_keys)


@TOPIC.mistake('`ctx.kwargs["msg"] = ...` in a guard')
def a_guard_writes(bus, Agent):
    def no_keys(agent, ctx):
        ctx.kwargs["msg"] = ""

    return guard_of(bus, Agent, no_keys)


@TOPIC.mistake("a guard that raises: `1 / 0`")
def a_guard_breaks(bus, Agent):
    def no_keys(agent, msg):
        return 1 / 0

    return guard_of(bus, Agent, no_keys)


@TOPIC.mistake("a redactor that raises, and fails open")
def a_redactor_breaks(bus, Agent):
    def redact(agent, msg):
        return {"msg": msg.stripe()}

    bus.signal("pre_reply").connect(redact, sender=Agent)
    return lambda: Agent().reply("hi")


@TOPIC.mistake("`return Block(...)` in a receiver without a role")
def a_modifier_blocks(bus, Agent):
    def no_keys(agent, msg):
        return Block("a key")

    bus.signal("pre_reply").connect(no_keys, sender=Agent)

    def call():
        with suppress(HookBlocked):  # it does block, as long as it does not break
            Agent().reply("hi")

    return call


@TOPIC.mistake("`return Ask(...)` in a receiver without a role")
def a_modifier_asks(bus, Agent):
    bus.signal("pre_reply").connect(lambda agent: Ask("send it?"), sender=Agent, name="no_keys")
    return lambda: Agent().reply("hi")


@TOPIC.mistake("`return Ask(...)` in an observer")
def an_observer_asks(bus, Agent):
    def no_keys(agent):
        return Ask("send it?")

    bus.signal("pre_reply").connect(no_keys, sender=Agent, role="observe")
    return lambda: Agent().reply("hi")


@TOPIC.mistake('`return "KEY" in result` on `post_reply`, without a role')
def a_condition_replaces_the_result(bus, Agent):
    def no_keys(agent, result):
        return "KEY" in result

    bus.signal("post_reply").connect(no_keys, sender=Agent)
    return lambda: Agent().reply("hi")



@TOPIC.mistake("`return Block(...)` in an observer")
def an_observer_blocks(bus, Agent):
    def no_keys(agent, msg):
        return Block("a key")

    bus.signal("pre_reply").connect(no_keys, sender=Agent, role="observe")
    return lambda: Agent().reply("hi")


@TOPIC.mistake("`return Drop()` in `post_reply`")
def a_result_is_dropped(bus, Agent):
    bus.signal("post_reply").connect(lambda agent: Drop(), sender=Agent, name="hide")
    return lambda: Agent().reply("hi")


@TOPIC.mistake("a modifier that calls `agent.reply` itself")
def a_modifier_calls_its_own_hook(bus, Agent):
    def improve(agent, msg):
        return {"msg": agent.reply(msg)}

    bus.signal("pre_reply").connect(improve, sender=Agent)
    return lambda: Agent().reply("hi")


@TOPIC.mistake("a guard that calls `agent.reply` itself")
def a_guard_calls_its_own_hook(bus, Agent):
    def second_opinion(agent, msg):
        agent.reply(msg)

    return guard_of(bus, Agent, second_opinion)


@TOPIC.mistake("a sync guard that takes 0.2 s, on `async def fetch`")
def a_guard_blocks_the_event_loop(bus, Agent):
    def look_up(agent):
        time.sleep(0.2)

    bus.signal("pre_fetch").connect(look_up, sender=Agent, role="guard")
    return lambda: asyncio.run(Agent().fetch("a"))


@TOPIC.mistake("a new thread under `guards.rate_limit(9)`, which counts by session")
def a_thread_that_has_no_session(bus, Agent):
    @hookable("tool_call", bus=bus)
    def tool_call(name): ...

    bus.register(guards.rate_limit(9))
    with baggage(session="s-17"):
        thread = threading.Thread(target=tool_call, args=("send",))
        thread.start()
        thread.join()



@TOPIC.mistake('`role="gaurd"`')
def a_misspelt_role(bus, Agent):
    bus.signal("pre_reply").connect(no_keys, sender=Agent, role="gaurd")


@TOPIC.mistake('`role="guard", on_error="isolate"`: a guard that fails open')
def a_guard_that_would_fail_open(bus, Agent):
    guard_of(bus, Agent, no_keys, on_error="isolate")


@TOPIC.mistake("`once=True` for a guard")
def a_guard_for_one_call(bus, Agent):
    guard_of(bus, Agent, no_keys, once=True)


@TOPIC.mistake("`weak=True` for a guard")
def a_guard_that_may_vanish(bus, Agent):
    guard_of(bus, Agent, no_keys, weak=True)


@TOPIC.mistake('`shadow=True` without `role="guard"`')
def a_shadow_of_a_modifier(bus, Agent):
    bus.signal("pre_reply").connect(no_keys, sender=Agent, shadow=True)


@TOPIC.mistake("`shadow=True` left in by mistake: a guard in shadow mode")
def a_guard_stays_in_shadow(bus, Agent):
    return guard_of(bus, Agent, no_keys, shadow=True)


@TOPIC.mistake('`locked=True` without `role="guard"`, or with `shadow=True`')
def a_lock_on_a_modifier(bus, Agent):
    bus.signal("pre_reply").connect(no_keys, sender=Agent, locked=True)


@TOPIC.mistake('`role="guard"` on `around_reply`')
def a_role_where_there_is_none(bus, Agent):
    bus.signal("around_reply").connect(no_keys, sender=Agent, role="guard", name="no_keys")


@TOPIC.mistake('`role="guard"` on `error_reply`')
def a_guard_of_errors(bus, Agent):
    bus.signal("error_reply").connect(no_keys, sender=Agent, role="guard", name="no_keys")


@TOPIC.mistake("`return 0` in `error_divide`: no rescue")
def a_rescue_without_its_verdict(bus, Agent):
    def rescue(agent, error):
        return 0

    @hookable(bus=bus)
    def divide(number):
        return number / 0

    bus.signal("error_divide").connect(rescue)
    return lambda: divide(1)
