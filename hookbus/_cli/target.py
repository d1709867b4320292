"""Imports the module or object that a command names."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from .. import Bus, HookError, default_bus
from .._ground.errors import did_you_mean

_OURS: Final = (os.path.dirname(os.path.dirname(__file__)) + os.sep, "<frozen ", importlib.__file__)


def module_of(name: str) -> ModuleType:
    """Import a module by its dotted name, or a file by its path. Modules in the current folder are
    also found.

    Raises:
        HookError: if the module does not exist or its import fails. The exception of a failed
            import is the `__cause__`.
    """
    path = Path(name)
    if name.endswith(".py") or os.sep in name:
        if not path.is_file():
            raise HookError(f"the file {name} does not exist: pass a module, or the path of a file")
        _begin_path(path.resolve().parent)
        name = path.stem
    else:
        _begin_path(Path.cwd())
    if not all(part.isidentifier() for part in name.split(".")):
        raise HookError(f"{name!r} is not a module name: write package.module, or path/file.py")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name and (name == missing.name or name.startswith(f"{missing.name}.")):
            raise HookError(
                f"the module {missing.name!r} is neither in this folder nor installed: "
                "change to its folder, or pass the path of the file"
            ) from None
        raise _failed(name, missing) from missing
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _failed(name, error) from error


def _begin_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _failed(name: str, error: BaseException) -> HookError:
    """Return the error for a module whose import raised an exception, with the location in the
    module's own code."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(_OURS)
    ]  # fmt: skip
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    if isinstance(error, SyntaxError) and error.filename:
        where = f" at {error.filename}:{error.lineno}"
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return HookError(f"importing {name} failed{where}: {message}")


def object_of(target: str) -> Any:
    """Return the object that `module:Class.method` names.

    Raises:
        HookError: if the target is malformed, or a part of it does not exist.
    """
    module_name, colon, path = target.rpartition(":")
    if not colon or not module_name or not path:
        raise HookError(f"{target!r} is incomplete: write module:Class.method, or file.py:name")
    found: Any = module_of(module_name)
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            owner = getattr(found, "__qualname__", None) or getattr(found, "__name__", found)
            names = [name for name in dir(found) if not name.startswith("__")]
            raise HookError(f"{owner} has no {part!r}{_meant(part, names)}") from None
    return found


def _meant(wrong: str, names: list[str]) -> str:
    """Return a suggestion with the likely name, but without the list of all names."""
    hint = did_you_mean(wrong, names)
    return hint if "did you mean" in hint else ""


def instrument_named(target: str) -> None:
    """Make one method or function hookable. The target is `module:Class.method` or
    `module:function`, optionally followed by `=name` for a different hook name.

    Raises:
        HookError: if the target does not exist or cannot be hooked.
    """
    path, _, hook = target.partition("=")
    module, colon, dotted = path.rpartition(":")
    owner, _, name = dotted.rpartition(".")
    if not colon or not name:
        raise HookError(f"--instrument {target!r} is incomplete: write module:Class.method")
    from .. import instrument

    owner_object = object_of(f"{module}:{owner}") if owner else module_of(module)
    instrument(owner_object, {name: hook or name})


def buses_of(module: ModuleType) -> dict[str, Bus]:
    """Return the buses of a module, which are the default bus and all buses in the module's
    variables."""
    buses = {name: value for name, value in vars(module).items() if isinstance(value, Bus)}
    own = {name: bus for name, bus in buses.items() if bus is not default_bus}
    return {"default_bus": default_bus, **own}
