"""Determines the identity of a sender, to which an approval is bound."""

from __future__ import annotations

import inspect
import os
import secrets
import sys
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

from .. import HookError
from .._ground.locks import Lock

_VALUES: Final = (str, int, float, bool, type(None))
_MADE_ANEW: Final = (MethodType, BuiltinFunctionType, partial)
"""Callables whose class does not identify the function that they call."""

_INNER: Final = (
    "__wrapped__", "func", "fn", "coroutine", "function", "callback", "on_invoke_tool",
)  # fmt: skip
"""The attributes in which decorators and framework objects store the function that they wrap."""


def identity_of(
    sender: Any, hook: str, identity: Callable[[Any], str] | None, *, is_lasting: bool,
    program: str | None = None,
) -> list[str]:  # fmt: skip
    """Return the identity of a sender: the result of `identity=`, or otherwise the name of its
    class or its own name. An object without an importable name is identified by a random token,
    which is valid only in this process.

    Args:
        is_lasting: whether the approval outlives the process.
        program: the name of the program, in place of `__main__` and its file.

    Raises:
        HookError: if `identity=` fails or does not return a non-empty string, or if the approval
            outlives the process but the sender has no importable name.
    """
    if identity is not None:
        return ["identity", _said(identity, sender, hook)]
    if type(sender) in _VALUES:
        return ["value", type(sender).__name__, str(sender)]
    is_itself = isinstance(sender, (type, FunctionType, *_MADE_ANEW))
    thing = sender if is_itself else type(sender)
    name = None if isinstance(thing, _MADE_ANEW) else _name_of(thing, program)
    if name is not None:
        return ["name", name]
    if is_lasting:
        raise HookError(
            "other processes cannot identify "
            f"{getattr(thing, '__qualname__', type(thing).__qualname__)}: define it at module "
            f"level, or pass @hookable({hook!r}, identity=...)"
        )
    return ["object", _TOKENS.of(thing)]


def _said(identity: Callable[[Any], str], sender: Any, hook: str) -> str:
    try:
        identifier = identity(sender)
    except Exception as error:
        raise HookError(f"identity= of {hook} raised {type(error).__name__}") from None
    if inspect.iscoroutine(identifier):
        identifier.close()
    if type(identifier) is not str or not identifier.strip():
        kind = "an empty string" if identifier == "" else f"a {type(identifier).__qualname__}"
        raise HookError(
            f"identity= of {hook} returned {kind}: "
            "return a non-empty string that identifies the sender"
        )
    return identifier


def _name_of(thing: Any, program: str | None) -> str | None:
    """Return the module and name of a class or function, or None if they do not resolve to this
    object."""
    module, name = thing.__module__, thing.__qualname__
    if type(module) is not str or type(name) is not str or "<" in name:
        return None
    hook = vars(thing).get("__hookbus__")  # a hookable counts as its body
    body = getattr(hook, "body", thing)
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = inspect.getattr_static(found, part, None)
    is_found = any(each is thing or each is body for each in _layers(found))
    if not is_found and not _is_of_module(body, module, name):
        return None
    home = program if program is not None and module == "__main__" else _home(module)
    return f"{home}.{name}"


def _is_of_module(body: Any, module: str, name: str) -> bool:
    """Return whether a function was defined in a module or a class, by a `def` with its name."""
    if type(body) is not FunctionType or body.__code__.co_qualname != name:
        return False
    if not {"__class__"}.issuperset(body.__code__.co_freevars):  # a copy that a function created
        return False
    return body.__globals__ is getattr(sys.modules.get(module), "__dict__", None)


def _layers(found: Any, depth: int = 0) -> Iterator[Any]:
    """Yield a module's object with this name, and the objects that it wraps."""
    yield found
    own = getattr(found, "__dict__", {})
    below = [own.get(name) for name in _INNER] if type(own) is dict and depth < 10 else []
    if isinstance(found, (staticmethod, classmethod)):
        below.append(found.__func__)
    for inner in below:
        if inner is not None:
            yield from _layers(inner, depth + 1)


def _home(module: str) -> str:
    """Return the name that identifies a module. Every program has a module `__main__`, which is
    therefore identified by the name passed to `python -m`, or otherwise by its file.
    """
    main = sys.modules.get(module) if module == "__main__" else None
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if spec is not None:
        return str(spec.name)
    return module if file is None else os.path.abspath(file)


class _Tokens:
    """Provides one random token for each object, for as long as the object lives."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: dict[int, tuple[weakref.ref[Any], str]] = {}

    def of(self, thing: Any) -> str:
        key = id(thing)
        with self._lock:
            entry = self._held.get(key)
            if entry is None or entry[0]() is not thing:
                reference = weakref.ref(thing, partial(self._drop, key))
                self._held[key] = entry = reference, secrets.token_hex(8)
        return entry[1]

    def _drop(self, key: int, reference: weakref.ref[Any]) -> None:
        entry = self._held.get(key)
        if entry is not None and entry[0] is reference:
            self._held.pop(key, None)


_TOKENS: Final = _Tokens()
