"""Threads of the operating system, also where gevent or eventlet put greenlets in their place."""

from __future__ import annotations

import _thread
import sys
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any


def thread_starter() -> Any:
    """Return what starts threads now. It is another function once gevent or eventlet has patched
    `threading`: then locks and queues that were made before hold up every greenlet at once.
    """
    return _thread.start_new_thread


def are_greenlets() -> bool:
    """Tell whether new threads are greenlets, all in one thread of the operating system."""
    return type(_thread.start_new_thread) is not BuiltinFunctionType


def start_real_thread(function: Callable[[], object]) -> None:
    """Run a function in a daemon thread of the operating system, whatever `threading` makes.

    Raises:
        RuntimeError: if no such thread can be started, or something else than gevent or eventlet
            replaced them.
    """
    gevent: Any = sys.modules.get("gevent.monkey")
    eventlet: Any = sys.modules.get("eventlet.patcher")
    start: Any = _thread.start_new_thread
    if are_greenlets() and gevent is not None and gevent.is_module_patched("_thread"):
        start = gevent.get_original("_thread", "start_new_thread")
    elif are_greenlets() and eventlet is not None:
        start = eventlet.original("_thread").start_new_thread
    if type(start) is not BuiltinFunctionType:
        raise RuntimeError("threads were replaced here by something else than gevent or eventlet")
    start(function, ())
