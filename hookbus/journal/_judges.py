"""Calls the current guards for a recorded call, without running the call's method."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextvars import Context
from inspect import Parameter, Signature
from types import FunctionType
from typing import Any, Final

import attrs

from .. import ANY, Bus, HookBlocked, HookContext, baggage, events, hookable
from .._ground.signatures import signature_of
from ._senders import SenderIsGone, Unknown, is_subclass, placeholder_for, qualname_of

_WORD: Final = re.compile(
    r"\A<[^<>]*>\Z|<(?:redacted|could not be redacted|(?:private|secret|email|card|iban)(?:-\d+)?)>"
)
"""Matches a string that replaces a redacted value or contains a redacted part."""

_OFFERED: Final = ("ctx", "baggage")
_REST: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)

LABELS: Final = frozenset({"caller", "call_id", "tool"})
"""Arguments of a `tool_call` that only identify the call. Redaction of these does not prevent a
verdict.
"""

Verdict = tuple[str, str | None]
"""The verdict (`"allowed"`, `"blocked"` or `"asked"`) and its reason."""


class CannotJudge(Exception):
    """A guard cannot be called for a recorded call. The message states the reason."""


@attrs.frozen
class Past:
    """A recorded call, with the names of its arguments, their values by name (None if unknown), and
    the baggage.
    """

    names: tuple[str, ...]
    values: Mapping[str, Any] | None
    baggage: Mapping[str, Any]


class Judge:
    """A guard that is connected to a separate bus, so that hookbus calls it as usual."""

    def __init__(self, bus: Bus, hook: str, connected: Any) -> None:
        self.name, self._connected = connected.name, connected
        self._bus, self._hook = Bus(timeout=bus.timeout), hook
        # Such a receiver reports what policies in shadow would change, and decides nothing.
        self.only_reports = getattr(connected.function, "only_reports", False)
        options = connected.options
        self._receiver = (_AsyncWrapped if connected.is_async else _Wrapped)(connected.function)
        self._bus.signal(f"pre_{hook}").connect(
            self._receiver, role="guard", name=connected.name, when=options.when,
            timeout=options.timeout,
        )  # fmt: skip
        self._bus.events.connect(self._hear, kinds=(events.Invoked, events.Failed))
        when = _parameters(options.when) if callable(options.when) else _named(options.when or ())
        asks = _parameters(connected.function)[1:] + when  # without the sender, the first parameter
        self._asks = {each.name: each for each in asks if each.kind not in _REST}
        is_any = any(each.kind is Parameter.VAR_KEYWORD for each in asks)
        self._asks_for_all = is_any or "ctx" in self._asks
        self._stubs: dict[tuple[str, ...], Any] = {}
        self._asked = False

    def verdict(self, past: Past, sender: Any) -> Verdict:
        """Return the guard's verdict on a call with this sender.

        Raises:
            CannotJudge: if the guard cannot be called, or needs data that was not recorded.
        """
        self._check(past)
        receiver = self._receiver
        receiver.sender, receiver.error, self._asked = sender, None, False
        values = past.values or dict.fromkeys(past.names)
        try:
            Context().run(self._ask, past, values)
        except HookBlocked as blocked:
            self._check_sender(receiver.error)
            return ("asked" if self._asked else "blocked"), blocked.reason
        return "allowed", None

    def _ask(self, past: Past, values: Mapping[str, Any]) -> None:
        with baggage(**past.baggage):
            self._stub(past.names)(*(values.get(name) for name in past.names))

    def _stub(self, names: tuple[str, ...]) -> Any:
        """Return a function with these arguments and with the recorded hook."""
        found = self._stubs.get(names)
        if found is None:
            def body(*values: Any) -> None:
                """Do nothing, in place of the recorded method."""

            kind = Parameter.POSITIONAL_OR_KEYWORD
            body.__signature__ = Signature(  # type: ignore[attr-defined]
                [Parameter(name, kind) for name in names]
            )
            hooked = hookable(self._hook, bus=self._bus, async_receivers=True)
            found = self._stubs[names] = hooked(body)
        return found

    def _hear(self, _: Bus, event: Any) -> None:
        self._asked = self._asked or getattr(event, "answer", None) == "asked"

    def _check(self, past: Past) -> None:
        """Raise `CannotJudge` if the guard needs values that are unknown or redacted."""
        for name, each in self._asks.items():
            if each.default is each.empty and name not in (*past.names, *_OFFERED):
                raise CannotJudge(f"it needs {name}, which the call did not have")
        for name in self._needs(past.names):
            if past.values is None or name not in past.values:
                raise CannotJudge("the values of its arguments were not recorded")
            if is_redacted(past.values.get(name)):
                raise CannotJudge(f"the recorded value of {name} is redacted")

    def _needs(self, names: tuple[str, ...]) -> list[str]:
        """Return the arguments that the guard, or its `when=` condition, may read."""
        if not self._asks_for_all:
            return [name for name in names if name in self._asks]
        is_tool_call = {"name", "arguments"}.issubset(names)
        return [name for name in names
                if name in self._asks or not (is_tool_call and name in LABELS)]  # fmt: skip

    def _check_sender(self, error: BaseException | None) -> None:
        if isinstance(error, SenderIsGone):
            raise CannotJudge("it reads the sender, which is unknown here") from None
        if isinstance(error, AttributeError) and error.obj is self._receiver.sender:
            raise CannotJudge(
                f"it reads {error.name!r} of the sender, which no longer exists"
            ) from None


class _Wrapped:
    """A guard that gets a placeholder for the sender. `error` is the exception that the guard
    raised."""

    sender: Any = None
    error: BaseException | None = None

    def __init__(self, guard: Any) -> None:
        self._guard, self.__signature__ = guard, signature_of(guard)

    def __call__(self, sender: Any, /, **arguments: Any) -> Any:
        try:
            return self._guard(self.sender, **self._with_sender(arguments))
        except Exception as error:
            self.error = error
            raise

    def _with_sender(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if isinstance(arguments.get("ctx"), HookContext):
            arguments["ctx"] = arguments["ctx"].__replace__(sender=self.sender)
        return arguments


class _AsyncWrapped(_Wrapped):
    async def __call__(self, sender: Any, /, **arguments: Any) -> Any:
        try:
            return await self._guard(self.sender, **self._with_sender(arguments))
        except Exception as error:
            self.error = error
            raise


@attrs.frozen
class Asked:
    """A guard that applies to a call, the placeholder for the sender, and the reason if the guard
    cannot be called.
    """

    guard: Any
    sender: Any
    why_not: str | None = None


def guards(bus: Bus, hook: str, sender: str) -> Iterator[Asked]:
    """Yield the guards of a hook that apply to a recorded sender, in order. Guards that cannot be
    called come last.
    """
    signal = bus.signal(f"pre_{hook}")
    scoped = [(each, each.owner)
              for each in signal.connections() if each.role == "guard" and each.is_enabled]
    classes = [scope for _, scope in scoped if issubclass(type(scope), type)]
    placeholder, is_known = placeholder_for(sender, classes)
    known = ANY if type(placeholder) is Unknown else placeholder
    matching = {id(each.function): each for _, each in signal._matching(known)
                if each.role == "guard"}  # fmt: skip
    for function in signal.receivers_for(known):
        if id(function) in matching:
            yield Asked(matching.pop(id(function)), placeholder)
    for each, scope in scoped:
        if type(scope) is FunctionType:
            if sender == f"function {scope.__qualname__}":
                yield Asked(each, placeholder)
        elif issubclass(type(scope), type):
            if not is_known:
                why = f"it is connected to {qualname_of(scope)}, and the sender is unknown here"
                yield Asked(each, placeholder, why)
        elif scope is not ANY and (known is ANY or is_subclass(type(known), type(scope))):
            why = "it is connected to one object, and the journal does not identify the object"
            yield Asked(each, placeholder, why)


def _parameters(function: Any) -> list[Parameter]:
    return list(signature_of(function).parameters.values())


def _named(names: Iterable[str]) -> list[Parameter]:
    return [Parameter(name, Parameter.KEYWORD_ONLY) for name in names]


def is_redacted(value: Any) -> bool:
    """Return whether a recorded value, or a part of it, was redacted or could not be recorded."""
    return any(_WORD.search(text) for text in _texts(value))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
