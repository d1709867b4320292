"""Whatever runs in the middle of hookbus, at any line, may connect and call: a signal handler,
`__del__`, a fork.
"""

import gc
import os
import signal as signals
import sys
import threading
import time
from collections import Counter

import pytest

import hookbus
from hookbus import Block, Bus, HookBlocked, hookable

HOUSE = os.path.dirname(hookbus.__file__)


class Stage:
    """An agent whose connections come and go, and somebody who does the same in between."""

    def __init__(self):
        self.bus = Bus()

        class Agent:
            @hookable("reply", bus=self.bus)
            def reply(self, n=0):
                return n

        self.Agent, self.agent, self.signal = Agent, Agent(), self.bus.signal("pre_reply")
        self.interrupted, self.is_inside, self.wrong = 0, False, []

    def blocks(self, agent):
        return Block("no")

    def blocks_too(self, agent):
        return Block("no")

    def is_blocked(self, agent):
        try:
            agent.reply()
        except HookBlocked:
            return True
        return False

    def work(self):
        """Connect, call and disconnect, on the class and on the agent; a guard that is connected
        blocks.
        """
        for sender in (self.agent, self.Agent, self.agent):
            self.signal.connect(self.blocks, sender=sender, role="guard")
            self.expect(self.agent, True, "outside")
            self.signal.disconnect(self.blocks, sender=sender)
            self.expect(self.agent, False, "after")
        passing = self.Agent()
        self.signal.connect(self.blocks, sender=passing, role="guard")
        del passing

    def expect(self, agent, expected, when):
        if self.is_blocked(agent) is not expected:
            self.wrong.append(when)

    def interrupt(self, *_):
        """Do the same once more, for an agent of its own and for the class; leave everything as it
        was.
        """
        if self.is_inside:
            return
        self.is_inside = True
        try:
            self.interrupted += 1
            other = self.Agent()
            for sender in (other, self.Agent):
                with self.signal.connected_to(self.blocks_too, sender=sender, role="guard"):
                    self.expect(other, True, f"inside {sender}")
        finally:
            self.is_inside = False


@pytest.fixture
def stage():
    return Stage()


def test_whoever_comes_between_two_lines_connects_and_calls_and_nothing_hangs_or_opens(stage):
    places = Counter()

    def trace(frame, event, arg):
        if not frame.f_code.co_filename.startswith((HOUSE, "<hookbus")):
            return None
        places[frame.f_code, frame.f_lineno] += event == "line"
        if event == "line" and places[frame.f_code, frame.f_lineno] < 3:
            stage.interrupt()
        return trace

    stage.work()
    sys.settrace(trace)
    try:
        stage.work()
    finally:
        sys.settrace(None)
    assert stage.interrupted > 100 and not stage.wrong
    gc.collect()
    assert not stage.signal.receivers
    stage.work()
    assert not stage.wrong


def test_guards_that_an_interruption_leaves_behind_block_from_that_line_on(stage):
    """At each line in turn a guard is connected for good; every call from there on is blocked."""
    line, is_over = 0, False
    while not is_over:
        line, lines, fresh = line + 1, 0, Stage()

        def trace(frame, event, arg, fresh=fresh, line=line):
            nonlocal lines
            if not frame.f_code.co_filename.startswith((HOUSE, "<hookbus")):
                return None
            if event == "line" and not fresh.is_inside:
                lines += 1
                if lines >= line:
                    fresh.is_inside = True
                    if lines == line:
                        fresh.signal.connect(fresh.blocks_too, sender=fresh.agent, role="guard")
                    fresh.expect(fresh.agent, True, f"{frame.f_code.co_filename}:{frame.f_lineno}")
                    fresh.is_inside = False
            return trace

        fresh.signal.connect(fresh.blocks, sender=fresh.agent, role="guard")
        sys.settrace(trace)
        try:
            fresh.signal.disconnect(fresh.blocks, sender=fresh.agent)
        finally:
            sys.settrace(None)
        is_over = lines < line
        assert not fresh.wrong, line
        assert is_over or fresh.is_blocked(fresh.agent)
    assert line > 30


def test_one_receiver_that_is_connected_from_two_sides_at_once_has_both_connections():
    """At each line in turn, the guard that is being connected is connected in shadow, too."""
    line, is_over = 0, False
    while not is_over:
        line, lines, fresh, handles = line + 1, 0, Stage(), []

        def trace(frame, event, arg, fresh=fresh, line=line, handles=handles):
            nonlocal lines
            if not frame.f_code.co_filename.startswith(HOUSE):
                return None
            if event == "line" and not handles and frame.f_code.co_filename.endswith("registry.py"):
                lines += 1
                if lines == line:
                    handles.append(None)
                    handles[0] = fresh.signal.connected_to(
                        fresh.blocks, sender=fresh.Agent, role="guard", shadow=True
                    )
            return trace

        sys.settrace(trace)
        try:
            fresh.signal.connect(fresh.blocks, sender=fresh.Agent, role="guard")
        finally:
            sys.settrace(None)
        is_over = not handles
        assert fresh.is_blocked(fresh.agent), line
        for handle in handles:
            handle.disconnect()
        assert fresh.is_blocked(fresh.agent), line
    assert line > 10


def test_a_guard_that_is_connected_again_at_any_line_of_its_disconnecting_is_not_lost():
    line, is_over = 0, False
    while not is_over:
        line, lines, fresh = line + 1, 0, Stage()

        def trace(frame, event, arg, fresh=fresh, line=line):
            nonlocal lines
            if not frame.f_code.co_filename.startswith(HOUSE):
                return None
            lines += event == "line"
            if event == "line" and lines == line:
                fresh.signal.connect(fresh.blocks, role="guard")
            return trace

        fresh.signal.connect(fresh.blocks, role="guard")
        [connected] = fresh.signal.connections()
        sys.settrace(trace)
        try:
            fresh.signal._drop(connected)
        finally:
            sys.settrace(None)
        is_over = lines < line
        assert fresh.is_blocked(fresh.agent) is not is_over, line
    assert line > 20


@pytest.mark.skipif(not hasattr(signals, "setitimer"), reason="no timers that interrupt")
def test_a_storm_of_signals_and_collections_hangs_nothing(stage):
    former, thresholds = signals.signal(signals.SIGALRM, stage.interrupt), gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    signals.setitimer(signals.ITIMER_REAL, 0.0005, 0.0005)
    try:
        over = time.monotonic() + 1
        while time.monotonic() < over:
            stage.work()
    finally:
        signals.setitimer(signals.ITIMER_REAL, 0)
        signals.signal(signals.SIGALRM, former)
        gc.set_threshold(*thresholds)
    assert stage.interrupted > 20 and not stage.wrong


def test_what_dies_in_the_middle_may_connect_and_call(stage):
    class Last:
        def __init__(self):
            self.me = self

        def __del__(self):
            stage.interrupt()

    thresholds = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(30):
            Last()
            stage.work()
    finally:
        gc.set_threshold(*thresholds)
    assert stage.interrupted >= 30 and not stage.wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_that_is_forked_while_another_thread_connects_can_connect_and_call(stage):
    is_over = threading.Event()

    def connects():
        other = stage.Agent()
        while not is_over.is_set():
            stage.signal.connect(stage.blocks, sender=other, role="guard")
            stage.signal.disconnect(stage.blocks, sender=other)

    threads = [threading.Thread(target=connects) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(30):
            child = os.fork()
            if not child:
                signals.alarm(10)
                stage.work()
                os._exit(1 if stage.wrong else 0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
