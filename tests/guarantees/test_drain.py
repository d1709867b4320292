"""Who waits for what is under way in the background waits for all of it, and never for itself."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading

import pytest

from hookbus import Bus, HookError, hookable

SECONDS = 20


class House:
    def __init__(self):
        self.bus, self.opened, self.seen = Bus(), threading.Event(), []

        @hookable("think", bus=self.bus)
        def think():
            return "thought"

        @hookable("reply", bus=self.bus)
        async def reply():
            return "replied"

        self.think, self.reply = think, reply

    def observe(self, signal, receiver):
        self.bus.signal(signal).connect(receiver, role="observe", background=True)

    def hang(self, sender):
        assert self.opened.wait(SECONDS)
        self.seen.append("looked")

    async def hang_async(self, sender):
        while not self.opened.is_set():
            await asyncio.sleep(0.001)
        self.seen.append("looked")


@pytest.fixture
def house():
    house = House()
    yield house
    house.opened.set()


def test_plain_code_waits_for_threads_and_says_how_many_are_left(house):
    assert house.bus.drain_sync(0) == 0
    house.observe("pre_think", house.hang)
    for _ in range(3):
        house.think()
    assert house.bus.drain_sync(0.001) == 3
    opener = threading.Timer(0.01, house.opened.set)
    opener.start()
    assert house.bus.drain_sync(SECONDS) == 0
    assert house.seen == ["looked"] * 3
    opener.join()


async def test_a_task_waits_without_holding_up_its_loop(house):
    house.observe("pre_think", house.hang)
    house.observe("pre_reply", house.hang_async)
    house.think()
    await house.reply()
    draining = asyncio.create_task(house.bus.drain(SECONDS))
    await asyncio.sleep(0)
    assert not draining.done()
    house.opened.set()
    assert await draining == 0
    assert house.seen == ["looked"] * 2


async def test_what_runs_on_another_loop_in_another_thread_is_waited_for_from_everywhere(house):
    house.observe("pre_reply", house.hang_async)
    begun = threading.Event()

    async def elsewhere():
        await house.reply()
        begun.set()
        while not house.seen:
            await asyncio.sleep(0.001)

    thread = threading.Thread(target=lambda: asyncio.run(elsewhere()))
    thread.start()
    assert await asyncio.to_thread(begun.wait, SECONDS)
    waiting = [
        asyncio.create_task(house.bus.drain(SECONDS)),
        asyncio.create_task(asyncio.to_thread(house.bus.drain_sync, SECONDS)),
    ]
    await asyncio.sleep(0.01)
    house.opened.set()
    assert await asyncio.gather(*waiting) == [0, 0]
    thread.join(SECONDS)


async def test_a_wait_that_is_given_up_is_forgotten(house):
    house.observe("pre_think", house.hang)
    house.think()
    draining = asyncio.create_task(house.bus.drain(SECONDS))
    await asyncio.sleep(0)
    draining.cancel()
    with pytest.raises(asyncio.CancelledError):
        await draining
    assert await house.bus.drain(0.001) == 1
    house.opened.set()
    assert await house.bus.drain(SECONDS) == 0


async def test_observers_in_the_background_that_wait_do_so_for_the_others_only(house):
    left = []

    def waits(sender):
        left.append(house.bus.drain_sync(SECONDS))

    async def waits_async(sender):
        left.append(await house.bus.drain(SECONDS))

    house.observe("pre_reply", waits)
    house.observe("pre_reply", waits_async)
    house.observe("pre_reply", house.hang)
    await house.reply()
    await asyncio.sleep(0.01)
    assert left == []
    house.opened.set()
    assert await house.bus.drain(SECONDS) == 0
    assert left == [0, 0]


async def test_what_an_observer_has_left_running_is_waited_for_like_anybody_else(house):
    """It is no part of an observer any more that has ended."""
    tasks = []

    async def leaves(sender):
        tasks.append(asyncio.create_task(house.bus.drain(0.001)))

    house.observe("pre_reply", leaves)
    await house.reply()
    assert await house.bus.drain(SECONDS) == 0
    house.observe("pre_think", house.hang)
    house.think()
    assert await tasks[0] in (0, 1)
    assert await house.bus.drain(0) == 1


async def test_where_it_cannot_wait_it_says_what_to_write(house):
    with pytest.raises(HookError, match="write await bus.drain"):
        house.bus.drain_sync(1)
    for seconds in (-1, None, "1", True, float("nan"), 1e300):
        with pytest.raises(HookError, match="is not a number of seconds"):
            await house.bus.drain(seconds)


def test_without_a_loop_of_asyncio_it_says_what_to_call(house):
    with pytest.raises(HookError, match=r"call drain_sync\(\)"):
        house.bus.drain(1).send(None)


PROGRAM = """if True:
    import {imports}
    import hookbus, hookbus._background.running
    hookbus._background.running.EXIT_SECONDS = {seconds}

    @hookbus.hookable("think")
    def think(): return "thought"

    @hookbus.signal("pre_think").connect_via(role="observe", background=True)
    def slow(think):
        {body}

    {end}
"""


def run(**parts):
    program = PROGRAM.format(**parts)
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return ran.returncode, ran.stdout, ran.stderr


def test_the_end_of_the_program_waits_for_what_is_under_way():
    body = "time.sleep(0.05); print('looked', flush=True)"
    said = run(imports="time", seconds=20, body=body, end="print(think(), flush=True)")
    assert said == (0, "thought\nlooked\n", "")


def test_what_has_not_ended_then_is_said_in_one_line():
    end = "[think() for _ in range(3)]"
    code, out, err = run(imports="time", seconds=0.01, body="time.sleep(600)", end=end)
    assert (code, out) == (0, "")
    assert err.startswith(
        "3 background observers had not finished when the interpreter exited: slow ("
    )
    assert err.count("\n") == 1


@pytest.mark.skipif(
    (3, 12, 0) <= sys.version_info < (3, 12, 2),
    reason="these releases of Python start no thread at exit (gh-113964)",
)
def test_an_exit_handler_of_the_program_may_start_the_first_one():
    program = """if True:
        import atexit, time, hookbus

        @hookbus.hookable("think")
        def think(): return "thought"

        @hookbus.signal("pre_think").connect_via(role="observe", background=True)
        def slow(think):
            time.sleep(0.05)
            print("looked", flush=True)

        atexit.register(think)
    """
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "looked\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_has_nothing_under_way():
    end = """
    think()
    left = hookbus.default_bus.drain_sync(0)
    child = os.fork()
    if not child:
        mine = hookbus.default_bus.drain_sync(0)
        think()
        os._exit(10 * mine + hookbus.default_bus.drain_sync(0))
    print(left, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    gate.set()
    """
    body = "gate.wait()"
    imports = "os, threading, warnings; warnings.simplefilter('ignore'); gate = threading.Event()"
    assert run(imports=imports, seconds=20, body=body, end=end.strip()) == (0, "1 1\n", "")
