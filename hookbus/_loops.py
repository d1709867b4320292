"""The event loop that runs here, looked for without importing asyncio into programs that have none.
"""

from __future__ import annotations

import sys
from typing import Any


def running_asyncio() -> Any:
    """Return asyncio where a loop of it runs in this thread, else None."""
    asyncio = sys.modules.get("asyncio")
    look = getattr(asyncio, "_get_running_loop", None)  # not there while a thread imports asyncio
    return asyncio if look is not None and look() is not None else None


def running_task() -> Any:
    """Return the running task of asyncio, or None."""
    asyncio = running_asyncio()
    return None if asyncio is None else asyncio.current_task()
