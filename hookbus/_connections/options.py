"""The options of `connect`, except for the receiver and its sender. All options are checked before
anything changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypedDict

from .._ground.errors import did_you_mean
from .._ground.numbers import is_number
from ..exceptions import HookError

if TYPE_CHECKING:
    from ..events import Event

Role = Literal["modify", "guard", "observe"]
Unguarded = Literal["modify", "observe"] | None
OnError = Literal["isolate", "block", "raise"]
Act = Literal["disable", "enable", "shadow"]
When = Callable[..., Any] | Mapping[str, str] | None


class QuestionOptions(TypedDict, total=False):
    """The options of a receiver of a question, for type checkers."""

    priority: float
    on_error: OnError | None
    timeout: float | None
    when: When
    once: bool
    name: str | None
    before: str | Iterable[str]
    after: str | Iterable[str]


class ConnectOptions(QuestionOptions, total=False):
    """The options of a signal's receiver, except for its role. The role determines which options
    are possible.
    """

    kinds: type[Event] | Iterable[type[Event]] | None
    shadow: bool
    background: bool
    locked: bool


ROLES: Final[dict[str | None, tuple[str, ...]]] = {
    "pre": ("modify", "guard", "observe"),
    "around": ("around",),
    "item": ("modify", "guard", "observe"),
    "post": ("modify", "guard", "observe"),
    "error": ("modify", "observe"),
    "finally": ("observe",),
    "answer": ("answer",),
    None: ("modify", "guard", "observe"),
}
"""The roles of each phase, the default first. None represents signals without a phase."""

POLICIES: Final[dict[str, tuple[OnError, ...]]] = {
    "modify": ("isolate", "block", "raise"),
    "guard": ("block",),
    "observe": ("isolate",),
    "around": ("raise",),
    "answer": ("isolate", "block", "raise"),
}
"""The failure policies of each role, the default first."""

PLAIN_ROLES: Final[dict[str | None, tuple[str, str]]] = {
    phase: (roles[0], POLICIES[roles[0]][0]) for phase, roles in ROLES.items()
}
"""The role and the failure policy of a receiver without options, for each phase."""


def _several(given: Any) -> tuple[Any, ...]:
    """Return a tuple of values, from a single value or several values."""
    is_many = isinstance(given, Iterable) and not isinstance(given, (str, type))
    return tuple(given) if is_many else (given,)


class Options(NamedTuple):
    """The options of `connect`, except for the receiver and its sender. `options_of` creates and
    checks them.
    """

    priority: float = 0
    role: str | None = None
    on_error: str | None = None
    timeout: float | None = None
    when: When = None
    once: bool = False
    name: str | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    kinds: tuple[type, ...] | None = None
    shadow: bool = False
    background: bool = False
    locked: bool = False

    def problems(self) -> Iterator[str]:
        """Yield a message for each invalid value."""
        # Only NaN is not equal to itself.
        is_usual = type(self.priority) is int
        if not is_usual and (not is_number(self.priority) or self.priority != self.priority):
            yield f"priority={self.priority!r} must be a number; higher runs first"
        for name in self.before + self.after:
            if not isinstance(name, str):
                yield f"before= and after= take names of receivers, not {name!r:.60}"
        for flag in ("once", "shadow", "background", "locked"):
            if not isinstance(getattr(self, flag), bool):
                yield f"{flag}={getattr(self, flag)!r} must be True or False"
        for option, known in (("role", ROLES[None]), ("on_error", POLICIES["modify"])):
            value = getattr(self, option)
            if value is not None and value not in known:
                yield f"{option}={value!r} is not valid{did_you_mean(str(value), known)}"
        if self.shadow and self.role != "guard":
            shadow = "shadow=True puts a guard in shadow mode"
            yield f"{shadow}: write role='guard' with it, or leave it out"
        if self.locked and (self.role != "guard" or self.shadow):
            force = "locked=True prevents an operator from switching a guard off"
            yield f"{force}: write role='guard' with it, and leave out shadow=True"
        if self.once and self.role == "guard":
            only = "it would guard only one call and allow all others"
            yield f"once=True is not allowed for a guard: {only}"
        if self.name is not None and (not isinstance(self.name, str) or not self.name):
            yield f"name={self.name!r} must be a non-empty string"
        when = {} if self.when is None or callable(self.when) else self.when
        if not isinstance(when, Mapping):
            such = "{'tool_name': 'bash*'}"
            yield f"when={when!r} must be a predicate or a mapping such as {such}"
        for name, glob in when.items():
            if not isinstance(name, str) or not isinstance(glob, str):
                argument = "must map the name of an argument to a glob, both strings"
                yield f"when={{{name!r}: {glob!r}}} {argument}"
            elif not _SIGNS.isdisjoint(glob) and (condition := _compared(name, glob)):
                compares = "is a glob for the argument as a string, not a comparison"
                yield f"when={{{name!r}: {glob!r}}} {compares}: write when={condition}"


PLAIN: Final = Options()
"""The options of a connection without options."""


_SIGNS: Final = frozenset("=<>≠≤≥")
"""The characters of which every comparison contains at least one."""


def _compared(name: str, glob: str) -> str | None:
    """Return the predicate that a glob such as `">100"` probably means, or None."""
    comparisons = import_module("hookbus._advice.comparisons")  # loaded for such globs only
    condition: str | None = comparisons.compared(name, glob)
    return condition


def options_of(**given: Any) -> Options:
    """Check these options, and return them. Without options, return `PLAIN`.

    Raises:
        HookError: if an option is unknown or a value is invalid. The message suggests a similar
            option or says what to write instead.
    """
    if not given:
        return PLAIN
    for name, value in given.items():
        if name not in Options._fields:
            known = ("sender", "weak", *Options._fields)
            raise HookError(f"{name!r} is not an option{did_you_mean(name, known)}")
        if name in ("before", "after") or (name == "kinds" and value is not None):
            given[name] = _several(value)
    options = Options(**given)
    if options.timeout is not None:
        check_timeout(options.timeout)
    for problem in options.problems():
        raise HookError(problem)
    return options


@lru_cache(maxsize=1024)
def resolve_role(phase: str | None, role: str | None, on_error: str | None) -> tuple[str, str, str]:
    """Return the role and the failure policy for these options, and a problem or an empty string.
    """
    roles, problem = ROLES[phase], ""
    found = role or roles[0]
    if found not in roles or (role is not None and phase in ("around", "answer")):
        has_none = phase in ("around", "answer")
        takes = "has no roles: leave out role=" if has_none else f"takes {' or '.join(roles)}"
        return found, "", f"has role={role!r}, but the phase {phase!r} {takes}"
    policies = POLICIES[found]
    if on_error is not None and on_error not in policies:
        problem = f"has on_error={on_error!r}, but the role {found} takes {' or '.join(policies)}"
    return found, on_error or policies[0], problem


def check_weak(weak: Any) -> None:
    """Raise HookError if the value is not True, False or None, because another option was probably
    meant.
    """
    if weak is None or isinstance(weak, bool):
        return
    meant = ""
    if isinstance(weak, str):
        from difflib import get_close_matches  # only needed for the error message

        near = get_close_matches(weak, ROLES[None], n=1)
        meant = f"; did you mean role={near[0]!r}?" if near else ""
    elif is_number(weak):
        meant = f"; did you mean priority={weak!r}?"
    raise HookError(f"weak={weak!r:.60} must be True, False or None{meant}")


LONG_TIMEOUT: Final = 100.0
"""The number of seconds from which on a deadline was probably meant in milliseconds, except for
whole minutes up to `LONGEST_TIMEOUT`.
"""

LONGEST_TIMEOUT: Final = 600.0


def odd_timeout(timeout: float | None) -> str:
    """Return a message if a deadline was probably meant in milliseconds, else an empty string."""
    if timeout is None or timeout < LONG_TIMEOUT:
        return ""
    if timeout % 60 == 0 and timeout <= LONGEST_TIMEOUT:
        return ""
    instead = f"timeout={timeout / 1000:g} if milliseconds were meant"
    return f"timeout={timeout:g} is in seconds: write {instead}, or whole minutes up to ten"


def check_max_background(limit: int) -> None:
    """Raise HookError if the value is not a valid limit for the background observers of a bus."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise HookError(
            f"max_background={limit!r} must be a whole number of at least 1: it limits how "
            "many observers run in the background at once"
        )


def check_timeout(timeout: float | None) -> None:
    """Raise HookError if the value is not None and not a valid number of seconds for a receiver."""
    if timeout is None:
        return
    if not is_number(timeout) or not 0 < timeout < float("inf"):
        raise HookError(
            f"timeout={timeout!r} must be a positive number of seconds, or None for no deadline"
        )
    if timeout > TIMEOUT_MAX:
        raise HookError(
            f"timeout={timeout!r} is longer than the longest possible wait ({TIMEOUT_MAX:.0f} s); "
            "leave it out"
        )
