"""Calls handlers as receivers of hookbus, with the right event and time limit."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, ClassVar

from ..._ground.signatures import signature_of
from ._dispatch import current
from ._errors import HandlerError, HandlerTimeout
from ._plugins import Registration
from ._tool_lists import tool_id


class Answering:
    """The receiver for one registered handler."""

    __signature__: ClassVar[inspect.Signature] = signature_of(lambda event, ctx: None)

    def __init__(self, registration: Registration) -> None:
        self.registration = registration

    @property
    def __wrapped__(self) -> Any:
        # The place that `explain` and failures show for this receiver.
        return self.registration.handler

    def is_asked(self, event: Any, ctx: Any) -> bool:
        """Return whether the current run calls this handler."""
        return current(self.registration.hook.name).asks(self.registration, event, ctx)


class AsyncAnswering(Answering):
    """The receiver for a handler that may be async."""

    async def __call__(self, event: Any, ctx: Any) -> Any:
        dispatch = current(self.registration.hook.name)
        given = dispatch.event_for(event)
        if dispatch.hook.name == "before_prompt_build":
            return await self._within_invocation(
                given, {**ctx, **(dispatch.authority or {})}, dispatch.budget(self.registration)
            )
        return await within(
            self.registration.handler(given, ctx), dispatch.budget(self.registration)
        )

    async def _within_invocation(
        self, event: Any, ctx: Mapping[str, Any], budget: float | None
    ) -> Any:
        invocation = Invocation("prompt hook invocation")
        try:
            return await within(
                self.registration.handler(event, {**ctx, "hookInvocation": invocation}), budget
            )
        finally:
            invocation.end()


class SyncAnswering(Answering):
    """The receiver for a handler of a synchronous hook, which ignores a returned awaitable."""

    def __call__(self, event: Any, ctx: Any) -> Any:
        registration = self.registration
        dispatch = current(registration.hook.name)
        returned = registration.handler(dispatch.event_for(event), ctx)
        if not inspect.isawaitable(returned):
            return returned
        _forget(returned)
        text = (
            f"[hooks] {registration.hook.name} handler from {registration.plugin_id} returned "
            "a Promise; this hook is synchronous and the result was ignored."
        )
        if not dispatch.catches:
            raise HandlerError(text, registration.hook.name, registration.plugin_id)
        dispatch.logger.warning("%s", text)
        return None


class Invocation:
    """Lets a handler check whether the run is still waiting for its result."""

    def __init__(self, what: str) -> None:
        self._what, self._is_active = what, True

    def assert_active(self) -> None:
        """Raise an exception if the run no longer waits for this handler.

        Raises:
            RuntimeError: if the run no longer waits.
        """
        if not self._is_active:
            raise RuntimeError(f"{self._what} is no longer active")

    def end(self) -> None:
        self._is_active = False


class ToolAuthority(Invocation):
    """The tools of the current turn, for handlers of the authorised prompt build while they run.

    Attributes:
        fingerprint: identifies the tools and their source.
    """

    def __init__(
        self, tools: Iterable[str], source: str, assert_host_active: Callable[[], object]
    ) -> None:
        super().__init__("prompt tool authority")
        self._tools = sorted({name for name in map(tool_id, tools) if name})
        self._assert_host_active = assert_host_active
        self.fingerprint = hashlib.sha256("\0".join([source, *self._tools]).encode()).hexdigest()

    def allows(self, tool: str) -> bool:
        """Return whether a tool is active in this turn."""
        self.assert_active()
        return tool_id(tool) in self._tools

    def assert_active(self) -> None:
        super().assert_active()
        self._assert_host_active()


async def within(returned: Any, seconds: float | None) -> Any:
    """Return the result of a handler, and await an awaitable result for at most `seconds`.

    A handler that takes longer is cancelled, and its later result or exception is ignored. Code
    that blocks the event loop cannot be interrupted.

    Raises:
        HandlerTimeout: if the handler takes longer.
    """
    if not inspect.isawaitable(returned):
        return returned
    if seconds is None:
        return await returned
    import asyncio

    task = asyncio.ensure_future(returned)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise HandlerTimeout(seconds)
        return task.result()
    finally:
        if not task.done():
            task.add_done_callback(lambda late: late.cancelled() or late.exception())
            task.cancel()


def _forget(awaitable: Awaitable[Any]) -> None:
    """Close an awaitable that is never awaited, so that Python does not warn."""
    stop = getattr(awaitable, "close", None) or getattr(awaitable, "cancel", None)
    if stop is not None:
        stop()
