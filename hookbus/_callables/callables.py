"""Inspect a callable without calling it: its code, name, location, kind and identity."""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any, Final

ASYNC: Final = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
YIELDS: Final = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


def code_of(function: object) -> CodeType | None:
    """Return the code of a plain function or method. Return None if the function has attributes,
    because `__wrapped__` or `__signature__` can contradict the code.
    """
    plain = function.__func__ if type(function) is MethodType else function
    return plain.__code__ if type(plain) is FunctionType and not plain.__dict__ else None


def is_plain(function: Any) -> bool:
    """Return whether a callable is a function or method whose signature is not overridden."""
    function = getattr(function, "__func__", function)
    is_other = hasattr(function, "__wrapped__") or hasattr(function, "__signature__")
    return isinstance(function, FunctionType) and not is_other


LAYERED: Final = (
    FunctionType, property, functools.cached_property, functools.partialmethod,
    functools._lru_cache_wrapper,
)  # fmt: skip
"""The types of attributes that `layers` finds functions behind."""


def layers(raw: Any) -> Iterator[FunctionType]:
    """Yield the functions behind an attribute of a class, from the outermost function inwards along
    `__wrapped__`.
    """
    below: tuple[Any, ...] = ()
    kind = type(raw)  # `isinstance` would read the `__class__` of a proxy
    if kind is FunctionType:
        yield raw
        below = (raw.__dict__.get("__wrapped__"),)
    elif issubclass(kind, property):
        below = raw.fget, raw.fset, raw.fdel
    elif issubclass(kind, (functools.cached_property, functools.partialmethod)):
        below = (raw.func,)
    elif issubclass(kind, functools._lru_cache_wrapper):
        below = (raw.__wrapped__,)
    for inner in below:
        yield from layers(inner)


def key_of(function: object) -> tuple[int, ...]:
    """Return the identity of a callable. A bound method is a new object at each access, so its
    function and its object identify it.
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
    """Return the code object of a callable, or the name of the module that defines it."""
    while isinstance(function, functools.partial):
        function = function.func
    for candidate in (inspect.unwrap(function), _call_of(function)):
        code: CodeType | None = getattr(candidate, "__code__", None)
        if code is not None:
            return code
    return str(getattr(function, "__module__", "?"))


def written(place: CodeType | str) -> str:
    """Format a location as `file:line`, or as the name of a module."""
    return place if isinstance(place, str) else f"{place.co_filename}:{place.co_firstlineno}"


def origin_of(function: Any) -> FunctionType | None:
    """Return the plain function of a receiver, below wrappers that set `__wrapped__`. Return None
    for a lambda, a nested function, an object's method, a function named `_`, and any other
    callable.
    """
    if type(function) is MethodType and isinstance(function.__self__, type):
        function = function.__func__
    if type(function) is not FunctionType or "<" in function.__qualname__:
        return None
    if function.__dict__:
        function = inspect.unwrap(function)
    is_known = type(function) is FunctionType and function.__name__ not in ("_", "<lambda>")
    return function if is_known else None


_loads: Final[dict[str, tuple[int, Any] | None]] = {}
"""For each module, the id of its globals and its spec at the first check, or None if its source ran
again.
"""


def may_be_made_again(origin: FunctionType, spec: Any) -> bool:
    """Return whether the source of a function's module may have run more than once. `spec` is the
    current spec of the module.
    """
    module, given = origin.__module__, id(origin.__globals__)
    known = _loads.get(module)
    is_known = known is not None and known[0] == given and known[1] is spec
    # IPython replaces functions of modules in place, and runs code that belongs to no module.
    if not (is_known and spec is not None) and (is_session() or "IPython" in sys.modules):
        return True
    is_first = module not in _loads
    _loads[module] = (given, spec) if is_first or is_known else None
    return not (is_first or is_known)


def is_made_again(old: Any, old_load: Any, new: Any) -> bool:
    """Return whether a receiver redefines an earlier receiver, because the same `def` was executed
    again.

    Two functions with the same name in one source are different receivers. Functions that a loop
    creates have the same code, but are also different receivers.

    Args:
        old: the earlier receiver.
        old_load: the spec of the earlier receiver's module when the receiver was connected.
        new: the later receiver.
    """
    first, second = origin_of(old), origin_of(new)
    if first is None or second is None or _names_of(old, first) != _names_of(new, second):
        return False
    one, other = first.__code__, second.__code__
    is_there = first.__globals__ is second.__globals__
    is_same_load = is_there and old_load is second.__globals__.get("__spec__")
    if one is other and is_same_load:
        return False
    is_same_file = one.co_filename == other.co_filename
    lines = other.co_firstlineno - one.co_firstlineno
    if is_typed_in(second.__module__):
        return not (is_same_file and is_there) or lines == 0
    module: Mapping[str, Any] = getattr(sys.modules.get(second.__module__), "__dict__", {})
    # Several sources, such as those of tenants, may run under one module name; at most one of them
    # is the module. Code run by `runpy.run_path` is not a module.
    is_module = module is second.__globals__ and second.__module__ != "<run_path>"
    # A source runs from top to bottom. If a later function is not further down, the source ran
    # again.
    return is_module and is_same_file and (lines <= 0 or not is_same_load)


def _names_of(function: Any, origin: FunctionType) -> tuple[Any, ...]:
    """Return the module and the qualified name of a receiver, and the class of a classmethod."""
    owner = getattr(function, "__self__", None)
    return origin.__module__, origin.__qualname__, getattr(owner, "__qualname__", None)


def is_session() -> bool:
    """Return whether the program is interactive, such as a notebook or a prompt."""
    is_prompt = "ps1" in vars(sys) or "get_ipython" in vars(builtins)
    return is_prompt or not hasattr(sys.modules.get("__main__"), "__file__")


def is_typed_in(module: str) -> bool:
    """Return whether this module contains interactively entered code."""
    return module in ("__main__", "__console__") and is_session()


def is_async_callable(function: Any) -> bool:
    """Return whether a callable is known to be a coroutine function or an async generator function.
    For other callables, only the call shows whether they are async.
    """
    return is_coroutine_callable(function) or _is_of(function, inspect.isasyncgenfunction)


def is_generator_callable(function: Any) -> bool:
    """Return whether a callable is known to be a generator function, sync or async."""
    return _is_of(function, inspect.isgeneratorfunction) or _is_of(
        function, inspect.isasyncgenfunction
    )


def is_coroutine_callable(function: Any) -> bool:
    """Return whether a callable is known to be a coroutine function."""
    return _is_of(function, inspect.iscoroutinefunction)


def _is_of(function: Any, is_kind: Callable[[Any], bool]) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return bool(is_kind(function) or is_kind(_call_of(function)))


def _call_of(function: Any) -> Any:
    return getattr(type(function), "__call__", None)  # noqa: B004 - the method itself is needed
