"""The plugins of one runtime: their implementations as receivers, kept equal to pluggy's own lists, and asked."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from hookbus import Connection, HookError, ReceiverError, modes
from hookbus.exceptions import did_you_mean

from ._bub_calls import ASKING, Asking, Interception, PlainAsking, StrictInterception
from ._bub_questions import INTERCEPTION, Panel, Question, Questions
from ._bub_receivers import Implementation, Interceptor, Wrapper


def names_of(impl: Any, known: Sequence[str], *, strict: bool) -> tuple[str, ...]:
    """Return the names an implementation is given of those that are known."""
    if not strict:
        return tuple(name for name in impl.argnames if name in known)
    parameters = inspect.signature(impl.function).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return tuple(known)
    return tuple(each.name for each in parameters if each.name in known)


def receiver_name(impl: Any) -> str:
    """Return what a receiver is called in `explain` and events: its plugin, or its function where that has no name."""
    name = str(impl.plugin_name or "")
    return str(impl.function.__qualname__) if not name or name.isdigit() else name


class Plugins:
    """The plugins of one `HookRuntime`."""

    def __init__(self, questions: Questions, manager: Any) -> None:
        self._questions, self._manager = questions, manager
        self._strict = questions.strict
        self.panels: dict[str, Panel] = {}

    def panel(self, hook: str) -> Panel:
        """Return the implementations of a hook as they are now.

        Raises:
            HookError: for a hook nobody has, with `strict=True`; else nobody implements it.
        """
        caller = getattr(self._manager.hook, hook, None)
        if caller is None or not hasattr(caller, "get_hookimpls"):
            if self._strict and hook != "on_error":
                raise HookError(f"Bub has no hook {hook!r}{did_you_mean(hook, vars(self._manager.hook))}")
            return Panel()
        panel = self.panels.get(hook)
        if panel is None:
            panel = self.panels.setdefault(hook, Panel(self._questions.of(caller)))
        stored, question = caller.get_hookimpls(), panel.question
        if stored != panel.stored:
            with self._questions.lock:
                panel.put(stored, None if question is None else partial(self._connect, question, hook))
        return panel

    def sync(self) -> None:
        """Look at every hook."""
        for hook in list(vars(self._manager.hook)):
            self.panel(hook)

    def impls_of(self, hook: str) -> Sequence[Any]:
        return self.panels[hook].impls

    def is_direct(self, panel: Panel) -> bool:
        """Tell whether there is nobody to tell of a call: the implementations are called as Bub does."""
        return panel.question is None or (not self._strict and panel.question.is_quiet())

    def rank(self, impl: Any) -> tuple[int, int]:
        """Return the place of an implementation among those of all hooks; the highest runs first."""
        place = [name for name, _ in self._manager.list_name_plugin()].index(impl.plugin_name)
        return (-1, -place) if impl.trylast else (int(impl.tryfirst), place)

    def marks(self, hook: str) -> set[tuple[str, str]]:
        """Return name and place of the receivers that stand for implementations."""
        receivers = self._questions.bus.signal(hook).connections()
        return {(each.name, each.where) for each in receivers if isinstance(each.function, Implementation)}

    def _connect(self, question: Question, hook: str, impl: Any, index: int) -> tuple[Connection, bool]:
        names, signal = names_of(impl, question.names, strict=self._strict), self._questions.bus.signal
        if self._strict and (impl.wrapper or impl.hookwrapper):
            wrapper = Wrapper(self, hook, index, names)
            return signal(f"around_{hook}").connected_to(wrapper, name=receiver_name(impl)), False
        on_error = "raise" if not self._strict and hook != "on_error" else "isolate"
        own = Implementation(self, hook, index, names)
        return signal(hook).connected_to(own, name=receiver_name(impl), on_error=on_error), True

    # -- asking ---------------------------------------------------------------------------------------------------------

    def asking(self, panel: Panel, hook: str, kind: type[Asking] | None = None, **how: Any) -> Asking:
        kind = PlainAsking if self._strict else kind or Asking
        return kind(self, hook, panel.impls, **how)

    async def ask(self, panel: Panel, asking: Asking, kwargs: Mapping[str, Any]) -> Any:
        """Ask a question that may await, and let out what an implementation raised as it is."""
        outer = ASKING.get()
        ASKING.set(asking)
        try:
            asked = self._asked(panel.question, asking, kwargs)
            return _understood(asking, await asked if inspect.isawaitable(asked) else asked)
        except ReceiverError as error:
            if not asking.is_failure(error):
                raise
        finally:
            ASKING.set(outer)
        raise asking.failure  # type: ignore[misc]

    def ask_sync(self, panel: Panel, asking: Asking, kwargs: Mapping[str, Any]) -> Any:
        """Ask without awaiting."""
        outer = ASKING.get()
        ASKING.set(asking)
        try:
            asked = self._asked(panel.question, asking, kwargs)
            return _understood(asking, _driven(asked, asking.hook) if inspect.iscoroutine(asked) else asked)
        except ReceiverError as error:
            if not asking.is_failure(error):
                raise
        finally:
            ASKING.set(outer)
        raise asking.failure  # type: ignore[misc]

    def _asked(self, question: Any, asking: Asking, kwargs: Mapping[str, Any]) -> Any:
        given = {name: kwargs[name] for name in question.names if name in kwargs}
        return question.ask(**given) if question.gives(asking.is_first) else question.ask.ask(**given)


def _understood(asking: Asking, result: Any) -> Any:
    """Return all answers, or the first, where the question itself gives the other."""
    if type(result) is not modes.Answers:
        return asking.result(result)
    values = [answer.value for answer in result.answers if answer.value is not None]
    return next(iter(values), None) if asking.is_first else values


def _driven(coroutine: Coroutine[Any, Any, Any], hook: str) -> Any:
    """Run a coroutine that has nothing to wait for; a receiver that waits all the same fails."""
    try:
        coroutine.send(None)
        coroutine.throw(HookError(f"{hook} is asked where Bub cannot await, and a receiver waits: write a plain def"))
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise HookError(f"a receiver of {hook} waits where Bub cannot await: write a plain def")


class Interceptions:
    """The plugins of one runtime as `AgentHooks` asks them: receivers that stand in front of its methods."""

    def __init__(self, questions: Questions, hooks: Any) -> None:
        self._questions, self._hooks = questions, weakref.ref(hooks)
        self._strict = questions.strict
        self.panels: dict[str, Panel] = {}

    def asking(self, hook: str) -> Asking:
        """Return a call of a hook, once its implementations are connected as they are now."""
        return (StrictInterception if self._strict else Interception)(self, hook, self.panel(hook).impls)

    def panel(self, hook: str) -> Panel:
        hooks: Any = self._hooks()
        panel = self.panels.get(hook) or self.panels.setdefault(hook, Panel())
        stored = hooks._runtime._iter_hookimpls(hook)[::-1]
        if stored != panel.stored:
            with self._questions.lock:
                panel.put(stored, partial(self._connect, hooks, hook))
        return panel

    def sync(self) -> None:
        """Look at every hook."""
        for hook in INTERCEPTION:
            self.panel(hook)

    def impls_of(self, hook: str) -> Sequence[Any]:
        return self.panels[hook].impls

    def _connect(self, hooks: Any, hook: str, impl: Any, index: int) -> tuple[Connection, bool]:
        names, signal = names_of(impl, INTERCEPTION[hook], strict=self._strict), self._questions.bus.signal
        options: dict[str, Any] = {"name": receiver_name(impl)}
        if self._strict and (impl.wrapper or impl.hookwrapper):
            return signal(f"around_{hook}").connected_to(Wrapper(self, hook, index, names), hooks, **options), False
        if self._strict and hook.startswith("before_"):
            options["on_error"] = "block"
        if self._strict and hook == "after_llm_call":
            options["role"] = "observe"
        return signal(f"pre_{hook}").connected_to(Interceptor(self, hook, index, names), hooks, **options), False
