"""Checks the hooks of an agent or team with `strict=True`, when the owner is created and before its
first run."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from hookbus import HookError

from ..._ground.errors import did_you_mean
from ..._ground.signatures import signature_of
from .._own_hooks import title_of
from .._patches import Patches

_ALWAYS = ("session", "run_context", "user_id", "debug_mode", "metadata")
_STOPPERS = {"InputCheckError", "OutputCheckError"}


def replace_registration(patches: Patches) -> None:
    """Check hooks when an agent or team is created, and when Agno prepares its lists of hooks for
    the first run."""
    for name in ("agent", "team"):
        owner = getattr(import_module(f"agno.{name}"), name.title())
        patches.replace(owner, "__init__", _checking_init(owner.__init__, name))
        runs = import_module(f"agno.{name}._run")
        for phase in ("pre", "post"):
            normalize = f"normalize_{phase}_hooks"
            patches.replace(runs, normalize, _checking_lists(getattr(runs, normalize), name, phase))


def _checking_init(stock: Callable[..., Any], owner: str) -> Callable[..., Any]:
    @functools.wraps(stock)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        stock(self, *args, **kwargs)
        for phase in ("pre", "post"):
            _check_all(getattr(self, f"{phase}_hooks") or (), owner, phase)

    return __init__


def _checking_lists(stock: Callable[..., Any], owner: str, phase: str) -> Callable[..., Any]:
    @functools.wraps(stock)
    def normalize(hooks: Any, *args: Any, **kwargs: Any) -> Any:
        _check_all(hooks or (), owner, phase)
        return stock(hooks, *args, **kwargs)

    return normalize


def _check_all(hooks: Iterable[Any], owner: str, phase: str) -> None:
    utils = import_module("agno.utils.hooks")
    for hook in hooks:
        if isinstance(hook, utils.BaseEval):
            continue
        called = hook.check if isinstance(hook, utils.BaseGuardrail) else hook
        where = f"{title_of(hook)} in {phase}_hooks"
        _check_names(called, where, owner, phase)
        if getattr(hook, utils.HOOK_RUN_IN_BACKGROUND_ATTR, False) and _can_stop(hook):
            raise HookError(
                f"{where} can stop a run, but not from the background: remove "
                "run_in_background=True"
            )


def _check_names(hook: Any, where: str, owner: str, phase: str) -> None:
    """Raise an error for a hook with a parameter that Agno does not pass to hooks in this list."""
    if not callable(hook):
        raise HookError(f"{where} is not callable: {hook!r:.60}")
    known = (*_ALWAYS, owner, "run_input" if phase == "pre" else "run_output")
    kinds = inspect.Parameter
    for parameter in signature_of(hook).parameters.values():
        is_star = parameter.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
        if not is_star and parameter.default is kinds.empty and parameter.name not in known:
            advice = did_you_mean(parameter.name, known)
            raise HookError(
                f"{where} has a parameter {parameter.name!r}, which Agno does not pass{advice}"
            )


def _can_stop(hook: Any) -> bool:
    """Return whether a hook is a guardrail, or whether its code names an exception that stops a
    run."""
    utils = import_module("agno.utils.hooks")
    if isinstance(hook, utils.BaseGuardrail) or utils.is_guardrail_hook(hook):
        return True
    function = inspect.unwrap(hook)
    call = getattr(type(function), "__call__", None)  # noqa: B004 - the method itself is wanted
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    code = code or getattr(call, "__code__", None)
    return code is not None and not _STOPPERS.isdisjoint(code.co_names)
