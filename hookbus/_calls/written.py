"""What was written for a plan, and what it comes back to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from .plan import Plan
from .telling import fire


@attrs.frozen(eq=False)
class Written:
    """The function that runs the calls of a plan.

    Attributes:
        run: it is called as the body is.
        source: its text, in which receivers have short names.
        named: those names, and what they stand for.
    """

    run: Callable[..., Any]
    source: str
    named: dict[str, Any]


class Nest:
    """Makes the arounds of attempts that patch or repeat; they are written for the first one."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._made: Callable[..., Any] | None = None

    def __call__(self, *given: Any) -> Any:
        made = self._made
        if made is None:
            made = self._made = self._writer.nested(self)
        return made(*given)


def note_turns(unnoted: list[str], plan: Plan) -> None:
    """Note at the end of the first call that went through who has had a turn."""
    unnoted.clear()
    fire(plan)
