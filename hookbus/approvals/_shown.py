"""A request as people are shown it: in full, with whatever is invisible written out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .._views.tables import escaped_lines
from .._views.tables import printable as printable
from ._words import Request


def written(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON, in full; what has none is told in words."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=repr)
    return escaped_lines(text)


def lines_of(request: Request, last: Request | None = None) -> Iterator[str]:
    """Yield a request in words, a line for each fact. No text in it can look like another line.

    Args:
        last: what the same guard asked about before, to say what is new.
    """
    for line in request.question.split("\n"):
        yield f"> {printable(line)}"
    about = {"hook": request.hook, "of": request.sender, "asked by": request.receiver}
    if request.code is not None:
        about["code"] = str(request.code)
    for name, text in about.items():
        yield f"  {name}: {printable(text)}"
    more = {name: value for name, value in request.baggage.items() if name not in request.bound}
    facts = {"approved for": request.bound, "also around the call": more}
    for name, value in {**facts, "details": request.details}.items():
        if value:
            yield f"  {name}: {written(value)}"
    before = last.arguments if last is not None else {}
    for name, value in request.arguments.items():
        line = f"  {name} = {written(value)}"
        if name in before and before[name] != value:
            line += f"   (last time {written(before[name])})"
        yield line
