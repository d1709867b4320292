"""Frameworks that run on hookbus, a folder each: `uninstall = adapters.agentscope.install()`.

A folder is loaded when it is first asked for, and it loads its framework only in `install`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import agenticx as agenticx
    from . import agentscope as agentscope
    from . import agno as agno
    from . import bub as bub
    from . import openclaw as openclaw

__all__ = ["agenticx", "agentscope", "agno", "bub", "openclaw"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"hookbus has no adapter {name!r}; there are {', '.join(__all__)}")


def __dir__() -> list[str]:
    return __all__
