"""Every exception that hookbus raises: the facts as fields, the messages in one place."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, Final, TypeGuard, TypeVar

E = TypeVar("E", bound=BaseException)


class HookError(Exception):
    """hookbus was used in a way that cannot work. The message says what happened, where, and what
    to write instead.
    """


class HookWarning(UserWarning):
    """Something is allowed but probably not intended, such as a guard on a class whose override is
    not hooked.
    """


class HookBlocked(HookError):
    """The call was blocked: it must not run, or its result must not be returned.

    It never contains the message of a receiver's own exception, because a model may read it.

    Attributes:
        verdict: the `Block` itself, with its `code` and `details`.
        call_id: the number of the call, as in its events.
    """

    args: tuple[str, ...]
    verdict: Any = None
    call_id: int | None = None

    @property
    def reason(self) -> str:
        """The reason that the blocking receiver gave."""
        return self._said(0)

    @property
    def receiver(self) -> str:
        """The name of the receiver that blocked the call."""
        return self._said(1)

    @property
    def hook(self) -> str:
        """The name of the hook whose call was blocked."""
        return self._said(2)

    def _said(self, number: int) -> str:
        return self.args[number] if number < len(self.args) else "?"  # e.g. made elsewhere

    def __str__(self) -> str:
        return f"{self.hook} was blocked by {self.receiver}: {self.reason}"


class CallPaused(BaseException):
    """A method handed control back to its framework, with an exception that `passes=` names.

    An `around` gets it from `call_next` in place of that exception. It is not an `Exception`, so a
    retry or fallback does not mistake a pause for a failure. The caller gets the exception itself.

    Attributes:
        error: the framework's exception.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


class ReceiverError(HookError):
    """A receiver connected with `on_error="raise"` failed; its own exception is the `__cause__`.

    Attributes:
        receiver: the name of the receiver that failed.
        hook: the name of the hook whose call it failed in.
        phase: the phase it failed in, such as `"pre"`.
    """

    receiver: str
    hook: str
    phase: str

    def __init__(self, receiver: str, hook: str, phase: str) -> None:
        super().__init__(receiver, hook, phase)
        self.receiver, self.hook, self.phase = receiver, hook, phase

    def __str__(self) -> str:
        where = self.hook if self.phase == "answer" else f"{self.phase}_{self.hook}"
        return f"receiver {self.receiver} failed in {where} and has on_error='raise'"


class PluginError(HookError):
    """A plugin cannot be loaded as it is; `load_plugins` turns this into a diagnostic.

    Attributes:
        problem: what is wrong.
        advice: how to fix it.
    """

    problem: str
    advice: str

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem, advice)
        self.problem, self.advice = problem, advice
        self.traceback: str | None = None

    def __str__(self) -> str:
        return f"{self.problem}; {self.advice}"


def warn(text: str) -> None:
    """Emit a `HookWarning` that points at the line that called hookbus."""
    depth = 0
    caller: FrameType | None = sys._getframe()
    while caller is not None and caller.f_globals.get("__name__", "").split(".")[0] == "hookbus":
        depth, caller = depth + 1, caller.f_back
    warnings.warn(text, HookWarning, stacklevel=depth + 1)


def late_call_next() -> HookError:
    """Return what `call_next` raises after its around, or the call, has ended."""
    return HookError(
        "call_next was used after its around had ended: call it before the around returns"
    )


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """Return `"; did you mean 'x'?"` for the closest known name. If none is close, return the known
    names, else an empty string.
    """
    import difflib

    names = sorted(set(known))
    close = difflib.get_close_matches(wrong, names, n=1, cutoff=0.6)
    close = close or [name for name in names if wrong in name.split("_")][:1]
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known are {', '.join(names)}" if names else ""


def undeclared(hook: str, known: Iterable[str]) -> str:
    """Return advice for a hook name that nothing declares: the closest name, or to import the
    module that declares it.
    """
    hint = did_you_mean(hook, known)
    is_near = "did you mean" in hint
    advice = "import the module that declares it, or install() its adapter, first"
    return hint if is_near else f"{hint}; {advice}"


def article(noun: str) -> str:
    """Return a noun with its article, `a` or `an`."""
    return f"{'an' if noun.startswith(tuple('aeiouAEIOU')) else 'a'} {noun}"


def is_a(error: object, *kinds: type[E]) -> TypeGuard[E]:
    """Tell whether an error is of one of these kinds (types), as `except` does, without reading its
    `__class__`, which may run other code.
    """
    return issubclass(type(error), kinds)


# These attributes are read through `BaseException`, whatever the class overrides: its
# `__getattribute__`, properties and metaclass may run other code, which may raise.
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
    """Return the number of the call that `blocked` ends, without running code of its class."""
    number: int | None = _attributes_of(blocked).get("call_id")
    return number


def leave_frame(error: BaseException) -> None:
    """Remove the frame that handles an error from its traceback."""
    set_traceback(error, traceback_of(error).tb_next)


def note(error: BaseException, text: str) -> None:
    """Add a text to an error as a note, without running code of its class."""
    notes = _attributes_of(error).setdefault("__notes__", [])
    if type(notes) is list:
        notes.append(text)


def first_error(*errors: BaseException | None) -> BaseException | None:
    """Return the first of the errors that is not None, without calling its `__bool__`."""
    return next((error for error in errors if error is not None), None)


def chain(error: BaseException, earlier: BaseException) -> None:
    """Show an exception with an earlier one, at the end of its own contexts, unless it is already
    there.
    """
    last = error
    for linked in contexts_of(error):
        if linked is earlier:
            return
        last = linked
    if all(linked is not error for linked in contexts_of(earlier)):
        set_context(last, earlier)


def contexts_of(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it is shown with."""
    linked: BaseException | None = error
    seen: set[int] = set()
    while linked is not None and id(linked) not in seen:
        seen.add(id(linked))
        yield linked
        linked = first_error(cause_of(linked), _context_of(linked))
