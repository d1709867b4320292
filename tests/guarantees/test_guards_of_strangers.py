"""A guard of somebody who has no such hook guards nothing: that is logged when the hook is called.
"""

import logging

import pytest

from hookbus import Block, Bus, hookable, instrument
from hookbus.exceptions import HookWarning

from ._colours import make_agent, take


@pytest.fixture(params=["sync", "async", "generator", "async_generator"])
def colour(request):
    return request.param


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def logged(caplog):
    caplog.set_level(logging.DEBUG, "hookbus")
    return lambda: [(r.levelname, r.getMessage()) for r in caplog.records if r.name == "hookbus"]


def looks(agent):
    return None


class Stranger:
    pass


@pytest.mark.parametrize("stranger", [Stranger, Stranger()], ids=["class", "object"])
@pytest.mark.parametrize("is_called", [False, True])
def test_a_guard_of_a_stranger_is_a_warning_when_the_hook_is_called_next(
    bus, colour, logged, stranger, is_called
):
    agent = make_agent(bus, colour)
    if is_called:
        take(colour, agent, "hi")
    bus.signal("pre_reply").connect(looks, sender=stranger, role="guard")
    assert logged() == []
    for _ in range(3):
        assert take(colour, agent, "hi") == "hi"
    ((level, text),) = logged()
    owner = type(agent).__qualname__
    assert level == "WARNING" and text.startswith("looks (") and "Stranger" in text
    assert "has no hookable 'reply'" in text and text.endswith(f"connect the guard to {owner}")


def test_a_guard_of_a_stranger_to_a_function_is_told_to_name_the_function(bus, logged):
    @hookable("pay", bus=bus)
    def pay():
        return 1

    bus.signal("pre_pay").connect(looks, sender=Stranger, role="guard")
    assert pay() == 1
    assert logged()[0][1].endswith("connect the guard to " + pay.__qualname__)


def test_a_guard_whose_class_is_hooked_before_the_call_or_has_a_hooked_child_is_not_mentioned(
    bus, colour, logged
):
    Agent = type(make_agent(bus, colour))
    later = type("Later", (), {"reply": lambda self: 1})
    mixin = type("Mixin", (), {})
    for sender in (later, mixin):
        bus.signal("pre_reply").connect(looks, sender=sender, role="guard")
    instrument(later, "reply", bus=bus)
    child = type("Child", (mixin, Agent), {})
    take(colour, child(), "hi")
    assert logged() == []


def test_a_modifier_and_a_guard_that_is_gone_are_not_mentioned(bus, logged):
    agent = make_agent(bus, "sync")
    bus.signal("pre_reply").connect(looks, sender=Stranger)
    bus.signal("pre_reply").connected_to(looks, sender=Stranger, role="guard").disconnect()
    agent.reply("hi")
    assert logged() == []


def test_a_call_of_another_hook_says_nothing_and_keeps_looking(bus, logged):
    agent = make_agent(bus, "sync")
    other = hookable("other", bus=bus)(lambda: 1)
    bus.signal("pre_reply").connect(looks, sender=Stranger, role="guard")
    other()
    assert logged() == []
    agent.reply("hi")
    assert len(logged()) == 1


def test_a_hook_that_was_looked_at_for_a_stranger_is_idle_again(bus):
    agent = make_agent(bus, "sync")
    reply = type(agent).reply
    idle = reply.__code__
    bus.signal("pre_reply").connect(looks, sender=Stranger(), role="guard")
    agent.reply("hi")
    assert reply.__code__ is idle


def test_a_guard_on_the_bare_name_of_a_hook_is_mentioned(bus, colour, logged):
    bus.signal("reply").connect(looks, role="guard")
    take(colour, make_agent(bus, colour), "hi")
    assert "did you mean 'pre_reply'?" in logged()[0][1]


# -- a guard that never answers --------------------------------------------------------------------


def forgets(agent, msg):
    if msg:
        Block("no")


async def forgets_async(agent, msg):
    Block("no")


def chooses(agent, msg):
    return Block("no") if msg == "bad" else None


def calls(agent, msg):
    return chooses(agent, msg) if Block else None


def test_a_guard_that_never_returns_the_block_it_makes_is_a_warning_where_it_is_connected(bus):
    signal = bus.signal("pre_reply")
    for connect in (
        lambda guard: signal.connect(guard, role="guard"),
        lambda guard: signal.connect_via(role="guard")(guard),
        lambda guard: signal.connected_to(guard, role="guard"),
    ):
        for guard in (forgets, forgets_async):
            said = f"{guard.__name__} .*write return Block"
            with pytest.warns(HookWarning, match=said) as warned:
                connect(guard)
            assert (warned[0].filename, warned[0].lineno) == place_of(connect)


def place_of(function):
    return function.__code__.co_filename, function.__code__.co_firstlineno


@pytest.mark.parametrize("guard", [chooses, calls, looks, lambda agent: Block("no")])
def test_a_guard_that_may_return_something_or_makes_no_block_is_not_warned_of(bus, guard):
    bus.signal("pre_reply").connect(guard, role="guard")
    bus.signal("pre_reply").connect(forgets)  # a modifier may do as it likes


# -- what a receiver wrote, and whom it asked ------------------------------------------------------


def writes(agent, ctx):
    ctx.kwargs["msg"] = "x"


def assigns(agent, ctx):
    ctx.hook = "x"


@pytest.mark.parametrize(
    ("receiver", "says"),
    [(writes, "writes wrote to ctx.kwargs, which only a modifier of `pre` may do"),
     (assigns, "assigns assigned to ctx, which is read-only; return the changes instead")],
)  # fmt: skip
@pytest.mark.parametrize("role", ["guard", "observe"])
def test_a_receiver_that_writes_where_it_may_not_is_told_what_to_do_and_at_which_line(
    bus, colour, logged, receiver, says, role
):
    bus.signal("pre_reply").connect(receiver, role=role)
    try:
        take(colour, make_agent(bus, colour), "hi")
    except Exception as blocked:
        assert role == "guard" and says in str(blocked) and __file__ not in str(blocked)
    line = f"{__file__}:{receiver.__code__.co_firstlineno + 1}"
    assert says in logged()[0][1] and line in logged()[0][1]


def test_an_exception_of_a_stranger_in_the_same_words_is_a_strangers(bus, logged):
    def pretends(agent, ctx):
        try:
            ctx.kwargs["msg"] = "x"
        except TypeError as error:
            raise TypeError(*error.args) from None

    bus.signal("post_reply").connect(pretends, role="observe")
    make_agent(bus, "sync").reply("hi")
    assert "may do" not in logged()[0][1]


def test_a_guard_that_asks_itself_is_told_so(bus, colour, logged):
    agent = make_agent(bus, colour)
    asked = []

    def second(agent, msg):
        asked.append(msg)
        if len(asked) < 3:
            make_agent(bus, "sync").reply(msg)
        return Block("no")

    bus.signal("pre_reply").connect(second, role="guard", name="second")
    with pytest.raises(Exception, match="calls reply, which calls it again") as blocked:
        take(colour, agent, "hi")
    assert "stop the recursion with a condition" in str(blocked.value)
