"""Limits the number of calls."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Literal

from .. import Block, HookContext, HookError
from .._ground.errors import details_of
from .._ground.locks import Lock
from .._ground.numbers import is_number
from ._accounts import STORAGE_SECONDS, Counts, Storage, counts_of, digest_of
from ._call import tool_of
from ._outermost import Outermost
from ._ready import FIRST, Hooks, ReadyGuard, Unnamed, library, shown

FOREVER: Final = 30 * 24 * 3600
"""The time in seconds for which a call counts for its session, user or tool."""

SWEPT: Final = 1_000
"""The number of sessions, users or tools above which counts without recent calls are dropped."""


class rate_limit(ReadyGuard):
    """A guard that allows a limited number of calls. Calls that other guards block also count.

    Args:
        calls: the maximum number of calls.
        per: `"session"` or `"user"`, as set by `with baggage(session=..., user=...)`; `"tool"`, the
            name of the tool; or a whole number of seconds, which is a sliding window over all
            calls. All calls without a session (or user) share one count.
        storage: the storage of the counts: a URI of the library limits, such as
            `"redis://localhost:6379"`, or a `hookbus.fleet.Fleet`, to share the counts between
            processes. If it is None, calls are counted in this process, for this guard only.
        hook: the hook to count: a name, several names, or a glob. All hooks share one count. A
            nested call with the same tool and arguments is not counted again.

    Raises:
        HookError: for an invalid number or storage.
    """

    remembers = True

    def __init__(
        self, calls: int, per: Literal["session", "user", "tool"] | float = "session",
        storage: str | Storage | None = None, *, hook: Hooks = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        if isinstance(calls, bool) or not isinstance(calls, int) or calls < 1:
            raise HookError(
                f"rate_limit({shown(calls)}): calls must be a whole number of at least 1"
            )
        seconds = FOREVER if per in ("session", "user", "tool") else _seconds(per)
        self._per = per
        if storage is None or storage == "memory://":
            self._hit: Callable[[str], bool] = _Window(calls, seconds).hit
        elif (counts := counts_of(storage)) is not None:
            name = f"rate_limit {' '.join(self.hooks)} {per} {calls}"
            self._hit = _in_fleet(counts, calls, seconds, name)
        else:
            counted = f"hookbus {' '.join(self.hooks)} {per}"
            self._hit = _elsewhere(calls, seconds, counted, storage)
        self._outermost = Outermost(self)
        each = per if seconds == FOREVER else f"{per:g} seconds"
        self._said = f"limit of {calls} call{'s' if calls > 1 else ''} per {each} reached"
        options: dict[str, Any] = {} if storage is None else {"timeout": STORAGE_SECONDS}
        # It runs first, so that calls that other guards block are also counted.
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
            try:
                is_free = self._hit(key)
            except HookError as error:
                reason = f"the number of calls is not known: {error}"
                return Block(reason, code="limit", details=details_of(error))
            return None if is_free else Block(self._said, code="limit")

        judge.findings = unnamed.findings  # type: ignore[attr-defined]
        return judge


class _Window:
    """The times of the latest calls in this process, for each key.

    It replaces the memory storage of the library limits, whose locks could deadlock a forked child
    process.
    """

    def __init__(self, calls: int, seconds: int) -> None:
        self._calls, self._seconds = calls, seconds
        self._times: dict[str, deque[float]] = {}
        self._swept, self._lock = SWEPT, Lock()

    def hit(self, key: str) -> bool:
        """Count a call if the limit allows one more."""
        with self._lock:
            return self._counted(key)

    def _counted(self, key: str) -> bool:
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
        """Drop all keys without recent calls."""
        since = now - self._seconds
        self._times = {key: each for key, each in self._times.items() if each and each[-1] > since}
        self._swept = max(SWEPT, 2 * len(self._times))


def _elsewhere(calls: int, seconds: int, name: str, storage: Any) -> Callable[[str], bool]:
    """Return a function that counts a call in a storage of the library limits."""
    limits = library("limits", "limit")
    strategies = library("limits.strategies", "limit")
    storages = library("limits.storage", "limit")
    item = limits.RateLimitItemPerSecond(calls, seconds, name)
    # Show neither the URI nor the library's message: they may contain a password.
    scheme = re.match(r"[a-z][a-z+]*(?=://)", storage) if isinstance(storage, str) else None
    where = f"{scheme[0]}://..." if scheme else f"a {type(storage).__name__}"
    try:
        counts = strategies.MovingWindowRateLimiter(storages.storage_from_string(storage))
    except Exception as error:
        message = f"storage= ({where}) cannot be used: {type(error).__name__}; pass a URI that the "
        raise HookError(f"{message}library limits supports, such as 'redis://host:6379'") from None
    lock = Lock()

    def hit(key: str) -> bool:
        with lock:
            return bool(counts.hit(item, key))

    return hit


def _in_fleet(counts: Counts, calls: int, seconds: int, name: str) -> Callable[[str], bool]:
    """Return a function that counts a call in a fleet. Threads do not wait for each other in this
    function."""
    return lambda key: counts.count(name, digest_of(key), calls, float(seconds))


def _seconds(per: Any) -> int:
    if not is_number(per) or not 1 <= per <= FOREVER or per != int(per):
        raise HookError(
            f"per={shown(per)} must be 'session', 'user', 'tool' or a whole number of seconds"
        )
    return int(per)
