"""What every guard here is: receivers that `bus.plug` connects together."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from .. import HookError, receives


class Plugged:
    """Receivers that belong together: `bus.plug` connects them, all or none.

    Attributes:
        hook: the hook whose calls they judge.
    """

    def __init__(self, hook: str = "tool_call") -> None:
        self.hook = hook

    def on(self, phase: str, receiver: Callable[..., Any], **options: Any) -> None:
        """Have `plug` connect a function to a phase of the hook, or to a whole signal's name."""
        name = phase if "_" in phase else f"{phase}_{self.hook}"
        setattr(self, f"_receiver_{len(vars(self))}", receives(name, **options)(receiver))


def library(name: str, guard: str) -> ModuleType:
    """Return a module of the extra `guards`.

    Raises:
        HookError: if it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise HookError(
            f"guards.{guard} needs {name.partition('.')[0]}: pip install 'hookbus[guards]'"
        ) from error
