"""Reads the entry points of plugins separately for each distribution, so that a broken distribution
does not hide the entry points of others.

The standard library's behavior for a broken distribution depends on the Python version, and may be
an exception for all entry points. Therefore this module parses the files itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import attrs

from hookbus.exceptions import PluginError

if TYPE_CHECKING:
    from importlib.metadata import Distribution

GROUP: Final = "hookbus.plugins"

_REFERENCE: Final = re.compile(
    r"(?P<module>\w+(?:\.\w+)*)\s*(?::\s*(?P<attribute>\w+(?:\.\w+)*)\s*)?(?:\[.*\]\s*)?"
)
_CURE: Final = "reinstall the distribution"


@attrs.frozen
class EntryPoint:
    """The entry point of a plugin, or a distribution whose entry points cannot be read.

    Attributes:
        name: the name of the plugin, or of the distribution if no entry point can be read.
        value: `module:function`, as in the metadata of the distribution.
        distribution: the distribution that contains the entry point.
        module: the module that the entry point names; empty if there is a problem.
        attribute: the function that the entry point names, or None.
        problem: the reason why the entry point cannot be used, or None.
    """

    name: str
    value: str
    distribution: Distribution
    module: str = ""
    attribute: str | None = None
    problem: PluginError | None = None


def entry_points() -> list[EntryPoint]:
    """Return the entry points of the group `hookbus.plugins`, in an order that does not depend on
    the path. If several distributions have the same name, only the first distribution on the path
    is used.
    """
    from importlib.metadata import distributions

    found: dict[str, list[EntryPoint]] = {}
    for distribution in distributions():
        name = name_of(distribution)
        if (key := re.sub("[-_.]+", "-", name).lower()) not in found:
            found[key] = list(_read(distribution, name))
    points = [point for several in found.values() for point in several]
    return sorted(points, key=lambda point: (point.name, point.value))


def name_of(distribution: Distribution) -> str:
    """Return the name of a distribution, from its folder if possible. The metadata may be broken,
    and reading the metadata of all distributions is slow.
    """
    folder = str(getattr(getattr(distribution, "_path", None), "name", ""))
    stem, dot, kind = folder.rpartition(".")
    if dot and kind in ("dist-info", "egg-info"):
        return stem.partition("-")[0]
    try:
        return str(distribution.name)
    except Exception:  # its metadata is broken in a way that the standard library does not handle
        return folder or "without a name"


def _read(distribution: Distribution, name: str) -> Iterator[EntryPoint]:
    try:
        text = distribution.read_text("entry_points.txt") or ""
    except (OSError, ValueError) as error:
        problem = PluginError(
            f"the entry points of the distribution {name} cannot be read ({error})", _CURE
        )
        yield EntryPoint(name, "", distribution, problem=problem)
        return
    group = None
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
        elif group == GROUP and line and not line.startswith(("#", ";")):
            yield _parse(distribution, name, line)


def _parse(distribution: Distribution, name: str, line: str) -> EntryPoint:
    plugin, equals, value = map(str.strip, line.partition("="))
    found = _REFERENCE.fullmatch(value)
    if equals and plugin and found:
        return EntryPoint(plugin, value, distribution, found["module"], found["attribute"])
    what = f"value {value!r}" if equals and plugin else f"line {line!r}"
    problem = PluginError(
        f"the entry point's {what} is malformed, in the distribution {name}",
        "write module:function" if equals and plugin else "write name = module:function",
    )
    return EntryPoint(plugin or name, value, distribution, problem=problem)
