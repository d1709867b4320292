"""Ready-made `around` receivers. Guards check every attempt, and blocked calls are not retried."""

from __future__ import annotations

import asyncio
import copy
import math
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from .. import HookContext, HookError
from .._ground.locks import Lock
from .._ground.numbers import is_number
from ._call import labels_of
from ._ready import Hooks, ReadyGuard, either, library


class retry(ReadyGuard):
    """Retries a call that raised an exception, with growing delays, using the library stamina.

    Args:
        on: the exception type to retry on, or a tuple of types. A `HookError` is never retried,
            because the same block or configuration error would occur again.
        attempts: the maximum number of attempts, including the first.
        wait_initial, wait_max: the first and the longest delay in seconds, with random jitter.
        hook: the hook to retry: a name, several names, or a glob. It must not be a stream.

    Raises:
        HookError: for invalid exceptions or numbers.
    """

    def __init__(
        self, on: type[Exception] | tuple[type[Exception], ...] = Exception, attempts: int = 3,
        wait_initial: float = 0.1, wait_max: float = 5.0, *, hook: Hooks = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        several = on if isinstance(on, tuple) else (on,)
        if not several or not all(map(_is_exception, several)):
            raise HookError(f"on={on!r:.60} must be an exception type or a tuple of types")
        if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 2:
            raise HookError(f"attempts={attempts!r:.40} must be a whole number of at least 2")
        waits = {"wait_initial": wait_initial, "wait_max": wait_max}
        for name, seconds in waits.items():
            _check_seconds(name, seconds)
        stamina = library("stamina", "retry")
        options = {"attempts": attempts, "timeout": None, **waits}
        again = stamina.RetryingCaller(**options)
        again_async = stamina.AsyncRetryingCaller(**options)

        def is_worth_it(error: Exception) -> bool:
            return isinstance(error, several) and not isinstance(error, HookError)

        def plain(call_next: Callable[[], Any], ctx: HookContext) -> Any:
            return again(is_worth_it, call_next)

        def awaited(call_next: Callable[[], Any], ctx: HookContext) -> Any:
            return again_async(is_worth_it, call_next)

        self.on("around", either(plain, awaited))


class fallback(ReadyGuard):
    """Retries a call that raised an exception, using other arguments.

    If a guard blocks one of the alternatives, no further alternative is tried.

    Args:
        patches: a mapping for each alternative, with the arguments to replace, such as `{"model":
            "small"}`.
        hook: the hook to retry: a name, several names, or a glob. It must not be a stream.

    Raises:
        HookError: if no patches are passed, or if a patch is invalid. An argument name that the
            hook does not have makes the call fail.
    """

    def __init__(self, *patches: Mapping[str, Any], hook: Hooks = "tool_call") -> None:
        super().__init__(hook)
        for patch in patches:
            if not isinstance(patch, Mapping) or not patch or not all(map(_is_name, patch)):
                raise HookError(f"fallback() needs mappings of arguments, not {patch!r:.60}")
        if not patches:
            raise HookError("fallback() needs at least one mapping of arguments")
        ways: list[dict[str, Any]] = [{}, *map(dict, patches)]

        def plain(call_next: Callable[..., Any], ctx: HookContext) -> Any:
            for way in ways[:-1]:
                try:
                    return call_next(**way)
                except HookError:
                    raise
                except Exception:
                    continue
            return call_next(**ways[-1])

        async def awaited(call_next: Callable[..., Any], ctx: HookContext) -> Any:
            for way in ways[:-1]:
                try:
                    return await call_next(**way)
                except HookError:
                    raise
                except Exception:
                    continue
            return await call_next(**ways[-1])

        self.on("around", either(plain, awaited))


class timeout(ReadyGuard):
    """Cancels a call after a time limit and raises `TimeoutError`.

    Args:
        seconds: the time limit for the method and all inner `around` receivers.
        hook: the hook to limit. It must be an `async def`, because sync code cannot be cancelled.

    Raises:
        HookError: if `seconds` is not a valid time.
    """

    def __init__(self, seconds: float, *, hook: Hooks = "tool_call") -> None:
        super().__init__(hook)
        _check_seconds("seconds", seconds)

        async def end(sender: Any, call_next: Callable[[], Any]) -> Any:
            async with asyncio.timeout(seconds):
                return await call_next()

        self.on("around", end)


class cache(ReadyGuard):
    """Returns the result of an earlier call by the same sender, for the same user and session, with
    the same arguments in canonical JSON (RFC 8785).

    Guards also check calls whose result comes from the cache. Exceptions, and results that cannot
    be copied, are not cached. Each caller gets its own copy. A call whose arguments cannot be
    serialized to canonical JSON always runs. Arguments of a `tool_call` that only identify the
    call, such as `call_id`, are not compared.

    Args:
        seconds: the time to keep a result, in seconds. None keeps it until newer results need the
            space.
        size: the maximum number of results.
        hook: the hook to cache: a name, several names, or a glob. It must not be a stream.

    Raises:
        HookError: for an invalid number.
    """

    def __init__(
        self, seconds: float | None = None, size: int = 1024, *, hook: Hooks = "tool_call"
    ) -> None:
        super().__init__(hook)
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise HookError(f"size={size!r:.40} must be a whole number of at least 1")
        if seconds is not None:
            _check_seconds("seconds", seconds)
        caches, self._json = library("cachetools", "cache"), library("rfc8785", "cache")
        lasting = math.inf if seconds is None else seconds
        self._make: Callable[[], Any] = lambda: caches.TTLCache(size, lasting)
        self._empty()
        self._lock = Lock(reset=self._empty)
        self.on("around", either(self._plain, self._awaited))

    def _empty(self) -> None:
        self._kept: Any = self._make()

    def _plain(self, call_next: Callable[[], Any], ctx: HookContext) -> Any:
        key = self._key(ctx)
        found = self._found(key, ctx.sender)
        return self._keep(key, ctx.sender, call_next()) if found is None else found[0]

    async def _awaited(self, call_next: Callable[[], Any], ctx: HookContext) -> Any:
        key = self._key(ctx)
        found = self._found(key, ctx.sender)
        return self._keep(key, ctx.sender, await call_next()) if found is None else found[0]

    def _key(self, ctx: HookContext) -> tuple[Any, ...] | None:
        labels = labels_of(ctx) - {"name", "kind", "model"}
        arguments = {name: value for name, value in ctx.kwargs.items()
                 if name not in labels and value is not ctx.sender}  # fmt: skip
        whose = [ctx.baggage.get(name) for name in ("user", "session")]
        try:
            return id(ctx.sender), self._json.dumps([ctx.hook, arguments, whose])
        except (self._json.CanonicalizationError, RecursionError, UnicodeError):
            return None

    def _found(self, key: Any, sender: Any) -> tuple[Any] | None:
        with self._lock:
            entry = self._kept.get(key)
        # The id of a deleted object may have been reused.
        return None if entry is None or entry[0]() is not sender else (copy.deepcopy(entry[1]),)

    def _keep(self, key: Any, sender: Any, result: Any) -> Any:
        if key is not None:
            try:
                entry = weakref.ref(sender), copy.deepcopy(result)
            except Exception:  # a __deepcopy__ may raise anything: do not cache
                return result
            with self._lock:
                self._kept[key] = entry
        return result


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name.isidentifier()


def _is_exception(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)


def _check_seconds(name: str, seconds: Any) -> None:
    if not is_number(seconds) or not 0 < seconds < math.inf:
        raise HookError(f"{name}={seconds!r:.40} must be a number of seconds greater than 0")
