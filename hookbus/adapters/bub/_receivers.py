"""The receivers that represent the implementations of Bub's plugins."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._calls import NOT_GIVEN, current, is_awaitable

_KIND = inspect.Parameter


class Implementation:
    """The receiver for one implementation of a plugin, which answers a question.

    The receiver stores only the index of the implementation, and only a weak reference to the
    plugins. The current call knows the implementation. An unreferenced runtime can therefore be
    garbage-collected with its plugins.
    """

    def __init__(self, plugins: Any, hook: str, index: int, names: Sequence[str]) -> None:
        self.plugins, self.hook, self.index, self.names = (
            weakref.ref(plugins), hook, index, tuple(names),
        )  # fmt: skip
        self.__signature__ = inspect.Signature(self.parameters())

    def parameters(self) -> list[inspect.Parameter]:
        return [_KIND(name, _KIND.KEYWORD_ONLY) for name in self.names]

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        # The place that `explain` and failures show for this receiver.
        plugins = self.plugins()
        if plugins is None:
            raise AttributeError("the runtime of this receiver no longer exists")
        function: Callable[..., Any] = plugins.impls_of(self.hook)[self.index].function
        return function

    def __call__(self, **given: Any) -> Any:
        return self.ask(given)

    def ask(self, arguments: Mapping[str, Any]) -> Any:
        """Call the implementation with the arguments for which it has parameters."""
        asking = current(self.hook)
        if not asking.asks(self.plugins(), self.index):
            return None
        return asking.ask(self.index, self.fit(arguments), arguments)

    def fit(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: arguments[name]
            for name in self.names
            if arguments.get(name, NOT_GIVEN) is not NOT_GIVEN
        }


class AsyncImplementation(Implementation):
    """The receiver for a coroutine function. It is async, so that hookbus awaits the answer."""

    async def __call__(self, **given: Any) -> Any:
        answer = self.ask(given)
        return await answer if is_awaitable(answer) else answer


def implementation(
    plugins: Any, hook: str, index: int, names: Sequence[str], impl: Any
) -> Implementation:
    """Return the receiver for an implementation."""
    kind = AsyncImplementation if inspect.iscoroutinefunction(impl.function) else Implementation
    return kind(plugins, hook, index, names)


class Interceptor(Implementation):
    """The receiver for a hook of `AgentHooks`, which runs before a method."""

    def parameters(self) -> list[inspect.Parameter]:
        return [_KIND("hooks", _KIND.POSITIONAL_ONLY), _KIND("ctx", _KIND.KEYWORD_ONLY)]

    def __call__(self, hooks: Any, ctx: Any) -> Any:  # type: ignore[override]
        return self.ask(ctx.kwargs)


class Wrapper(Implementation):
    """The receiver for a pluggy wrapper, which is a generator function that runs the rest of the
    call at its `yield`."""

    def parameters(self) -> list[inspect.Parameter]:
        sender = _KIND("hook", _KIND.POSITIONAL_ONLY)
        return [sender, *(_KIND(name, _KIND.KEYWORD_ONLY) for name in ("ctx", "call_next"))]

    def __call__(  # type: ignore[override]
        self, hook: Any, ctx: Any, call_next: Callable[..., Any]
    ) -> Any:
        asking = current(self.hook)
        if not asking.asks(self.plugins(), self.index):
            return call_next()
        impl = asking.impls[self.index]
        generator = impl.function(**self.fit(ctx.kwargs))
        try:
            next(generator)
        except StopIteration:
            raise RuntimeError(f"the wrapper of {impl.plugin_name} did not yield") from None
        try:
            result = call_next()
        except BaseException as error:
            return _end(impl, generator, None, error)
        if is_awaitable(result):
            return _end_later(impl, generator, result)
        return _end(impl, generator, result, None)


async def _end_later(impl: Any, generator: Any, awaitable: Any) -> Any:
    try:
        result = await awaitable
    except BaseException as error:
        return _end(impl, generator, None, error)
    return _end(impl, generator, result, None)


def _end(impl: Any, generator: Any, result: Any, error: BaseException | None) -> Any:
    """Send the outcome of the call to a wrapper, and return or raise the wrapper's own outcome."""
    from pluggy import Result

    old: Any = Result(result, error) if impl.hookwrapper else None
    try:
        if old is None and error is not None:
            generator.throw(error)
        else:
            generator.send(result if old is None else old)
    except StopIteration as end:
        return end.value if old is None else old.get_result()
    generator.close()
    raise RuntimeError(f"the wrapper of {impl.plugin_name} yielded twice")
