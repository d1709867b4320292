"""Stops a model that repeats the same calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, Literal

from .. import Block, HookContext, HookError
from .._ground.locks import Lock
from ._call import tool_of
from ._canonical import digest
from ._outermost import Outermost
from ._ready import FIRST, Hooks, ReadyGuard, Sessions

LONGEST: Final = 4
"""The number of calls in the longest cycle that is detected."""

MOST_REPEATS: Final = 1000


class no_loops(ReadyGuard):
    """A guard that blocks calls that are repeated too often.

    A repeat is another call to the same tool with the same arguments, compared as canonical JSON,
    or another round of a cycle of up to four calls. Calls that other guards block also count. Calls
    to unknown tools count if the framework reports these calls. A call whose arguments cannot be
    serialized to JSON never counts as a repeat.

    Args:
        repeats: how many times in a row the same call or the same cycle is allowed.
        per: `"session"` or `"user"`, as set by `with baggage(session=..., user=...)`. All calls
            without a session (or user) count as one session.
        hook: the hook to check: a name, several names, or a glob. A nested call with the same tool
            and arguments does not count.

    Raises:
        HookError: for an invalid number or `per`.
    """

    remembers = True

    def __init__(
        self, repeats: int = 3, per: Literal["session", "user"] = "session", *,
        hook: Hooks = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        is_number = isinstance(repeats, int) and not isinstance(repeats, bool)
        if not is_number or not 1 <= repeats <= MOST_REPEATS:
            raise HookError(
                f"repeats={repeats!r:.40} must be a whole number from 1 to {MOST_REPEATS}"
            )
        if per not in ("session", "user"):
            raise HookError(f"per={per!r:.40} must be 'session' or 'user'")
        self._repeats, self._per, self._lock = repeats, per, Lock()
        self._outermost = Outermost(self)
        length = LONGEST * (repeats + 1)
        self._calls = Sessions(lambda: deque[object](maxlen=length))
        self.on("pre", self._judge_of(), role="guard", priority=FIRST)

    def _judge_of(self) -> Callable[..., Block | None]:
        def judge(sender: Any, ctx: HookContext) -> Block | None:
            if self in ctx.state or not self._outermost.takes(ctx):
                return None  # a nested call, or another attempt of the same call
            ctx.state[self] = True
            name, arguments = tool_of(ctx)
            same: object = digest([name, arguments]) or object()
            calls = self._calls.of(ctx.baggage.get(self._per))
            with self._lock:
                calls.append(same)
                length = self._cycle([*calls])
            if length is None:
                return None
            what = "the same call" if length == 1 else f"the same cycle of {length} calls"
            times = "once" if self._repeats == 1 else f"{self._repeats} times"
            reason = (
                f"{what} with the same arguments ran {times} in a row, and repeating it returns "
                "nothing new: use the results you have, try something else, or say what is missing"
            )
            return Block(reason, code="loop")

        return judge

    def _cycle(self, calls: list[object]) -> int | None:
        """Return the length of the cycle that the latest calls repeat too often, or None."""
        for length in range(1, LONGEST + 1):
            last = calls[-length * (self._repeats + 1) :]
            is_long = len(last) == length * (self._repeats + 1)
            if is_long and last[length:] == last[:-length]:
                return length
        return None
