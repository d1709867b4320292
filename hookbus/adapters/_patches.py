"""Patches for all adapters: check the version of a package, replace attributes, and restore
them."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType, TracebackType
from typing import Any, ClassVar, Final, Self, TypeVar

from hookbus import Bus, HookError
from hookbus.exceptions import HookWarning

from .._ground.keywords import named_options as named_options
from .._ground.signatures import signature_of
from ._versions import Between as Between
from ._versions import require_version as require_version

Uninstall = Callable[[], None]
F = TypeVar("F", bound=Callable[..., Any])

_ABSENT: Final = object()


class Patches:
    """The changes that one adapter made in its package.

    Use `Patches` in a `with` block in `install`, and return the `restore` method. An exception in
    the block undoes all changes.

        with Patches("agentscope", "1.0.21") as patches:
            patches.replace(AgentBase, "register_class_hook", classmethod(register))
        return patches.restore

    Args:
        package: the name under which the package is installed.
        supported: its tested versions, or their range. Leave it out if the version was already
            checked.

    Raises:
        HookError: if the package is not installed, has another version, or already runs on hookbus.

    Attributes:
        bus: the bus that the package runs on, if the adapter sets this attribute.
        is_live: whether the changes are in force. If not, an adapter's replacement functions must
            pass calls through, because other code may still reference these functions.
    """

    _in_force: ClassVar[dict[str, Patches]] = {}
    bus: Bus | None = None

    def __init__(self, package: str, *supported: str | Between) -> None:
        require_version(package, *supported)
        self._begin(package)

    def _begin(self, package: str) -> None:
        self.package, self.is_live = package, False
        self._undo: list[Callable[[], None]] = []

    @classmethod
    def without_package(cls, name: str) -> Self:
        """Return patches that are always in force, for calls that arrive from another process."""
        made = cls.__new__(cls)
        made._begin(name)
        made.is_live = True
        return made

    def __enter__(self) -> Self:
        if self.package in self._in_force:
            raise HookError(
                f"{self.package} already runs on hookbus; call the uninstall that the first "
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
        """Set an attribute of a class, module or object. If other code replaces the attribute
        later, `restore` leaves it unchanged and warns.
        """
        before = vars(owner).get(name, _ABSENT)
        setattr(owner, name, value)
        placed = vars(owner)[name]

        def undo() -> None:
            if vars(owner).get(name, _ABSENT) is not placed:
                where = (
                    f"{getattr(owner, '__qualname__', getattr(owner, '__name__', owner))}.{name}"
                )
                warnings.warn(
                    f"{where} was replaced after hookbus replaced it; it is left unchanged",
                    HookWarning,
                    stacklevel=4,
                )
            elif before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

        self._undo.append(undo)

    def replace_everywhere(
        self, home: ModuleType, name: str, value: Any, *, also_outside: bool = False
    ) -> None:
        """Replace a function in its module, and in every module of the package that imported it by
        name. With `also_outside`, replace it in all modules and under any name.
        """
        stock, package = getattr(home, name), f"{home.__name__.partition('.')[0]}."
        for module_name, module in list(sys.modules.items()):
            held = module.__dict__ if isinstance(module, ModuleType) else {}
            if also_outside:
                for each in [key for key, found in list(held.items()) if found is stock]:
                    self.replace(module, each, value)
            elif f"{module_name}.".startswith(package) and held.get(name) is stock:
                self.replace(module, name, value)

    def wrap_function(
        self, home: ModuleType, name: str, make: Callable[[Any], Any], *, also_outside: bool = False
    ) -> None:
        """Replace a function with the result of `make(function)`, in the same places as
        `replace_everywhere`.

        Raises:
            HookError: if the module no longer has a function with that name.
        """
        made = make(self.look_for(home, name))
        self.replace_everywhere(home, name, made, also_outside=also_outside)

    def wrap(
        self, cls: type, name: str, make: Callable[[type, Any], Any], *, is_optional: bool = False
    ) -> None:
        """Replace a method in a class, and in every existing or future subclass that overrides the
        method.

        Args:
            cls: the class; the method may be defined only in subclasses.
            name: the method.
            make: called with the class that has the method and the function; returns the
                replacement.
            is_optional: whether the method may be missing until a later class defines it.

        Raises:
            HookError: if no existing class has the method, and it is not optional.
        """
        classes = [*_with_subclasses(cls)]
        found = [each for each in classes if inspect.isfunction(vars(each).get(name))]
        if not found and not is_optional:
            raise self._missing(f"{cls.__qualname__}.{name}")
        for each in found:
            self.replace(each, name, make(each, vars(each)[name]))
        own = vars(cls).get("__init_subclass__")

        def __init_subclass__(new: Any, /, **kwargs: Any) -> None:
            if own is None:
                super(cls, new).__init_subclass__(**kwargs)  # type: ignore[arg-type]
            else:
                own.__get__(None, new)(**kwargs)
            if self.is_live and inspect.isfunction(vars(new).get(name)):
                self.replace(new, name, make(new, vars(new)[name]))

        self.replace(cls, "__init_subclass__", classmethod(__init_subclass__))

    @classmethod
    def is_in_force(cls, package: str) -> bool:
        """Return whether a package runs on hookbus."""
        return package in cls._in_force

    @classmethod
    def runs_on(cls, package: str, bus: Bus) -> bool:
        """Return whether a package runs on hookbus, and on this bus."""
        patches = cls._in_force.get(package)
        return patches is not None and patches.bus is bus

    def _missing(self, name: str) -> HookError:
        return HookError(
            f"{self.package} no longer has {name}, which this adapter replaces: install a "
            "supported version"
        )

    def look_for(self, owner: Any, name: str) -> Any:
        """Return an attribute of a module or class; a newer version of the package may no longer
        have it.

        Raises:
            HookError: if the attribute is missing.
        """
        if not hasattr(owner, name):
            raise self._missing(f"{getattr(owner, '__qualname__', owner.__name__)}.{name}")
        return getattr(owner, name)

    def on_restore(self, undo: Callable[[], None]) -> None:
        """Register a function for `restore` to call. `restore` undoes changes and calls functions
        in reverse order.
        """
        self._undo.append(undo)

    def restore(self) -> None:
        """Restore everything. A second call does nothing."""
        if not self.is_live:
            return
        self.is_live = False
        del self._in_force[self.package]
        while self._undo:
            self._undo.pop()()


class InPlace(Patches):
    """Patches that replace nothing and are always in force, for an object that users install in the
    framework themselves.
    """

    _in_place: ClassVar[set[str]] = set()

    def __init__(self, package: str, *supported: str | Between) -> None:
        super().__init__(package, *supported)
        self.is_live = True
        self._in_place.add(package)


def packages_on_hookbus() -> frozenset[str]:
    """Return the packages whose calls run through hookbus, on any bus."""
    return frozenset((*Patches._in_force, *InPlace._in_place))


def _with_subclasses(cls: type) -> Iterator[type]:
    seen: set[type] = set()
    waiting = [cls]
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            waiting += type.__subclasses__(each)
            yield each


def carries(*names: str) -> Callable[[F], F]:
    """Mark the parameters of a hookable method that an adapter needs only to run the call. These
    parameters are not part of a request for approval.
    """

    def mark(function: F) -> F:
        function.__dict__["__hookbus_carriers__"] = names
        return function

    return mark


def exceptions(*paths: str) -> tuple[type[BaseException], ...]:
    """Return the classes with these names, such as `"langgraph.errors:GraphBubbleUp"`. Classes that
    the installed packages do not have are left out.
    """
    found: list[type[BaseException]] = []
    for path in paths:
        module, _, name = path.partition(":")
        try:
            found.append(getattr(import_module(module), name))
        except (ImportError, AttributeError):
            continue
    return tuple(found)


def declare_fields(patches: Patches, cls: type) -> None:
    """Let hookbus seal objects of a plain class, by declaring the parameters of its constructor as
    fields.
    """
    names = [name for name in signature_of(cls).parameters if not name.startswith("_")]
    patches.replace(cls, "__hookbus_fields__", tuple(names))
