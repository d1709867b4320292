"""gevent and eventlet replace threads in a program that runs: nothing waits in the old way then.

What they do is tried with both of them in tests/servers; here a function stands in for theirs.
"""

import _thread
import queue
import threading

import pytest

from hookbus import Block, Bus, HookBlocked, hookable


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def work(bus):
    @hookable("work", bus=bus, async_receivers=True)
    def work():
        return "done"

    return work


@pytest.fixture
def replace(monkeypatch):
    """Replace what starts threads, and queues, as a patch does; return the queues made since."""
    start, made = _thread.start_new_thread, []

    class Queue(queue._PySimpleQueue):
        def __init__(self):
            super().__init__()
            made.append(self)

    def replace():
        monkeypatch.setattr(_thread, "start_new_thread", lambda *given: start(*given))
        monkeypatch.setattr(queue, "SimpleQueue", Queue)
        return made

    return replace


def test_a_deadline_uses_the_queues_and_threads_that_are_there_when_it_runs(bus, work, replace):
    bus.signal("pre_work").connect(lambda work: None, role="guard", timeout=5, name="agrees")
    assert work() == "done"
    made = replace()
    assert made == []
    assert (work(), work()) == ("done", "done")
    assert len(made) == 1  # and stays


def test_a_guard_that_held_up_every_greenlet_is_late_though_it_agreed(
    bus, work, replace, monkeypatch
):
    bus.signal("pre_work").connect(lambda work: None, role="guard", timeout=5, name="agrees")
    replace()
    assert work() == "done"
    moments = iter((0.0, 6.0))
    monkeypatch.setattr("hookbus._waiting.deadline.time.monotonic", lambda: next(moments, 6.0))
    with pytest.raises(HookBlocked, match="TimeoutError"):
        work()


def test_an_async_guard_of_a_plain_call_blocks_once_threads_were_replaced(bus, work, replace):
    async def agrees(work):
        return None

    bus.signal("pre_work").connect(agrees, role="guard")
    assert work() == "done"
    replace()
    with pytest.raises(HookBlocked, match="gevent or eventlet has replaced the threads"):
        work()


def test_async_receivers_of_a_plain_call_never_run_in_its_own_thread(bus, work):
    ran = []

    async def refuses(work):
        ran.append(threading.get_ident())
        return Block("no")

    bus.signal("pre_work").connect(refuses, role="guard")
    with pytest.raises(HookBlocked, match="no"):
        work()
    assert ran and ran[0] != threading.get_ident()
