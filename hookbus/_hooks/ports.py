"""Ports of the bus: attributes that other packages provide on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Port(Generic[T]):
    """An attribute of the bus that is created on first access. Its package may be in a layer above
    the bus. The package is loaded at the same time.

    Args:
        module: the module that contains the class of the attribute.
        made: the name of the class. The port calls the class with the bus.
    """

    def __init__(self, module: str, made: str) -> None:
        self._module, self._class = module, made

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, bus: Any, owner: type) -> T:
        made: T = getattr(import_module(self._module), self._class)(bus)
        # One atomic operation, because another thread may have created it in the meantime.
        filled: T = bus.__dict__.setdefault(self._name, made)
        return filled


def advice_of(bus: Any) -> Any:
    """Return the advice of a bus. Return None if it cannot be loaded, for example without a file
    descriptor, near the recursion limit, or while the package is being loaded. A call that needs
    no advice must not fail because of it.
    """
    try:
        return bus._advice
    except Exception:
        return None
