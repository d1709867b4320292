"""On builds without a GIL another thread may come between any two steps of who connects."""

import inspect
import os
import subprocess
import sys
import sysconfig
import threading
from functools import partial

import pytest

from hookbus import Block, Bus, HookBlocked, events, hookable
from hookbus._connections.registry import Scope
from hookbus._events.listeners import EventSignal
from hookbus._ground.locks import IS_FREE_THREADED, serialize_writers
from hookbus._hooks.switchboard import Switchboard

IMPORT_ALL = """
import importlib, pkgutil, sys, hookbus
for module in pkgutil.walk_packages(hookbus.__path__, "hookbus."):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:  # of an extra that is not installed here
        assert not error.name.startswith("hookbus"), module.name
    assert not sys._is_gil_enabled(), module.name
"""


def test_whether_there_is_a_gil_is_known():
    assert bool(sysconfig.get_config_var("Py_GIL_DISABLED")) is IS_FREE_THREADED


@pytest.mark.skipif(IS_FREE_THREADED, reason="without a GIL there is a lock")
def test_with_a_gil_who_connects_takes_no_lock():
    assert serialize_writers(len) is len


@pytest.mark.skipif(not IS_FREE_THREADED, reason="with a GIL it is on")
def test_the_gil_stays_off_whatever_is_imported():
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", IMPORT_ALL], env=env, check=True)


WRITERS = (
    Switchboard.route, Switchboard.discard_plans, Scope.replace, Scope.drop, EventSignal.forget,
    EventSignal._publish,
)  # fmt: skip


class Step:
    """Runs work, and at one of the steps of its writers another thread, until that ends or waits.

    A step is an instruction of the interpreter. What the other thread has brought about is checked
    at each later step.
    """

    TOOL = 4

    def __init__(self, number, work, meanwhile, check):
        self.number, self.meanwhile, self.steps = number, threading.Thread(target=meanwhile), 0
        self.check, self.failed_at, self.is_checking = check, [], False
        self.worker = threading.get_ident()
        monitoring, codes = sys.monitoring, [inspect.unwrap(each).__code__ for each in WRITERS]
        monitoring.use_tool_id(self.TOOL, "steps")
        monitoring.register_callback(self.TOOL, monitoring.events.INSTRUCTION, self.count)
        try:
            for code in codes:
                monitoring.set_local_events(self.TOOL, code, monitoring.events.INSTRUCTION)
            work()
        finally:
            for code in codes:
                monitoring.set_local_events(self.TOOL, code, 0)
            monitoring.free_tool_id(self.TOOL)
        if self.is_reached:
            self.meanwhile.join(30)
            assert not self.meanwhile.is_alive()

    @property
    def is_reached(self):
        return self.steps >= self.number

    def count(self, code, offset):
        if threading.get_ident() != self.worker or self.is_checking:
            return
        self.steps += 1
        if self.steps == self.number:
            self.meanwhile.start()
            self.let_go_on()
        elif self.is_reached and not self.meanwhile.is_alive():
            self.is_checking = True
            if not self.check():
                self.failed_at.append(f"{code.co_qualname}, step {self.steps}")
            self.is_checking = False

    def let_go_on(self):
        """Wait until the other thread has ended, or waits for this one."""
        waiting = 0
        while self.meanwhile.is_alive() and waiting < 3:
            self.meanwhile.join(0.002)
            frame = sys._current_frames().get(self.meanwhile.ident)
            waiting += frame is not None and frame.f_code.co_name == "run_alone"


def is_blocked(agent):
    try:
        agent.reply()
    except HookBlocked:
        return True
    return False


def refuse(agent):
    return Block("no")


@pytest.mark.skipif(not IS_FREE_THREADED, reason="with a GIL no thread comes between these steps")
@pytest.mark.parametrize("leaves", ["an agent", "a class"])
@pytest.mark.parametrize("comes", ["an agent", "a class"])
def test_a_guard_that_comes_at_any_step_of_another_one_blocks_from_then_on(leaves, comes):
    number, is_over = 0, False
    while not is_over:
        number, bus, wrong = number + 1, Bus(), []

        class Agent:
            @hookable("reply", bus=bus)
            def reply(self):
                return "sent"

        class Other(Agent):
            pass

        signal = bus.signal("pre_reply")
        former, agent = Other(), Agent()
        former_sender = former if leaves == "an agent" else Other
        signal.connect(refuse, sender=former_sender, role="guard")
        is_blocked(former), is_blocked(agent)

        def connect(bus=bus, Agent=Agent, agent=agent, wrong=wrong):
            sender = agent if comes == "an agent" else Agent
            bus.signal("pre_reply").connect(lambda _: Block("no"), sender=sender, role="guard")
            if not is_blocked(agent):
                wrong.append("at once")

        def leave(signal=signal, former=former, sender=former_sender):
            signal.disconnect(refuse, sender=sender)
            is_blocked(former)

        step = Step(number, leave, connect, partial(is_blocked, agent))
        is_over = not step.is_reached
        assert not wrong and not step.failed_at, number
        assert is_over or is_blocked(agent), number
        assert is_blocked(former) is (comes == "a class" and not is_over), number
    assert number > 20


@pytest.mark.skipif(not IS_FREE_THREADED, reason="with a GIL no thread comes between these steps")
def test_a_guard_that_two_threads_connect_has_both_connections():
    number, is_over = 0, False
    while not is_over:
        number, bus, handles = number + 1, Bus(), []

        class Agent:
            @hookable("reply", bus=bus)
            def reply(self):
                return "sent"

        agent, signal = Agent(), bus.signal("pre_reply")

        def connect(signal=signal, Agent=Agent, handles=handles):
            handles.append(signal.connected_to(refuse, sender=Agent, role="guard"))

        step = Step(number, connect, connect, partial(is_blocked, agent))
        is_over = not step.is_reached
        assert len(handles) == 2 - is_over and not step.failed_at, number
        for handle in reversed(handles):
            assert is_blocked(agent), number
            handle.disconnect()
        assert not is_blocked(agent)
    assert number > 20


@pytest.mark.skipif(not IS_FREE_THREADED, reason="with a GIL no thread comes between these steps")
def test_a_guard_that_is_connected_again_at_any_step_of_its_disconnecting_is_not_lost():
    number, is_over = 0, False
    while not is_over:
        number, bus = number + 1, Bus()

        class Agent:
            @hookable("reply", bus=bus)
            def reply(self):
                return "sent"

        agent, signal = Agent(), bus.signal("pre_reply")
        signal.connect(refuse, role="guard")
        [old] = signal.connections()
        again = partial(signal.connect, refuse, role="guard")
        step = Step(number, partial(signal._drop, old), again, lambda: None)
        is_over = not step.is_reached
        assert is_blocked(agent) is not is_over, number
    assert number > 5


@pytest.mark.skipif(not IS_FREE_THREADED, reason="with a GIL no thread comes between these steps")
def test_a_listener_that_comes_at_any_step_of_another_one_is_told_of_what_is_next():
    number, is_over = 0, False
    while not is_over:
        number, bus, first, second = number + 1, Bus(), [], []
        bus.signal("pre_reply").connect(refuse, role="guard", name="refuse")

        def listen(bus=bus, first=first):
            bus.events.connect(lambda _, event: first.append(event), kinds=(events.Switched,))
            bus.switch("refuse", "shadow", by="a test")

        def connect(bus=bus, second=second):
            bus.events.connect(lambda _, event: second.append(event), kinds=(events.Switched,))

        def is_told(bus=bus, second=second):
            second.clear()
            bus.switch("refuse", "enable", by="a test")
            return bool(second)

        step = Step(number, listen, connect, is_told)
        is_over = not step.is_reached
        assert not step.failed_at, number
        assert is_told() is not is_over, number
    assert number > 10
