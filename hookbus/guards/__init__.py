"""Ready-made guards and wrappers. Register them with `bus.register(guard)`, which returns a
function that disconnects it.
"""

from typing import TYPE_CHECKING, Any

from .._ground.late import import_late

if TYPE_CHECKING:
    from ._arounds import cache, fallback, retry, timeout
    from ._budget import budget
    from ._hosts import public_hosts
    from ._loops import no_loops
    from ._paths import paths_within
    from ._pinned_tools import pinned_tools
    from ._policy import policy
    from ._provenance import provenance
    from ._quarantine import quarantine
    from ._rate_limit import rate_limit
    from ._redact import redact
    from ._remote import remote
    from ._schema import schema
    from ._together import together
    from ._tool_policy import tool_policy

__all__ = [
    "budget", "cache", "fallback", "no_loops", "paths_within", "pinned_tools", "policy",
    "provenance", "public_hosts", "quarantine", "rate_limit", "redact", "remote", "retry", "schema",
    "timeout", "together", "tool_policy",
]  # fmt: skip

_MODULES = {
    "budget": "_budget", "cache": "_arounds", "fallback": "_arounds", "no_loops": "_loops",
    "paths_within": "_paths", "pinned_tools": "_pinned_tools", "policy": "_policy",
    "provenance": "_provenance",
    "public_hosts": "_hosts", "quarantine": "_quarantine", "rate_limit": "_rate_limit",
    "redact": "_redact", "remote": "_remote", "retry": "_arounds", "schema": "_schema",
    "timeout": "_arounds", "together": "_together", "tool_policy": "_tool_policy",
}  # fmt: skip
"""The module of each public name. Modules are imported on first use, because they need different
libraries.
"""


def __getattr__(name: str) -> Any:
    return import_late(__name__, _MODULES, name)


def __dir__() -> list[str]:
    return sorted(__all__)
