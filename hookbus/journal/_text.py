"""Serializes events to JSON. This happens during the call, so common events take a fast path."""

from __future__ import annotations

import json.encoder
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Final

from .._ground.baggage import Baggage
from .._ground.plain import LONGEST, plain
from ..events import HIDDEN, Event, Finished, Started
from ._chain import MOST, encoded, row_of

_LARGE: Final = 1 << 63
_CACHED: Final = 256
"""The maximum number of entries in each cache."""

_quoted: Final[Callable[[str], str]] = json.encoder.encode_basestring_ascii
_prefixes: Final[dict[str, str]] = {}
_baggage: Final[dict[int, tuple[Mapping[str, Any], str]]] = {}
_arguments: Final[dict[Any, str]] = {}


def text_of(event: Event) -> str:
    """Return the text of a record: the same as `row_of(event.as_dict()).data`, but faster."""
    kind = type(event)
    text: str | None = None
    try:
        if kind is Started:
            text = _of_started(event.__dict__)
        elif kind is Finished:
            text = _of_finished(event.__dict__)
        if text is None:
            text = _quick_text(event)
    except (TypeError, ValueError, RecursionError):  # `row_of` leaves out what has no JSON
        text = None
    if text is None or len(text) > MOST:
        return row_of(event.as_dict()).data
    return text


def _of_started(fields: dict[str, Any]) -> str | None:
    """Serialize the start of a call without values, or return None if a field is unusual."""
    arguments, start = _arguments.get(fields["arguments"]), _of_common(fields)
    if start is None or arguments is None or fields["values"] is not HIDDEN:
        return None
    return (
        f'{{"event":"Started",{start},"arguments":{arguments},'
        f'"labels":{_of_baggage(fields["labels"])}}}'
    )


def _of_finished(fields: dict[str, Any]) -> str | None:
    """Serialize the end of a call without a result, or return None if a field is unusual."""
    start = _of_common(fields)
    if start is None or fields["error"] is not None or fields["result"] is not HIDDEN:
        return None
    seconds = fields["seconds"]
    if type(seconds) is not float or not 0 <= seconds < inf:
        return None
    return (
        f'{{"event":"Finished",{start},"outcome":{_quoted(fields["outcome"])},'
        f'"seconds":{seconds!r},"error":null,"labels":{_of_baggage(fields["labels"])}}}'
    )


def _of_common(fields: dict[str, Any]) -> str | None:
    hook, sender, at, parent = fields["hook"], fields["sender"], fields["at"], fields["parent_id"]
    is_simple = (
        type(hook) is str is type(sender) and hook.isascii() and sender.isascii()
        and len(sender) <= LONGEST and type(at) is float and 0 <= at < inf
    )  # fmt: skip
    if not is_simple:
        return None
    return (
        f'"call_id":{fields["call_id"]},"parent_id":{"null" if parent is None else parent},'
        f'"hook":{_quoted(hook)},"sender":{_quoted(sender)},"at":{at!r},'
        f'"baggage":{_of_baggage(fields["baggage"])}'
    )


def _quick_text(event: Event) -> str | None:
    """Serialize an event, or return None if a value is an exception, which only `as_dict` can
    describe."""
    pieces = ['{"event":"', type(event).__name__, '"']
    for name, value in event.__dict__.items():
        kind = type(value)
        if kind is str:
            is_simple = len(value) <= LONGEST and value.isascii()
            text = _quoted(value) if is_simple else encoded(plain(value))
        elif kind is float and -inf < value < inf:
            text = repr(value)
        elif value is None:
            text = "null"
        elif kind is int and -_LARGE < value < _LARGE:
            text = repr(value)
        elif kind is Baggage:
            text = _of_baggage(value)
        elif value is HIDDEN:
            continue
        elif kind is tuple and name == "arguments":  # names of parameters
            text = _arguments.get(value) or _keep(_arguments, value, encoded(plain(value)))
        elif issubclass(kind, BaseException):
            return None
        else:
            text = encoded(plain(value))
        pieces.append(_prefixes.get(name) or _keep(_prefixes, name, f',"{name}":'))
        pieces.append(text)
    pieces.append("}")
    return "".join(pieces)


def _of_baggage(baggage: Mapping[str, Any]) -> str:
    known = _baggage.get(id(baggage))
    if known is not None and known[0] is baggage:
        return known[1]
    text = encoded(plain(baggage))
    if type(baggage) is Baggage and baggage.is_fixed:  # then it never changes
        if len(_baggage) >= _CACHED:
            _baggage.clear()
        _baggage[id(baggage)] = baggage, text
    return text


def _keep(cache: dict[Any, str], key: Any, text: str) -> str:
    if len(cache) >= _CACHED:
        cache.clear()
    cache[key] = text
    return text
