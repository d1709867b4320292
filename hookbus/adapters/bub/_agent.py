"""Runs Bub's `AgentHooks` on hookbus. Plugins are receivers that run before the methods of
`AgentHooks`."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from hookbus import Block, Bus, Connection, HookBlocked, Replace, instrument

from ..._ground.signatures import signature_of
from .._patches import Patches
from ._calls import ASKING, is_awaitable
from ._interception import Interception, StrictInterception
from ._plugins import names_of, receiver_name
from ._questions import INTERCEPTION, Connected, Panel, Questions
from ._receivers import Interceptor, Wrapper


class Interceptions:
    """The plugins of one runtime that one `AgentHooks` calls."""

    def __init__(self, questions: Questions, hooks: Any) -> None:
        self._questions, self._hooks = questions, weakref.ref(hooks)
        self._strict = questions.strict
        self.panels: dict[str, Panel] = {}
        self.connected: list[Connected] = []

    def panel(self, hook: str) -> Panel:
        """Return the current implementations of a hook."""
        hooks: Any = self._hooks()
        panel = self.panels.get(hook)
        if panel is None:
            panel = self.panels.setdefault(hook, Panel(self._questions.interception[hook]))
            self.connected.append(panel.connected)
        impls = hooks._runtime._iter_hookimpls(hook)
        if impls != panel.impls:
            with self._questions.lock:
                panel.put(impls[::-1], functools.partial(self._connect, hooks, hook))
        return panel

    def sync(self) -> None:
        """Update the connections of every hook."""
        for hook in INTERCEPTION:
            self.panel(hook)

    def impls_of(self, hook: str) -> Sequence[Any]:
        return self.panels[hook].impls

    def _connect(
        self, hooks: Any, hook: str, impl: Any, index: int
    ) -> tuple[tuple[str, ...], Connection, bool]:
        names = names_of(impl, INTERCEPTION[hook], strict=self._strict)
        signal = self._questions.bus.signal
        options: dict[str, Any] = {"name": receiver_name(impl)}
        if self._strict and (impl.wrapper or impl.hookwrapper):
            return (
                names,
                signal(f"around_{hook}").connected_to(
                    Wrapper(self, hook, index, names), hooks, **options
                ),
                False,
            )
        if self._strict and hook.startswith("before_"):
            options["on_error"] = "block"
        if self._strict and hook == "after_llm_call":
            options["role"] = "observe"
        return (
            names,
            signal(f"pre_{hook}").connected_to(
                Interceptor(self, hook, index, names), hooks, **options
            ),
            True,
        )

    def asking(self, hook: str, panel: Panel) -> Interception:
        return (StrictInterception if self._strict else Interception)(self, hook, panel.impls)

    def is_in_line(self, hook: str, panel: Panel) -> bool:
        """Return whether the implementations may be called directly, because the hook has no other
        receivers or listeners."""
        is_side_by_side = self._strict and hook == "after_llm_call"
        return panel.listeners is not None and panel.listeners.is_quiet() and not is_side_by_side


async def in_line(
    asking: Interception, panel: Panel, arguments: dict[str, Any]
) -> Replace | Block | None:
    """Call the implementations directly that hookbus has called before. Return the answer that
    ended the call. After an unusual answer or an exception, stop, so that hookbus continues the
    call."""
    for impl, (function, names) in zip(asking.impls, panel.turns[: panel.known]):
        value: Any = None
        error: BaseException | None = None
        try:
            value = function(**asking.prepared({name: arguments[name] for name in names}))
            if is_awaitable(value):
                value = await value
        except BaseException as raised:  # hookbus decides how to handle it
            error = raised
        asking.done.append((value, error))
        if error is not None or not asking.is_usual(value):
            asking.is_over = False
            return None
        meaning = asking.read(impl, value, arguments)
        if isinstance(meaning, dict):
            arguments.update(meaning)
        elif meaning is not None:
            return meaning  # type: ignore[no-any-return]
    asking.is_over = panel.known == len(panel.turns)
    return None


Answer = Callable[..., Any]
"""Returns a method's result for Bub. It takes the request or tool call, and for a blocked call also
the reason."""


def hook_agent(patches: Patches, bus: Bus, module: Any) -> None:
    """Hook the four methods of `AgentHooks` under their own names."""
    go_on: dict[str, Answer] = {
        "before_llm_call": lambda request: (request, None),
        "before_tool_call": lambda call: (call, module.ToolCallDecision.proceed()),
    }
    refuse: dict[str, Answer] = {
        "before_llm_call": lambda request, why: (request, module.LlmCallDecision.finish(why)),
        "before_tool_call": lambda call, why: (call, module.ToolCallDecision.deny(why)),
    }
    cls = module.AgentHooks
    for name in INTERCEPTION:
        stock = vars(cls)[name]
        proceed = go_on.get(name, lambda subject: None)
        patches.replace(cls, name, _body(stock, proceed))
        undo = instrument(cls, {name: name}, bus=bus)
        hooked = vars(cls)[name]
        placed = _front(patches, stock, hooked, proceed, refuse.get(name))
        # So that `explain` and the scopes see the hookable below.
        placed.__wrapped__ = hooked
        setattr(cls, name, placed)
        patches.on_restore(functools.partial(_give_back, cls, name, placed, hooked, undo))


def _give_back(cls: Any, name: str, placed: Any, hooked: Any, undo: Callable[[], None]) -> None:
    if vars(cls).get(name) is placed:
        setattr(cls, name, hooked)
    undo()


def _body(stock: Any, proceed: Answer) -> Any:
    subject = INTERCEPTION[stock.__name__][0]

    async def body(hooks: Any, *args: Any, **kwargs: Any) -> Any:
        return proceed(args[0] if args else kwargs[subject])

    functools.update_wrapper(body, stock)
    del body.__wrapped__  # type: ignore[attr-defined]
    body.__signature__ = signature_of(stock)  # type: ignore[attr-defined]
    return body


def _front(
    patches: Patches, stock: Any, hooked: Any, proceed: Answer, refuse: Answer | None
) -> Any:
    name = stock.__name__
    names = INTERCEPTION[name]

    @functools.wraps(stock)
    async def front(hooks: Any, *args: Any, **kwargs: Any) -> Any:
        if not patches.is_live:
            return await stock(hooks, *args, **kwargs)
        panel = hooks._hookbus.panel(name)
        arguments = {**dict(zip(names, args)), **kwargs}
        is_in_line = len(arguments) == len(names) and hooks._hookbus.is_in_line(name, panel)
        if is_in_line and not panel.turns:
            return proceed(arguments[names[0]])
        asking = hooks._hookbus.asking(name, panel)
        if is_in_line:
            meaning = await in_line(asking, panel, arguments)
            if meaning is not None:
                return meaning.result
            if asking.is_over:
                return proceed(arguments[names[0]])
        outer = ASKING.get()
        ASKING.set(asking)
        try:
            return asking.result(await hooked(hooks, *args, **kwargs))
        except HookBlocked as blocked:
            if refuse is None:
                raise
            return refuse(args[0] if args else kwargs[names[0]], str(blocked))
        finally:
            ASKING.set(outer)
            if panel.impls is asking.impls:
                panel.known = max(panel.known, asking.reached)

    return front
