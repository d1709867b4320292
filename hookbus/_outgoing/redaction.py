"""Remove secrets from events before listeners receive the events. The calls themselves stay
unchanged.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fnmatch import translate
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import attrs

from .._connections.failures import ERROR, log
from .._ground.baggage import Baggage
from .._ground.plain import plain, unused
from ..exceptions import HookError

if TYPE_CHECKING:
    from ..events import Event

SECONDS: Final = 0.1
"""The time limit for the redaction of an event, in seconds. A placeholder replaces values that are
not checked within this time.
"""

GUARDED: Final = 4_000
"""The maximum length of a string that `guards=` redacts, because its patterns are slow."""

REDACTED: Final = "<redacted>"
UNREDACTED: Final = "<could not be redacted>"
ITEM: Final = "<item of a stream>"

_VALUES: Final = ("values", "labels", "before", "after", "result", "details", "baggage")
_TEXTS: Final = ("reason", "code", "message", "by", "sender")

Function = Callable[[str, Any], Any]


@attrs.define(eq=False)
class Redactor:
    """The settings of one call of `bus.redact`.

    Attributes:
        names: patterns for names. The values with these names are removed.
        patterns: patterns for secrets in strings and numbers. Each match is removed.
        guards: an object whose method `text` returns the redacted form of a string.
        function: a function that takes the name of a value and the value, and returns the
            replacement.
        is_logged: whether a failure of this redactor has been logged.
    """

    names: tuple[Any, ...]
    patterns: tuple[Any, ...]
    guards: Any
    function: Function | None
    is_logged: bool = False

    @property
    def reads_texts(self) -> bool:
        return bool(self.patterns or self.guards or self.function)


class Redaction:
    """Redacts the events of one bus with the settings in `bus.events.redactors`."""

    def __init__(self, bus: Any) -> None:
        self._redactors: list[Redactor] = bus.events.redactors

    def add(
        self, names: str | Iterable[str], patterns: str | Iterable[str], guards: Any,
        function: Function | None,
    ) -> Callable[[], None]:  # fmt: skip
        """Redact all later events, as `Bus.redact` describes. Return a function that stops this
        redaction.
        """
        made = redactor(names, patterns, guards, function)
        self._redactors.append(made)

        def undo() -> None:
            with suppress(ValueError):
                self._redactors.remove(made)

        return undo

    def redacted(self, event: Event) -> Event | None:
        """Return the redacted event, or None if the redaction failed."""
        try:
            return redacted(event, self._redactors)
        except Exception as error:  # the stack or memory is exhausted
            log(ERROR, f"an event could not be redacted and is not delivered: {type(error)}")
            return None

    def redacted_values(
        self, values: Mapping[str, Any], session: Any, seconds: float
    ) -> dict[str, Any]:
        """Return the values as redacted plain data under the same names."""
        return redacted_values(values, self._redactors, session, seconds)


def redactor(
    names: str | Iterable[str], patterns: str | Iterable[str], guards: Any,
    function: Function | None,
) -> Redactor:  # fmt: skip
    """Check the arguments of `bus.redact`, and return them as a `Redactor`."""
    globs = _compiled(names, "names", lambda each: re.compile(translate(each.casefold())))
    try:
        library: Any = import_module("regex")
    except ModuleNotFoundError:
        library = re
    forms = _compiled(patterns, "patterns", library.compile)
    if guards is not None and not callable(getattr(guards, "text", None)):
        raise HookError(f"guards= takes a hookbus.guards.redact(...), not {guards!r:.40}")
    if function is not None and not callable(function):
        raise HookError(f"function= takes def function(name, value), not {function!r:.40}")
    made = Redactor(globs, forms, guards, function)
    if not (globs or made.reads_texts):
        options = "names=, patterns=, guards= or function="
        raise HookError(f"redact() has nothing to redact: pass {options}")
    return made


def redacted(event: Event, asked: Iterable[Redactor]) -> Event:
    """Return an event without the secrets that these redactors find."""
    from ..events import HIDDEN, make_event

    fields, redactors = dict(vars(event)), tuple(asked)
    is_item = fields.get("index") is not None and any(each.reads_texts for each in redactors)
    clean = _Cleaning(redactors, fields["baggage"].get("session"))
    for field in (*_VALUES, *_TEXTS):
        value = fields.get(field)
        # A description without quotes contains no name that user code gave to the object.
        is_nameless = field == "sender" and {"'", '"'}.isdisjoint(fields["sender"])
        if value is None or value is HIDDEN or is_nameless:
            continue
        is_change = field in ("before", "after")
        if field in ("values", "labels"):  # parameter names are not secret
            fields[field] = {name: clean.of(name, each) for name, each in plain(value).items()}
            continue
        cleaned = clean.of(fields["name"] if is_change else field, plain(value))
        fields[field] = str(cleaned) if field in _TEXTS else cleaned
        if is_change and is_item:
            fields[field] = ITEM  # a secret may be split across several items
    fields["baggage"] = Baggage(fields["baggage"])
    return make_event(type(event), fields)


def redacted_values(
    values: Mapping[str, Any], asked: Iterable[Redactor], session: Any, seconds: float
) -> dict[str, Any]:
    """Return the values as plain data under the same names, without the secrets that these
    redactors find. A placeholder replaces values that are not checked within the time limit.
    """
    clean = _Cleaning(tuple(asked), session, seconds)
    return {name: clean.of(name, value) for name, value in values.items()}


class _Cleaning:
    """The redaction of one event within a time limit."""

    def __init__(
        self, redactors: tuple[Redactor, ...], session: Any, seconds: float = SECONDS
    ) -> None:
        self._redactors, self._session = redactors, session
        self._until = time.perf_counter() + seconds

    def of(self, name: str, value: Any) -> Any:
        """Return plain data after redaction. `name` is the name of the value."""
        if self._is_named(name):
            return REDACTED
        if isinstance(value, list):
            return [self.of(name, each) for each in value]
        if not isinstance(value, dict):
            return self._leaf(value, name)
        made: dict[str, Any] = {}
        for key, each in value.items():
            made[unused(str(self._leaf(key)), made)] = self.of(key, each)
        return made

    def _leaf(self, value: Any, name: str | None = None) -> Any:
        """Return a string, number, True, False or None after redaction. The key of a mapping has no
        name.
        """
        for redactor in self._redactors:
            try:
                value = self._through(redactor, value, name)
            except Exception as error:
                _log(redactor, error)
                return UNREDACTED
        return value

    def _is_named(self, name: str) -> bool:
        folded = name.casefold()
        return any(each.match(folded) for redactor in self._redactors for each in redactor.names)

    def _through(self, redactor: Redactor, value: Any, name: str | None) -> Any:
        if redactor.function is not None and name is not None:
            value = plain(redactor.function(name, value))
        if value is None or isinstance(value, bool):
            return value
        if not isinstance(value, (str, int, float)):
            raise HookError("a redactor's function must return a string, number, bool or None")
        text = new = str(value)
        if redactor.guards is not None:
            left, is_long = self._left(), len(new) > GUARDED
            if is_long:
                new = UNREDACTED
            else:
                new = str(redactor.guards.text(new, self._session, timeout=left))
        new = self._by_patterns(redactor.patterns, new)
        return value if new == text else new

    def _by_patterns(self, patterns: tuple[Any, ...], text: str) -> str:
        spans: list[tuple[int, int]] = []
        for form in patterns:
            left = self._left()
            limit: dict[str, Any] = {} if isinstance(form, re.Pattern) else {"timeout": left}
            spans += [match.span() for match in form.finditer(text, **limit) if match[0]]
        parts, at = [], 0
        for start, end in sorted(spans):
            if start >= at:
                parts += [text[at:start], REDACTED]
            at = max(at, end)
        return "".join([*parts, text[at:]])

    def _left(self) -> float:
        left = self._until - time.perf_counter()
        if left <= 0:
            raise TimeoutError
        return left


def _log(redactor: Redactor, error: Exception) -> None:
    if not redactor.is_logged:
        redactor.is_logged = True
        asked = ("names", "patterns", "guards", "function")
        whose = ", ".join(f"{each}=" for each in asked if getattr(redactor, each))
        log(ERROR, f"redact({whose}) failed: {type(error).__name__}; the event contains "
            f"{UNREDACTED!r} instead (further failures are not logged)")  # fmt: skip


def _compiled(given: str | Iterable[str], what: str, make: Callable[[str], Any]) -> tuple[Any, ...]:
    made = []
    for i, each in enumerate([given] if isinstance(given, str) else given):
        try:
            if not isinstance(each, str) or not each:
                raise ValueError("it must be a non-empty string")
            made.append(make(each))
        except Exception as error:  # `re` and `regex` raise different exceptions
            # The pattern may be a secret, so it is not shown.
            raise HookError(f"{what}=: element [{i}] is not a valid pattern: {error}") from None
    return tuple(made)
