"""Detect whether gevent or eventlet has replaced threads with greenlets."""

from __future__ import annotations

import _thread
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
