"""Shows a request to a person in full, with escaped invisible characters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .._views.tables import escaped_lines
from .._views.tables import printable as printable
from ._words import Request


def written(value: Any, indent: int | None = None) -> str:
    """Return the complete JSON of a value, or its repr if the value cannot be serialized."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=repr)
    return escaped_lines(text)


def lines_of(request: Request, last: Request | None = None) -> Iterator[str]:
    """Yield a request as lines of text, with one line for each fact. Values are escaped, so that
    they cannot imitate another line.

    Args:
        last: the previous request of the same guard, to show which arguments have changed.
    """
    for line in request.question.split("\n"):
        yield f"> {printable(line)}"
    about = {"hook": request.hook, "sender": request.sender, "guard": request.receiver}
    if request.code is not None:
        about["code"] = str(request.code)
    for name, text in about.items():
        yield f"  {name}: {printable(text)}"
    more = {name: value for name, value in request.baggage.items() if name not in request.bound}
    facts = {"bound to": request.bound, "other baggage": more}
    for name, value in {**facts, "details": request.details}.items():
        if value:
            yield f"  {name}: {written(value)}"
    before = last.arguments if last is not None else {}
    for name, value in request.arguments.items():
        line = f"  {name} = {written(value)}"
        if name in before and before[name] != value:
            line += f"   (previously {written(before[name])})"
        yield line
