"""What bad input gets: a clear error, as early as it can be known, and nothing changed."""

import asyncio
import functools
import threading
import types
import weakref
from typing import Generic, TypeVar
from unittest import mock

import pytest

from hookbus import (
    Block,
    Bus,
    HookBlocked,
    HookError,
    ReceiverError,
    Replace,
    events,
    hookable,
    hookspec,
    modes,
    receives,
    report,
)


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def Agent(bus):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg, temperature=0.7):
            return msg

        @hookable("tokens", bus=bus)
        def tokens(self, n):
            yield from range(n)

    return Agent


def ok(agent):
    return None


async def ok_async(agent):
    return None


async def around_async(agent, call_next):
    return None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"timeout": 0}, "positive number of seconds"),
        ({"timeout": -1}, "positive number of seconds"),
        ({"timeout": True}, "positive number of seconds"),
        ({"timeout": float("inf")}, "positive number of seconds"),
        ({"timeout": "2s"}, "positive number of seconds"),
        ({"priority": "high"}, "must be a number; higher runs first"),
        ({"priority": float("nan")}, "must be a number"),
        ({"priority": True}, "must be a number"),
        ({"role": "gaurd"}, "did you mean 'guard'"),
        ({"role": "admin"}, "is not valid; available: guard, modify, observe"),
        ({"on_error": "blok"}, "did you mean 'block'"),
        ({"on_error": "open"}, "is not valid"),
        ({"role": "guard", "on_error": "isolate"}, "guard takes block"),
        ({"role": "observe", "on_error": "raise"}, "observe takes isolate"),
        ({"role": "guard", "once": True}, "allow all others|would be allowed"),
        ({"once": 1}, "True or False"),
        ({"name": ""}, "must be a non-empty string"),
        ({"name": 3}, "must be a non-empty string"),
        ({"when": "bash*"}, "predicate or a mapping"),
        ({"when": {"msg": 3}}, "glob, both strings"),
        ({"when": lambda message: True}, "has a when= that needs 'message'.*did you mean 'msg'"),
        ({"when": {"message": "*"}}, "did you mean 'msg'"),
        ({"before": 3}, "names of receivers"),
        ({"role": "guard", "weak": True}, "allow all others|would be allowed"),
        ({"on_error": "block", "weak": True}, "allow all others|would be allowed"),
        ({"nonsense": 1}, "nonsense"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_refused_and_nothing_is_connected(bus, Agent, options, says):
    with pytest.raises((HookError, TypeError), match=says):
        bus.signal("pre_reply").connect(ok, sender=Agent, **options)
    assert not bus.signal("pre_reply").receivers


@pytest.mark.parametrize(
    ("signal", "receiver", "options", "says"),
    [
        ("pre_reply", "text", {}, "is not callable"),
        ("pre_reply", lambda: None, {}, "has no parameter for the sender"),
        ("pre_reply", lambda *, agent: None, {}, "has no parameter for the sender"),
        ("pre_reply", lambda agent, mesg: None, {}, "has a parameter 'mesg'.*did you mean 'msg'"),
        ("pre_reply", lambda agent, result: None, {}, "has a parameter 'result'"),
        ("pre_reply", lambda agent, call_next: None, {}, "has a parameter 'call_next'"),
        ("post_reply", lambda agent, item: None, {}, "has a parameter 'item'"),
        ("pre_reply", ok_async, {}, "is async, but reply is a plain def"),
        ("around_reply", around_async, {}, "is async, but reply is a plain def"),
        ("around_reply", ok, {"role": "modify"}, "has no roles"),
        ("around_reply", ok, {}, "does not take call_next.*returns Replace"),
        ("around_reply", lambda agent, **kwargs: None, {}, "does not take call_next"),
        ("around_reply", lambda call_next: None, {}, r"write \(agent, call_next\)"),
        ("pre_reply", lambda msg: None, {}, r"get the sender as 'msg'.*so write \(agent, msg\)"),
        ("pre_reply", lambda msg, /: None, {"role": "guard"}, r"write \(agent, msg\)"),
        ("pre_reply", lambda msg, temperature: None, {}, r"\(agent, msg, temperature\)"),
        ("pre_reply", lambda ctx: None, {}, r"write \(agent, ctx\)"),
        ("post_reply", lambda result: None, {}, r"write \(agent, result\)"),
        ("error_reply", ok, {"role": "guard"}, "takes modify or observe"),
        ("finally_reply", ok, {"role": "modify"}, "takes observe"),
        ("item_reply", ok, {}, "is not a generator: connect it to post_reply"),
        ("post_tokens", ok, {"role": "guard"}, "guard item_tokens"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_connected(
    bus, Agent, signal, receiver, options, says
):
    with pytest.raises(HookError, match=says):
        bus.signal(signal).connect(receiver, sender=Agent, **options)
    assert not bus.signal(signal).receivers


def test_what_a_class_holds_now_decides_what_its_receivers_may_ask_for(bus, Agent):
    def asks(agent, msg):
        return None

    bus.signal("pre_reply").connect(asks, sender=Agent)
    before = Agent.reply
    Agent.reply = hookable("reply", bus=bus)(lambda self, text: text)
    with pytest.raises(HookError, match="has a parameter 'msg'"):
        bus.signal("pre_reply").connect(asks, sender=Agent())
    Agent.say = before
    agent = Agent()
    bus.signal("pre_reply").connect(asks, sender=agent)
    del Agent.say
    with pytest.raises(HookError, match="has a parameter 'msg'"):
        bus.signal("pre_reply").connect(asks, sender=agent)


def test_an_error_names_receiver_file_line_and_hook(bus, Agent):
    def redact(agent, mesg):
        return None

    line = redact.__code__.co_firstlineno
    with pytest.raises(HookError) as error:
        bus.signal("pre_reply").connect(redact, sender=Agent)
    for part in ("redact", f"{__file__}:{line}", "pre_reply", "'mesg'", "did you mean 'msg'"):
        assert part in str(error.value)


def test_a_circle_of_before_and_after_is_refused_when_it_is_connected(bus):
    signal = bus.signal("pre_reply")
    signal.connect(lambda a: None, name="first", before="second")
    signal.connect(lambda a: None, name="second", before="third")
    with pytest.raises(HookError, match=r"cycle.*first.*second.*third"):
        signal.connect(lambda a: None, name="third", before="first")
    assert len(signal.receivers) == 2


def test_a_circle_is_refused_when_the_receiver_that_closes_it_asks_for_no_order_itself(bus):
    signal = bus.signal("pre_reply")
    signal.connect(lambda a: None, name="first", before="plugin.second")
    signal.connect(lambda a: None, name="bystander")
    signal.connect(lambda a: None, name="third", after="second", before="first")
    with pytest.raises(HookError, match=r"cycle.*first.*second.*third"):
        signal.connect(lambda a: None, name="plugin.second")
    assert len(signal.receivers) == 3


def test_a_constraint_against_the_roles_is_refused_whoever_comes_last(bus):
    signal = bus.signal("pre_reply")
    signal.connect(lambda a: None, name="early guard", role="guard", before="redact")
    signal.connect(lambda a: None, name="bystander")
    with pytest.raises(HookError, match="early guard.*every modify runs before every guard"):
        signal.connect(lambda a: None, name="redact")
    assert len(signal.receivers) == 2


def test_a_constraint_against_the_roles_is_refused(bus):
    signal = bus.signal("pre_reply")
    signal.connect(lambda a: None, name="redact")
    with pytest.raises(HookError, match="every modify runs before every guard"):
        signal.connect(lambda a: None, name="early guard", role="guard", before="redact")
    signal.connect(lambda a: None, name="late guard", role="guard", after="redact")
    with pytest.raises(HookError, match="every guard runs before every observe"):
        signal.connect(lambda a: None, name="early look", role="observe", before="late guard")


@pytest.mark.parametrize("name", ["pre-reply", "", "pre reply", 3, None])
def test_a_signal_name_must_be_an_identifier(bus, name):
    with pytest.raises(HookError, match="identifier"):
        bus.signal(name)


@pytest.mark.parametrize("timeout", [0, -1, "1", True])
def test_a_bus_refuses_a_deadline_that_makes_no_sense(timeout):
    with pytest.raises(HookError, match="positive number"):
        Bus(timeout=timeout)


# -- what can only be known at the first call: the receiver fails by its role ----------------------


def test_a_guard_that_asks_for_what_no_hook_has_blocks_at_the_first_call_and_is_reported(bus):
    bus.signal("pre_late").connect(lambda agent, mesg: None, role="guard", name="typo")

    @hookable("late", bus=bus)
    def late(msg):
        raise AssertionError("the guard did not look")

    with pytest.raises(HookBlocked) as error:
        late("a")
    assert error.value.receiver == "typo"
    assert "parameter 'mesg', which late does not have; did you mean 'msg'?" in str(report(bus))


def test_a_modifier_that_asks_for_what_no_hook_has_fails_open_and_is_reported(bus):
    bus.signal("pre_late").connect(lambda agent, mesg: {"msg": "b"}, name="typo")

    @hookable("late", bus=bus)
    def late(msg):
        return msg

    assert late("a") == "a"
    assert "typo" in str(report(bus)) and "failed open once" in str(report(bus))


def test_a_post_guard_planned_on_a_stream_blocks_it(bus):
    bus.signal("post_later").connect(lambda agent: None, role="guard", name="too late")

    @hookable("later", bus=bus)
    def later():
        yield "leaked"

    with pytest.raises(HookBlocked, match="too late"):
        list(later())


def test_an_item_guard_planned_on_a_plain_function_blocks_it(bus):
    bus.signal("item_later").connect(lambda agent, item: None, role="guard", name="waits for items")

    @hookable("later", bus=bus)
    def later():
        return "leaked"

    with pytest.raises(HookBlocked, match="expects items"):
        later()


@pytest.mark.parametrize(
    "patch",
    [
        {"mesg": 1}, {"args": 3}, {"extra": 3}, {"extra": {"msg": 1}}, {"extra": {3: 1}},
        {"extra": {"self": 1}},
    ],
)  # fmt: skip
def test_a_patch_the_method_cannot_take_is_its_receivers_failure(bus, patch):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg, *args, **extra):
            return msg, args, extra

    bus.signal("pre_reply").connect(lambda agent: patch, name="clumsy")
    assert Agent().reply(1, 2, x=3) == (1, (2,), {"x": 3})
    bus.signal("pre_reply").connect(lambda agent: patch, name="strict", on_error="raise")
    with pytest.raises(ReceiverError, match="strict") as error:
        Agent().reply(1, 2, x=3)
    assert isinstance(error.value.__cause__, HookError)


def test_call_next_refuses_unknown_names_and_late_use(bus, Agent):
    kept = []

    def around(agent, call_next):
        kept.append(call_next)
        with pytest.raises(HookError, match="did you mean 'msg'"):
            call_next(mesg=1)
        return call_next(msg="b")

    bus.signal("around_reply").connect(around, sender=Agent)
    assert Agent().reply("a") == "b"
    with pytest.raises(HookError, match="after its around had ended"):
        kept[0]()


# -- the bus ---------------------------------------------------------------------------------------


def test_require_fails_at_start_up_unless_the_hook_is_guarded(bus, Agent):
    with pytest.raises(HookError, match="nothing declares the hook 'replay'; did you mean 'reply'"):
        bus.require_guard("replay")
    with pytest.raises(HookError, match="no guard covers every 'reply' call"):
        bus.require_guard("reply")
    bus.signal("pre_reply").connect(ok, sender=Agent)
    with pytest.raises(HookError, match="no guard covers"):
        bus.require_guard("reply")
    connection = bus.signal("pre_reply").connected_to(
        lambda agent: Block("no"), sender=Agent, role="guard"
    )
    bus.require_guard("reply")
    connection.disable()
    with pytest.raises(HookError, match="no guard covers"):
        bus.require_guard("reply")


class Plugin:
    def __init__(self):
        self.seen = []

    @receives("pre_reply", role="observe")
    def look(self, agent, msg):
        self.seen.append(msg)

    @receives("post_reply", priority=3)
    @receives("error_reply")
    def answer(self, agent):
        return Replace("plugged")


def test_plug_connects_every_marked_method_and_unplug_takes_them_back(bus, Agent):
    plugin = Plugin()
    unregister = bus.register(plugin)
    assert Agent().reply("a") == "plugged" and plugin.seen == ["a"]
    unregister()
    unregister()
    assert Agent().reply("a") == "a" and plugin.seen == ["a"]
    assert not any(signal.receivers for signal in bus.signals())


def test_plug_is_all_or_none(bus, Agent):
    class Broken(Plugin):
        @receives("pre_reply")
        async def look_async(self, agent):
            return None

    with pytest.raises(HookError, match="is async"):
        bus.register(Broken())
    assert not any(signal.receivers for signal in bus.signals())
    with pytest.raises(HookError, match="no method marked"):
        bus.register(object())


def test_listeners_of_events_are_plain_functions_that_take_an_event(bus):
    async def later(bus, event):
        return None

    for listener, options, says in [
        (later, {}, "write a plain def"),
        (lambda bus: None, {}, "write def listener"),
        (lambda bus, event: None, {"role": "guard"}, "takes only kinds="),
        (lambda bus, event: None, {"timeout": 1}, "takes only kinds="),
    ]:
        with pytest.raises(HookError, match=says):
            bus.events.connect(listener, **options)
    assert not bus.events.receivers


def test_a_function_that_is_not_hookable_is_never_the_sender_of_a_call(bus, Agent):
    # Without its parentheses `connect_via` takes the receiver for the sender, and nothing would be
    # connected.
    for connect in (
        bus.signal("pre_reply").connect_via,
        lambda sender: bus.signal("pre_reply").connect(ok_async, sender=sender),
    ):
        with pytest.raises(HookError, match=r"ok is not hookable.*write @connect_via\(\)"):
            connect(ok)
    assert not bus.signal("pre_reply").receivers


def test_a_method_is_never_the_sender_of_a_call(bus, Agent):
    Agent().reply("a")
    bus.signal("pre_reply").connect(ok)
    Agent().reply("a")
    with pytest.raises(HookError, match="is a method, which is never the sender"):
        bus.signal("pre_reply").connect(ok, sender=Agent.reply)


def test_a_function_that_a_class_holds_is_a_method_and_never_the_sender_of_a_call(bus):
    def reply(self, msg):
        return msg

    Agent = type("Agent", (), {"answer": hookable("reply", bus=bus)(reply)})
    with pytest.raises(HookError, match="is a method, which is never .*: connect to Agent"):
        bus.signal("pre_reply").connect(ok, sender=Agent.answer, role="guard")


def test_a_listener_without_the_parentheses_of_connect_via_is_refused(bus):
    with pytest.raises(
        HookError, match=r"sender of events is always the bus.*@events.connect_via\(\)"
    ):
        bus.events.connect_via(lambda bus, event: None)
    assert not bus.events.receivers


def test_a_sender_that_can_never_call_is_refused_in_words_that_say_what_to_name(bus):
    T = TypeVar("T")

    class Agent(Generic[T]):
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return msg

    class Tools:
        @staticmethod
        @hookable("reply", bus=bus)
        def tool(msg):
            return msg

    class Pretends:
        def __init__(self, whom):
            self.whom = whom

        @property
        def __class__(self):
            return type(self.whom)

    @hookable("reply", bus=bus)
    def free(agent, msg):
        return msg

    class Holder:
        pass

    agent, holder = Agent(), Holder()
    holder.free = types.MethodType(free, holder)
    for sender, says in [
        (Agent[int], "annotation.*connect to .*Agent"),
        (list[int], "annotation"),
        (weakref.proxy(agent), "is a proxy"),
        (Pretends(agent), "is a proxy"),
        (mock.MagicMock(spec=Agent), "is a proxy"),
        (Agent.reply, "is a method.*connect to .*Agent"),
        (agent.reply, "pass its object or its class"),
        (Tools, r"staticmethod.*write sender=.*Tools\.tool"),
        (Tools(), "staticmethod"),
        (holder, "bound to an object.*write sender=.*free"),
    ]:
        with pytest.raises(HookError, match=says):
            bus.signal("pre_reply").connect(lambda a, msg: None, sender=sender, role="guard")
    assert not bus.signal("pre_reply").receivers
    for sender in (Agent, agent, Tools.tool, free, Holder):
        bus.signal("pre_reply").connect(lambda a, msg: None, sender=sender, role="guard")


def test_a_deadline_longer_than_any_wait_is_refused_when_it_is_connected(bus):
    with pytest.raises(HookError, match="longer than the longest possible wait"):
        bus.signal("pre_reply").connect(lambda a: None, timeout=threading.TIMEOUT_MAX * 2)
    with pytest.raises(HookError, match="longer than the longest possible wait"):
        Bus(timeout=1e300)


class Tool:
    """A tool as frameworks make it of a function: an object that is called otherwise."""

    def __init__(self, where, function):
        setattr(self, where, function)


@pytest.mark.parametrize("where", ["func", "fn", "coroutine", "function", "on_invoke_tool"])
@pytest.mark.parametrize("function", [ok, ok_async], ids=["sync", "async"])
def test_hookable_above_a_tool_of_a_framework_says_to_swap_the_two_decorators(bus, where, function):
    for decorate in (hookable("tool", bus=bus), hookable):
        with pytest.raises(HookError, match="a Tool made from a function: swap the two decorators"):
            decorate(Tool(where, function))
    with pytest.raises(HookError, match="cached_property.*swap the two decorators"):
        hookable(functools.cached_property(ok))
    with pytest.raises(HookError, match="a partial: decorate a function"):
        hookable(functools.partial(ok))
    with pytest.raises(HookError, match="a Tool: decorate a function"):
        hookable(Tool("name", "text"))


def test_listeners_are_called_by_position_whatever_their_parameters_are_called(bus, Agent):
    heard = []
    for listener in (
        lambda bus, event: heard.append(event),
        lambda event, bus: heard.append(bus),
        lambda a, b, c=3: heard.append(b),
        lambda *args: heard.append(args[1]),
        lambda bus, *, event: heard.append(event),
        lambda bus, *, event, other=1: heard.append(event),
        lambda sender, **kwargs: heard.append(kwargs["event"]),
    ):
        bus.events.connect(listener, kinds=events.Finished)
    Agent().reply("hi")
    assert len(heard) == 7 and {type(event) for event in heard} == {events.Finished}


@pytest.mark.parametrize(
    "listener", [lambda event: None, lambda **kwargs: None, lambda *, event: None, [].append, dict],
)  # fmt: skip
def test_a_listener_that_cannot_take_a_bus_and_an_event_is_refused(bus, listener):
    with pytest.raises(HookError, match=r"write def listener|has no parameter for|signature"):
        bus.events.connect(listener)
    assert not bus.events.receivers


def test_a_receiver_named_like_an_argument_of_a_later_hook_fails_by_its_role(bus):
    bus.signal("pre_late").connect(lambda msg: None, role="guard", name="g")
    bus.signal("pre_later").connect(lambda msg: {"msg": "changed"}, name="m")

    @hookable("late", bus=bus)
    def late(msg):
        raise AssertionError("the guard did not look")

    @hookable("later", bus=bus)
    async def later(msg):
        return msg

    with pytest.raises(HookBlocked, match=r"guard failed: g on pre_late .*\(agent, msg\)"):
        late("a")
    assert asyncio.run(later("a")) == "a"
    assert report(bus).findings and "write (agent, msg)" in str(report(bus))


def test_the_first_parameter_may_have_any_name_that_the_hook_has_not(bus, Agent):
    seen = []

    class Watcher:
        def look(self, agent, msg):
            seen.append(msg)

        def __call__(self, _, msg):
            seen.append(msg)

    for receiver in (Watcher().look, Watcher(), lambda self, msg: seen.append(msg)):
        bus.signal("pre_reply").connect(receiver, sender=Agent, role="observe")
    Agent().reply("hi")
    assert seen == ["hi"] * 3

    @hookable("odd", bus=bus)
    def odd(_):
        return _

    bus.signal("pre_odd").connect(lambda _: None, role="guard")
    assert odd(1) == 1


@pytest.mark.parametrize("verdict", [Block, Replace], ids=lambda verdict: verdict.__name__)
def test_the_class_of_a_verdict_is_no_answer_to_a_question(verdict):
    bus = Bus()

    @hookspec(modes.firstresult, bus=bus)
    def price(item): ...

    @hookspec(modes.firstresult, bus=bus)
    async def later(item): ...

    price.connect(lambda item: verdict)
    later.connect(lambda item: verdict)
    assert price("tea") is None and asyncio.run(later("tea")) is None
    said = f"returned the class {verdict.__name__}"
    assert sum(said in each for each in report(bus).findings) >= 2


def test_an_around_has_no_deadline_and_is_told_what_to_write_instead(bus, Agent):
    def around(agent, call_next):
        return call_next()

    with pytest.raises(HookError, match=r"an around cannot have: use asyncio\.timeout inside"):
        bus.signal("around_reply").connect(around, timeout=1)
    assert not bus.signal("around_reply").receivers


def test_what_overrides_a_marked_method_of_a_plugin_is_marked_as_that_is(bus, Agent):
    class Plugin:
        @receives("pre_reply", role="guard")
        def check(self, agent):
            return None

    class Strict(Plugin):
        def check(self, agent):
            return Block("no")

    bus.register(Strict())
    with pytest.raises(HookBlocked):
        Agent().reply("hi")


@pytest.mark.parametrize(
    "write",
    [
        lambda view: view.update(msg="bye"),
        lambda view: view.update({"msg": "bye"}),
        lambda view: view.setdefault("other", 1),
        lambda view: view.pop("msg"),
        lambda view: view.popitem(),
        lambda view: view.clear(),
        lambda view: view.__setitem__("msg", "bye"),
        lambda view: view.__delitem__("msg"),
        lambda view: view.__ior__({"msg": "bye"}),
        lambda view: view.items().mapping.update(msg="bye"),
    ],
)
@pytest.mark.parametrize("role", ["guard", "observe"])
def test_whoever_may_only_read_the_arguments_writes_them_in_no_way(bus, Agent, role, write):
    def writes(agent, ctx):
        write(ctx.kwargs)

    bus.signal("pre_reply").connect(writes, role=role)
    bus.signal("pre_reply").connect(lambda agent, msg: seen.append(msg), role="observe")
    seen = []
    if role == "guard":
        with pytest.raises(HookBlocked):
            Agent().reply("hi")
    else:
        assert Agent().reply("hi") == "hi" and seen == ["hi"]
        assert "writes" in str(report(bus))


def test_the_arguments_that_may_only_be_read_are_shown_by_name_and_without_their_values(bus, Agent):
    shown = []
    bus.signal("pre_reply").connect(lambda agent, ctx: shown.append(repr(ctx.kwargs)), role="guard")
    Agent().reply("secret")
    assert shown == ["ReadOnly(msg, temperature)"]


@pytest.mark.parametrize(
    "options", [{"async_receivers": None}, {"async_receivers": 1}, {"require_guard": "yes"}]
)
def test_an_option_of_a_hookable_that_is_no_truth_value_is_refused(bus, options):
    with pytest.raises(HookError, match="must be True or False"):
        hookable("reply", bus=bus, **options)(lambda msg: msg)
    assert bus.hook_names() == []


def test_a_mark_without_a_name_is_refused_where_it_is_written():
    with pytest.raises(HookError, match="3 is not the name of a signal: write @receives"):
        receives(3)


def test_who_deletes_an_argument_is_told_to_assign_another_value(bus, Agent):
    failures = []
    bus.events.connect(lambda bus, event: failures.append(event), kinds=(events.Failed,))
    bus.signal("pre_reply").connect(lambda agent, ctx: ctx.kwargs.clear())
    assert Agent().reply("a") == "a"
    assert "argument 'msg' was removed: assign another value" in str(failures[0].exception)


def test_an_observer_that_could_block_does_not_count_as_a_guard(bus, Agent):
    bus.signal("pre_reply").connect(lambda agent: Block("no"), role="observe", name="watch")
    bus.signal("post_reply").connect(lambda agent: Block("no"), name="after")
    with pytest.raises(HookError) as raised:
        bus.require_guard("reply")
    said = str(raised.value)
    assert "watch" in said and "it is not a guard; write role='guard'" in said
    assert "after" not in said
