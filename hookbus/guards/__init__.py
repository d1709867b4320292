"""Guards that people need, ready: each is plugged in with `bus.plug(guard)`, which gives its off
switch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._arounds import cache, fallback, retry, timeout
    from ._budget import budget
    from ._hosts import public_hosts
    from ._inside import inside
    from ._limit import limit
    from ._loops import no_loops
    from ._provenance import provenance
    from ._quarantine import quarantine
    from ._redact import redact
    from ._schema import schema
    from ._together import together
    from ._tools import tools

__all__ = [
    "budget", "cache", "fallback", "inside", "limit", "no_loops", "provenance", "public_hosts",
    "quarantine", "redact", "retry", "schema", "timeout", "together", "tools",
]  # fmt: skip

_ROOMS = {
    "budget": "_budget", "cache": "_arounds", "fallback": "_arounds", "inside": "_inside",
    "limit": "_limit", "no_loops": "_loops", "provenance": "_provenance", "public_hosts": "_hosts",
    "quarantine": "_quarantine", "redact": "_redact", "retry": "_arounds",
    "schema": "_schema", "timeout": "_arounds", "together": "_together", "tools": "_tools",
}  # fmt: skip
"""What is loaded when it is first asked for: each needs libraries of its own."""


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
