"""Start daemon threads, and raise a clear error in interpreters that do not support them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import Context

from ..exceptions import HookError

__tracebackhide__ = True


def start_thread(target: Callable[[], object], name: str, purpose: str) -> threading.Thread:
    """Start a daemon thread in an empty context, so that the thread keeps no objects of its caller
    alive.

    Args:
        target: the function that the thread runs.
        name: the name of the thread.
        purpose: the feature that needs the thread, such as "deadlines", for the error message.

    Raises:
        HookError: if this interpreter does not support daemon threads, for example in WebAssembly.
        RuntimeError: if the system cannot start another thread.
    """
    try:
        thread = threading.Thread(target=target, name=name, daemon=True)
        Context().run(thread.start)  # since Python 3.14, threads may inherit it
    except RuntimeError as error:
        said = str(error)
        is_refused = "interpreter" in said and "shutdown" not in said
        if not is_refused and sys.platform not in ("emscripten", "wasi"):
            raise
        raise HookError(f"{purpose} need threads, which this interpreter does not allow") from error
    return thread
