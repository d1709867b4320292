"""Decides whether an adapter may install on a release that it was not tested with."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final, Literal

from hookbus import Bus, HookError
from hookbus.exceptions import HookWarning

from ._patches import InPlace, Patches, Uninstall
from ._seams import SeamProblem, check_seams, run_self_test
from ._versions import (
    Between,
    Supported,
    advice_for,
    all_of,
    describe,
    installed_version,
    is_supported,
    is_tested,
    is_too_old,
    require_version,
)

Untested = Literal["check", "refuse"]
"""What `install` does with a release newer than the tested releases. `"check"` checks the seams and
runs the self-test; `"refuse"` rejects all but patch releases.
"""

Install = Callable[[Bus], Uninstall]

_IS_TESTING: Final[ContextVar[bool]] = ContextVar("hookbus_self_test", default=False)
"""Whether the self-test itself is calling `install`, on its private bus."""

_ANSWERED: Final[set[tuple[str, str]]] = set()
"""Adapters and versions whose self-test passed in this process, so that it runs only once."""


def patches_of(
    adapter: str, package: str, supported: Between | Supported, untested: Untested,
    install: Install, home: Any = None,
) -> Patches:  # fmt: skip
    """Check that the installed framework fits the adapter, and return the patches for its
    `install`.

    Args:
        adapter: the name of the adapter.
        package: the name under which the framework is installed.
        supported: the versions that the adapter was tested with.
        untested: how to treat a newer version.
        install: installs the adapter on a bus; the self-test calls it.
        home: the object with `sample` and `SEAMS`, or the name of that module; None means the
            adapter's module in `_seams`.

    Raises:
        HookError: if the package is not installed, is too old, is untested and rejected, or fails
            the self-test; the message names the seam.
    """
    if not Patches.is_in_force(package):  # otherwise the `with` block raises
        require_seams(adapter, package, all_of(supported), untested, install, home)
    return Patches(package)


def in_place_of(
    adapter: str, package: str, supported: Between | Supported, untested: Untested,
    install: Install, home: Any = None,
) -> InPlace:  # fmt: skip
    """Check the framework like `patches_of`, but only once per process. Return patches for an
    object that replaces no function, such as a middleware.
    """
    supported = all_of(supported)
    version = installed_version(package, *supported)
    if (adapter, version) not in _ANSWERED and not Patches.is_in_force(package):
        require_seams(adapter, package, supported, untested, install, home)
        _ANSWERED.add((adapter, version))
    return InPlace(package)


def require_seams(
    adapter: str, package: str, supported: Supported, untested: Untested, install: Install,
    home: Any,
) -> None:  # fmt: skip
    """Raise a `HookError` if the installed version is rejected or fails the self-test. Warn if the
    version is newer than the tested ones and not only a patch release.
    """
    if untested not in ("check", "refuse"):
        raise HookError(f"untested={untested!r} is not valid: use 'check' or 'refuse'")
    if _IS_TESTING.get():
        return
    version = installed_version(package, *supported)
    if is_tested(version, supported):
        return
    if untested == "refuse" or is_too_old(version, supported):
        require_version(package, *supported)
        return
    if problem := find_problem(adapter, install, home):
        raise HookError(
            f"{package} {version} is newer than tested ({describe(supported)}), and the self-test "
            f"of the adapter {adapter} failed: {problem}: {advice_for(package, supported)}"
        ) from problem.__cause__
    if is_supported(version, supported):
        return
    warnings.warn(
        f"{package} {version} is newer than tested; its self-test passed (the adapter {adapter} "
        f"was tested with {describe(supported)})",
        HookWarning,
        stacklevel=4,
    )


def find_problem(
    adapter: str, install: Install | None = None, home: Any = None
) -> SeamProblem | None:
    """Check an adapter's seams in the installed release, and run its self-test.

    Returns:
        The first problem found, or None.
    """
    if home is None or isinstance(home, str):
        home = import_module(home or f"{__package__}._seams.{adapter}")
    if home.sample is None:
        return SeamProblem("sample=", "is not set, so the adapter has no tool to test")
    token = _IS_TESTING.set(True)
    try:
        check_seams(home.SEAMS)
        run_self_test(home.sample, install or import_module(f"{__package__}.{adapter}").install)
    except SeamProblem as problem:
        return problem
    except Exception as error:
        raised = SeamProblem("install", f"raised {type(error).__name__}: {error}")
        raised.__cause__ = error
        return raised
    finally:
        _IS_TESTING.reset(token)
    return None
