"""Checks the requirements of a plugin: packages, programs, environment variables and other
plugins."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping
from typing import Final

from hookbus.exceptions import PluginError

from ._manifest import Manifest

_SPEC: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(.*)")
_CLAUSE: Final = re.compile(r"(==|!=|>=|<=|>|<)\s*(\d{1,18}(?:\.\d{1,18})*)")
_VERSION: Final = re.compile(r"v?(?:\d+!)?(\d{1,18}(?:\.\d{1,18})*)(.*)")

Version = tuple[tuple[int, ...], bool]
"""The numbers of a version without trailing zeros, and whether it is a final release."""

_HOLDS: Final[dict[str, Callable[[Version, Version], bool]]] = {
    "==": lambda have, want: have == want,
    "!=": lambda have, want: have != want,
    ">=": lambda have, want: have >= want,
    "<=": lambda have, want: have <= want,
    ">": lambda have, want: have > want,
    "<": lambda have, want: have < want,
}


def check_environment(manifest: Manifest, environment: Mapping[str, str]) -> None:
    """Raise PluginError for the first package, program or variable that is missing."""
    for requirement in manifest.packages:
        _check_package(requirement)
    for program in manifest.programs:
        if shutil.which(program, path=environment.get("PATH", os.defpath)) is None:
            raise PluginError(
                f"it needs the program {program!r}, which is not on the PATH", f"install {program}"
            )
    for variable in manifest.environment:
        if not environment.get(variable):
            raise PluginError(
                f"it needs the environment variable {variable}, which is not set", f"set {variable}"
            )


def _check_package(requirement: str) -> None:
    from importlib.metadata import PackageNotFoundError, version

    spec = _SPEC.fullmatch(requirement)
    clauses = [clause.strip() for clause in spec[2].split(",") if clause.strip()] if spec else []
    if spec is None or not all(_CLAUSE.fullmatch(clause) for clause in clauses):
        raise PluginError(
            f"requires.packages contains {requirement!r}, which cannot be read",
            "write a name and plain numbers, such as 'httpx>=0.27,<1'",
        )
    try:
        have = version(spec[1])
    except PackageNotFoundError:
        problem = f"it needs the package {requirement!r}, which is not installed"
        raise PluginError(problem, f"pip install '{requirement}'") from None
    if not all(_holds(have, clause) for clause in clauses):
        raise PluginError(
            f"it needs {requirement!r}, but {spec[1]} {have} is installed",
            f"pip install '{requirement}'",
        )


def _holds(have: str, clause: str) -> bool:
    wanted = _CLAUSE.fullmatch(clause)
    return wanted is not None and _HOLDS[wanted[1]](_version(have), _version(wanted[2]))


def _version(text: str) -> Version:
    """Parse the parts of a version that comparisons need. Versions with a, b, rc or dev come before
    the release; post and local versions count as the release.
    """
    found = _VERSION.match(text)
    if found is None:
        return (), False
    numbers = [int(part) for part in found[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), re.match(
        r"[-._]?(a|b|c|rc|alpha|beta|pre|preview|dev)", found[2], re.IGNORECASE
    ) is None


def circle_through(plugin: str, requires: Mapping[str, tuple[str, ...]]) -> list[str] | None:
    """Return a path from a plugin through requirements back to that plugin, or None."""
    ways = [[plugin]]
    seen: set[str] = set()
    while ways:
        way = ways.pop()
        for required in requires.get(way[-1], ()):
            if required == plugin:
                return [*way, plugin]
            if required not in seen:
                seen.add(required)
                ways.append([*way, required])
    return None


def in_load_order(requires: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Sort plugins so that each plugin comes after the plugins that it requires. Otherwise, keep
    the given order.

    Plugins in a cycle come last.
    """
    waiting, done = dict(requires), list[str]()
    while waiting:
        ready = next(
            (
                plugin
                for plugin, needs in waiting.items()
                if not any(need in waiting for need in needs)
            ),
            None,
        )
        if ready is None:
            return [*done, *waiting]
        done.append(ready)
        del waiting[ready]
    return done
