"""How many calls there may be."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final, Literal

from .. import Block, HookError
from ._plugged import FIRST, Plugged, Unnamed, library

FOREVER: Final = 30 * 24 * 3600
"""For so many seconds a call counts for its session, user or tool."""

STORAGE_SECONDS: Final = 5.0


class limit(Plugged):
    """A guard that lets so many calls through, and counts those that other guards block.

    Args:
        calls: how many.
        per: `"session"` or `"user"`, as `with surrounding(session=..., user=...)` says around the
            call, where all calls without one are counted together; `"tool"`, by its name; or a
            number of seconds, in which no more may begin, for all together.
        storage: where it is counted, a URI of the library limits such as
            `"redis://localhost:6379"`, for several processes; None is this process, this guard.
        hook: the hook whose calls it counts; it has the argument `name`.

    Raises:
        HookError: for a number or a storage that is none.
    """

    def __init__(
        self, calls: int, per: Literal["session", "user", "tool"] | float = "session",
        storage: str | None = None, *, hook: str = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        if isinstance(calls, bool) or not isinstance(calls, int) or calls < 1:
            raise HookError(f"limit({calls!r:.40}): say how many calls, at least 1")
        seconds = FOREVER if per in ("session", "user", "tool") else _seconds(per)
        limits = library("limits", "limit")
        strategies = library("limits.strategies", "limit")
        storages = library("limits.storage", "limit")
        self._item = limits.RateLimitItemPerSecond(calls, seconds, f"hookbus {hook} {per}")
        try:
            kept = storages.storage_from_string(storage or "memory://")
        except Exception as error:
            raise HookError(f"storage={storage!r:.60} cannot be used: {error}") from None
        self._counts = strategies.MovingWindowRateLimiter(kept)
        self._per, self._lock = per, threading.Lock()
        each = per if seconds == FOREVER else f"in {per:g} seconds"
        self._said = f"{calls} calls {'a ' if seconds == FOREVER else ''}{each} are used up"
        options: dict[str, Any] = {} if storage is None else {"timeout": STORAGE_SECONDS}
        # First, so that what other guards block is counted, too.
        self.on("pre", self._judge_of(), role="guard", priority=FIRST, **options)

    def _judge_of(self) -> Any:
        unnamed = Unnamed(str(self._per))

        def judge(sender: Any, name: Any, surrounding: Mapping[str, Any]) -> Block | None:
            found = {"tool": name, "session": surrounding.get("session"),
                     "user": surrounding.get("user")}.get(str(self._per))  # fmt: skip
            if found is None:
                unnamed.note()
            key = "" if found is None else f"{type(found).__name__} {found}"
            with self._lock:  # the counts in memory alone are not safe from a race
                is_free = self._counts.hit(self._item, key)
            return None if is_free else Block(self._said, code="limit")

        judge.findings = unnamed.findings  # type: ignore[attr-defined]
        return judge


def _seconds(per: Any) -> int:
    is_number = isinstance(per, (int, float)) and not isinstance(per, bool)
    if not is_number or not 1 <= per <= FOREVER or per != int(per):
        raise HookError(
            f"per={per!r:.40} must be 'session', 'user', 'tool' or a whole number of seconds"
        )
    return int(per)
