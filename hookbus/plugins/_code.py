"""Imports the code of a plugin from a folder as a separate package, and removes this code from the
process.
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module, invalidate_caches
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import ModuleType
from typing import Any, Final

from hookbus._callables.callables import name_of
from hookbus._ground.locks import Lock
from hookbus.exceptions import PluginError

from .._ground.signatures import signature_of
from ._discovery import Candidate

PREFIX: Final = "hookbus_plugin_"
_naming = Lock()


class _FreshSource(SourceFileLoader):
    """Compiles the source each time, because cached bytecode seems up to date if the file changes
    again within the same second.
    """

    def path_stats(self, path: Any) -> Any:
        raise OSError(f"no bytecode is cached for {path}")


class _FolderFinder:
    """Finds the modules of one plugin folder under the package name of the plugin."""

    def __init__(self, package: str, folder: str) -> None:
        self.package, self.folder = package, folder
        self.is_left = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if self.is_left or (name != self.package and not name.startswith(f"{self.package}.")):
            return None
        base = os.path.join(self.folder, *name.split(".")[1:])
        init = os.path.join(base, "__init__.py")
        if os.path.isfile(init):
            return spec_from_file_location(
                name, init, loader=_FreshSource(name, init), submodule_search_locations=[base]
            )
        if name == self.package:
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [base]
            return spec
        file = f"{base}.py"
        if os.path.isfile(file):
            return spec_from_file_location(name, file, loader=_FreshSource(name, file))
        return None


class Code:
    """The modules of one plugin.

    Modules of a folder are a separate package and are removed with the plugin. Modules of an
    installed distribution are shared and not removed, except after a failed import.
    """

    def __init__(self, candidate: Candidate, replaced: Code | None = None) -> None:
        module, _, self._function = (candidate.entry or "").partition(":")
        self._finder: _FolderFinder | None = None
        self._replaced = replaced
        self._aside: dict[str, ModuleType] = {}
        if candidate.folder is None:
            self.package, self._module = module, module
        else:
            folder = os.path.realpath(candidate.folder)
            with _naming:
                sweep()
                if replaced is not None:
                    replaced._step_aside()
                self.package = _free_name(candidate.id)
                self._finder = _FolderFinder(self.package, folder)
                sys.meta_path.insert(0, self._finder)
            self._module = f"{self.package}.{module}"
        self._earlier = frozenset(self._modules())

    def register(self) -> Callable[[Any], Any]:
        """Import the code and return the function that registers the plugin.

        Raises:
            PluginError: if the function does not exist or is not a plain function.
        """
        invalidate_caches()
        try:
            found = operator.attrgetter(self._function)(import_module(self._module))
        except ModuleNotFoundError as error:
            if error.name != self._module:
                raise
            raise PluginError(
                f"the module {self._module} does not exist",
                "correct entry = ..., or create the file that it names",
            ) from None
        except AttributeError:
            if self._module not in sys.modules:
                raise
            raise PluginError(
                f"{self._module} has no {self._function}", f"write def {self._function}(api) there"
            ) from None
        kinds = (
            inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction,
        )  # fmt: skip
        if not callable(found) or any(is_kind(found) for is_kind in kinds):
            raise PluginError(
                f"{self._module}:{self._function} is not a plain function",
                f"write def {self._function}(api), without async or yield",
            )
        _check_takes_api(found)
        function: Callable[[Any], Any] = found
        return function

    @property
    def leaves(self) -> bool:
        """Whether the modules are removed with the plugin."""
        return self._finder is not None

    def homes(self) -> frozenset[int]:
        """Return the ids of the modules' namespaces, for comparison with `home_of`."""
        return frozenset(id(vars(module)) for module in self._modules().values())

    def remove(self) -> None:
        """Remove the modules of a folder from the process, except any that other modules have
        replaced.
        """
        finder, self._finder = self._finder, None
        if finder is None:
            return
        if finder in sys.meta_path:
            _forget(self._modules())
            _take_out(finder)
        self._aside.clear()

    def abandon(self) -> None:
        """Abandon the modules, because their bus no longer exists and the plugin was not unloaded.

        The garbage collector may call this method at any time, even while other code iterates over
        the modules or finders of the process. Therefore, the modules are removed only when the next
        plugin is loaded.
        """
        if self._finder is not None:
            self._finder.is_left = True

    def undo(self) -> None:
        """Remove the modules that a failed load has imported, and restore the modules that they
        replaced.
        """
        _forget(name for name in self._modules() if name not in self._earlier)
        self.remove()
        if self._replaced is not None:
            self._replaced._step_back()

    def _modules(self) -> dict[str, ModuleType]:
        return self._aside or _modules_of(self.package)

    def _step_aside(self) -> None:
        self._aside = self._modules()
        _forget(self._aside)
        if self._finder is not None:
            sys.meta_path.remove(self._finder)

    def _step_back(self) -> None:
        sys.modules.update(self._aside)
        self._aside = {}
        if self._finder is not None:
            sys.meta_path.insert(0, self._finder)


def home_of(function: Any) -> int | None:
    """Return the id of the namespace of the module that defines a callable."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__globals__"):
        function = getattr(type(function), "__call__", None)  # noqa: B004
    home = getattr(function, "__globals__", None)
    return None if home is None else id(home)


def _take_out(finder: _FolderFinder) -> None:
    sys.meta_path.remove(finder)
    for path in list(sys.path_importer_cache):
        if path == finder.folder or path.startswith(os.path.join(finder.folder, "")):
            sys.path_importer_cache.pop(path, None)


def sweep() -> None:
    """Remove the finders of abandoned plugins, and their modules."""
    for finder in list(sys.meta_path):
        if isinstance(finder, _FolderFinder) and finder.is_left:
            _forget(_modules_of(finder.package))
            _take_out(finder)


def _modules_of(package: str) -> dict[str, ModuleType]:
    inside = f"{package}."
    return {
        name: module
        for name, module in list(sys.modules.items())
        if name.startswith(package) and (name == package or name.startswith(inside))
    }


def _forget(names: Iterable[str]) -> None:
    for name in list(names):
        sys.modules.pop(name, None)


def _check_takes_api(register: Callable[..., Any]) -> None:
    try:
        signature_of(register).bind(None)
    except TypeError as error:
        raise PluginError(
            f"{name_of(register)} cannot be called with an api ({error})", "write def register(api)"
        ) from None
    except ValueError:
        return  # the parameters of a C function are unknown: the call raises if they do not fit


def _free_name(plugin: str) -> str:
    """Return the package name of a plugin. The name ends with a number if another bus in this
    process has already loaded the plugin.
    """
    base = f"{PREFIX}{plugin.replace('-', '_')}"
    taken = {getattr(finder, "package", None) for finder in sys.meta_path}
    return next(name for name in _names_from(base) if name not in taken and name not in sys.modules)


def _names_from(base: str) -> Iterator[str]:
    yield base
    number = 2
    while True:
        yield f"{base}_{number}"
        number += 1
