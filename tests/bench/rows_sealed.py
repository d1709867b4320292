"""P26 and P27: a guard that judges the contents of arguments, which must not change afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from .agents import hooked
from .calls import method
from .hand import own
from .harness import Case, Expect, Row
from .limits import LIMITS
from .parts import BODY, COLOURS, Colour, Function

SMALL = {"to": "ann", "amount": "5", "reason": "rent"}

LARGE = {
    f"row {i}": {"cells": [i, "x" * 40, None], "at": {"line": i, "file": "y" * 40}}
    for i in range(6_000)
}
"""About 1 MB as JSON."""


def rows() -> Iterator[Row]:
    """Yield the rows, in the order of the table."""
    for number, title, contents in ((26, "three strings", SMALL), (27, "1 MB", LARGE)):
        for c in COLOURS:
            key, cases = f"P{number} {c}", partial(sealed, c, contents)
            title_of_row = f"1 guard, a dict of {title} / copied and compared by hand"
            yield Row(key, title_of_row, cases, LIMITS[key])


def sealed(colour: Colour, contents: dict[str, Any]) -> dict[str, Case]:
    def guard(agent: Any, msg: Any) -> Any:
        return None

    expect = Expect(1, {"msg": contents, "temperature": 0.7})
    agent = hooked(colour, {"role": "guard"}, pre=[guard])
    case = partial(method, args=(contents, 0.7))
    return {
        "by hand": case(_by_hand(colour, guard, BODY[colour]), expect, guard),
        "hookbus": case(agent, expect, guard),
    }


def _by_hand(colour: Colour, guard: Function, body: Function) -> Any:
    """Return an object whose `reply` refuses what differs from what its guard has judged."""

    class Sealed:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            copy = _copy(msg)
            if (reason := guard(self, msg)) is not None:
                raise PermissionError(reason)
            if not _is_same(msg, copy):
                raise PermissionError("changed")
            return body(self, msg, temperature)

    class SealedAsync:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            copy = _copy(msg)
            if (reason := guard(self, msg)) is not None:
                raise PermissionError(reason)
            if not _is_same(msg, copy):
                raise PermissionError("changed")
            return await body(self, msg, temperature)

    return own(Sealed if colour == "sync" else SealedAsync)


def _copy(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: _copy(each) for key, each in value.items()}
    return [_copy(each) for each in value] if kind is list else value


def _is_same(value: Any, copy: Any) -> bool:
    """Compare by identity: `True == 1`, and what is no plain data may answer anything."""
    kind = type(value)
    if kind is dict:
        return (
            type(copy) is dict and [*value] == [*copy]
            and all(_is_same(each, copy[key]) for key, each in value.items())
        )  # fmt: skip
    if kind is list:
        return (
            type(copy) is list and len(value) == len(copy)
            and all(_is_same(each, copy[i]) for i, each in enumerate(value))
        )  # fmt: skip
    return value is copy
