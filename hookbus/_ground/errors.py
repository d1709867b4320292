"""Helpers for errors: warnings, advice, and access to exceptions without running their code."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, Final, TypeGuard, TypeVar, get_args

from ..exceptions import Failure, HookBlocked, HookError, HookWarning

E = TypeVar("E", bound=BaseException)


def warn(text: str) -> None:
    """Emit a `HookWarning` that points at the line that called hookbus."""
    depth = 0
    caller: FrameType | None = sys._getframe()
    while caller is not None and caller.f_globals.get("__name__", "").split(".")[0] == "hookbus":
        depth, caller = depth + 1, caller.f_back
    warnings.warn(text, HookWarning, stacklevel=depth + 1)


def late_call_next() -> HookError:
    """Return the exception that `call_next` raises after the end of its around or its call."""
    return HookError(
        "call_next was used after its around had ended: call it before the around returns"
    )


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """Return `"; did you mean 'x'?"` for the closest known name. If no name is close, return the
    list of known names, or an empty string if no names are known.
    """
    import difflib

    names = sorted(set(known))
    close = difflib.get_close_matches(wrong, names, n=1, cutoff=0.6)
    close = close or [name for name in names if wrong in name.split("_")][:1]
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; available: {', '.join(names)}" if names else ""


def undeclared(hook: str, known: Iterable[str]) -> str:
    """Return advice for an undeclared hook: the closest known name, or the hint to import the
    module that declares the hook.
    """
    hint = did_you_mean(hook, known)
    is_near = "did you mean" in hint
    advice = "import the module that declares it, or install() its adapter, first"
    return hint if is_near else f"{hint}; {advice}"


def unapproved(question: str, why: str) -> str:
    """Return the reason for blocking a call that was not approved: the question and its outcome."""
    return f"{question} {why}" if question.rstrip().endswith("?") else f"{question}: {why}"


def article(noun: str) -> str:
    """Return a noun with its article, `a` or `an`."""
    return f"{'an' if noun.startswith(tuple('aeiouAEIOU')) else 'a'} {noun}"


def is_a(error: object, *kinds: type[E]) -> TypeGuard[E]:
    """Return whether an error is an instance of one of these types. Like `except`, it does not read
    `__class__`, which may run other code.
    """
    return issubclass(type(error), kinds)


# These attributes are read through `BaseException`, because `__getattribute__`, properties and the
# metaclass of a subclass may run other code, which may raise.
_BASE: Final = vars(BaseException)
traceback_of: Final[Any] = _BASE["__traceback__"].__get__
set_traceback: Final[Any] = _BASE["__traceback__"].__set__
cause_of: Final[Any] = _BASE["__cause__"].__get__
_context_of: Final[Any] = _BASE["__context__"].__get__
set_context: Final[Any] = _BASE["__context__"].__set__
args_of: Final[Any] = _BASE["args"].__get__
_attributes_of: Final[Any] = _BASE["__dict__"].__get__
name_of_class: Final[Any] = type.__dict__["__name__"].__get__


def call_id_of(blocked: BaseException) -> int | None:
    """Return the number of the call that `blocked` ended, without running code of the class of
    `blocked`.
    """
    if type(blocked) is HookBlocked:
        return blocked.call_id
    number: int | None = _attributes_of(blocked).get("call_id")
    return number


def details_of(error: BaseException) -> dict[str, str] | None:
    """Return the `details` for a block that an error causes: how a service failed, or None if this
    is unknown.
    """
    failure = _attributes_of(error).get("failure")
    is_known = type(failure) is str and failure in get_args(Failure)
    return {"failure": failure} if is_known else None


def leave_frame(error: BaseException) -> None:
    """Remove the frame that handles an error from its traceback."""
    if type(error) is HookBlocked:  # without overrides, and three times faster
        trace: Any = error.__traceback__
        error.__traceback__ = trace.tb_next
    else:
        set_traceback(error, traceback_of(error).tb_next)


def note(error: BaseException, text: str) -> None:
    """Add a note to an error, without running code of its class."""
    notes = _attributes_of(error).setdefault("__notes__", [])
    if type(notes) is list:
        notes.append(text)


def first_error(*errors: BaseException | None) -> BaseException | None:
    """Return the first error that is not None, without calling `__bool__` of any error."""
    return next((error for error in errors if error is not None), None)


def chain(error: BaseException, earlier: BaseException) -> None:
    """Append an earlier exception to the context chain of an exception, unless the chain already
    contains it.
    """
    last = error
    for linked in contexts_of(error):
        if linked is earlier:
            return
        last = linked
    if all(linked is not error for linked in contexts_of(earlier)):
        set_context(last, earlier)


def contexts_of(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and the exceptions in its chain of causes and contexts."""
    linked: BaseException | None = error
    seen: set[int] = set()
    while linked is not None and id(linked) not in seen:
        seen.add(id(linked))
        yield linked
        linked = first_error(cause_of(linked), _context_of(linked))
