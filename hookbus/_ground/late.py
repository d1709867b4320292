"""Import the public names of a package when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any


def import_late(package: str, modules: Mapping[str, str], name: str) -> Any:
    """Import a public name of a package, and store it in the package. The `__getattr__` of the
    package calls this function.

    Args:
        package: the name of the package.
        modules: for each public name, the module that defines it. A public name may also be a
            module.
        name: the public name to import.

    Raises:
        AttributeError: if the package has no such public name.
    """
    if name not in modules:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module = import_module(f"{package}.{modules[name]}")
    found = module if modules[name] == name else getattr(module, name)
    vars(sys.modules[package])[name] = found
    return found
