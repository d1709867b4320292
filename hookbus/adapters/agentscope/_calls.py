"""Runs one call of an agent's method with AgentScope's rules for the arguments and the answers of
hooks."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from copy import deepcopy
from typing import Any

from hookbus import HookContext, Replace

from ..._ground.signatures import signature_of

Hook = Callable[..., Any]


class Parameters:
    """The parameters of a method, except the first."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.signature = signature_of(method)
        kind = inspect.Parameter
        self.named = dict(list(self.signature.parameters.items())[1:])
        self.star = next((n for n, p in self.named.items() if p.kind is kind.VAR_POSITIONAL), None)
        self.double_star = next(
            (n for n, p in self.named.items() if p.kind is kind.VAR_KEYWORD), None
        )
        self.defaults = {n: p.default for n, p in self.named.items() if p.default is not p.empty}
        self.defaults |= {self.star: ()} if self.star else {}
        self.defaults |= {self.double_star: {}} if self.double_star else {}

    def fit(self, kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """Return the arguments of a call with exactly these keyword arguments, and whether this
        call is possible."""
        patch = {**self.defaults, **{name: kwargs[name] for name in self.named if name in kwargs}}
        extra = {name: value for name, value in kwargs.items() if name not in self.named}
        if self.double_star is not None:
            patch[self.double_star] = {**patch[self.double_star], **extra}
            extra = {}
        return patch, not extra and all(name in patch for name in self.named)

    def unbound(
        self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], error: TypeError
    ) -> TypeError:
        """Return the exception that AgentScope raises if the arguments do not match the method's
        parameters."""
        return TypeError(
            f"Failed to bind parameters for function '{name}': {error}\n"
            f"Expected parameters: {list(self.signature.parameters)}\n"
            f"Provided {len(args)} positional args and kwargs: {list(kwargs)}"
        )


class Running:
    """One call, from its pre-hooks to its post-hooks.

    Attributes:
        known: the post-hooks that were connected when the call began, which hookbus calls. This
            class calls hooks that are registered later.
        given: the keyword arguments that the last pre-hook returned, which replace all other
            arguments; None until a pre-hook returns a dict.
        failure: the exception that a hook raised, which reaches the caller unchanged.
    """

    __slots__ = (
        "_arguments", "_snapshots", "agent", "failure", "fits", "given", "hook", "is_in_body",
        "known", "outer", "parameters", "was_in_body",
    )  # fmt: skip

    def __init__(
        self, agent: Any, hook: str, parameters: Parameters, outer: Running | None
    ) -> None:
        self.agent, self.hook, self.parameters, self.outer = agent, hook, parameters, outer
        self.known = {scope: set(hooks) for scope, hooks in self._hooks("post").items()}
        self.given: dict[str, Any] | None = None
        self.fits = True
        self.failure: BaseException | None = None
        self.is_in_body = self.was_in_body = False
        self._snapshots: dict[str, dict[str, dict[str, Hook]]] = {}
        self._arguments: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})

    # -- the method --------------------------------------------------------------------------------

    async def run(
        self, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run the method itself."""
        self.is_in_body = self.was_in_body = True
        self._arguments = (args, kwargs)
        try:
            if not self.fits and self.given is not None:
                # The call does not fit: Python raises its own error.
                others = dict(self.given)
                star = others.pop(self.parameters.star or "", ())
                double_star = others.pop(self.parameters.double_star or "", {})
                return await method(self.agent, *star, **others, **double_star)
            return await method(*args, **kwargs)
        finally:
            self.is_in_body = False

    # -- its hooks ---------------------------------------------------------------------------------

    def ask_pre(self, scope: str, name: str, ctx: HookContext) -> Any:
        """Call one pre-hook, and return its replacement for the arguments, None, or an awaitable of
        either."""
        hook = self._snapshot("pre")[scope].get(name)
        if hook is None:
            return None
        try:
            answer = hook(self.agent, self._copy(ctx.kwargs))
            if answer is None:
                return None
            if _must_await(hook, answer):
                return self._awaited(answer, lambda answer: self._take(hook, name, answer))
            return self._take(hook, name, answer)
        except BaseException as error:
            self.failure = error
            raise

    def _take(self, hook: Hook, name: str, answer: Any) -> dict[str, Any] | None:
        if answer is None:  # the answer of an awaited hook
            return None
        if not isinstance(answer, dict):
            raise AssertionError(
                f"Pre-hook must return a dict of keyword arguments, rather than {type(answer)} "
                f"from hook {getattr(hook, '__name__', name)}"
            )
        self.given = answer
        patch, self.fits = self.parameters.fit(answer)
        return patch

    def ask_post(self, scope: str, name: str, ctx: HookContext) -> Any:
        """Call one post-hook, and return its replacement for the output, None, or an awaitable of
        either."""
        if scope == "class" and self._late("instance"):
            return self._ask_after_late(name, self._view(ctx.kwargs), ctx.result)
        hook = self._snapshot("post")[scope].get(name)
        if hook is None:
            return None
        try:
            answer = hook(self.agent, self._copy(ctx.kwargs), deepcopy(ctx.result))
            if answer is None:
                return None
            if _must_await(hook, answer):
                return self._awaited(answer, _replacing)
            return _replacing(answer)
        except BaseException as error:
            self.failure = error
            raise

    async def _awaited(self, answer: Any, read: Callable[[Any], Any]) -> Any:
        try:
            return read(await answer)
        except BaseException as error:
            self.failure = error
            raise

    # -- post-hooks registered while the call runs -------------------------------------------------

    async def ask_late(self, result: Any) -> Any:
        """Call the post-hooks that were registered during the call, and return the output."""
        if not self.was_in_body or not any(self._late(scope) for scope in self.known):
            return result
        args, kwargs = self._arguments
        bound = self.parameters.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        view = self._view({name: bound.arguments[name] for name in self.parameters.named})
        for scope in self.known:
            result = await self._ask_late(scope, view, result)
        return result

    async def _ask_after_late(self, name: str, kwargs: dict[str, Any], result: Any) -> Replace:
        """Call the late hooks of the agent, which run before hooks of the class, and then this hook
        of the class."""
        try:
            result = await self._ask_late("instance", kwargs, result)
            hook = self._snapshot("post")["class"].get(name)
            return Replace(result if hook is None else await self._ask(hook, kwargs, result))
        except BaseException as error:
            self.failure = error
            raise

    async def _ask_late(self, scope: str, kwargs: dict[str, Any], result: Any) -> Any:
        for name, hook in self._late(scope).items():
            self.known[scope].add(name)
            result = await self._ask(hook, kwargs, result)
        return result

    async def _ask(self, hook: Hook, kwargs: dict[str, Any], result: Any) -> Any:
        answer = hook(self.agent, deepcopy(kwargs), deepcopy(result))
        if _must_await(hook, answer):
            answer = await answer
        return result if answer is None else answer

    def _late(self, scope: str) -> dict[str, Hook]:
        return {
            name: hook
            for name, hook in self._snapshot("post")[scope].items()
            if name not in self.known[scope]
        }

    # -- what AgentScope keeps ---------------------------------------------------------------------

    def _copy(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return a deep copy of the keyword arguments that AgentScope would pass to the hook."""
        if self.given is not None:
            return deepcopy(self._view(kwargs))
        memo: dict[int, Any] = {}  # an object shared by two arguments stays shared in their copies
        return {name: deepcopy(value, memo) for name, value in kwargs.items()}

    def _view(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keyword arguments that AgentScope would pass to a hook. They are the arguments
        that an earlier hook returned, with later changes by other receivers."""
        if self.given is None:
            return dict(kwargs)
        double_star = self.parameters.double_star
        return {
            name: value if name == double_star else kwargs.get(name, value)
            for name, value in self.given.items()
        }

    def _snapshot(self, phase: str) -> dict[str, dict[str, Hook]]:
        """Return the hooks that were registered when the first hook of this phase was called."""
        snapshot = self._snapshots.get(phase)
        if snapshot is None:
            snapshot = self._snapshots[phase] = self._hooks(phase)
        return snapshot

    def _hooks(self, phase: str) -> dict[str, dict[str, Hook]]:
        instance = getattr(self.agent, f"_instance_{phase}_{self.hook}_hooks")
        return {"instance": dict(instance), "class": dict(self.class_hooks(phase))}

    def class_hooks(self, phase: str) -> Mapping[str, Hook]:
        """Return the dict of class hooks that this agent uses."""
        hooks: Mapping[str, Hook] = getattr(type(self.agent), f"_class_{phase}_{self.hook}_hooks")
        return hooks


def _replacing(answer: Any) -> Replace | None:
    return None if answer is None else Replace(answer)


def _must_await(hook: Hook, answer: Any) -> bool:
    """Return whether to await a hook's answer. Awaiting an async generator fails, as in
    AgentScope."""
    if type(answer) is dict:
        return False
    if inspect.isasyncgen(answer):
        while isinstance(hook, functools.partial):
            hook = hook.func
        return inspect.isasyncgenfunction(hook)
    return inspect.isawaitable(answer)


RUNNING: ContextVar[Running | None] = ContextVar("hookbus_agentscope_call", default=None)


def current(agent: Any, hook: str) -> Running | None:
    """Return the innermost running call of this agent and hook in the current context."""
    running = RUNNING.get()
    while running is not None and not (running.agent is agent and running.hook == hook):
        running = running.outer
    return running
