"""Runs Agno's tool hooks with `strict=True`. Arguments that hooks pass on reach the tool, async
hooks are awaited or rejected, and failing guards block the call.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

from hookbus import Block, HookError
from hookbus.exceptions import HookWarning

from .._own_hooks import Hook, frozen, title_of
from .._patches import Patches
from ._calls import ToolCall
from ._hooks import AroundHook, is_async_hook


class StrictToolCall(ToolCall):
    """One call to a tool whose own hooks follow the rules of hookbus."""

    def __init__(self, agno: Any, fc: Any, *, is_async: bool, off_loop: bool) -> None:
        super().__init__(agno, fc, is_async=is_async, off_loop=off_loop)
        self._approved: Any = None
        self._is_stream = False

    # -- arguments ---------------------------------------------------------------------------------

    def passed(self, args: dict[str, Any], before: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        return args if args == before == kwargs else kwargs

    def seen(self, args: dict[str, Any]) -> dict[str, Any]:
        return args

    def must_place(self, args: dict[str, Any]) -> bool:
        if self._approved is not None and args != self._approved:
            raise HookError(
                f"{self.function.name} was approved with other arguments; hooks must not change "
                "the arguments after the approval"
            )
        return args is not self.fc.arguments and bool(args or self.fc.arguments)

    # -- async hooks of a plain call ---------------------------------------------------------------

    def check_sync(self, hook: Hook) -> None:
        pass  # it is rejected when it would be called

    def is_left_out(self, hook: Hook) -> bool:
        if is_async_hook(hook):
            raise self._is_async_error(hook)
        return False

    def _is_async_error(self, hook: Hook) -> HookError:
        return HookError(
            f"{title_of(hook)} is async and cannot be called in a sync call of "
            f"{self.function.name}: use arun()"
        )

    def checked(self, hook: Hook, result: Any, came: list[Any]) -> Any:
        if inspect.isawaitable(result):
            _close(result)
            raise self._is_async_error(hook)
        if result is None and came and came[-1] is not None:
            warnings.warn(
                f"{title_of(hook)} called the next function but returned nothing, so "
                f"{self.function.name} returns None: return its result",
                HookWarning, stacklevel=2,
            )  # fmt: skip
        return result

    # -- pre_hook and post_hook --------------------------------------------------------------------

    def read(self, answer: Any) -> Any:
        return answer if isinstance(answer, Block) else super().read(answer)

    def note(self, error: BaseException) -> None:
        if isinstance(error, self._agno.control_flow):
            self._control = error

    def let_out(self) -> None:
        # The call itself raises the exception a pre_hook raised to steer the run, so that the
        # post_hook runs.
        if self._phase == "post-hook":
            super().let_out()

    def is_due(self, phase: str) -> bool:
        if phase == "pre-hook" and getattr(self.function, "requires_confirmation", False):
            self._approved = frozen(self.fc.arguments or {})
        return phase == "pre-hook" or self._must_end

    def outcome(self, outcome: Any) -> Any:
        outcome = super().outcome(outcome)
        if outcome.status == "success":
            outcome.result = self.fc.result  # a post_hook may have replaced it
        return outcome

    # -- tools that stream -------------------------------------------------------------------------

    def _dispatch(self, name: str, func: Any, args: dict[str, Any]) -> Any:
        if not inspect.isgeneratorfunction(inspect.unwrap(self.function.entrypoint)):
            return super()._dispatch(name, func, args)
        if self._is_answered(args):
            return self._answer
        self._is_stream, self._must_end = True, False
        return self._streamed(name, args)

    async def _dispatch_async(self, name: str, func: Any, args: dict[str, Any]) -> Any:
        tool = inspect.unwrap(
            self.function.entrypoint
        )  # Agno checks arguments in a function around it
        if inspect.isgeneratorfunction(tool):
            self._is_async = False
            return self._dispatch(name, func, args)
        if not inspect.isasyncgenfunction(tool):
            return await super()._dispatch_async(name, func, args)
        if self._is_answered(args):
            return self._answer
        self._is_stream, self._must_end = True, False
        return self._streamed_async(name, args)

    def _streamed(self, name: str, args: dict[str, Any]) -> Generator[Any, Any, Any]:
        try:
            return (yield from self.hooked("stool_call", args))
        except Exception as error:
            self.fc.error = str(error)
            raise
        finally:
            self._must_end = True
            self._end_sync()

    async def _streamed_async(self, name: str, args: dict[str, Any]) -> AsyncGenerator[Any, None]:
        items = self.hooked("astool_call", args)
        try:
            async for item in items:
                yield item
        except Exception as error:
            self.fc.error = str(error)
            raise
        finally:
            await items.aclose()
            self._must_end = True
            await self._end_async()

    def ask_around(self, own: AroundHook, kwargs: Any, call_next: Hook) -> Any:
        if not self._is_stream:
            return super().ask_around(own, kwargs, call_next)
        ask = self._ask_stream_async if self._is_async else self._ask_stream
        return ask(own, self._hooks[own.index], kwargs["arguments"], call_next)

    def _next_of_stream(self, args: dict[str, Any], call_next: Hook) -> Callable[..., Any]:
        before = frozen(args)

        def next_func(**kwargs: Any) -> Any:
            passed = self.passed(args, before, kwargs)
            return call_next(**({} if passed is args else {"arguments": passed}))

        return next_func

    def _ask_stream(
        self, own: AroundHook, hook: Hook, args: dict[str, Any], call_next: Hook
    ) -> Generator[Any, Any, Any]:
        self.is_left_out(hook)
        result = self.checked(
            hook,
            hook(**self.arguments_of(own, hook, self._next_of_stream(args, call_next), args)),
            [],
        )
        if not hasattr(result, "__next__"):
            yield result
            return None
        return (yield from result)

    async def _ask_stream_async(
        self, own: AroundHook, hook: Hook, args: dict[str, Any], call_next: Hook
    ) -> AsyncGenerator[Any, None]:
        next_func = self._next_of_stream(args, call_next)
        if is_async_hook(hook) or inspect.isasyncgenfunction(hook):
            next_func = _awaitable(next_func)
        result = hook(**self.arguments_of(own, hook, next_func, args))
        if inspect.isawaitable(result):
            result = await result
        if not hasattr(result, "__aiter__"):
            yield result
            return
        async for item in result:
            yield item


def _awaitable(next_func: Callable[..., Any]) -> Callable[..., Any]:
    async def next_one(**kwargs: Any) -> Any:
        return next_func(**kwargs)

    return next_one


def _close(awaitable: Any) -> None:
    close = getattr(awaitable, "close", None) or getattr(awaitable, "cancel", None)
    if close is not None:
        close()


def merge_scopes(patches: Patches, function_class: Any) -> None:
    """Make the hooks of an agent or team wrap the hooks of its tools. Agno itself would discard the
    tools' hooks."""
    stock = function_class.__setattr__

    def __setattr__(tool: Any, name: str, value: Any) -> None:
        if name == "tool_hooks" and value is not None:
            owners = (getattr(tool, "_agent", None), getattr(tool, "_team", None))
            if any(
                owner is not None and value is getattr(owner, "tool_hooks", None)
                for owner in owners
            ):
                value = [
                    *value,
                    *(
                        hook
                        for hook in tool.tool_hooks or ()
                        if all(hook is not each for each in value)
                    ),
                ]
        stock(tool, name, value)

    patches.replace(function_class, "__setattr__", __setattr__)
