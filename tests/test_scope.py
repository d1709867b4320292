"""`with spec.scope():` a receiver that answers with a context manager is entered once, and closed
in reverse order.
"""

import asyncio
import queue
import threading
import time
from contextlib import asynccontextmanager, contextmanager

import pytest

from hookbus import Bus, HookError, ReceiverError, hookspec, modes
from hookbus.events import Failed
from hookbus.testing import record


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def told():
    return []


@pytest.fixture
def stores(bus):
    @hookspec(modes.broadcast, bus=bus)
    def stores(place="here"): ...

    return stores


@pytest.fixture
def clients(bus):
    @hookspec(modes.broadcast, bus=bus)
    async def clients(place="here"): ...

    return clients


@pytest.fixture
def provider(told):
    """Make a provider that tells when it opens and closes."""

    def make(name, on_open=None, on_close=None, is_async=False):
        def begin():
            told.append(f"open {name}")
            if on_open is not None:
                raise on_open

        def end(error):
            told.append(f"close {name} {type(error).__name__}" if error else f"close {name}")
            if on_close is not None:
                raise on_close

        @contextmanager
        def plain(place):
            begin()
            try:
                yield f"{name} {place}"
            except BaseException as error:
                end(error)
                raise
            end(None)

        @asynccontextmanager
        async def later(place):
            await asyncio.sleep(0)
            begin()
            try:
                yield f"{name} {place}"
            except BaseException as error:
                end(error)
                raise
            end(None)

        return later if is_async else plain

    return make


def test_each_provider_is_entered_once_and_all_are_closed_in_reverse(stores, provider, told):
    stores.connect(provider("a"), name="a")
    stores.connect(provider("b"), name="b")
    with stores.scope():
        assert told == [], "nothing is opened before it is asked for"
        assert stores() == ["a here", "b here"]
        assert stores("elsewhere") == ["a here", "b here"]
        assert [answer.value for answer in stores.ask().answers] == ["a here", "b here"]
        assert told == ["open a", "open b"]
    assert told == ["open a", "open b", "close b", "close a"]


def test_who_answers_with_a_plain_value_is_asked_each_time(stores, provider):
    asked = []
    stores.connect(lambda place: asked.append(place) or place, name="plain")
    stores.connect(provider("a"), name="a")
    with stores.scope():
        assert stores("x") == ["x", "a x"] and stores("y") == ["y", "a x"]
    assert asked == ["x", "y"]


def test_outside_of_a_scope_the_answer_is_the_context_manager_itself(stores, provider, told):
    stores.connect(provider("a"))
    [manager] = stores()
    assert told == []
    with manager as value:
        assert value == "a here"


def test_a_scope_inside_a_scope_is_its_own(stores, provider, told):
    stores.connect(provider("a"))
    with stores.scope():
        stores()
        with stores.scope():
            stores()
        assert told == ["open a", "open a", "close a"]
        stores()
    assert told == ["open a", "open a", "close a", "close a"]


def test_the_scope_of_one_question_is_none_of_another(bus, stores, provider, told):
    other = hookspec(modes.broadcast, bus=bus, name="other")(lambda place="x": None)
    other.connect(provider("a"))
    with stores.scope():
        assert other() != ["a x"]
    assert told == []


@pytest.mark.parametrize("is_async", [False, True])
async def test_where_one_fails_to_enter_the_others_answer_and_are_closed_in_reverse(
    bus, stores, clients, provider, told, is_async
):
    question = clients if is_async else stores
    question.connect(provider("a", is_async=is_async), name="a")
    question.connect(provider("b", on_open=OSError("no"), is_async=is_async), name="b")
    question.connect(provider("c", is_async=is_async), name="c")
    with record(bus) as fired:
        if is_async:
            async with question.scope():
                assert await question() == ["a here", "c here"]
        else:
            with question.scope():
                assert question() == ["a here", "c here"]
    assert told == ["open a", "open b", "open c", "close c", "close a"]
    assert [(event.receiver, type(event.exception)) for event in fired.of(Failed)] == [
        ("b", OSError)
    ]


def test_where_one_that_fails_to_enter_asks_to_raise_all_that_were_open_are_closed(
    stores, provider, told
):
    stores.connect(provider("a"), name="a")
    stores.connect(provider("b", on_open=OSError("no")), name="b", on_error="raise")
    stores.connect(provider("c"), name="c")
    with pytest.raises(ReceiverError) as raised, stores.scope():
        stores()
    assert isinstance(raised.value.__cause__, OSError)
    assert told == ["open a", "open b", "close a ReceiverError"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_the_exception_of_the_block_reaches_every_provider_and_the_caller_whatever_they_do(
    stores, clients, told, is_async
):
    question = clients if is_async else stores

    class Swallows:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            told.append(kind.__name__)
            return True

    class Breaks(Swallows):
        def __exit__(self, kind, error, trace):
            told.append(kind.__name__)
            raise OSError("on closing")

    question.connect(lambda: Swallows(), name="a")
    question.connect(lambda: Breaks(), name="b", on_error="raise")
    error = LookupError("the host's")
    with pytest.raises(LookupError) as raised:
        if is_async:
            async with question.scope():
                await question()
                raise error
        else:
            with question.scope():
                question()
                raise error
    assert raised.value is error and told == ["LookupError", "LookupError"]
    assert any("b (" in note and "failed to close" in note for note in error.__notes__)


@pytest.mark.parametrize("is_async", [False, True])
async def test_one_that_fails_to_close_is_told_and_the_others_are_closed(
    bus, stores, clients, provider, told, is_async
):
    question = clients if is_async else stores
    for name, broken in (("a", None), ("b", OSError("no")), ("c", None)):
        question.connect(provider(name, on_close=broken, is_async=is_async), name=name)
    with record(bus) as fired:
        if is_async:
            async with question.scope():
                await question()
        else:
            with question.scope():
                question()
    assert told[3:] == ["close c", "close b", "close a"]
    assert [(event.receiver, event.action) for event in fired.of(Failed)] == [("b", "isolated")]


def test_one_that_fails_to_close_and_asks_to_raise_does_so_once_all_are_closed(
    stores, provider, told
):
    stores.connect(provider("a"), name="a")
    stores.connect(provider("b", on_close=OSError("no")), name="b", on_error="raise")
    with pytest.raises(ReceiverError) as raised, stores.scope():
        stores()
    assert isinstance(raised.value.__cause__, OSError) and told[-1] == "close a"


def test_an_exit_of_the_interpreter_while_closing_passes_once_all_are_closed(
    stores, provider, told
):
    stores.connect(provider("a"), name="a")
    stores.connect(provider("b", on_close=KeyboardInterrupt()), name="b")
    with pytest.raises(KeyboardInterrupt), stores.scope():
        stores()
    assert told[-1] == "close a"


async def test_an_async_question_takes_providers_of_both_colours(clients, provider, told):
    clients.connect(provider("a", is_async=True), name="a")
    clients.connect(provider("b"), name="b")
    async with clients.scope():
        assert await clients() == ["a here", "b here"]
        assert await clients() == ["a here", "b here"]
    assert told == ["open a", "open b", "close b", "close a"]


async def test_questions_asked_at_the_same_time_share_what_was_entered(clients, provider, told):
    clients.connect(provider("a", is_async=True), name="a")
    async with clients.scope():
        assert await asyncio.gather(*(clients() for _ in range(10))) == [["a here"]] * 10
        assert told == ["open a"]
    assert told == ["open a", "close a"]


def test_threads_that_ask_at_the_same_time_share_what_was_entered(stores, told):
    import contextvars

    barrier = threading.Barrier(4)

    @contextmanager
    def slow():
        told.append("open")
        time.sleep(0.01)  # long enough for the others to come by
        yield threading.get_ident()
        told.append("close")

    stores.connect(lambda: barrier.wait() and None or slow(), name="slow")
    found = []
    with stores.scope():
        threads = [
            threading.Thread(
                target=lambda context=contextvars.copy_context(): found.append(context.run(stores))
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert told == ["open", "close"] and len({str(each) for each in found}) == 1


async def test_a_provider_that_asks_its_own_question_while_it_is_entered_fails_and_does_not_hang(
    clients, provider
):
    depth = []

    @asynccontextmanager
    async def asks(place):
        depth.append(1)
        yield [await clients(place)] if len(depth) < 2 else "deep"

    clients.connect(asks, name="asks")
    async with clients.scope():
        assert await asyncio.wait_for(clients(), 10) == [[[]]]


async def test_an_async_provider_of_a_plain_question_is_no_context_manager_to_it(stores, provider):
    stores.connect(lambda place: provider("a", is_async=True)(place), name="a")
    with stores.scope():
        [manager] = stores()
    assert hasattr(manager, "__aenter__")


async def test_a_hung_entry_is_left_at_its_deadline_and_the_scope_still_ends(bus, stores, told):
    release = threading.Event()

    class Hangs:
        def __enter__(self):
            release.wait()
            return "late"

        def __exit__(self, *_):
            told.append("closed late")

    stores.connect(lambda: Hangs(), name="hangs", timeout=0.05)
    with stores.scope():
        assert stores() == []
    release.set()
    for _ in range(200):
        if told:
            break
        await asyncio.sleep(0.01)
    assert told == ["closed late"], "what was entered after the end is closed at once"


@pytest.mark.parametrize("is_async", [False, True])
async def test_one_that_hangs_as_it_is_entered_holds_up_nobody_else(stores, clients, is_async):
    question, others_are_entered, was_released = (
        clients if is_async else stores, threading.Event(), queue.Queue(),
    )  # fmt: skip

    class Hangs:
        def __enter__(self):
            was_released.put(others_are_entered.wait(5))

        def __exit__(self, *_): ...

    @contextmanager
    def behind():
        others_are_entered.set()
        yield "behind"

    def in_a_scope():
        with stores.scope():
            return stores()

    question.connect(lambda: Hangs(), name="hangs", timeout=0.05)
    question.connect(behind)
    if is_async:
        async with clients.scope():
            found = await clients()
    else:
        found = await asyncio.to_thread(in_a_scope)
    assert found == ["behind"] and was_released.get(timeout=20)


def test_a_provider_that_died_in_a_scope_is_not_taken_for_one_at_its_address(stores):
    class Given:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            return self.name

        def __exit__(self, *_): ...

    class Plugin:
        def __init__(self, name):
            self.name = name

        def store(self):
            return Given(self.name)

    for name in map(str, range(20)):
        with stores.scope():
            plugin = Plugin("old")
            stores.connect(plugin.store, weak=True)
            assert stores() == ["old"]
            del plugin
            plugin = Plugin(name)
            stores.connect(plugin.store, weak=True)
            assert name in stores()
        stores.disconnect(plugin.store)
        del plugin


def test_a_task_or_thread_that_outlives_the_scope_is_not_in_it(stores, provider):
    import contextvars

    stores.connect(provider("a"))
    with stores.scope():
        stores()
        inside = contextvars.copy_context()
    [manager] = inside.run(stores)
    assert manager != "a here" and hasattr(manager, "__enter__")


def test_a_scope_is_for_one_block(stores):
    scope = stores.scope()
    with scope, pytest.raises(HookError, match="only one with block"), scope:
        pass


def test_a_scope_may_be_left_in_another_context_than_it_was_entered_in(stores, provider, told):
    import contextvars

    stores.connect(provider("a"))
    scope = stores.scope()
    context = contextvars.copy_context()
    context.run(scope.__enter__)
    context.run(stores)
    scope.__exit__(None, None, None)
    assert told == ["open a", "close a"]


def test_a_provider_whose_value_is_itself_a_context_manager_is_entered_once(stores, told):
    class Store:
        def __enter__(self):
            told.append("open")
            return self

        def __exit__(self, *_):
            told.append("close")

    store = Store()
    stores.connect(lambda: store)
    with stores.scope():
        assert stores() == stores() == [store]
    assert told == ["open", "close"]


def test_what_is_entered_once_its_scope_has_ended_is_closed_at_once(bus, stores):
    steps, failures = [], []
    bus.events.connect(lambda bus, event: failures.append(event.receiver), kinds=Failed)
    scope = stores.scope()

    class Late:
        def __enter__(self):
            steps.append("enter")
            scope.__exit__(None, None, None)
            return "late"

        def __exit__(self, *details):
            steps.append("exit")

    stores.connect(lambda: Late(), name="late")
    scope.__enter__()
    assert stores() == []
    assert steps == ["enter", "exit"] and failures == ["late"]


def test_a_scope_that_has_ended_is_not_entered_again(stores, provider):
    stores.connect(provider("a"))
    scope = stores.scope()
    with scope:
        stores()
    with pytest.raises(HookError, match="one with block"), scope:
        pass


async def test_a_cancelled_error_of_a_provider_that_closes_is_its_failure(bus, clients):
    failures = []
    bus.events.connect(lambda bus, event: failures.append(event.receiver), kinds=Failed)

    @clients.connect_via(name="breaks")
    @asynccontextmanager
    async def breaks():
        yield "open"
        raise asyncio.CancelledError

    async with clients.scope():
        assert await clients() == ["open"]
    assert failures == ["breaks"]
