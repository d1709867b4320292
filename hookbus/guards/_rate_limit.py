"""How many calls there may be."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Literal

from .. import Block, HookContext, HookError
from .._locks import Lock
from ._call import tool_of
from ._outermost import Outermost
from ._ready import FIRST, Hooks, ReadyGuard, Unnamed, library, shown

FOREVER: Final = 30 * 24 * 3600
"""For so many seconds a call counts for its session, user or tool."""

STORAGE_SECONDS: Final = 5.0

SWEPT: Final = 1_000
"""From so many sessions, users or tools on, those whose calls count no more are forgotten."""


class rate_limit(ReadyGuard):
    """A guard that lets so many calls through, and counts those that other guards block.

    Args:
        calls: how many.
        per: `"session"` or `"user"`, as `with baggage(session=..., user=...)` says around the
            call, where all calls without one are counted together; `"tool"`, by its name; or a
            number of seconds, in which no more may begin, for all together.
        storage: where it is counted, a URI of the library limits such as
            `"redis://localhost:6379"`, for several processes; None is this process, this guard.
        hook: the hook whose calls it counts, several, or a glob; all are counted together. A call
            made inside an equal one is not counted again.

    Raises:
        HookError: for a number or a storage that is none.
    """

    def __init__(
        self, calls: int, per: Literal["session", "user", "tool"] | float = "session",
        storage: str | None = None, *, hook: Hooks = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        if isinstance(calls, bool) or not isinstance(calls, int) or calls < 1:
            raise HookError(f"rate_limit({shown(calls)}): say how many calls, at least 1")
        seconds = FOREVER if per in ("session", "user", "tool") else _seconds(per)
        self._per, self._lock = per, Lock()
        if storage in (None, "memory://"):
            self._hit: Callable[[str], bool] = _Window(calls, seconds).hit
        else:
            counted = f"hookbus {' '.join(self.hooks)} {per}"
            self._hit = _elsewhere(calls, seconds, counted, storage)
        self._outermost = Outermost(self)
        each = per if seconds == FOREVER else f"in {per:g} seconds"
        self._said = f"{calls} calls {'a ' if seconds == FOREVER else ''}{each} are used up"
        options: dict[str, Any] = {} if storage is None else {"timeout": STORAGE_SECONDS}
        # First, so that what other guards block is counted, too.
        self.on("pre", self._judge_of(), role="guard", priority=FIRST, **options)

    def _judge_of(self) -> Any:
        unnamed = Unnamed(str(self._per))

        def judge(sender: Any, ctx: HookContext) -> Block | None:
            if not self._outermost.takes(ctx):
                return None
            found = {"tool": tool_of(ctx)[0], "session": ctx.baggage.get("session"),
                     "user": ctx.baggage.get("user")}.get(str(self._per))  # fmt: skip
            if found is None:
                unnamed.note()
            key = "" if found is None else f"{type(found).__name__} {found}"
            with self._lock:
                is_free = self._hit(key)
            return None if is_free else Block(self._said, code="limit")

        judge.findings = unnamed.findings  # type: ignore[attr-defined]
        return judge


class _Window:
    """The times of the last calls in this process, for each key.

    The memory of the library limits has locks of its own, which a forked child would wait for.
    """

    def __init__(self, calls: int, seconds: int) -> None:
        self._calls, self._seconds = calls, seconds
        self._times: dict[str, deque[float]] = {}
        self._swept = SWEPT

    def hit(self, key: str) -> bool:
        """Count a call, if there may be one more."""
        now = time.monotonic()
        if key not in self._times and len(self._times) >= self._swept:
            self._sweep(now)
        times = self._times.setdefault(key, deque())
        while times and times[0] <= now - self._seconds:
            times.popleft()
        is_free = len(times) < self._calls
        if is_free:
            times.append(now)
        return is_free

    def _sweep(self, now: float) -> None:
        """Forget the keys whose calls count no more."""
        since = now - self._seconds
        self._times = {key: each for key, each in self._times.items() if each and each[-1] > since}
        self._swept = max(SWEPT, 2 * len(self._times))


def _elsewhere(calls: int, seconds: int, name: str, storage: Any) -> Callable[[str], bool]:
    """Return what counts a call in a storage of the library limits."""
    limits = library("limits", "limit")
    strategies = library("limits.strategies", "limit")
    storages = library("limits.storage", "limit")
    item = limits.RateLimitItemPerSecond(calls, seconds, name)
    # Neither the URI nor what the library says of it is shown: they hold the password.
    scheme = re.match(r"[a-z][a-z+]*(?=://)", storage) if isinstance(storage, str) else None
    where = f"{scheme[0]}://..." if scheme else f"a {type(storage).__name__}"
    try:
        counts = strategies.MovingWindowRateLimiter(storages.storage_from_string(storage))
    except Exception as error:
        said = f"storage= ({where}) cannot be used: {type(error).__name__}; write a URI that the "
        raise HookError(f"{said}library limits knows, such as 'redis://localhost:6379'") from None
    return lambda key: bool(counts.hit(item, key))


def _seconds(per: Any) -> int:
    is_number = isinstance(per, (int, float)) and not isinstance(per, bool)
    if not is_number or not 1 <= per <= FOREVER or per != int(per):
        raise HookError(
            f"per={shown(per)} must be 'session', 'user', 'tool' or a whole number of seconds"
        )
    return int(per)
