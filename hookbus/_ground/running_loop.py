"""Find the running event loop without importing asyncio in programs that do not use asyncio."""

from __future__ import annotations

import sys
from typing import Any


def running_asyncio() -> Any:
    """Return the module asyncio if an asyncio loop is running in this thread, else None."""
    asyncio = sys.modules.get("asyncio")
    look = getattr(asyncio, "_get_running_loop", None)  # missing during an import
    return asyncio if look is not None and look() is not None else None


def running_task() -> Any:
    """Return the running asyncio task, or None."""
    asyncio = running_asyncio()
    return None if asyncio is None else asyncio.current_task()
