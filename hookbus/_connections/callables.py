"""What a callable tells of itself without being called: its code, its name, its place, its colour,
its identity.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any, Final

ASYNC: Final = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def code_of(function: object) -> CodeType | None:
    """Return the code of a plain function, or of a method of one, where all there is to know of it
    stands in the code.

    A function with attributes may be more than that: `__wrapped__`, `__signature__`, the mark of a
    coroutine function.
    """
    plain = function.__func__ if type(function) is MethodType else function
    return plain.__code__ if type(plain) is FunctionType and not plain.__dict__ else None


def is_running(function: Any) -> bool:
    """Tell whether a turn of this function is under way further up the stack."""
    plain = getattr(function, "__func__", function)
    code = getattr(plain, "__code__", getattr(type(plain).__call__, "__code__", None))
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def is_plain(function: Any) -> bool:
    """Tell whether a callable is a function or a method whose parameters are the ones it shows."""
    function = getattr(function, "__func__", function)
    is_other = hasattr(function, "__wrapped__") or hasattr(function, "__signature__")
    return isinstance(function, FunctionType) and not is_other


def layers(raw: Any) -> Iterator[FunctionType]:
    """Yield the functions that a class holds by an attribute: one in the other, where its
    decorators say what they wrap.
    """
    below: tuple[Any, ...] = ()
    if isinstance(raw, FunctionType):
        yield raw
        below = (raw.__dict__.get("__wrapped__"),)
    elif isinstance(raw, property):
        below = raw.fget, raw.fset, raw.fdel
    elif isinstance(raw, (functools.cached_property, functools.partialmethod)):
        below = (raw.func,)
    elif isinstance(raw, functools._lru_cache_wrapper):
        below = (raw.__wrapped__,)
    for inner in below:
        yield from layers(inner)


def key_of(function: object) -> tuple[int, ...]:
    """Identify a callable: a bound method is made anew at each access, so by its function and its
    object.
    """
    if isinstance(function, MethodType):
        return id(function.__func__), id(function.__self__)
    return (id(function),)


def name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", None)
    return name if isinstance(name, str) else type(function).__qualname__


def place_of(function: Any) -> CodeType | str:
    """Return the code that stands where a callable was written, or the name of the module that
    defines it.
    """
    while isinstance(function, functools.partial):
        function = function.func
    for candidate in (inspect.unwrap(function), _call_of(function)):
        code: CodeType | None = getattr(candidate, "__code__", None)
        if code is not None:
            return code
    return str(getattr(function, "__module__", "?"))


def written(place: CodeType | str) -> str:
    """Write a place as `file:line`, or as the name of a module."""
    return place if isinstance(place, str) else f"{place.co_filename}:{place.co_firstlineno}"


def is_async_callable(function: Any) -> bool:
    """Tell whether a callable is known to be async, a generator or not; what cannot be known shows
    when it is called.
    """
    return is_coroutine_callable(function) or _is_of(function, inspect.isasyncgenfunction)


def is_coroutine_callable(function: Any) -> bool:
    """Tell whether a callable is known to give a coroutine."""
    return _is_of(function, inspect.iscoroutinefunction)


def _is_of(function: Any, is_kind: Callable[[Any], bool]) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return bool(is_kind(function) or is_kind(_call_of(function)))


def _call_of(function: Any) -> Any:
    return getattr(type(function), "__call__", None)  # noqa: B004 - the method itself
