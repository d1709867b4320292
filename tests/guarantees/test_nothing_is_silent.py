"""A failure that nobody hears is logged: once for each receiver, with its place, without the words
of strangers.
"""

import _thread
import asyncio
import logging
import threading
import time

import pytest

from hookbus import (
    Block,
    Bus,
    Drop,
    HookBlocked,
    HookError,
    Replace,
    hookable,
    hookspec,
    modes,
    report,
)
from hookbus.events import Failed, Started

from ._colours import make_agent, take

COLOURS = ("sync", "async", "generator", "async_generator")
VERDICT_CLASSES = [Block, Replace, Drop]


@pytest.fixture(params=COLOURS)
def colour(request):
    return request.param


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def agent(bus, colour):
    return make_agent(bus, colour)


@pytest.fixture
def logged(caplog):
    """What was logged: the level and the message of each record."""
    caplog.set_level(logging.DEBUG, "hookbus")
    return lambda: [(r.levelname, r.getMessage()) for r in caplog.records if r.name == "hookbus"]


def leaks(agent):
    raise ValueError("SECRET")


def line_of(function, offset=1):
    return f"{__file__}:{function.__code__.co_firstlineno + offset}"


def blocked(colour, agent):
    with pytest.raises(HookBlocked) as caught:
        take(colour, agent, "hi")
    return caught.value


@pytest.mark.parametrize("role", ["modify", "observe"])
def test_a_receiver_that_fails_open_is_a_warning_with_type_and_place(
    bus, agent, colour, logged, role
):
    bus.signal("pre_reply").connect(leaks, role=role)
    for _ in range(3):
        assert take(colour, agent, "hi") == "hi"
    ((level, text),) = logged()
    assert level == "WARNING" and f"ValueError at {line_of(leaks)}" in text
    assert "leaks" in text and "the call continued without it" in text and "SECRET" not in text


@pytest.mark.parametrize("options", [{"role": "guard"}, {"on_error": "block"}], ids=str)
def test_a_guard_and_a_modifier_that_closes_are_errors(bus, agent, colour, logged, options):
    bus.signal("pre_reply").connect(leaks, **options)
    for _ in range(3):
        assert "SECRET" not in str(blocked(colour, agent))
    ((level, text),) = logged()
    assert level == "ERROR" and f"ValueError at {line_of(leaks)}" in text and "SECRET" not in text


def test_a_modifier_that_asks_to_raise_is_an_error(bus, agent, colour, logged):
    bus.signal("pre_reply").connect(leaks, on_error="raise")
    with pytest.raises(HookError):
        take(colour, agent, "hi")
    assert [level for level, _ in logged()] == ["ERROR"]


def test_each_receiver_is_logged_once_and_a_connection_made_anew_may_be_again(
    bus, agent, colour, logged
):
    for name in ("one", "two"):
        bus.signal("pre_reply").connect(lambda agent: 1 / 0, name=name)
    take(colour, agent, "hi"), take(colour, agent, "hi")
    assert len(logged()) == 2
    for _ in range(2):
        with bus.signal("pre_reply").connected_to(leaks):
            take(colour, agent, "hi"), take(colour, agent, "hi")
    assert len(logged()) == 4


def test_what_an_around_raises_is_its_callers_and_not_logged(bus, agent, colour, logged):
    def around(agent, call_next):
        raise ValueError("mine")

    bus.signal("around_reply").connect(around)
    with pytest.raises(ValueError, match="mine"):
        take(colour, agent, "hi")
    assert logged() == []


def test_what_a_listener_hears_is_not_logged(bus, agent, colour, logged):
    heard = []
    bus.signal("pre_reply").connect(leaks)
    listen = bus.events.connected_to(lambda bus, event: heard.append(event), kinds=Failed)
    take(colour, agent, "hi")
    assert len(heard) == 1 and logged() == []
    listen.disconnect()
    take(colour, agent, "hi")
    assert len(heard) == 1 and len(logged()) == 1


@pytest.mark.parametrize("deafness", ["hears something else", "is muted", "fails itself"])
def test_a_listener_that_does_not_hear_a_failure_keeps_nobody_from_logging_it(
    bus, agent, colour, logged, deafness
):
    bus.signal("pre_reply").connect(leaks)
    if deafness == "hears something else":
        bus.events.connect(lambda bus, event: None, kinds=Started)
    elif deafness == "fails itself":
        bus.events.connect(lambda bus, event: 1 / 0, kinds=Failed)
    else:
        bus.events.connect(lambda bus, event: None)
    if deafness == "is muted" and colour in ("sync", "generator"):
        with bus.events.muted():
            take(colour, agent, "hi")
    elif deafness != "is muted":
        take(colour, agent, "hi")
    else:
        return  # muting holds for a task, which is made inside `take`
    assert any(level == "WARNING" and "ValueError at" in text for level, text in logged())


class Kept(logging.Handler):
    """A handler that does something with each record."""

    def __init__(self, act):
        super().__init__()
        self.act, self.seen = act, []

    def emit(self, record):
        self.seen.append(record.getMessage())
        self.act()


@pytest.fixture
def handler(request):
    """Add a handler that acts; who logs by a thread, for want of a stack, ends before the test."""
    threads = _thread._count()

    def add(act):
        kept = Kept(act)
        logging.getLogger("hookbus").addHandler(kept)
        request.addfinalizer(lambda: logging.getLogger("hookbus").removeHandler(kept))
        return kept

    yield add
    patience = time.monotonic() + 10
    while _thread._count() > threads and time.monotonic() < patience:
        time.sleep(0.001)


def recurses():
    return recurses()


@pytest.mark.parametrize("act", [lambda: 1 / 0, recurses], ids=["raises", "recurses"])
@pytest.mark.parametrize("role", ["modify", "guard", "observe"])
def test_a_handler_that_raises_changes_nothing(bus, agent, colour, handler, role, act):
    kept = handler(act)
    bus.signal("pre_replay").connect(leaks, role="guard")
    bus.signal("pre_reply").connect(leaks, role=role)
    if role == "guard":
        assert blocked(colour, agent).reason == "guard failed: ValueError"
    else:
        assert take(colour, agent, "hi") == "hi"
    failed = [text for text in kept.seen if "ValueError at" in text]
    assert len(kept.seen) > len(failed) >= 1


@pytest.mark.parametrize("role", ["modify", "guard", "observe"])
def test_a_receiver_that_asks_itself_without_end_is_logged_though_no_stack_is_left(
    bus, handler, role
):
    agent, logged = make_agent(bus, "sync"), threading.Event()
    said = ("recursion limit", *(["HookBlocked at"] if role == "guard" else []))  # fails outwards

    def look():  # a line that another test left to a thread may come in between
        if any(words in kept.seen[-1] for words in said):
            logged.set()

    kept = handler(look)
    bus.signal("pre_reply").connect(lambda agent: agent.reply("again") and None, role=role)
    try:
        agent.reply("hi")
    except HookBlocked:
        assert role == "guard"
    assert logged.wait(10)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_in_a_handler_is_not_swallowed(bus, handler, interrupt):
    def act():
        raise interrupt

    handler(act)
    bus.signal("pre_reply").connect(leaks, role="guard")
    with pytest.raises(interrupt):
        make_agent(bus, "sync").reply("hi")


def test_a_cancellation_in_a_handler_is_not_swallowed(bus, handler):
    def act():
        raise asyncio.CancelledError

    handler(act)
    bus.signal("pre_reply").connect(leaks)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(make_agent(bus, "async").reply("hi"))


def test_a_handler_that_makes_the_very_call_again_ends(bus, agent, colour, handler):
    if colour in ("async", "async_generator"):
        pytest.skip("a handler cannot await")
    kept = handler(lambda: take(colour, agent, "again"))
    bus.signal("pre_reply").connect(leaks)
    bus.signal("pre_reply").connect(lambda agent: 1 / 0)
    assert take(colour, agent, "hi") == "hi"
    assert len(kept.seen) == 2


def test_what_a_broken_handler_prints_holds_no_strangers_words(bus, agent, colour, capsys):
    stream = logging.StreamHandler()
    stream.setFormatter(logging.Formatter("%(nothing)s"))
    logging.getLogger("hookbus").addHandler(stream)
    try:
        bus.signal("pre_reply").connect(leaks)
        take(colour, agent, "hi")
    finally:
        logging.getLogger("hookbus").removeHandler(stream)
    said = capsys.readouterr().err
    assert "Logging error" in said and "SECRET" not in said


# -- what hookbus worded itself --------------------------------------------------------------------


def test_hookbus_own_sentence_is_in_the_log_the_report_and_the_verdict(bus, agent, colour, logged):
    bus.signal("pre_reply").connect(lambda agent: False, role="guard", name="g")
    said = "g returned a bool; return None or Block(reason)"
    assert blocked(colour, agent).reason == f"guard failed: {said}"
    assert said in logged()[0][1] and said in "\n".join(report(bus).findings)


def test_no_path_of_the_host_is_in_what_a_model_reads(bus, agent, colour):
    bus.signal("pre_reply").connect(lambda agent: "yes", role="guard")
    assert __file__ not in str(blocked(colour, agent))


def raised_here():
    raise HookError("SECRET")


def raised_in_a_future():
    future = asyncio.get_running_loop().create_future()
    future.set_exception(HookError("SECRET"))
    return future


@pytest.mark.parametrize("act", [raised_here, raised_in_a_future])
def test_a_hook_error_of_a_stranger_is_a_strangers(bus, logged, act):
    agent = make_agent(bus, "async")
    bus.signal("pre_reply").connect(lambda agent: act(), role="guard")
    with pytest.raises(HookBlocked) as caught:
        asyncio.run(agent.reply("hi"))
    assert caught.value.reason == "guard failed: HookError"
    found = "\n".join(report(bus).findings)
    assert "SECRET" not in str(logged()) + found and "HookError at" in str(logged())


def test_the_place_is_a_line_of_the_receiver_however_deep_it_failed(bus, agent, colour, logged):
    def deep(agent):
        import json

        json.loads("{SECRET")

    bus.signal("pre_reply").connect(deep)
    take(colour, agent, "hi")
    assert f"JSONDecodeError at {line_of(deep, 3)}" in logged()[0][1]


def test_the_place_of_what_hookbus_raised_in_a_receiver_is_a_line_of_the_receiver(
    bus, agent, colour, logged
):
    def writes(agent, ctx):
        ctx.kwargs["msg"] = "x"

    bus.signal("pre_reply").connect(writes, role="observe")
    take(colour, agent, "hi")
    assert f"TypeError at {line_of(writes)}" in logged()[0][1]


# -- verdicts that are no answers ------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["pre", "item", "post"])
@pytest.mark.parametrize("role", ["modify", "guard", "observe"])
@pytest.mark.parametrize("verdict", VERDICT_CLASSES, ids=lambda verdict: verdict.__name__)
def test_the_class_of_a_verdict_is_a_failure_that_says_so(
    bus, agent, colour, logged, phase, role, verdict
):
    is_stream = "generator" in colour
    if (phase == "item") != is_stream and phase != "pre":
        pytest.skip("no such phase, or none for a guard")
    bus.signal(f"{phase}_reply").connect(lambda agent: verdict, role=role, name="r")
    said = f"r returned the class {verdict.__name__} itself; return "
    if role == "guard":
        assert said in blocked(colour, agent).reason
    else:
        assert take(colour, agent, "hi") == "hi"
    assert said in "\n".join(report(bus).findings) and said in logged()[0][1]


def test_an_around_that_returns_the_class_of_a_verdict_fails(bus, agent, colour):
    def around(agent, call_next):
        return Block

    def around_stream(agent, call_next):
        yield from call_next()
        return Block

    if colour == "async_generator":
        pytest.skip("an async generator returns nothing")
    bus.signal("around_reply").connect(around_stream if colour == "generator" else around)
    with pytest.raises(HookError, match=r"the class Block itself; return .* or Block\(reason\)"):
        take(colour, agent, "hi")


@pytest.mark.parametrize("verdict", [Block("no"), Block, Drop()], ids=repr)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_guard_that_raises_its_verdict_is_told_to_return_it_and_stays_closed(
    bus, agent, colour, logged, verdict, is_async
):
    def guard(agent):
        raise verdict

    async def guard_async(agent):
        raise verdict

    if is_async and colour in ("sync", "generator"):
        pytest.skip("such a guard is refused")
    bus.signal("pre_reply").connect(guard_async if is_async else guard, role="guard", name="g")
    said = (
        "g raised an object that is not an exception; to return a verdict, "
        "write return Block(reason)"
    )
    assert blocked(colour, agent).reason == f"guard failed: {said}"
    assert said in "\n".join(report(bus).findings) and said in logged()[0][1]


def test_an_around_that_raises_its_verdict_is_told_in_a_note(bus, agent, colour):
    def around(agent, call_next):
        raise Block("no")

    bus.signal("around_reply").connect(around)
    with pytest.raises(TypeError) as caught:
        take(colour, agent, "hi")
    assert "return Block(reason)" in caught.value.__notes__[0]


def test_a_type_error_in_the_words_of_python_that_nobody_meant_is_its_own(
    bus, agent, colour, logged
):
    def pretends(agent):
        raise TypeError("exceptions must derive from BaseException", "SECRET")

    bus.signal("pre_reply").connect(pretends)
    take(colour, agent, "hi")
    assert "TypeError at" in logged()[0][1]


def test_an_exception_that_cannot_be_compared_hurts_nobody(bus, agent, colour, logged):
    class Odd:
        def __eq__(self, other):
            raise KeyError("SECRET")

    def odd(agent):
        raise TypeError(Odd())

    bus.signal("pre_reply").connect(odd, role="observe")
    assert take(colour, agent, "hi") == "hi"
    assert f"TypeError at {line_of(odd)}" in logged()[0][1]


# -- guards on names that no hook has --------------------------------------------------------------


def looks(agent):
    return None


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("pre_replay", "pre_reply"), ("post_rely", "post_reply"), ("prereply", "pre_reply"),
        ("before_reply", "pre_reply"), ("on_reply", "pre_reply"), ("Pre_reply", "pre_reply"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("when", ["before", "after", "after it was called"])
def test_a_guard_on_a_near_name_is_a_warning_when_the_hook_is_first_called(
    bus, colour, logged, name, meant, when
):
    if when == "before":
        bus.signal(name).connect(looks, role="guard")
    agent = make_agent(bus, colour)
    if when == "after it was called":
        take(colour, agent, "hi")
    if when != "before":
        bus.signal(name).connect(looks, role="guard")
    assert logged() == []
    for _ in range(3):
        assert take(colour, agent, "hi") == "hi"
    ((level, text),) = logged()
    assert level == "WARNING" and f"is connected to {name}," in text
    assert f"did you mean {meant!r}?" in text and text.startswith("looks (")


def test_a_hook_whose_receivers_run_already_looks_too(bus, agent, colour, logged):
    bus.signal("pre_reply").connect(looks, sender=agent)
    take(colour, agent, "hi")
    bus.signal("pre_replay").connect(looks, role="guard")
    take(colour, agent, "hi")
    assert "did you mean 'pre_reply'?" in logged()[0][1]


@pytest.mark.parametrize("name", ["pre_read_file", "pre_other", "done"])
def test_a_guard_on_another_name_is_not_mentioned(bus, agent, colour, logged, name):
    bus.signal(name).connect(looks, role="guard")
    take(colour, agent, "hi")
    assert logged() == []


def test_a_guard_whose_hook_comes_later_or_that_is_disconnected_is_not_mentioned(
    bus, agent, colour, logged
):
    bus.signal("pre_replay").connect(looks, role="guard")
    later = hookable("replay", bus=bus)(lambda: None)
    bus.signal("pre_rely").connected_to(looks, role="guard").disconnect()
    bus.signal("pre_relpy").connect(looks)  # no guard
    bus.signal("repl_y").connect(looks, role="guard")
    bus.signal("repl_y").send(None)
    take(colour, agent, "hi"), later()
    assert logged() == []


def test_a_hook_that_was_looked_at_is_idle_again(bus):
    agent = make_agent(bus, "sync")
    reply = type(agent).reply
    idle = reply.__code__
    bus.signal("pre_other").connect(looks, role="guard")
    assert reply.__code__ is not idle
    assert agent.reply("hi") == "hi" and reply.__code__ is idle
    bus.signal("pre_another").connect(looks, role="guard")
    assert reply.__code__ is not idle
    assert agent.reply("hi") == "hi" and reply.__code__ is idle


def test_a_guard_of_a_question_with_a_near_name_is_mentioned(bus, logged):
    @hookspec(modes.firstresult, bus=bus)
    def price(item): ...

    price.connect(lambda item: 2)
    bus.signal("pre_prise").connect(looks, role="guard")
    assert price("tea") == 2
    assert "did you mean 'pre_price'?" in logged()[0][1]
