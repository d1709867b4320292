"""What every guard here is: receivers that `bus.register` connects together."""

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
from .._baggage import was_ever_said
from .._keywords import named_options
from .._locks import Lock

FIRST: Final = 1e6
"""The priority of what comes before the receivers of others; negative, after them."""

LAST: Final = -FIRST

SESSIONS: Final = 1_000
"""So many sessions are remembered."""

NOTED: Final = 20
"""So many classes are named of which a guard could not look into the objects."""

_CODE: Final = (FunctionType, BuiltinFunctionType, MethodType, ModuleType)

Hooks = str | Iterable[str]

_HOOK: Final = pattern(r"(?!\d)[\w*?\[\]!-]+")

T = TypeVar("T")


class ReadyGuard:
    """Receivers that belong together: `bus.register` connects them, all or none.

    Args:
        hook: the hook whose calls they judge, several, or a glob such as `"send_*"`, which covers
            hooks that are declared later, too.

    Attributes:
        hooks: the names and globs.
        receivers: the functions, each with the signal it is connected to and its options.

    Raises:
        HookError: for what is not the name of a hook or a glob.
    """

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
        """Have `register` connect a function to a phase of the hooks, or of another one."""
        where = [each for each in (phase if phase != "pre" else None, hook) if each]
        options.setdefault("name", ": ".join([type(self).__name__, *where]))
        for each in [hook] if hook else self.hooks:
            receiver = receives(f"{phase}_{each}", **options)(receiver)
            self.receivers.append((f"{phase}_{each}", receiver, options))
        setattr(self, f"_receiver_{len(vars(self))}", receiver)


class Unnamed:
    """Counts the calls that said no session, or user, where others do: they share one count.

    Args:
        per: the name in the baggage that a call is counted under.
    """

    def __init__(self, per: str) -> None:
        self.per, self.calls, self.in_threads = per, 0, 0

    def note(self) -> None:
        """Note a call that said none."""
        if was_ever_said(self.per):
            self.calls += 1
            self.in_threads += threading.current_thread() is not threading.main_thread()

    def findings(self) -> list[str]:
        """Say how many calls that were, and what carries the baggage into a thread, as `report`
        does.
        """
        if not self.calls:
            return []
        counted = f"calls without a {self.per} are counted together, {self.calls} so far"
        if not self.in_threads:
            return [f"{counted}: write with baggage({self.per}=...) around the call"]
        start = "start its function with contextvars.copy_context().run, which carries the context"
        return [f"{counted}, {self.in_threads} of them in a thread: {start}"]


class Unseen:
    """Notes the classes of objects that a guard could not look into."""

    def __init__(self) -> None:
        self._kinds: dict[str, None] = {}

    def note(self, value: Any) -> None:
        """Note such an object."""
        if len(self._kinds) < NOTED and type(value) not in _CODE:
            self._kinds.setdefault(type(value).__name__[:60])

    def findings(self) -> list[str]:
        """Say which they were, as `report` does."""
        return [f"objects of {each} went past unseen: it cannot look into them"
                for each in self._kinds]  # fmt: skip


class Sessions(Generic[T]):
    """What is kept for each session, as long as it is one of the last.

    Args:
        make: makes it for a new one.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make, self._lock = make, Lock()
        self._kept: OrderedDict[str, T] = OrderedDict()

    def of(self, session: Any) -> T:
        """Return what is kept for a session; None is the session of all that have none."""
        name = f"{type(session).__name__} {session}"
        with self._lock:
            found = self._kept.setdefault(name, self._make())
            self._kept.move_to_end(name)
            if len(self._kept) > SESSIONS:
                self._kept.popitem(last=False)
        return found


def either(plain: Callable[..., Any], awaited: Callable[..., Any]) -> Callable[..., Any]:
    """Return an `around` of two functions of `call_next` and `ctx`: for a plain hook, for an async
    one. A stream goes through the plain one.
    """

    def around(sender: Any, call_next: Callable[..., Any], ctx: HookContext) -> Any:
        return (awaited if iscoroutinefunction(call_next) else plain)(call_next, ctx)

    return around


def live(around: Callable[..., Any]) -> Callable[..., Any]:
    """Mark an `around` that passes an answer on as it comes: a streamed answer need not wait until
    it is there as a whole.
    """
    around.__dict__["__hookbus_live__"] = True
    return around


def library(name: str, guard: str) -> Any:
    """Return a module of the extra `guards`.

    Raises:
        HookError: if it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        needs = f"guards.{guard} needs {error.name}"
        raise HookError(f"{needs}: pip install 'hookbus[guards]'") from None


def shown(value: Any) -> str:
    """Return a wrong setting as it is shown in a message: an address may hold a password."""
    return f"an address, {type(value).__name__}" if "://" in str(value) else f"{value!r:.40}"


def glob(text: Any, what: str) -> Pattern[str]:
    """Return what matches a glob, case and all.

    Raises:
        HookError: if it is no text, or an empty one.
    """
    if not isinstance(text, str) or not text:
        raise HookError(f"{what}: {shown(text)} is no pattern; write a text such as 'read_*'")
    return pattern(translate(text))


def globs(given: Any, what: str) -> list[str]:
    """Return several globs, given as one or as several.

    Raises:
        HookError: if one of them is none.
    """
    several = [given] if isinstance(given, str) else given
    if not isinstance(several, Iterable) or isinstance(several, Mapping):
        raise HookError(f"{what} takes a glob or several, not {shown(given)}")
    listed = list(several)
    for each in listed:
        glob(each, what)
    return listed
