"""Replaces Bub's registration, its hook report and its search for a model with `strict=True`."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator
from contextlib import aclosing
from importlib import import_module
from itertools import groupby
from typing import Any, Final

from hookbus import HookError

from ..._ground.errors import did_you_mean
from ._plugins import Plugins
from ._questions import SYNC_ONLY

_MODELS: Final = ("run_model", "run_model_stream")


def check_plugin(manager: Any, plugin: Any) -> None:
    """Reject a plugin that implements an unknown hook, or that implements a hook of sync code as
    async.

    Raises:
        HookError: if the plugin is rejected; the message names the implementation with its file and
            line.
    """
    known = [name for name, caller in vars(manager.hook).items() if caller.has_spec()]
    for attribute in dir(plugin) if plugin is not None else ():
        options = manager.parse_hookimpl_opts(plugin, attribute)
        if options is None:
            continue
        function = inspect.unwrap(getattr(plugin, attribute))
        hook, code = options.get("specname") or attribute, function.__code__
        where = f"{function.__qualname__} ({code.co_filename}:{code.co_firstlineno})"
        if hook not in known and not options.get("optionalhook"):
            raise HookError(
                f"{where} implements {hook!r}, which is not a hook of Bub"
                f"{did_you_mean(hook, known)}"
            )
        if hook in SYNC_ONLY and inspect.iscoroutinefunction(function):
            raise HookError(
                f"{where} is async, but Bub calls {hook} where it cannot await: write a plain def"
            )


def hook_report(runtime: Any) -> dict[str, list[str]]:
    """Return the plugins of each hook, in the order in which they run."""
    plugins: Plugins = runtime._hookbus
    plugins.sync()
    return {
        hook: [impl.plugin_name for impl in panel.impls]
        for hook, panel in sorted(plugins.panels.items())
        if panel.impls
    }


async def _ask_models(runtime: Any, **given: Any) -> tuple[str, Any]:
    """Call the models in order, for text and for streams, until a model answers. Return the model's
    hook and the answer."""
    plugins: Plugins = runtime._hookbus
    panels = {hook: plugins.panel(hook) for hook in _MODELS}
    # Pairs of a hook and the place of its implementation in the order of both hooks.
    ranked = [(plugins.rank(impl), hook, impl) for hook in _MODELS for impl in panels[hook].impls]
    ranked.sort(key=lambda each: each[0], reverse=True)
    parts = [
        (hook, [impl for _, _, impl in part])
        for hook, part in groupby(ranked, key=lambda each: each[1])
    ]
    asked: set[str] = set()
    for hook, impls in [*parts, *((hook, []) for hook in _MODELS)]:
        if not impls and hook in asked:
            continue
        asking = plugins.asking(
            panels[hook], hook, is_first=True, only=impls, with_others=hook not in asked
        )
        asked.add(hook)
        answer = await plugins.ask(panels[hook], asking, given)
        if answer is not None:
            return hook, answer
    return "", None


async def run_model(runtime: Any, prompt: Any, session_id: str, state: Any) -> str | None:
    """Return the answer of the first model that answers. A stream is read and returned as text."""
    hook, answer = await _ask_models(runtime, prompt=prompt, session_id=session_id, state=state)
    if hook != "run_model_stream":
        if answer is None or isinstance(answer, str):
            return answer
        raise TypeError(f"run_model returned a {type(answer).__name__}, but Bub needs a str")
    async with aclosing(_checked(answer)) as stream:
        return "".join(
            [str(event.data.get("delta", "")) async for event in stream if event.kind == "text"]
        )


async def run_model_stream(runtime: Any, prompt: Any, session_id: str, state: Any) -> Any:
    """Return the stream of the first model that answers. A text is returned as a stream of one
    part."""
    hook, answer = await _ask_models(runtime, prompt=prompt, session_id=session_id, state=state)
    if hook != "run_model":
        return answer if answer is None else _checked(answer)
    streaming = import_module("bub.streaming")

    async def pieces() -> AsyncGenerator[Any, None]:
        yield streaming.StreamEvent("text", {"delta": answer})

    return streaming.AsyncStreamEvents(pieces(), state=streaming.StreamState())


def _checked(stream: Any) -> Any:
    if not isinstance(stream, import_module("bub.streaming").AsyncStreamEvents):
        raise TypeError(
            f"run_model_stream returned a {type(stream).__name__}, but Bub needs an "
            "AsyncStreamEvents"
        )
    return stream


METHODS: Final = {each.__name__: each for each in (hook_report, run_model, run_model_stream)}
