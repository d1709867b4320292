"""What `connect` takes besides a receiver and its sender: checked before anything changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from threading import TIMEOUT_MAX
from typing import Any, Final, Literal, NamedTuple

from ..exceptions import HookError, did_you_mean

Role = Literal["modify", "guard", "observe"]
OnError = Literal["isolate", "block", "raise"]

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
"""The roles of each phase, its default first; None stands for signals of no phase."""

POLICIES: Final[dict[str, tuple[OnError, ...]]] = {
    "modify": ("isolate", "block", "raise"),
    "guard": ("block",),
    "observe": ("isolate",),
    "around": ("raise",),
    "answer": ("isolate", "block", "raise"),
}
"""What may be done when a receiver of a role fails, the default first."""




def _several(given: Any) -> tuple[Any, ...]:
    """Return one or several, given as such or together, as a tuple."""
    is_many = isinstance(given, Iterable) and not isinstance(given, (str, type))
    return tuple(given) if is_many else (given,)


class Options(NamedTuple):
    """What `connect` takes besides the receiver and its sender; `options_of` makes and checks them.
    """

    priority: float = 0
    role: str | None = None
    on_error: str | None = None
    timeout: float | None = None
    when: Callable[..., Any] | Mapping[str, str] | None = None
    once: bool = False
    name: str | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    kinds: tuple[type, ...] | None = None

    def check(self) -> None:
        # Only NaN differs from itself.
        if not _is_number(self.priority) or self.priority != self.priority:
            raise HookError(f"priority={self.priority!r} must be a number; higher runs first")
        for names in (self.before, self.after):
            if not all(isinstance(name, str) for name in names):
                raise HookError(
                    "before= and after= take the name of a receiver, or several, "
                    f"not {names if len(names) != 1 else names[0]!r:.60}"
                )
        check_timeout(self.timeout)
        if not isinstance(self.once, bool):
            raise HookError(f"once={self.once!r} must be True or False")
        if self.name is not None and (not isinstance(self.name, str) or not self.name):
            raise HookError(f"name={self.name!r} must be a text")
        if self.role is not None or self.on_error is not None:
            self._check_role()
        if self.when is not None and not callable(self.when):
            self._check_when()

    def _check_role(self) -> None:
        if self.role is not None and self.role not in ("modify", "guard", "observe"):
            raise HookError(
                f"role={self.role!r} is "
                f"unknown{did_you_mean(str(self.role), ('modify', 'guard', 'observe'))}"
            )
        if self.on_error is not None and self.on_error not in ("isolate", "block", "raise"):
            raise HookError(
                f"on_error={self.on_error!r} is "
                f"unknown{did_you_mean(str(self.on_error), POLICIES['modify'])}"
            )
        if self.once and self.role == "guard":
            raise HookError(
                "once=True is refused for a guard: it would guard one call and leave the door open"
            )

    def _check_when(self) -> None:
        if not isinstance(self.when, Mapping):
            raise HookError(
                f"when={self.when!r} must be a predicate or a mapping such as {{'tool_name': "
                "'bash*'}}"
            )
        for name, glob in self.when.items():
            if not isinstance(name, str) or not isinstance(glob, str):
                raise HookError(
                    f"when={{{name!r}: {glob!r}}} must map the name of an argument to a glob, both "
                    "texts"
                )


_PLAIN: Final = Options()


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def options_of(
    priority: float = 0, role: str | None = None, on_error: str | None = None,
    timeout: float | None = None, when: Callable[..., Any] | Mapping[str, str] | None = None,
    once: bool = False, name: str | None = None, before: str | Iterable[str] = (),
    after: str | Iterable[str] = (), kinds: Any = None,
) -> Options:  # fmt: skip
    """Return these options, checked; those who ask for nothing share theirs.

    Raises:
        HookError: for a value that makes no sense, naming it and what to write instead.
    """
    # False equals 0, and must be refused where 0 is right; of `()` there is only one.
    is_usual = type(priority) is int and priority == 0 and once is False
    is_unsaid = timeout is None and when is None and name is None and kinds is None
    is_free = before is after is _PLAIN.before and role is None and on_error is None
    if is_usual and is_unsaid and is_free:
        return _PLAIN
    options = Options(
        priority, role, on_error, timeout, when, once, name, _several(before), _several(after),
        None if kinds is None else _several(kinds),
    )  # fmt: skip
    options.check()
    return options


def check_timeout(timeout: float | None) -> None:
    """Raise HookError unless this is None or a number of seconds a receiver can have."""
    if timeout is None:
        return
    if not _is_number(timeout) or not 0 < timeout < float("inf"):
        raise HookError(
            f"timeout={timeout!r} must be a positive number of seconds, or None for no deadline"
        )
    if timeout > TIMEOUT_MAX:
        raise HookError(
            f"timeout={timeout!r} is longer than any wait can be ({TIMEOUT_MAX:.0f} s); leave it "
            "out"
        )
