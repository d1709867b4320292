"""Arounds that people need: each attempt is judged by the guards, and a block is repeated by none.
"""

from __future__ import annotations

import asyncio
import copy
import math
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from .. import HookContext, HookError
from .._locks import Lock
from ._call import labels_of
from ._ready import Hooks, ReadyGuard, either, library


class retry(ReadyGuard):
    """An around that makes a call again when it raised, after a wait that grows; by stamina.

    Args:
        on: the exception, or a tuple of them. A `HookError` is never one of them: neither a block
            nor a mistake gets better.
        attempts: how often it is made at most, the first time included.
        wait_initial, wait_max: the first wait and the longest, in seconds, with some chance in it.
        hook: the hook whose calls it makes again, several, or a glob; no stream.

    Raises:
        HookError: for exceptions or numbers that are none.
    """

    def __init__(
        self, on: type[Exception] | tuple[type[Exception], ...] = Exception, attempts: int = 3,
        wait_initial: float = 0.1, wait_max: float = 5.0, *, hook: Hooks = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        several = on if isinstance(on, tuple) else (on,)
        if not several or not all(map(_is_exception, several)):
            raise HookError(f"on={on!r:.60} must be an exception, or a tuple of them")
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
    """An around that makes a call in another way when it raised.

    A way that the guards block is final, as any block.

    Args:
        patches: the arguments of each way that are other than given, such as `{"model": "small"}`.
        hook: the hook whose calls it makes in another way, several, or a glob; no stream.

    Raises:
        HookError: if there is no patch, or one is none. A name that the hook does not have is an
            error of the call.
    """

    def __init__(self, *patches: Mapping[str, Any], hook: Hooks = "tool_call") -> None:
        super().__init__(hook)
        for patch in patches:
            if not isinstance(patch, Mapping) or not patch or not all(map(_is_name, patch)):
                raise HookError(f"fallback takes mappings of names to values, not {patch!r:.60}")
        if not patches:
            raise HookError("fallback() has no other way: give mappings of arguments")
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
    """An around that ends a call after a time, with a TimeoutError.

    Args:
        seconds: how long it may take, all that is inside of this around.
        hook: the hook whose calls it ends: an `async def`, since a plain one cannot be ended.

    Raises:
        HookError: for a time that is none.
    """

    def __init__(self, seconds: float, *, hook: Hooks = "tool_call") -> None:
        super().__init__(hook)
        _check_seconds("seconds", seconds)

        async def end(sender: Any, call_next: Callable[[], Any]) -> Any:
            async with asyncio.timeout(seconds):
                return await call_next()

        self.on("around", end)


class cache(ReadyGuard):
    """An around that gives the result of an earlier call of the same sender, for the same user and
    session, with the same arguments in canonical JSON (RFC 8785).

    The guards are asked for what it gives, too. What raises is not kept, nor a result that cannot
    be copied; each caller has a copy of its own. Arguments without canonical JSON are no key: their
    calls run. The labels of a `tool_call`, which are another with each call, are not looked at.

    Args:
        seconds: how long a result is kept; None is as long as there is room.
        size: how many results are kept.
        hook: the hook whose results it keeps, several, or a glob; no stream.

    Raises:
        HookError: for a number that is none.
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
        given = {name: value for name, value in ctx.kwargs.items()
                 if name not in labels and value is not ctx.sender}  # fmt: skip
        whose = [ctx.baggage.get(name) for name in ("user", "session")]
        try:
            return id(ctx.sender), self._json.dumps([ctx.hook, given, whose])
        except (self._json.CanonicalizationError, RecursionError, UnicodeError):
            return None

    def _found(self, key: Any, sender: Any) -> tuple[Any] | None:
        with self._lock:
            kept = self._kept.get(key)
        # An object that is gone may have left its number to another.
        return None if kept is None or kept[0]() is not sender else (copy.deepcopy(kept[1]),)

    def _keep(self, key: Any, sender: Any, result: Any) -> Any:
        if key is not None:
            try:
                kept = weakref.ref(sender), copy.deepcopy(result)
            except Exception:  # whatever a stranger's __deepcopy__ raises: it runs each time
                return result
            with self._lock:
                self._kept[key] = kept
        return result


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name.isidentifier()


def _is_exception(given: Any) -> bool:
    return isinstance(given, type) and issubclass(given, Exception)


def _check_seconds(name: str, seconds: Any) -> None:
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds < math.inf:
        raise HookError(f"{name}={seconds!r:.40} must be a number of seconds above 0")
