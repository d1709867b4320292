"""guards.retry, fallback, timeout and cache: again, in another way, in time, once."""

import asyncio
import time

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, baggage, hookable
from hookbus.guards import cache, fallback, rate_limit, retry, timeout


class Fails:
    """A result that raises so many times first."""

    def __init__(self, *errors):
        self.errors = list(errors)

    def __call__(self):
        if self.errors:
            raise self.errors.pop(0)
        return "done"


@pytest.fixture
def flaky(request, bus):
    """A function in one colour that gives what its argument `how` gives."""
    made = []

    def make(colour):
        def body(name, how, model="large"):
            made.append((name, model))
            return how()

        async def body_async(name, how, model="large"):
            await asyncio.sleep(0)
            return body(name, how, model)

        function = hookable("try_call", bus=bus)(body_async if colour == "async" else body)

        def call(how, name="x"):
            found = function(name, how)
            return asyncio.run(found) if colour == "async" else found

        call.made = made
        return call

    return make


@pytest.fixture(params=["sync", "async"])
def attempt(request, flaky):
    return flaky(request.param)


def again(bus, **options):
    return bus.register(retry(hook="try_call", wait_initial=0.001, wait_max=0.002, **options))


def test_a_call_that_raises_is_made_again_and_then_raises(attempt, bus):
    again(bus, on=(OSError, ValueError))
    assert attempt(Fails(OSError("1"), ValueError("2"))) == "done"
    assert len(attempt.made) == 3
    with pytest.raises(OSError, match="3"):
        attempt(Fails(OSError("1"), OSError("2"), OSError("3"), OSError("4")))
    assert len(attempt.made) == 6
    with pytest.raises(KeyError):
        attempt(Fails(KeyError("other")))
    assert len(attempt.made) == 7


def test_guards_judge_every_attempt_and_a_block_is_not_made_again(attempt, bus):
    bus.register(rate_limit(2, hook="try_call"))
    again(bus, attempts=5)
    with pytest.raises(HookBlocked, match="limit of .* reached"):
        attempt(Fails(*[OSError()] * 4))
    assert len(attempt.made) == 2
    with pytest.raises(HookBlocked, match="limit of .* reached"):
        attempt(Fails())
    assert len(attempt.made) == 2


def test_what_a_hook_further_inside_blocks_is_not_made_again(attempt, bus):
    again(bus)
    inner = hookable("inner", bus=bus)(lambda: None)
    bus.signal("pre_inner").connect(lambda sender: Block("no"), role="guard", weak=False)
    with pytest.raises(HookBlocked, match="no"):
        attempt(inner)
    assert len(attempt.made) == 1


def test_the_next_way_is_tried_and_the_last_raises(attempt, bus):
    bus.register(fallback({"model": "small"}, {"model": "tiny", "name": "y"}, hook="try_call"))
    assert attempt(Fails(OSError("1"), ValueError("2"))) == "done"
    assert attempt.made == [("x", "large"), ("x", "small"), ("y", "tiny")]
    with pytest.raises(OSError, match="3"):
        attempt(Fails(OSError("1"), OSError("2"), OSError("3")))


def test_a_way_that_is_blocked_ends_the_call(attempt, bus):
    bus.register(fallback({"model": "forbidden"}, {"model": "small"}, hook="try_call"))

    @bus.signal("pre_try_call").connect_via(role="guard")
    def judge(sender, model):
        return Block("not that one") if model == "forbidden" else None

    with pytest.raises(HookBlocked, match="not that one"):
        attempt(Fails(OSError("1")))
    assert attempt.made == [("x", "large")]


def test_each_attempt_has_its_time_and_the_next_way_is_tried(bus):
    bus.register(fallback({"seconds": 0}, hook="wait"))
    bus.register(timeout(0.05, hook="wait"))

    @hookable("wait", bus=bus)
    async def wait(seconds):
        await asyncio.sleep(seconds)
        return seconds

    started = time.monotonic()
    assert asyncio.run(wait(30)) == 0 and time.monotonic() - started < 10
    with pytest.raises(HookError, match="must be a number of seconds greater than 0"):
        timeout(0)


def test_a_deadline_for_a_plain_function_is_refused(bus):
    bus.register(timeout(1, hook="wait"))
    with pytest.raises(HookError, match="is async, but"):

        @hookable("wait", bus=bus)
        def wait():
            return None

        wait()


def test_a_result_is_given_again_and_each_has_its_own(call, bus):
    bus.register(cache())
    call.result = {"rows": [1]}
    first = call("read", path="a", deep={"x": [1, 2]})
    first["rows"].append(2)
    assert call("read", deep={"x": [1, 2]}, path="a") == {"rows": [1]}
    call("read", path="b"), call("other", path="b")
    assert len(call.made) == 3


def test_other_users_sessions_and_senders_have_none_of_it(bus):
    made = []

    class Agent:
        @hookable("look", bus=bus)
        def look(self, path):
            made.append((self, path))
            return path

    bus.register(cache(hook="look"))
    agent = Agent()
    for user, session in (("ada", 1), ("bob", 1), ("ada", 2), ("ada", 1)):
        with baggage(user=user, session=session):
            agent.look("a")
    assert len(made) == 3
    Agent().look("a"), agent.look("a"), agent.look("a")
    assert len(made) == 5


def test_guards_are_asked_for_what_is_given_again(call, bus):
    bus.register(cache())
    assert call("read") == call("read") == "done"
    bus.register(rate_limit(1))
    call("read")
    with pytest.raises(HookBlocked, match="limit of .* reached"):
        call("read")


def test_what_raises_or_has_no_key_or_no_copy_runs_each_time(call, bus):
    bus.register(cache())
    call.result = OSError("x")
    for _ in range(2):
        with pytest.raises(OSError, match="x"):
            call("read")
    call.result = (each for each in ())
    call("read"), call("read")
    call.result = "done"
    call("read", thing=object()), call("read", thing={1: 2}), call("read", thing={1: 2})
    assert len(call.made) == 7


def test_the_labels_of_a_tool_call_are_no_part_of_its_key(bus):
    made = []

    @hookable("tool_call", bus=bus)
    def tool_call(name, arguments, call_id):
        made.append(call_id)

    bus.register(cache())
    tool_call("read", {}, 1), tool_call("read", {}, 2)
    assert made == [1]


def test_a_result_gets_too_old_and_too_many(call, bus):
    off = bus.register(cache(0.2))
    call("read"), call("read"), time.sleep(0.3), call("read")
    assert len(call.made) == 2
    off()
    bus.register(cache(size=1))
    call("a"), call("b"), call("a")
    assert len(call.made) == 5


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: retry(KeyboardInterrupt), "on="),
        (lambda: retry(()), "on="),
        (lambda: retry(attempts=1), "attempts=1"),
        (lambda: retry(attempts=True), "attempts=True"),
        (lambda: retry(wait_max=-1), "wait_max=-1"),
        (lambda: retry(wait_initial=float("nan")), "wait_initial=nan"),
        (lambda: fallback(), "at least one mapping"),
        (lambda: fallback({}), "mappings of arguments"),
        (lambda: fallback("small"), "mappings of arguments"),
        (lambda: fallback({"a b": 1}), "mappings of arguments"),
        (lambda: cache(0), "seconds=0"),
        (lambda: cache(size=0), "size=0"),
        (lambda: timeout("1"), "seconds='1'"),
    ],
)
def test_what_is_none_is_refused(make, words):
    with pytest.raises(HookError, match=words):
        make()


def test_a_bus_of_its_own_has_its_own(call):
    other = Bus()
    other.register(cache())
    call("read"), call("read")
    assert len(call.made) == 2
