"""Start real threads of the operating system, even if gevent or eventlet replaces threads with
greenlets.
"""

from __future__ import annotations

import _thread
import sys
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any


def thread_starter() -> Any:
    """Return the function that currently starts threads. The function changes when gevent or
    eventlet patches `threading`. Locks and queues that were created before the patch block all
    greenlets.
    """
    return _thread.start_new_thread


def are_greenlets() -> bool:
    """Return whether new threads are greenlets, which all run in one thread of the operating
    system.
    """
    return type(_thread.start_new_thread) is not BuiltinFunctionType


def start_real_thread(function: Callable[[], object]) -> None:
    """Run a function in a daemon thread of the operating system, even if `threading` is patched.

    Raises:
        RuntimeError: if no such thread can be started, or if other software than gevent or eventlet
            patched threads.
    """
    gevent: Any = sys.modules.get("gevent.monkey")
    eventlet: Any = sys.modules.get("eventlet.patcher")
    start: Any = _thread.start_new_thread
    if are_greenlets() and gevent is not None and gevent.is_module_patched("_thread"):
        start = gevent.get_original("_thread", "start_new_thread")
    elif are_greenlets() and eventlet is not None:
        start = eventlet.original("_thread").start_new_thread
    if type(start) is not BuiltinFunctionType:
        raise RuntimeError("threads were patched by something other than gevent or eventlet")
    start(function, ())
