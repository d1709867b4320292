"""The methods of Bub's `HookRuntime`, on hookbus. Where nobody else listens, Bub's implementations are called in line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ._bub_calls import Notice, is_awaitable
from ._bub_plugins import Plugins
from ._bub_questions import Panel

STOCK: Final[dict[str, Callable[..., Any]]] = {}
"""Bub's own methods. Somebody may have kept one of these here after hookbus is gone."""


def _plugins(runtime: Any) -> Plugins | None:
    plugins: Plugins | None = getattr(runtime, "_hookbus", None)
    return plugins


def _heard(runtime: Any, hook: str) -> tuple[Plugins, Panel] | None:
    """Return what is needed to ask through hookbus; None where Bub's own code does, as nobody else would hear of it."""
    plugins = _plugins(runtime)
    if plugins is None:
        return None
    panel = plugins.panel(hook)
    return None if plugins.is_direct(panel) else (plugins, panel)


async def call_first(runtime: Any, /, hook_name: str, **kwargs: Any) -> Any:
    plugins = _plugins(runtime)
    if plugins is None:
        return await STOCK["call_first"](runtime, hook_name, **kwargs)
    panel = plugins.panel(hook_name)
    if not plugins.is_direct(panel):
        return await plugins.ask(panel, plugins.asking(panel, hook_name, is_first=True), kwargs)
    for function, names in panel.turns:
        value = function(**{name: kwargs[name] for name in names if name in kwargs})
        if is_awaitable(value):
            value = await value
        if value is not None:
            return value
    return None


async def call_many(runtime: Any, /, hook_name: str, **kwargs: Any) -> Any:
    plugins = _plugins(runtime)
    if plugins is None:
        return await STOCK["call_many"](runtime, hook_name, **kwargs)
    panel = plugins.panel(hook_name)
    if not plugins.is_direct(panel):
        return await plugins.ask(panel, plugins.asking(panel, hook_name), kwargs)
    results = []
    for function, names in panel.turns:
        value = function(**{name: kwargs[name] for name in names if name in kwargs})
        results.append(await value if is_awaitable(value) else value)
    return results


def call_first_sync(runtime: Any, /, hook_name: str, **kwargs: Any) -> Any:
    heard = _heard(runtime, hook_name)
    if heard is None:
        return STOCK["call_first_sync"](runtime, hook_name, **kwargs)
    plugins, panel = heard
    return plugins.ask_sync(panel, plugins.asking(panel, hook_name, is_first=True, is_sync=True), kwargs)


def call_many_sync(runtime: Any, /, hook_name: str, **kwargs: Any) -> Any:
    heard = _heard(runtime, hook_name)
    if heard is None:
        return STOCK["call_many_sync"](runtime, hook_name, **kwargs)
    plugins, panel = heard
    return plugins.ask_sync(panel, plugins.asking(panel, hook_name, is_sync=True), kwargs)


async def notify_error(runtime: Any, /, *, stage: str, error: Exception, message: Any) -> None:
    told, heard = {"stage": stage, "error": error, "message": message}, _heard(runtime, "on_error")
    if heard is None:
        await STOCK["notify_error"](runtime, **told)
    else:
        plugins, panel = heard
        await plugins.ask(panel, plugins.asking(panel, "on_error", Notice, stage=stage), told)


def notify_error_sync(runtime: Any, /, *, stage: str, error: Exception, message: Any) -> None:
    told, heard = {"stage": stage, "error": error, "message": message}, _heard(runtime, "on_error")
    if heard is None:
        STOCK["notify_error_sync"](runtime, **told)
    else:
        plugins, panel = heard
        plugins.ask_sync(panel, plugins.asking(panel, "on_error", Notice, stage=stage, is_sync=True), told)


def _invoke_impl_sync(runtime: Any, /, *, hook_name: str, impl: Any, call_kwargs: Any, kwargs: Any) -> Any:
    """Ask one implementation, as Bub does for `onboard_config` and for no other hook."""
    heard = _heard(runtime, hook_name) if hook_name == "onboard_config" else None
    if heard is None:
        return STOCK["_invoke_impl_sync"](runtime, hook_name=hook_name, impl=impl, call_kwargs=call_kwargs, kwargs=kwargs)
    plugins, panel = heard
    asking = plugins.asking(panel, hook_name, is_sync=True, only=[impl], with_others=False)
    answers = plugins.ask_sync(panel, asking, kwargs)
    return answers[0] if answers else None


METHODS: Final[dict[str, Callable[..., Any]]] = {
    each.__name__: each
    for each in (call_first, call_many, call_first_sync, call_many_sync, notify_error, notify_error_sync, _invoke_impl_sync)
}
