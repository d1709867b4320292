"""Checks that the functions an adapter replaces still exist and have the same parameters."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

from ..._ground.signatures import signature_of
from ._frame import SeamProblem

_SEAM: Final = re.compile(r"(async )?([\w.]+):([\w.]+)(?:\((.*)\))?")


class Seam(NamedTuple):
    """A function or class that an adapter replaces or reads.

    Attributes:
        is_async: whether the object is a coroutine function.
        module: the name of its module.
        name: the name within the module; a method's name includes its class.
        parameters: the names of the parameters, with `*` and `/` as in a signature; None if
            parameters are not checked.
    """

    is_async: bool
    module: str
    name: str
    parameters: tuple[str, ...] | None


def read_seams(text: str) -> Iterator[Seam]:
    """Yield the seams of a list. An indented line continues the previous line. The name of a module
    may also be followed by a line break.
    """
    joined = re.sub(r"\n\s+", " ", text.strip()).replace(": ", ":")
    for line in joined.splitlines():
        found = _SEAM.fullmatch(line.strip())
        if found is None:
            raise ValueError(f"this line is not a seam: {line!r}")
        is_async, module, name, parameters = found.groups()
        names = None if parameters is None else tuple(re.findall(r"[\w*/]+", parameters))
        yield Seam(bool(is_async), module, name, names)


def check_seams(text: str) -> None:
    """Check that every seam of a list exists and has its parameters.

    Raises:
        SeamProblem: with the first seam that is missing or has different parameters.
    """
    for seam in read_seams(text):
        found = _find(seam)
        if found is _NOT_INSTALLED or seam.parameters is None:
            continue
        function = inspect.unwrap(getattr(found, "__func__", found))
        is_async = inspect.iscoroutinefunction(function)
        if is_async != seam.is_async:
            raise SeamProblem(seam.name, f"is {'' if is_async else 'no longer '}an async function")
        _check_parameters(seam, function)


_NOT_INSTALLED: Final = object()


def _find(seam: Seam) -> Any:
    try:
        found: Any = import_module(seam.module)
    except ImportError as error:
        if _is_of_another_package(seam.module, error):
            return _NOT_INSTALLED
        raise SeamProblem(f"{seam.module}:{seam.name}", f"cannot be imported: {error}") from error
    names = seam.name.split(".")
    for depth, name in enumerate(names, 1):
        # Adapters never replace inherited attributes: the class itself must have it.
        if not (name in vars(found) if isinstance(found, type) else hasattr(found, name)):
            path = ".".join(names[:depth])
            raise SeamProblem(f"{seam.module}:{path}", "is missing")
        found = vars(found)[name] if isinstance(found, type) else getattr(found, name)
    return found


def _is_of_another_package(module: str, error: ImportError) -> bool:
    """Return whether a module cannot be imported because an optional package is not installed."""
    cause = error.__cause__
    missing = error.name or (cause.name if isinstance(cause, ImportError) else None) or module
    above, _, _ = missing.rpartition(".")
    # A namespace package, such as `google`, is shared by separate packages.
    return _is_absent(missing.partition(".")[0]) or bool(above and _is_namespace(above))


def _is_absent(name: str) -> bool:
    return name not in sys.modules and find_spec(name) is None


def _is_namespace(name: str) -> bool:
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return spec is not None and spec.origin is None


def _check_parameters(seam: Seam, function: Any) -> None:
    """Check that all listed parameters exist in the same order, and that all other parameters are
    optional."""
    try:
        parameters = signature_of(function).parameters
    except (TypeError, ValueError):
        return  # written in C: the self-test calls it
    listed = [each.lstrip("*") for each in seam.parameters or () if each.strip("*/")]
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    if gone := [each for each in listed if each not in parameters and not takes_any]:
        raise SeamProblem(seam.name, f"no longer has the parameter {gone[0]}")
    if [each for each in parameters if each in listed] != [
            each for each in listed if each in parameters]:  # fmt: skip
        raise SeamProblem(seam.name, f"takes its parameters in another order: {[*parameters]}")
    for name, each in parameters.items():
        is_optional = each.default is not each.empty or each.kind in (
            each.VAR_KEYWORD, each.VAR_POSITIONAL)  # fmt: skip
        if name not in listed and not is_optional:
            raise SeamProblem(seam.name, f"requires a new parameter: {name}")
