"""What every guard here is: receivers that `bus.plug` connects together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import translate
from importlib import import_module
from inspect import iscoroutinefunction
from re import Pattern
from re import compile as pattern
from typing import Any, Final, Generic, TypeVar

from .. import HookContext, HookError, receives
from .._keywords import named_options
from .._locks import Lock
from .._surroundings import was_ever_said

FIRST: Final = 1e6
"""The priority of what comes before the receivers of others; negative, after them."""

LAST: Final = -FIRST

NOTED: Final = 50
"""So many arguments that no glob covers are noted."""

SESSIONS: Final = 1_000
"""So many sessions are remembered."""

T = TypeVar("T")


class Plugged:
    """Receivers that belong together: `bus.plug` connects them, all or none.

    Attributes:
        hook: the hook whose calls they judge.
    """

    def __init_subclass__(cls) -> None:
        named_options(cls)

    def __init__(self, hook: str) -> None:
        if not isinstance(hook, str) or not hook.isidentifier():
            raise HookError(f"hook={hook!r:.40} must be the name of a hook, such as 'tool_call'")
        self.hook = hook

    def on(
        self, phase: str, receiver: Callable[..., Any], hook: str | None = None, **options: Any
    ) -> None:
        """Have `plug` connect a function to a phase of the hook, or of another one."""
        where = [each for each in (phase if phase != "pre" else None, hook) if each]
        options.setdefault("name", ": ".join([type(self).__name__, *where]))
        marked = receives(f"{phase}_{hook or self.hook}", **options)(receiver)
        setattr(self, f"_receiver_{len(vars(self))}", marked)


class Unnamed:
    """Counts the calls that said no session, or user, where others do: they share one count.

    Args:
        per: the name in the surrounding that a call is counted under.
    """

    def __init__(self, per: str) -> None:
        self.per, self.calls, self.in_threads = per, 0, 0

    def note(self) -> None:
        """Note a call that said none."""
        if was_ever_said(self.per):
            self.calls += 1
            self.in_threads += threading.current_thread() is not threading.main_thread()

    def findings(self) -> list[str]:
        """Say how many calls that were, and what carries the surrounding into a thread, as `report`
        does.
        """
        if not self.calls:
            return []
        counted = f"calls without a {self.per} are counted together, {self.calls} so far"
        if not self.in_threads:
            return [f"{counted}: write with surrounding({self.per}=...) around the call"]
        start = "start its function with contextvars.copy_context().run, which carries the context"
        return [f"{counted}, {self.in_threads} of them in a thread: {start}"]


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


def glob(text: Any, what: str) -> Pattern[str]:
    """Return what matches a glob, case and all.

    Raises:
        HookError: if it is no text, or an empty one.
    """
    if not isinstance(text, str) or not text:
        raise HookError(f"{what}: {text!r:.40} is no pattern; write a text such as 'read_*'")
    return pattern(translate(text))


def globs(given: Any, what: str) -> list[str]:
    """Return several globs, given as one or as several.

    Raises:
        HookError: if one of them is none.
    """
    several = [given] if isinstance(given, str) else given
    if not isinstance(several, Iterable) or isinstance(several, Mapping):
        raise HookError(f"{what} takes a glob or several, not {given!r:.40}")
    listed = list(several)
    for each in listed:
        glob(each, what)
    return listed


def named(arguments: Any) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """Yield every value in arguments, at any depth: the names that it stands under, its path, it.

    Raises:
        HookError: for what is no mapping with texts as keys, or is nested too deep.
    """
    if not isinstance(arguments, Mapping):
        raise HookError("the arguments are no mapping of names to values")
    yield from _below((), "", arguments)


def _below(names: tuple[str, ...], path: str, value: Any) -> Iterator[tuple[Any, str, Any]]:
    if len(names) + path.count("[") > 50:
        raise HookError("the arguments are nested more than 50 deep")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise HookError("the arguments have a key that is no text")
            yield from _below((*names, key), f"{path}.{key}" if path else key, inner)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for i, inner in enumerate(value):
            yield from _below(names, f"{path}[{i}]", inner)
    else:
        yield names, path, value


class Covered:
    """The arguments that globs cover, over names at any depth, whatever their case.

    Args:
        given: the globs.
        usual: globs of names that are judged where nobody says otherwise.
        form: what a value looks like that should be judged.

    Raises:
        HookError: if there is no glob, or one is none.
    """

    def __init__(
        self, given: Any, usual: Iterable[str] = (), form: Pattern[str] | None = None
    ) -> None:
        self._globs = [glob(each.casefold(), "arguments=") for each in globs(given, "arguments=")]
        if not self._globs:
            raise HookError("arguments= names no argument: then there is nothing to judge")
        self._usual, self._form = [glob(each, "usual") for each in usual], form
        self._passed: dict[str, None] = {}

    def of(self, arguments: Any) -> Iterator[tuple[str, Any]]:
        """Yield the path and the value of each, but None, which is no value.

        Raises:
            HookError: as `named` does.
        """
        for names, path, value in named(arguments):
            folded = [name.casefold() for name in names]
            if value is None:
                continue
            if any(each.match(name) for each in self._globs for name in folded):
                yield path, value
            elif names and len(self._passed) < NOTED and self._should(folded, value):
                self._passed.setdefault(names[-1])

    def _should(self, names: list[str], value: Any) -> bool:
        """Tell whether a value that no glob covers looks like one that should be judged."""
        if not isinstance(value, str) or self._form is None:
            return False
        is_usual = any(each.match(name) for each in self._usual for name in names)
        return is_usual or self._form.match(value) is not None

    def findings(self) -> list[str]:
        """Say which arguments of the calls so far went past, as `report` does."""
        said = "is not judged, and looks as if it should be: name it in arguments="
        return [f"the argument {name[:60]!r} {said}" for name in self._passed]
