"""Helpers of the adapter's modules for results, arguments and denials."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable
from importlib import import_module
from typing import Any


class Told(str):
    """The text about a blocked call for the model. Its type lets the adapter prevent the text from
    becoming a run's final output."""


class NotDone(Exception):
    """Raised if a call of one of the SDK's own tools is blocked. The SDK reports the message to the
    model as a failure."""


def module(name: str) -> Any:
    return import_module(f"agents.{name}")


def plain(value: Any) -> Any:
    """Return a result as text or plain data. Values of other types are converted to text."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(mode="json", exclude_none=True))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain(dataclasses.asdict(value))
    if isinstance(value, dict):
        is_text = value.get("type") == "text" and isinstance(value.get("text"), str)
        return value["text"] if is_text else {str(key): plain(value[key]) for key in value}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else str(value)


def packed(call: Any, raw: Any, value: Any) -> Any:
    """Return a changed result. If the tool returned parts, texts are converted back to parts."""
    is_parts = isinstance(raw, (list, tuple)) and raw and all(map(_is_part, raw))
    if not is_parts or not isinstance(value, list):
        return value
    return [{"type": "text", "text": each} if isinstance(each, str) else each for each in value]


def _is_part(value: Any) -> bool:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return kind in ("text", "image", "file")


def read(text: str) -> tuple[dict[str, Any], Callable[[dict[str, Any]], str]]:
    """Parse a model's arguments. Return the arguments and a function that serializes changed
    arguments."""
    try:
        arguments = json.loads(text or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        return {"input": text}, lambda changed: changed["input"]
    before = json.dumps(arguments)

    def write(changed: dict[str, Any]) -> str:
        after = json.dumps(changed)
        return text if after == before else after

    return arguments, write


async def awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
