"""The versions of a package that an adapter was tested with, and advice on what to install."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import Final, NamedTuple

from hookbus import HookError

Numbers = tuple[int, int, int]

_NEEDS_PYTHON: Final = {"bub": (3, 12)}
"""Packages that need a newer Python than hookbus does, with the oldest Python version that each
supports.
"""

_LAST: Final = 10**9
_PLAIN_NAME: Final = re.compile(r"[\w.-]+")
_CLAUSE: Final = re.compile(r"(===|==|~=|!=|<=|>=|<|>)\s*([^\s,;()]+)")


class Between(NamedTuple):
    """The versions that an adapter was tested with, from the oldest to the newest. Patch releases
    of the newest version are also included; `untested="refuse"` accepts them.
    """

    oldest: str
    newest: str

    def __str__(self) -> str:
        return f"{self.oldest} to {self.newest}"

    def __contains__(self, version: object) -> bool:
        found, oldest, newest = map(numbers_of, (str(version), *self))
        return oldest <= found and found[:2] <= newest[:2]


Supported = tuple[str | Between, ...]


def numbers_of(version: str) -> Numbers:
    """Return the first three numbers of a version; a missing number is 0."""
    found = [int(part) for part in re.findall(r"\d+", version)[:3]]
    major, minor, patch = (*found, 0, 0, 0)[:3]
    return major, minor, patch


def all_of(supported: Between | Supported) -> Supported:
    """Return the supported versions of an adapter as a tuple."""
    return (supported,) if isinstance(supported, Between) else supported


def is_tested(version: str, supported: Supported) -> bool:
    """Return whether a version is within the tested range."""
    found = numbers_of(version)
    return any(
        numbers_of(each.oldest) <= found <= numbers_of(each.newest)
        if isinstance(each, Between) else version == each for each in supported
    )  # fmt: skip


def is_supported(version: str, supported: Supported) -> bool:
    """Return whether a version was tested, or is a patch release of the newest tested one."""
    return any(version in each if isinstance(each, Between) else version == each
               for each in supported)  # fmt: skip


def is_too_old(version: str, supported: Supported) -> bool:
    """Return whether a version is older than all tested ones. Such versions are known to lack
    something that the adapter needs.
    """
    oldest = [each.oldest if isinstance(each, Between) else each for each in supported]
    return numbers_of(version) < min(map(numbers_of, oldest))


def installed_version(package: str, *supported: str | Between) -> str:
    """Return the installed version of a package, supported or not.

    Raises:
        HookError: if the package is not installed; the message advises what to install.
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        known = f"; this adapter supports {describe(supported)}" if supported else ""
        advice = f": {_install(package, supported)}" if supported else ""
        raise HookError(f"{package} is not installed{known}{advice}") from None


def require_version(package: str, *supported: str | Between) -> str:
    """Return the installed version of a package.

    Raises:
        HookError: if the package is not installed, or its version is not supported.
    """
    version = installed_version(package, *supported)
    if supported and not is_supported(version, supported):
        raise HookError(
            f"{package} {version} is installed, and this adapter supports {describe(supported)}: "
            f"{advice_for(package, supported)}"
        )
    return version


def describe(supported: Supported) -> str:
    """Return the versions as readable text."""
    return " or ".join(map(str, supported))


# -- what to install -------------------------------------------------------------------------------


def advice_for(package: str, supported: Supported) -> str:
    """Return advice on what to install. The advice respects the requirements of other installed
    packages. If no supported version meets these requirements, the advice names the packages and
    recommends no version.
    """
    required = dict(_requirements(package))
    described = "; ".join(f"{name} requires {each}" for name, each in sorted(required.items()))
    for each in reversed(supported):
        if wanted := _fitting(each, [*required.values()]):
            return f"pip install '{package}{wanted}'" + (f" ({described})" if described else "")
    return (
        f"no supported version fits the installed packages ({described}); "
        "look for a newer hookbus, or change these packages together"
    )


def _install(package: str, supported: Supported) -> str:
    least = _NEEDS_PYTHON.get(package, (3, 0))
    if sys.version_info < least:
        return f"it needs Python {least[0]}.{least[1]} or newer, and this is {_python()}"
    return advice_for(package, supported)


def _python() -> str:
    return "{}.{}".format(*sys.version_info)


def _fitting(supported: str | Between, requirements: list[str]) -> str:
    """Return a specifier for the supported versions that all requirements allow, or an empty
    string."""
    clauses = [found for each in requirements for found in _CLAUSE.findall(each)]
    if isinstance(supported, str):
        fits = all(_allows(sign, numbers_of(text), text, supported) for sign, text in clauses)
        return f"=={supported}" if fits else ""
    major, minor, _ = numbers_of(supported.newest)
    low, high = (numbers_of(supported.oldest), supported.oldest), (major, minor + 1, 0)
    ceiling, excluded = f"{major}.{minor + 1}", ""
    for sign, text in clauses:
        if sign == "!=":
            excluded += f",!={text}"
            continue
        least, below = _interval(sign, text)
        if least > low[0]:
            low = least, text if sign in (">=", "~=") else ".".join(map(str, least))
        if below < high:
            high, ceiling = below, ".".join(map(str, below))
    return f">={low[1]},<{ceiling}{excluded}" if low[0] < high else ""


def _interval(sign: str, text: str) -> tuple[Numbers, Numbers]:
    """Return the lowest version that a clause allows, and the lowest higher version that the clause
    forbids."""
    numbers = numbers_of(text)
    major, minor, patch = numbers
    after, most = (major, minor, patch + 1), (_LAST, 0, 0)
    if sign in ("==", "===", "~="):
        parts = len(re.findall(r"\d+", text)[:3]) - (sign == "~=")
        is_open = sign == "~=" or text.endswith("*")
        ends = {1: (major + 1, 0, 0), 2: (major, minor + 1, 0)}
        return numbers, ends.get(parts, after) if is_open else after
    return {
        ">=": (numbers, most), ">": (after, most), "<": ((0, 0, 0), numbers),
        "<=": ((0, 0, 0), after),
    }[sign]  # fmt: skip


def _allows(sign: str, numbers: Numbers, text: str, version: str) -> bool:
    if sign == "!=":
        return numbers != numbers_of(version)
    least, below = _interval(sign, text)
    return least <= numbers_of(version) < below


def _requirements(package: str) -> Iterator[tuple[str, str]]:
    """Yield all other installed packages that require a package, with their requirements."""
    for each in metadata.distributions():
        for wants in each.requires or ():
            name = _PLAIN_NAME.match(wants)
            is_meant = name is not None and name[0].lower().replace("_", "-") == package
            if is_meant and "extra ==" not in wants and each.name != "hookbus":
                yield f"{each.name} {each.version}", wants.partition(";")[0].strip()
