"""Runs the methods of Bub's `HookRuntime` on hookbus. Without other receivers or listeners, Bub's
implementations are called directly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ._calls import Notice
from ._plugins import Plugins

STOCK: Final[dict[str, Callable[..., Any]]] = {}
"""Bub's own methods, for other code that still references a replaced method after uninstalling."""

ASYNC: Final = ("call_first", "call_many")
"""The plain functions that return another function's coroutine. This saves one coroutine for each
call."""


def _plugins(runtime: Any) -> Plugins | None:
    plugins: Plugins | None = getattr(runtime, "_hookbus", None)
    return plugins


def call_first(runtime: Any, /, hook_name: str, **kwargs: Any) -> Any:
    plugins = _plugins(runtime)
    if plugins is None:
        return STOCK["call_first"](runtime, hook_name, **kwargs)
    return plugins.call(hook_name, kwargs, is_first=True)


def call_many(runtime: Any, /, hook_name: str, **kwargs: Any) -> Any:
    plugins = _plugins(runtime)
    if plugins is None:
        return STOCK["call_many"](runtime, hook_name, **kwargs)
    return plugins.call(hook_name, kwargs)


def call_first_sync(runtime: Any, /, hook_name: str, **kwargs: Any) -> Any:
    plugins = _plugins(runtime)
    if plugins is None:
        return STOCK["call_first_sync"](runtime, hook_name, **kwargs)
    return plugins.call_sync(hook_name, kwargs, is_first=True)


def call_many_sync(runtime: Any, /, hook_name: str, **kwargs: Any) -> Any:
    plugins = _plugins(runtime)
    if plugins is None:
        return STOCK["call_many_sync"](runtime, hook_name, **kwargs)
    return plugins.call_sync(hook_name, kwargs)


async def notify_error(runtime: Any, /, *, stage: str, error: Exception, message: Any) -> None:
    notice, plugins = {"stage": stage, "error": error, "message": message}, _plugins(runtime)
    panel = plugins and plugins.panel("on_error")
    if not plugins or not panel or panel.question is None:
        await STOCK["notify_error"](runtime, **notice)
    else:
        await plugins.ask(panel, plugins.asking(panel, "on_error", Notice, stage=stage), notice)


def notify_error_sync(runtime: Any, /, *, stage: str, error: Exception, message: Any) -> None:
    notice, plugins = {"stage": stage, "error": error, "message": message}, _plugins(runtime)
    panel = plugins and plugins.panel("on_error")
    if not plugins or not panel or panel.question is None:
        STOCK["notify_error_sync"](runtime, **notice)
    else:
        plugins.ask_sync(
            panel, plugins.asking(panel, "on_error", Notice, stage=stage, is_sync=True), notice
        )


def _invoke_impl_sync(
    runtime: Any, /, *, hook_name: str, impl: Any, call_kwargs: Any, kwargs: Any
) -> Any:
    """Call one implementation, as Bub does only for `onboard_config`."""
    plugins = _plugins(runtime)
    panel = plugins and plugins.panel(hook_name) if hook_name == "onboard_config" else None
    if not plugins or not panel or panel.question is None or impl not in panel.impls:
        return STOCK["_invoke_impl_sync"](
            runtime, hook_name=hook_name, impl=impl, call_kwargs=call_kwargs, kwargs=kwargs
        )
    asking = plugins.asking(panel, hook_name, is_sync=True, only=[impl], with_others=False)
    answers = plugins.ask_sync(panel, asking, kwargs)
    return answers[0] if answers else None


METHODS: Final[dict[str, Callable[..., Any]]] = {
    each.__name__: each
    for each in (
        call_first,
        call_many,
        call_first_sync,
        call_many_sync,
        notify_error,
        notify_error_sync,
        _invoke_impl_sync,
    )
}
