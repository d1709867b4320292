"""Check options: reject an unknown name, and suggest a known name. All constructors and functions
that take options use these checks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from inspect import Parameter
from typing import Any, Final, TypeVar

from ..exceptions import HookError
from .errors import did_you_mean
from .signatures import signature_of

__tracebackhide__: Final = True

def check_bus(bus: Any) -> None:
    """Raise HookError if the value is not a `Bus` object."""
    if not callable(getattr(type(bus), "hook_names", None)):
        made = "Bus() to create one" if isinstance(bus, type) else "bus=Bus(), or leave it out"
        raise HookError(f"bus={bus!r:.60} is not a bus: write {made}")


T = TypeVar("T", bound="Callable[..., Any]")


def named_options(made: T) -> T:
    """Wrap a class or function to reject unknown options with a `HookError` that lists the known
    options. The wrapper also rejects positional values for keyword-only options.

    The wrapper passes correct calls on unchanged. It does not change any other `TypeError`.
    """
    named: Any = made
    if not isinstance(made, type):
        named = _checked(made, made.__name__)
    else:
        named.__init__ = _checked(named.__init__, made.__name__)
    checked: T = named
    return checked


def _checked(function: Any, name: str) -> Any:
    is_method = next(iter(signature_of(function).parameters), "") == "self"  # a method

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except TypeError:
            problem = problem_with(function, name, args[is_method:], options, is_method)
            if problem is None:
                raise
        raise HookError(problem)

    return call


def problem_with(
    function: Any, name: str, args: tuple[Any, ...], options: dict[str, Any], is_method: bool
) -> str | None:
    """Return a message about an unknown option or about an option that was not passed by name, or
    None.
    """
    parameters = list(signature_of(function).parameters.values())[is_method:]
    kinds = {each.kind for each in parameters}
    names = [
        each.name for each in parameters
        if each.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    ]  # fmt: skip
    wrong = next((each for each in options if each not in names), None)
    if wrong is not None and Parameter.VAR_KEYWORD not in kinds:
        return f"{name} has no option {wrong!r}{did_you_mean(wrong, names)}"
    first = [each for each in parameters if each.kind in _BY_POSITION]
    if len(args) > len(first) and Parameter.VAR_POSITIONAL not in kinds:
        by_name = [each.name for each in parameters if each.kind is Parameter.KEYWORD_ONLY]
        plural = "s" * (len(first) != 1)
        takes = f"{name} takes {len(first) or 'no'} positional argument{plural}"
        takes = f"{takes}, but got {len(args)}"
        return takes + (f": pass the rest by name, {'=, '.join(by_name)}=" if by_name else "")
    return None


_BY_POSITION: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
