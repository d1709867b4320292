"""What every adapter needs: the right version of a package, attributes replaced, and all put back
as it was."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from importlib import metadata
from types import ModuleType, TracebackType
from typing import Any, ClassVar, Final, Self

from hookbus import HookError
from hookbus.exceptions import HookWarning

Uninstall = Callable[[], None]

_ABSENT: Final = object()


class Patches:
    """What one adapter has changed in its package.

    Use it as a `with` block in `install`, and return its `restore`: an exception in the block takes
    everything back.

        with Patches("agentscope", "1.0.21") as patches:
            patches.replace(AgentBase, "register_class_hook", classmethod(register))
        return patches.restore

    Args:
        package: the name the package is installed under.
        supported: its versions that the adapter was tested with.

    Raises:
        HookError: if the package is not installed, has another version, or runs on hookbus already.

    Attributes:
        is_live: whether the changes are in force. What an adapter has put in place must let calls
            pass when they are not: somebody may have kept it.
    """

    _in_force: ClassVar[dict[str, Patches]] = {}

    def __init__(self, package: str, *supported: str) -> None:
        require_version(package, *supported)
        self.package, self.is_live = package, False
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        if self.package in self._in_force:
            raise HookError(
                f"{self.package} runs on hookbus already; call the uninstall that the first "
                "install returned"
            )
        self._in_force[self.package] = self
        self.is_live = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if kind is not None:
            self.restore()

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute of a class, module or object. If somebody has replaced it since,
        `restore` leaves theirs and warns."""
        before = vars(owner).get(name, _ABSENT)
        setattr(owner, name, value)
        placed = vars(owner)[name]

        def undo() -> None:
            if vars(owner).get(name, _ABSENT) is not placed:
                where = (
                    f"{getattr(owner, '__qualname__', getattr(owner, '__name__', owner))}.{name}"
                )
                warnings.warn(
                    f"{where} was replaced after hookbus had; it stays as it is",
                    HookWarning,
                    stacklevel=4,
                )
            elif before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

        self._undo.append(undo)

    def replace_everywhere(self, home: ModuleType, name: str, value: Any) -> None:
        """Set a function in the module that has it, and in every other of the package that has
        imported it by name."""
        stock, package = getattr(home, name), f"{home.__name__.partition('.')[0]}."
        for module_name, module in list(sys.modules.items()):
            if (
                f"{module_name}.".startswith(package)
                and getattr(module, "__dict__", {}).get(name) is stock
            ):
                self.replace(module, name, value)

    def on_restore(self, undo: Callable[[], None]) -> None:
        """Have something else undone too, in the reverse order of all that was changed."""
        self._undo.append(undo)

    def restore(self) -> None:
        """Put everything back as it was. Twice is once."""
        if not self.is_live:
            return
        self.is_live = False
        del self._in_force[self.package]
        while self._undo:
            self._undo.pop()()


def require_version(package: str, *supported: str) -> str:
    """Return the installed version of a package.

    Raises:
        HookError: if it is not installed, or none of the supported versions.
    """
    known = " or ".join(supported)
    advice = f"pip install '{package}=={supported[-1]}'"
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:
        raise HookError(
            f"{package} is not installed; this adapter supports {known}: {advice}"
        ) from None
    if version not in supported:
        raise HookError(
            f"{package} {version} is installed, and this adapter supports {known}: {advice}"
        )
    return version
