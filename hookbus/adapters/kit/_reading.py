"""Reads a tool call from the arguments of a framework's function."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

import attrs

from hookbus import HookError

from ..._ground.signatures import signature_of
from .._arguments import arguments_of, named, positional_names
from .._tools import ToolCall

Source = str | Callable[[Mapping[str, Any]], Any] | None
"""The source of a call's field. It is the path of a parameter or of a tool's attribute, such as
`"context.call_id"`, or a function that takes the arguments by name."""

_OWN: Final = "self"


class Fields(NamedTuple):
    """The sources of the fields of a `ToolCall`, as in `Adapter.tool`."""

    tool: Source
    name: Source
    arguments: str | None
    kind: str | Callable[[Any], str]
    caller: Source
    call_id: Source
    parameters: Callable[[Any], Iterable[str]] | None


class Reader:
    """A callable that returns the call and its body, like a `read` function of an adapter.

    Args:
        function: the framework's function.
        fields: the sources of the fields of a call.
        is_method: whether the function is a method, whose first argument is its object.

    Raises:
        HookError: if the function lacks the parameter that contains the arguments of the tool.
    """

    def __init__(self, function: Any, fields: Fields, *, is_method: bool) -> None:
        self._fields, self._is_method = fields, is_method
        parameters = signature_of(function).parameters
        self._names = positional_names(function)
        if is_method:
            self._names[:1] = [_OWN]
        self._defaults = {name: each.default for name, each in parameters.items()
                          if each.default is not each.empty}  # fmt: skip
        self._known = {*parameters, *self._names}
        used = (_first(source) for source in (fields.tool, fields.name, fields.caller,
                                              fields.call_id))  # fmt: skip
        self._own = {_OWN, *(name for name in used if name in self._known)}
        arguments = _first(fields.arguments)
        if arguments is not None and arguments not in self._known:
            raise HookError(
                f"{function.__qualname__} has no parameter {arguments!r}; its parameters are "
                f"{', '.join(self._known)}"
            )

    def __call__(self, stock: Any, *args: Any, **kwargs: Any) -> Any:
        fields = self._fields
        names = self._names
        if fields.parameters is not None:
            names = [_OWN, *fields.parameters(args[0])]
        given, spread = named(names, args, kwargs)
        seen = {**self._defaults, **given}
        tool = self._look(fields.tool, seen)
        path = (fields.arguments or "").split(".")
        held = _at(seen, path) if fields.arguments else self._arguments(given)
        arguments, pack = arguments_of(held)
        call = ToolCall(
            str(self._look(fields.name, seen)), arguments, self._look(fields.call_id, seen),
            fields.kind(tool) if callable(fields.kind) else fields.kind, tool,
            self._look(fields.caller, seen),
        )  # fmt: skip

        def body(changed: dict[str, Any]) -> Any:
            if fields.arguments:
                whole = _with({**given, path[0]: seen[path[0]]}, path, pack(changed))
            else:
                whole = {**{name: given[name] for name in self._own if name in given}, **changed}
            by_place, by_name = spread(whole)
            return stock(*by_place, **by_name)

        return call, body

    def _arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in given.items() if name not in self._own}

    def _look(self, source: Source, seen: Mapping[str, Any]) -> Any:
        if source is None or not isinstance(source, str):
            return None if source is None else source(seen)
        path = source.split(".")
        if path[0] not in self._known and self._is_method:
            path = [_OWN, *path]
        return _at(seen, path)


def _first(source: Any) -> str | None:
    return source.partition(".")[0] if isinstance(source, str) else None


def _at(holder: Any, path: Iterable[str]) -> Any:
    for name in path:
        holder = holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
    return holder


def _with(holder: Any, path: list[str], value: Any) -> Any:
    """Return a copy of an object with a different value at a path."""
    if not path:
        return value
    name, *rest = path
    inner = _with(_at(holder, [name]), rest, value)
    if isinstance(holder, Mapping):
        return {**holder, name: inner}
    if attrs.has(type(holder)):
        return attrs.evolve(holder, **{name: inner})
    changed = copy.copy(holder)
    object.__setattr__(changed, name, inner)
    return changed
