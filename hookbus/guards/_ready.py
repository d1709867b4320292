"""The base class of the ready-made guards: receivers that `bus.register` connects together."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from importlib import import_module
from inspect import iscoroutinefunction
from re import Pattern
from re import compile as pattern
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final, Generic, TypeVar

from .. import HookContext, HookError, receives
from .._ground.baggage import was_ever_said
from .._ground.keywords import named_options
from .._ground.locks import Lock

FIRST: Final = 1e6
"""The priority of receivers that run before all others. Receivers with the negated value run
last."""

LAST: Final = -FIRST

SESSIONS: Final = 1_000
"""The maximum number of sessions to remember."""

NOTED: Final = 20
"""The maximum number of classes to report whose objects a guard could not inspect."""

_CODE: Final = (FunctionType, BuiltinFunctionType, MethodType, ModuleType)

Hooks = str | Iterable[str]

_HOOK: Final = pattern(r"(?!\d)[\w*?\[\]!-]+")

T = TypeVar("T")


class ReadyGuard:
    """A group of receivers. `bus.register` connects either all of them or none.

    Args:
        hook: the hook to check: a name, several names, or a glob such as `"send_*"`, which also
            matches hooks declared later.

    Attributes:
        hooks: the names and globs.
        receivers: the functions, each with its signal and options.
        remembers: whether the guard's decision depends on earlier calls.

    Raises:
        HookError: for an invalid hook name or glob.
    """

    remembers: bool = False

    def __init_subclass__(cls) -> None:
        named_options(cls)

    def __init__(self, hook: str | Iterable[str]) -> None:
        self.receivers: list[tuple[str, Callable[..., Any], dict[str, Any]]] = []
        several = [hook] if isinstance(hook, str) else hook
        self.hooks = tuple(several) if isinstance(several, Iterable) else ()
        for each in self.hooks or (hook,):
            if not isinstance(each, str) or not _HOOK.fullmatch(each):
                raise HookError(
                    f"hook={shown(hook)} must be the name of a hook, such as 'tool_call', several "
                    "names, or a glob such as 'send_*'"
                )

    def on(
        self, phase: str, receiver: Callable[..., Any], hook: str | None = None, **options: Any
    ) -> None:
        """Add a function to connect to a phase of the hooks, or of another hook."""
        where = [each for each in (phase if phase != "pre" else None, hook) if each]
        options.setdefault("name", ": ".join([type(self).__name__, *where]))
        for each in [hook] if hook else self.hooks:
            receiver = receives(f"{phase}_{each}", **options)(receiver)
            if self.remembers:
                remembering(receiver)
            self.receivers.append((f"{phase}_{each}", receiver, options))
        setattr(self, f"_receiver_{len(vars(self))}", receiver)


class Unnamed:
    """Counts calls without a session or user, which all share one count.

    Args:
        per: the baggage key by whose value calls are counted.
    """

    def __init__(self, per: str) -> None:
        self.per, self.calls, self.in_threads = per, 0, 0

    def note(self) -> None:
        """Record a call without a session or user."""
        if was_ever_said(self.per):
            self.calls += 1
            self.in_threads += threading.current_thread() is not threading.main_thread()

    def findings(self) -> list[str]:
        """Return a finding for `report` with the number of these calls, and advice on how to set
        the baggage."""
        if not self.calls:
            return []
        counted = f"calls without a {self.per} are counted together, {self.calls} so far"
        if not self.in_threads:
            return [f"{counted}: wrap the call in with baggage({self.per}=...)"]
        start = "run its function with contextvars.copy_context().run to pass the context"
        return [f"{counted}, {self.in_threads} of them in a thread: {start}"]


class Unseen:
    """Remembers the classes of objects that a guard could not inspect."""

    def __init__(self) -> None:
        self._kinds: dict[str, None] = {}

    def note(self, value: Any) -> None:
        """Record the class of an object."""
        if len(self._kinds) < NOTED and type(value) not in _CODE:
            self._kinds.setdefault(type(value).__name__[:60])

    def findings(self) -> list[str]:
        """Return findings with the classes, for `report`."""
        return [f"objects of class {each} were not checked: they cannot be inspected"
                for each in self._kinds]  # fmt: skip


class Sessions(Generic[T]):
    """Keeps state for each of the most recent sessions.

    Args:
        make: creates the state of a new session.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make, self._lock = make, Lock()
        self._kept: OrderedDict[str, T] = OrderedDict()

    def of(self, session: Any) -> T:
        """Return the state of a session. All calls without a session share one state."""
        name = f"{type(session).__name__} {session}"
        with self._lock:
            found = self._kept.setdefault(name, self._make())
            self._kept.move_to_end(name)
            if len(self._kept) > SESSIONS:
                self._kept.popitem(last=False)
        return found


def either(plain: Callable[..., Any], awaited: Callable[..., Any]) -> Callable[..., Any]:
    """Return an `around` receiver that combines a function for sync hooks and a function for async
    hooks. Both take `call_next` and `ctx`. Streams use the sync function.
    """

    def around(sender: Any, call_next: Callable[..., Any], ctx: HookContext) -> Any:
        return (awaited if iscoroutinefunction(call_next) else plain)(call_next, ctx)

    return around


def live(around: Callable[..., Any]) -> Callable[..., Any]:
    """Mark an `around` receiver that passes on each item of a stream as it arrives.
    """
    around.__dict__["__hookbus_live__"] = True
    return around


def remembering(receiver: Callable[..., Any]) -> None:
    """Mark a receiver whose decision depends on earlier calls."""
    receiver.__dict__["__hookbus_remembers__"] = True


def is_remembering(receiver: Any) -> bool:
    """Return whether a receiver's decision depends on earlier calls."""
    return getattr(receiver, "__hookbus_remembers__", False) is True


def library(name: str, guard: str, *, extra: str = "guards") -> Any:
    """Import a module that the extra `guards`, or another extra, installs.

    Raises:
        HookError: if the module is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        needs = f"guards.{guard} needs the package {error.name}"
        raise HookError(f"{needs}; run: pip install 'hookbus[{extra}]'") from None


def shown(value: Any) -> str:
    """Return the text of an invalid setting for an error message. URLs are not shown, because they
    may contain passwords."""
    return f"an address, {type(value).__name__}" if "://" in str(value) else f"{value!r:.40}"


def glob(text: Any, what: str) -> Pattern[str]:
    """Return a compiled, case-sensitive glob.

    Raises:
        HookError: if the glob is not a string or is empty.
    """
    if not isinstance(text, str) or not text:
        raise HookError(f"{what}: {shown(text)} is not a glob; write a string such as 'read_*'")
    return pattern(translate(text))


def globs(values: Any, what: str) -> list[str]:
    """Return a list of globs, from one glob or several.

    Raises:
        HookError: if any glob is invalid.
    """
    several = [values] if isinstance(values, str) else values
    if not isinstance(several, Iterable) or isinstance(several, Mapping):
        raise HookError(f"{what} must be a glob or several globs, not {shown(values)}")
    listed = list(several)
    for each in listed:
        glob(each, what)
    return listed
