"""A Ctrl-C at any line of hookbus goes out, and leaves no listener deaf and no signal mute."""

import functools
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

import hookbus
from hookbus import Bus, baggage, hookable

HOUSE = os.path.dirname(hookbus.__file__)
FILES = ("listeners.py", "sending.py", "baggage.py", "story", "emitting.py")


def in_a_thread(test):
    """Run a test in a thread: a tracer that raises within a handler leaves its exception behind, as
    if it were still handled, until the thread ends.
    """

    @functools.wraps(test)
    def run(**arguments):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(test, **arguments).result()

    return run


def interrupted_at(line, run):
    """Run, with a KeyboardInterrupt at the line of this number; tell whether there was one."""
    lines = 0

    def trace(frame, event, arg):
        nonlocal lines
        file = frame.f_code.co_filename
        is_ours = file.startswith(HOUSE) and file.endswith(FILES)
        if not (is_ours or file.startswith("<hookbus")):
            return trace if file == __file__ else None
        if event == "line":
            lines += 1
            if lines == line:
                raise KeyboardInterrupt
        return trace

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(former)
    return lines >= line


@pytest.mark.parametrize("is_alone", [True, False], ids=["alone", "with another"])
@pytest.mark.parametrize("listener", ["plain", "fails", "by name"])
@in_a_thread
def test_no_listener_is_deaf_after_an_interrupt_at_any_line(listener, is_alone):
    bus, heard = Bus(), []

    @hookable(bus=bus)
    def pay():
        return "paid"

    def plain(bus, event):
        heard.append(event)

    def fails(bus, event):
        heard.append(event)
        raise ValueError

    def by_name(bus, *, event):
        heard.append(event)

    bus.events.connect({"plain": plain, "fails": fails, "by name": by_name}[listener])
    if not is_alone:
        bus.events.connect(lambda bus, event: heard.append(event))
    line = 1
    # In a context of its own: where a tracer raises at the `pass` of an empty `finally`, which no
    # signal can hit, Python enters no handler, and the call seems to go on.
    while interrupted_at(line, lambda: copy_context().run(pay)):
        line += 1
        heard.clear()
        assert pay() == "paid"
        assert len(heard) == (2 if is_alone else 4), line
    assert line > 40


@in_a_thread
def test_no_signal_is_mute_and_nothing_is_around_after_an_interrupt_at_any_line():
    bus, heard = Bus(), []
    pay = hookable("pay", bus=bus)(lambda: "paid")
    bus.signal("pre_pay").connect(lambda pay, baggage: heard.append({**baggage}))

    def run():
        with bus.signal("pre_pay").muted(), baggage(user="ada"):
            pay()

    line = 1
    while interrupted_at(line, run):
        line += 1
        heard.clear()
        pay()
        assert heard == [{}], line
    assert line > 20
