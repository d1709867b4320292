"""Runs a Python program as `python` does, with its own `__main__`, arguments and path."""

from __future__ import annotations

import builtins
import importlib.util
import io
import os
import sys
import zipfile
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any

from .. import HookError


class Program:
    """A program that has not started yet.

    Args:
        name: a script, a folder or archive with a `__main__`, or a module.
        arguments: the arguments for `sys.argv`.
        is_module: whether the name is the name of a module, as for `python -m`.

    Raises:
        HookError: if the program does not exist.
    """

    def __init__(self, name: str, arguments: Sequence[str], *, is_module: bool) -> None:
        self._name, self._is_module = name, is_module
        if is_module:
            _first_on_path(os.getcwd())
            if not _is_there(name.partition(".")[0]):
                raise HookError(f"the module {name!r} does not exist: write its dotted name")
        elif not os.path.exists(name):
            raise HookError(f"the program {name} does not exist: pass a script, or -m and a module")
        elif os.path.isfile(name) and not zipfile.is_zipfile(name):
            _first_on_path(os.path.dirname(os.path.realpath(name)))
        else:
            _first_on_path(os.path.abspath(name))
        sys.argv[:] = ["-m" if is_module else name, *arguments]

    def run(self) -> None:
        """Run the program to completion. Exceptions of the program propagate.

        Raises:
            HookError: if the program cannot be read, or is not a Python program.
        """
        code, main = self._found()
        sys.modules["__main__"] = main
        exec(code, main.__dict__)

    def _found(self) -> tuple[CodeType, ModuleType]:
        name = self._name
        if self._is_module:
            try:
                spec = importlib.util.find_spec(name)
                if spec is not None and spec.submodule_search_locations is not None:
                    name = f"{name}.__main__"
                    spec = importlib.util.find_spec(name)
            except ModuleNotFoundError as error:
                raise HookError(f"the module {name!r} cannot be run: {error}") from None
            return _of_spec(spec, name)
        if os.path.isfile(name) and not zipfile.is_zipfile(name):
            return _of_script(name)
        return _of_spec(PathFinder.find_spec("__main__", [name]), f"{name}/__main__.py")


def _is_there(top: str) -> bool:
    try:
        return importlib.util.find_spec(top) is not None
    except ValueError:  # invalid name, or a module without a spec
        return top in sys.modules


def _first_on_path(folder: str) -> None:
    """Replace the folder of `hookbus` on the path with the program's folder."""
    if not sys.flags.safe_path:
        sys.path[:1] = [folder]


def _of_script(path: str) -> tuple[CodeType, ModuleType]:
    whole = os.path.abspath(path)
    try:
        with io.open_code(whole) as file:
            source = file.read()
    except OSError as error:
        raise HookError(f"{path} cannot be read: {error.strerror}") from None
    main = _main(__file__=whole, __loader__=SourceFileLoader("__main__", whole))
    return compile(source, whole, "exec", dont_inherit=True), main


def _of_spec(spec: ModuleSpec | None, name: str) -> tuple[CodeType, ModuleType]:
    loader: Any = spec and spec.loader
    code = loader.get_code(spec.name) if spec and hasattr(loader, "get_code") else None
    if spec is None or code is None:
        raise HookError(f"{name} is not a program: it contains no Python code to run")
    sys.argv[0] = spec.origin or name if sys.argv[0] == "-m" else sys.argv[0]
    return code, _main(
        __file__=spec.origin, __loader__=spec.loader, __spec__=spec, __package__=spec.parent,
        __cached__=spec.cached,
    )  # fmt: skip


def _main(**attributes: Any) -> ModuleType:
    """Return a new `__main__` as Python creates it, without any traces of hookbus."""
    main = ModuleType("__main__")
    usual: dict[str, Any] = {"__builtins__": builtins, "__annotations__": {}, "__cached__": None}
    main.__dict__.update({**usual, **attributes})
    for name, last in (("__annotations__", (3, 13)), ("__cached__", (3, 14))):
        if sys.version_info[:2] > last:  # the last Python version that sets it
            del main.__dict__[name]
    return main


def without_ours(trace: TracebackType | None) -> TracebackType | None:
    """Return the part of a traceback that starts in the program."""
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_FOLDER):
        trace = trace.tb_next
    return trace


_FOLDER = os.path.dirname(__file__) + os.sep
