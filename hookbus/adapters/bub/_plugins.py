"""Connects the implementations of a runtime's plugins as receivers, synchronizes them with pluggy's
lists, and calls them."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from hookbus import Connection, HookError, ReceiverError, modes

from ..._ground.errors import did_you_mean
from ..._ground.signatures import signature_of
from ._calls import ASKING, Asking, Done, PlainAsking, is_awaitable, is_unusual
from ._questions import Connected, Panel, Question, Questions
from ._receivers import Implementation, Wrapper, implementation


def names_of(impl: Any, known: Sequence[str], *, strict: bool) -> tuple[str, ...]:
    """Return the known arguments for which an implementation has parameters."""
    if not strict:
        return tuple(name for name in impl.argnames if name in known)
    parameters = signature_of(impl.function).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return tuple(known)
    return tuple(each.name for each in parameters if each.name in known)


def receiver_name(impl: Any) -> str:
    """Return the name of a receiver for `explain` and events: the plugin's name, or the function's
    name if the plugin has none."""
    name = str(impl.plugin_name or "")
    return str(impl.function.__qualname__) if not name or name.isdigit() else name


class Plugins:
    """The plugins of one `HookRuntime`."""

    def __init__(self, questions: Questions, manager: Any) -> None:
        self._questions, self._manager = questions, manager
        self._strict = questions.strict
        self.panels: dict[str, Panel] = {}
        self.connected: list[Connected] = []

    def panel(self, hook: str) -> Panel:
        """Return the current implementations of a hook.

        Raises:
            HookError: if the hook is unknown and `strict=True`. Otherwise, an unknown hook has no
                implementations.
        """
        caller: Any = getattr(self._manager.hook, hook, None)
        panel = self.panels.get(hook)
        if panel is None:
            if caller is None or not hasattr(caller, "get_hookimpls"):
                if self._strict and hook != "on_error":
                    raise HookError(
                        f"Bub has no hook {hook!r}{did_you_mean(hook, vars(self._manager.hook))}"
                    )
                return Panel()
            question = self._questions.of(caller)
            panel = self.panels.setdefault(
                hook, Panel(question.listeners if question else None, question)
            )
            self.connected.append(panel.connected)
        stored = caller.get_hookimpls()
        if stored != panel.stored:
            with self._questions.lock:
                panel.put(stored, partial(self._connect, panel.question, hook))
        return panel

    def sync(self) -> None:
        """Update the connections of every hook."""
        for hook in list(vars(self._manager.hook)):
            self.panel(hook)

    def impls_of(self, hook: str) -> Sequence[Any]:
        return self.panels[hook].impls

    def rank(self, impl: Any) -> tuple[int, int]:
        """Return the rank of an implementation across all hooks. Implementations with the highest
        rank run first."""
        place = [name for name, _ in self._manager.list_name_plugin()].index(impl.plugin_name)
        return (-1, -place) if impl.trylast else (int(impl.tryfirst), place)

    def marks(self, hook: str) -> set[tuple[str, str]]:
        """Return the names and source locations of the receivers for implementations."""
        receivers = self._questions.bus.signal(hook).connections()
        return {
            (each.name, each.where)
            for each in receivers
            if isinstance(each.function, Implementation)
        }

    def _connect(
        self, question: Question | None, hook: str, impl: Any, index: int
    ) -> tuple[tuple[str, ...], Connection | None, bool]:
        if question is None:
            return tuple(impl.argnames), None, False
        names = names_of(impl, question.names, strict=self._strict)
        signal = self._questions.bus.signal
        if self._strict and (impl.wrapper or impl.hookwrapper):
            wrapper = Wrapper(self, hook, index, names)
            return (
                names,
                signal(f"around_{hook}").connected_to(wrapper, name=receiver_name(impl)),
                False,
            )
        own = implementation(self, hook, index, names, impl)
        is_raising = not self._strict and hook != "on_error"
        connection = signal(hook).connected_to(
            own, name=receiver_name(impl), on_error="raise" if is_raising else "isolate"
        )
        return names, connection, True

    # -- in line: without other receivers ----------------------------------------------------------

    async def call(self, hook: str, kwargs: Mapping[str, Any], *, is_first: bool = False) -> Any:
        """Call all implementations, or call implementations until one answers. They are called
        directly as far as possible, and through hookbus from then on."""
        panel, done = self.panel(hook), []
        if panel.listeners is None or panel.listeners.is_quiet():
            for function, names in panel.turns[: panel.known]:
                value, error = None, None
                try:
                    value = function(**{name: kwargs[name] for name in names if name in kwargs})
                    if value is not None and is_awaitable(value):
                        value = await value
                except BaseException as raised:  # hookbus decides how to handle it
                    error = raised
                done.append((value, error))
                if error is not None or (self._strict and is_unusual(value)):
                    break
                if is_first and value is not None:
                    return value
            else:
                if panel.known == len(panel.turns):
                    return self._all(done, is_first)
        return await self.ask(panel, self.asking(panel, hook, is_first=is_first, done=done), kwargs)

    def call_sync(self, hook: str, kwargs: Mapping[str, Any], *, is_first: bool = False) -> Any:
        """Like `call`, but without awaiting answers."""
        panel, done = self.panel(hook), []
        if panel.listeners is None or panel.listeners.is_quiet():
            for function, names in panel.turns[: panel.known]:
                value, error = None, None
                try:
                    value = function(**{name: kwargs[name] for name in names if name in kwargs})
                except BaseException as raised:  # hookbus decides how to handle it
                    error = raised
                done.append((value, error))
                if error is not None or is_awaitable(value) or (self._strict and is_unusual(value)):
                    break
                if is_first and value is not None:
                    return value
            else:
                if panel.known == len(panel.turns):
                    return self._all(done, is_first)
        return self.ask_sync(
            panel, self.asking(panel, hook, is_first=is_first, is_sync=True, done=done), kwargs
        )

    def _all(self, done: list[Done], is_first: bool) -> Any:
        if is_first:
            return None
        return [value for value, _ in done if value is not None or not self._strict]

    # -- through hookbus ---------------------------------------------------------------------------

    def asking(
        self, panel: Panel, hook: str, kind: type[Asking] | None = None, **how: Any
    ) -> Asking:
        kind = PlainAsking if self._strict else kind or Asking
        return kind(self, hook, panel.impls, **how)

    async def ask(self, panel: Panel, asking: Asking, kwargs: Mapping[str, Any]) -> Any:
        """Ask a question that may await answers. An implementation's exception is raised
        unchanged."""
        outer = ASKING.get()
        ASKING.set(asking)
        try:
            asked = _asked(panel, asking, kwargs)
            return _understood(asking, await asked if inspect.isawaitable(asked) else asked)
        except ReceiverError as error:
            if not asking.is_failure(error):
                raise
        finally:
            ASKING.set(outer)
            _note(panel, asking)
        raise asking.failure  # type: ignore[misc]

    def ask_sync(self, panel: Panel, asking: Asking, kwargs: Mapping[str, Any]) -> Any:
        """Ask a question without awaiting answers."""
        outer = ASKING.get()
        ASKING.set(asking)
        try:
            asked = _asked(panel, asking, kwargs)
            return _understood(
                asking, _driven(asked, asking.hook) if inspect.iscoroutine(asked) else asked
            )
        except ReceiverError as error:
            if not asking.is_failure(error):
                raise
        finally:
            ASKING.set(outer)
            _note(panel, asking)
        raise asking.failure  # type: ignore[misc]


def _asked(panel: Panel, asking: Asking, kwargs: Mapping[str, Any]) -> Any:
    question: Any = panel.question
    if question is None:  # hookbus does not know the hook: raise the error of the in-line call
        raise asking.done[-1][1] or HookError(f"{asking.hook} returned an invalid answer")
    given = {name: kwargs[name] for name in question.names if name in kwargs}
    return question.ask(**given) if question.gives(asking.is_first) else question.ask.ask(**given)


def _note(panel: Panel, asking: Asking) -> None:
    """Record the number of implementations that hookbus has called, unless the implementations have
    changed since."""
    if panel.impls is asking.impls and asking.only is None:
        panel.known = max(panel.known, asking.reached)


def _understood(asking: Asking, result: Any) -> Any:
    """Convert the result of a question to all answers or to the first answer, as the call
    requires."""
    if type(result) is not modes.Answers:
        return asking.result(result)
    values = [answer.value for answer in result.answers if answer.value is not None]
    return next(iter(values), None) if asking.is_first else values


def _driven(coroutine: Coroutine[Any, Any, Any], hook: str) -> Any:
    """Run a coroutine without awaiting. A receiver that awaits fails."""
    try:
        coroutine.send(None)
        coroutine.throw(_cannot_await(hook))
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise _cannot_await(hook)


def _cannot_await(hook: str) -> HookError:
    return HookError(f"Bub cannot await the async receivers of {hook}: write plain def receivers")
