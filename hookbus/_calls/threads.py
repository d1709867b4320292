"""Daemon threads of hookbus's own, and what is said where this interpreter allows none."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import Context

from ..exceptions import HookError

__tracebackhide__ = True


def start_thread(target: Callable[[], object], name: str, purpose: str) -> threading.Thread:
    """Start a daemon thread in an empty context, which keeps nothing of its caller alive.

    Args:
        target: what it runs.
        name: of the thread.
        purpose: what needs it, for the message: "deadlines".

    Raises:
        HookError: if this interpreter allows no such threads, as subinterpreters and WebAssembly
            do.
        RuntimeError: if the system has no thread left.
    """
    try:
        thread = threading.Thread(target=target, name=name, daemon=True)
        Context().run(thread.start)  # from Python 3.14 on it may inherit its starter's context
    except RuntimeError as error:
        said = str(error)
        is_refused = "interpreter" in said and "shutdown" not in said
        if not is_refused and sys.platform not in ("emscripten", "wasi"):
            raise
        raise HookError(f"{purpose} need threads, which this interpreter does not allow") from error
    return thread
