"""Ready-made conversions of results, and exceptions for blocked calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

from hookbus import HookBlocked

from .._tools import Refusal, ToolCall
from ._places import load


class Form(NamedTuple):
    """Converts between the results of a framework and the values that receivers see.

    Attributes:
        shown: a function that takes the framework's result and returns text or plain data.
        packed: a function that takes the call, the old result and the new value, and returns the
            new result.
    """

    shown: Callable[[Any], Any]
    packed: Callable[[ToolCall, Any, Any], Any]


def _dumped(raw: Any) -> Any:
    if isinstance(raw, dict):
        return {key: _dumped(value) for key, value in raw.items()}
    if isinstance(raw, (list, tuple)):
        return [_dumped(value) for value in raw]
    dump = getattr(raw, "model_dump", None)
    return raw if dump is None or isinstance(raw, type) else dump(mode="json")


def _loaded(raw: Any, value: Any) -> Any:
    if isinstance(value, dict):
        if hasattr(type(raw), "model_validate"):
            return type(raw).model_validate(value)
        known = raw if isinstance(raw, dict) else {}
        return {key: _loaded(known.get(key), each) for key, each in value.items()}
    if isinstance(value, list) and isinstance(raw, (list, tuple)) and len(raw) == len(value):
        return [_loaded(*pair) for pair in zip(raw, value, strict=True)]
    return value


class Shown:
    """Ready-made conversions of results.

    Attributes:
        pydantic: shows pydantic models, including models in lists and dicts, as plain data. A
            changed value is validated and converted back to a model.
    """

    pydantic: Final = Form(_dumped, lambda call, raw, value: _loaded(raw, value))


shown_as: Final = Shown()


def refused_as(
    base: str | type[Exception], **attributes: Callable[[Refusal], Any]
) -> Callable[[Refusal], Any]:
    """Return a function for `refused=` of an adapter. The function raises an exception that is both
    a `HookBlocked` and an exception of the framework. Its message is the text of the refusal, which
    the framework passes to the model.

    Args:
        base: the framework's exception class, or its path, such as
            `"agentlib.errors:ToolError"`.
        attributes: the attributes of the exception that the framework reads. Each attribute is
            given as a function that takes the `Refusal` and returns the attribute's value.
    """

    @cache
    def made() -> Any:
        parent: Any = load(base) if isinstance(base, str) else base

        class ToolCallBlocked(parent, HookBlocked):  # type: ignore[misc]
            def __init__(self, refused: Refusal) -> None:
                blocked = refused.blocked
                self.args, self.verdict = blocked.args, blocked.verdict
                self.call_id, self._text = blocked.call_id, refused.text
                for name, value_of in attributes.items():
                    setattr(self, name, value_of(refused))

            def __str__(self) -> str:
                return self._text

        return ToolCallBlocked

    def refuse(refused: Refusal) -> Any:
        error = made()
        raise error(refused)

    return refuse
