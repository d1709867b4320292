"""Today's guards, asked about a call that is over: its body never runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextvars import Context
from inspect import Parameter, Signature
from types import FunctionType
from typing import Any, Final

import attrs

from .. import ANY, Bus, HookBlocked, HookContext, baggage, events, hookable
from .._signatures import signature_of
from ._senders import SenderIsGone, Unknown, is_subclass, qualname_of, stand_in_of

_WORD: Final = re.compile(
    r"\A<[^<>]*>\Z|<(?:redacted|could not be redacted|(?:private|secret|email|card|iban)(?:-\d+)?)>"
)
"""A text that stands for something else, or has a part that was redacted."""

_OFFERED: Final = ("ctx", "baggage")
_REST: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)

LABELS: Final = frozenset({"agent", "call_id", "tool"})
"""What is said around a `tool_call` and is no value: nobody is kept from judging by a word there.
"""

Verdict = tuple[str, str | None]
"""`"allowed"`, `"blocked"` or `"asked"`, and why."""


class CannotJudge(Exception):
    """A guard cannot be asked about a call: its reason."""


@attrs.frozen
class Past:
    """A call as it was recorded: its arguments, their values by name or None where these are not
    known, and what held around it.
    """

    names: tuple[str, ...]
    values: Mapping[str, Any] | None
    baggage: Mapping[str, Any]


class Judge:
    """One guard, connected alone to a bus of its own: the engine asks it as it asks any."""

    def __init__(self, bus: Bus, hook: str, connected: Any) -> None:
        self.name, self._connected = connected.name, connected
        self._bus, self._hook = Bus(timeout=bus.timeout), hook
        options = connected.options
        self._receiver = (_AsyncWrapped if connected.is_async else _Wrapped)(connected.function)
        self._bus.signal(f"pre_{hook}").connect(
            self._receiver, role="guard", name=connected.name, when=options.when,
            timeout=options.timeout,
        )  # fmt: skip
        self._bus.events.connect(self._hear, kinds=(events.Invoked, events.Failed))
        when = _parameters(options.when) if callable(options.when) else _named(options.when or ())
        asks = _parameters(connected.function)[1:] + when  # but the sender, which comes first
        self._asks = {each.name: each for each in asks if each.kind not in _REST}
        is_any = any(each.kind is Parameter.VAR_KEYWORD for each in asks)
        self._asks_for_all = is_any or "ctx" in self._asks
        self._stubs: dict[tuple[str, ...], Any] = {}
        self._asked = False

    def verdict(self, past: Past, sender: Any) -> Verdict:
        """Return what the guard says of a call of such a sender.

        Raises:
            CannotJudge: where that cannot be known.
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
        """Return a function of these arguments that hooks as the recorded one did."""
        found = self._stubs.get(names)
        if found is None:
            def body(*given: Any) -> None:
                """Stand where the body was."""

            kind = Parameter.POSITIONAL_OR_KEYWORD
            body.__signature__ = Signature(  # type: ignore[attr-defined]
                [Parameter(name, kind) for name in names]
            )
            found = self._stubs[names] = hookable(self._hook, bus=self._bus, async_receivers=True)(body)
        return found

    def _hear(self, _: Bus, event: Any) -> None:
        self._asked = self._asked or getattr(event, "answer", None) == "asked"

    def _check(self, past: Past) -> None:
        """Refuse what the guard needs and nobody knows: values, or words that stand for them."""
        for name, each in self._asks.items():
            if each.default is each.empty and name not in (*past.names, *_OFFERED):
                raise CannotJudge(f"it asks for {name}, which the call did not have")
        for name in self._needs(past.names):
            if past.values is None or name not in past.values:
                raise CannotJudge("the values of its arguments were not recorded")
            if any(_WORD.search(text) for text in _texts(past.values.get(name))):
                raise CannotJudge(f"of {name} a word was recorded that stands for its value")

    def _needs(self, names: tuple[str, ...]) -> list[str]:
        """Return the arguments that the guard, or its `when=`, may look at."""
        if not self._asks_for_all:
            return [name for name in names if name in self._asks]
        is_tool_call = {"name", "arguments"}.issubset(names)
        return [name for name in names
                if name in self._asks or not (is_tool_call and name in LABELS)]  # fmt: skip

    def _check_sender(self, error: BaseException | None) -> None:
        if isinstance(error, SenderIsGone):
            raise CannotJudge("it looks at the sender, of whom nothing is known here") from None
        if isinstance(error, AttributeError) and error.obj is self._receiver.sender:
            raise CannotJudge(f"it looks at {error.name!r} of the sender, which is gone") from None


class _Wrapped:
    """A guard that is given a stand-in for the sender; `error` is how it failed."""

    sender: Any = None
    error: BaseException | None = None

    def __init__(self, guard: Any) -> None:
        self._guard, self.__signature__ = guard, signature_of(guard)

    def __call__(self, sender: Any, /, **given: Any) -> Any:
        try:
            return self._guard(self.sender, **self._with_sender(given))
        except Exception as error:
            self.error = error
            raise

    def _with_sender(self, given: dict[str, Any]) -> dict[str, Any]:
        if isinstance(given.get("ctx"), HookContext):
            given["ctx"] = given["ctx"].__replace__(sender=self.sender)
        return given


class _AsyncWrapped(_Wrapped):
    async def __call__(self, sender: Any, /, **given: Any) -> Any:
        try:
            return await self._guard(self.sender, **self._with_sender(given))
        except Exception as error:
            self.error = error
            raise


@attrs.frozen
class Asked:
    """A guard that concerns a call, whom it is given for the sender, and why it cannot be asked."""

    guard: Any
    sender: Any
    why_not: str | None = None


def guards(bus: Bus, hook: str, sender: str) -> Iterator[Asked]:
    """Yield the guards of a hook that concern a recorded sender, in their order; those that cannot
    be asked come last.
    """
    signal = bus.signal(f"pre_{hook}")
    scoped = [(each, each.owner)
              for each in signal.connections() if each.role == "guard" and each.is_enabled]
    classes = [scope for _, scope in scoped if issubclass(type(scope), type)]
    stand_in, is_known = stand_in_of(sender, classes)
    known = ANY if type(stand_in) is Unknown else stand_in
    matching = {id(each.function): each for _, each in signal._matching(known)
                if each.role == "guard"}  # fmt: skip
    for function in signal.receivers_for(known):
        if id(function) in matching:
            yield Asked(matching.pop(id(function)), stand_in)
    for each, scope in scoped:
        if type(scope) is FunctionType:
            if sender == f"function {scope.__qualname__}":
                yield Asked(each, stand_in)
        elif issubclass(type(scope), type):
            if not is_known:
                why = f"it is of {qualname_of(scope)}, and nothing here is known of the sender"
                yield Asked(each, stand_in, why)
        elif scope is not ANY and (known is ANY or is_subclass(type(known), type(scope))):
            why = "it is of one object, and which one a call was of is not recorded"
            yield Asked(each, stand_in, why)


def _parameters(function: Any) -> list[Parameter]:
    return list(signature_of(function).parameters.values())


def _named(names: Iterable[str]) -> list[Parameter]:
    return [Parameter(name, Parameter.KEYWORD_ONLY) for name in names]


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
