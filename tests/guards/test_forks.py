"""A child of a process that forks while other threads are in guards: it finds every lock free."""

import asyncio
import contextlib
import contextvars
import io
import os
import signal as signals
import sys
import threading
import types
import warnings

import pytest

from hookbus import Ask, Bus, HookBlocked, approvals, guards, hookable, hookspec, modes
from hookbus._ground import locks as _locks
from hookbus._ground.locks import Lock
from hookbus._waiting import loop_thread as loop
from hookbus._waiting import workers

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


def in_a_child(work):
    """Run a function in a forked child, and tell whether it ended well within ten seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        signals.alarm(10)
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


@contextlib.contextmanager
def held_by_another_thread(*locks):
    held, over = threading.Event(), threading.Event()

    def hold():
        with contextlib.ExitStack() as stack:
            for lock in locks:
                stack.enter_context(lock)
            held.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_lock_that_a_thread_of_the_parent_holds_is_free_in_the_child_and_held_in_the_parent():
    resets = []
    lock = Lock(reset=lambda: resets.append(1))

    def work():
        with lock:
            assert resets == [1]

    with held_by_another_thread(lock):
        assert in_a_child(work)
        assert resets == [] and not lock.acquire(timeout=0)


def test_a_lock_that_the_forking_thread_holds_is_still_its_own_in_the_child():
    lock = Lock(reset=lambda: 1 / 0)

    def work():
        lock.release()
        thread = threading.Thread(target=lambda: lock.acquire() and lock.release())
        thread.start()
        thread.join(5)
        assert not thread.is_alive()

    with lock:
        assert in_a_child(work)


def test_a_ctrl_c_as_a_lock_is_taken_leaves_it_free():
    lock = Lock()

    def interrupt(frame, event, arg):
        if event == "return" and frame.f_code.co_filename == _locks.__file__:
            raise KeyboardInterrupt
        return interrupt

    def hold():
        with lock:
            return lock

    sys.settrace(interrupt)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            hold()
    finally:
        sys.settrace(None)
    is_free = []
    thread = threading.Thread(target=lambda: is_free.append(lock.acquire(timeout=0)))
    thread.start()
    thread.join()
    assert is_free == [True]


def locks_of(*owners):
    """Return the locks in what owners have, however deep."""
    found, seen, several = [], set(), list(owners)
    while several:
        each = several.pop()
        if id(each) in seen or isinstance(each, (str, int, float, type)):
            continue
        seen.add(id(each))
        if isinstance(each, Lock):
            found.append(each)
        elif isinstance(each, (list, tuple, set)):
            several += each
        elif isinstance(each, dict):
            several += each.values()
        elif isinstance(each, types.MethodType):
            several.append(each.__self__)
        elif type(each).__module__.startswith("hookbus.") and hasattr(each, "__dict__"):
            several += vars(each).values()
    return found


def test_a_child_calls_through_every_ready_guard_whose_lock_was_held():
    bus = Bus()

    @hookable("tool_call", bus=bus)
    def tool_call(name, arguments):
        return "ada@example.com"

    @hookable("model_call", bus=bus)
    def model_call(model, messages, options):
        return {"usage": {"input_tokens": 1, "output_tokens": 1}}

    several = [
        guards.rate_limit(10), guards.rate_limit(10, storage="memory://"),
        guards.redact(reversible="pay"),
        guards.provenance({"send": "to"}), guards.budget(tokens=1000), guards.cache(),
    ]  # fmt: skip
    for guard in several:
        bus.register(guard)
    tool_call("read", {})

    def work():
        assert tool_call("read", {}).startswith("<email-")
        model_call("m", [], {"max_tokens": 5})

    locks = locks_of(*several)
    assert len(locks) >= len(several)
    with held_by_another_thread(*locks):
        assert in_a_child(work)


def test_children_that_are_forked_while_threads_count_calls_are_answered():
    bus = Bus()
    bus.register(guards.rate_limit(10**9))

    @hookable("tool_call", bus=bus)
    def tool_call(name, arguments):
        return name

    over = threading.Event()

    def many():
        while not over.is_set():
            tool_call("read", {})

    threads = [threading.Thread(target=many) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        assert all(in_a_child(lambda: tool_call("read", {})) for _ in range(10))
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_a_child_asks_approvers_whose_locks_were_held(monkeypatch):
    inbox, terminal = approvals.Inbox(), approvals.terminal
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    bus = Bus()

    @hookable("pay", bus=bus)
    def pay(sum):
        return sum

    bus.signal("pre_pay").connect(lambda pay: Ask("pay?"), role="guard", weak=False)

    def at_the_inbox():
        bus.approver(inbox, timeout=0.05)
        with contextlib.suppress(HookBlocked):
            pay(3)
        inbox.pending()

    def at_the_terminal():
        bus.approver(terminal)
        with contextlib.redirect_stdout(io.StringIO()):
            assert pay(3) == 3

    with held_by_another_thread(*locks_of(inbox, terminal)):
        assert in_a_child(at_the_inbox)
        assert in_a_child(at_the_terminal)


def test_a_child_uses_threads_and_loops_whose_locks_were_held():
    bus, seen = Bus(), []

    @hookable("pay", bus=bus, async_receivers=True)
    def pay(sum):
        return sum

    async def judge(pay, sum):
        seen.append(sum)

    bus.signal("pre_pay").connect(judge, role="guard")
    bus.signal("pre_pay").connect(lambda pay, sum: seen.append(sum), role="guard", timeout=5)
    bus.signal("pre_pay").connect(
        lambda pay, sum: seen.append(sum), role="observe", background=True
    )

    def work():
        assert pay(3) == 3
        assert bus.drain_sync(5) == 0 and seen == [3, 3, 3]

    locks = locks_of(workers.workers, workers.background, loop._loop, bus._background)
    assert len(locks) >= 4  # and one for each pool of threads that was used before
    with held_by_another_thread(*locks):
        assert in_a_child(work)


class Slow:
    """A context manager that hangs as the parent enters it, and not in a child."""

    def __init__(self):
        self.parent, self.is_entered, self.may_go_on = os.getpid(), threading.Event(), None

    def __enter__(self):
        if os.getpid() == self.parent:
            self.is_entered.set()
            self.may_go_on.wait()
        return "open"

    def __exit__(self, *_):
        pass


class SlowAsync(Slow):
    async def __aenter__(self):
        return self.__enter__()

    async def __aexit__(self, *_):
        pass


@pytest.mark.parametrize("is_async", [False, True])
def test_a_child_enters_what_a_thread_of_its_parent_was_entering(is_async):
    bus, contexts, over = Bus(), [], threading.Event()
    slow = SlowAsync() if is_async else Slow()
    slow.may_go_on = over

    @hookspec(modes.firstresult, bus=bus)
    def store(): ...

    @hookspec(modes.firstresult, bus=bus)
    async def store_async(): ...

    question = store_async if is_async else store
    question.connect(lambda: slow)

    async def enter_async():
        async with store_async.scope():
            contexts.append(contextvars.copy_context())
            await store_async()

    def enter():
        if is_async:
            asyncio.run(enter_async())
        else:
            with store.scope():
                contexts.append(contextvars.copy_context())
                store()

    def work():
        ask = (lambda: asyncio.run(store_async())) if is_async else store
        assert contexts[0].run(ask) == "open"

    thread = threading.Thread(target=enter)
    thread.start()
    assert slow.is_entered.wait(10)
    try:
        assert in_a_child(work)
    finally:
        over.set()
        thread.join()
