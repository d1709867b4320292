"""Convert the arguments of a call from a framework's representation to names and values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter
from typing import Any, Final

from .._ground.signatures import signature_of

REST: Final = "*args"
"""The key for positional arguments that match no parameter name of the tool."""

Spread = Callable[[dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]


def positional_names(function: Any) -> list[str]:
    """Return the names of the parameters that a caller may pass by position."""
    kinds = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
    return [each.name for each in signature_of(function).parameters.values() if each.kind in kinds]


def named(names: Iterable[str], args: tuple[Any, ...], kwargs: Any) -> tuple[Any, Spread]:
    """Return the arguments of a call by name, and a function that converts changed arguments back.
    The function returns positional and keyword arguments, in the same places as in the original
    call.
    """
    names = [*names]
    first, rest = names[: len(args)], args[len(names) :]
    given = {**dict(zip(first, args, strict=False)), **kwargs, **({REST: rest} if rest else {})}

    def spread(arguments: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        by_name, by_place = dict(arguments), list[Any]()
        for name in first:
            if name not in by_name:
                return tuple(by_place), by_name
            by_place.append(by_name.pop(name))
        return (*by_place, *by_name.pop(REST, ())), by_name

    return given, spread


Taken = tuple[Any, dict[str, Any], Callable[[Any, dict[str, Any]], Any]]


def taking(function: Any, name: str | None = None) -> Callable[[Any, Any], Taken]:
    """Return a function that separates one argument of a method call from the others.

    Args:
        function: the method.
        name: the name of the parameter, such as the messages of a model; None means the first
            parameter.

    Returns:
        A function that takes the positional and keyword arguments of a call. It returns the
        argument, the other arguments by name, and a function that converts both back into
        positional and keyword arguments.
    """
    names = positional_names(function)[1:]
    taken = name or next(iter(names), "messages")
    names = names or [taken]

    def take(args: Any, kwargs: Any) -> Taken:
        given, spread = named(names, args, kwargs)
        value = given.pop(taken, None)
        return value, given, lambda value, others: spread({**others, taken: value})

    return take


def arguments_of(value: Any) -> tuple[dict[str, Any], Callable[[dict[str, Any]], Any]]:
    """Return the arguments of a tool as a dict, and a function that converts changed arguments back
    to the type of the value. The value is a mapping, a pydantic model, a JSON string, or a single
    argument, which gets the name `input`.
    """
    if value is None or isinstance(value, Mapping):
        return dict(value or ()), lambda changed: changed
    if hasattr(value, "model_dump"):
        return value.model_dump(exclude_unset=True), type(value).model_validate
    parsed = _parsed(value) if isinstance(value, str) else None
    if parsed is None:
        return {"input": value}, lambda changed: (
            changed["input"] if [*changed] == ["input"] else changed
        )
    before = json.dumps(parsed)

    def write(changed: dict[str, Any]) -> str:
        after = json.dumps(changed)
        return str(value) if after == before else after

    return parsed, write


def text_of(value: Any) -> str:
    """Return the text of a value for a model: a string unchanged, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
