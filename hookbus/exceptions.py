"""Every error hookbus raises: the facts as fields, the wording in one place."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, Final, TypeGuard, TypeVar

E = TypeVar("E", bound=BaseException)


class HookError(Exception):
    """Something was asked of hookbus that it cannot do; the message says who, where and what to
    write instead.
    """


class HookWarning(UserWarning):
    """Something is allowed but probably not what was meant, such as a guard on a class whose
    override is not hooked.
    """


class HookBlocked(HookError):
    """The verdict that a call must not run, or that its result must not leave.

    It never carries the text of a receiver's own exception: a model may read it.

    Attributes:
        verdict: the `Block` itself, with its `code` and `details`.
        call_id: the number of the call, the one that events say.
    """

    args: tuple[str, ...]
    verdict: Any = None
    call_id: int | None = None

    @property
    def reason(self) -> str:
        """Why, in the words of the receiver that blocked."""
        return self._said(0)

    @property
    def receiver(self) -> str:
        """The name of that receiver."""
        return self._said(1)

    @property
    def hook(self) -> str:
        """The name of the hook whose call was blocked."""
        return self._said(2)

    def _said(self, number: int) -> str:
        return self.args[number] if number < len(self.args) else "?"  # others made it by hand

    def __str__(self) -> str:
        return f"{self.hook} was blocked by {self.receiver}: {self.reason}"


class CallPaused(BaseException):
    """A method handed control back to its framework, by an exception that `passes=` names.

    An `around` gets it from `call_next` in place of that exception. It is no `Exception`, so that a
    retry or a fallback does not take a pause for a failure; the caller gets the exception itself.

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
        return f"receiver {self.receiver} failed in {where} and asks to raise"


class PluginError(HookError):
    """A plugin cannot be loaded as it is; `load_plugins` makes a diagnostic of it.

    Attributes:
        problem: what is wrong.
        advice: what to do about it.
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
    """Give a `HookWarning` at the line that called hookbus, by whatever way."""
    depth = 0
    caller: FrameType | None = sys._getframe()
    while caller is not None and caller.f_globals.get("__name__", "").split(".")[0] == "hookbus":
        depth, caller = depth + 1, caller.f_back
    warnings.warn(text, HookWarning, stacklevel=depth + 1)


def late_call_next() -> HookError:
    """Return what `call_next` raises once its around, or the call, has ended."""
    return HookError("call_next was used after its around had ended: call it before you return")


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """Return `"; did you mean 'x'?"` for the closest known name, else the known names, else an
    empty string.
    """
    import difflib

    names = sorted(set(known))
    close = difflib.get_close_matches(wrong, names, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known are {', '.join(names)}" if names else ""


def undeclared(hook: str, known: Iterable[str]) -> str:
    """Return what to do where nothing declares a hook of this name: as `did_you_mean` says, or wait
    for it.
    """
    hint = did_you_mean(hook, known)
    is_near = "did you mean" in hint
    return hint if is_near else f"{hint}; import what declares it, or install() its adapter, first"


def article(noun: str) -> str:
    """Return a noun behind its `a` or `an`."""
    return f"{'an' if noun.startswith(tuple('aeiouAEIOU')) else 'a'} {noun}"


def is_a(error: object, *kinds: type[E]) -> TypeGuard[E]:
    """Tell whether an error is of one of these kinds by its type, as `except` does: its `__class__`
    may be code of its own.
    """
    return issubclass(type(error), kinds)


# As every exception has them, whatever its own class says: its `__getattribute__`, its properties
# and its metaclass are a stranger's code, which may raise.
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
    """Return the number of the call that `blocked` ends, without asking its class."""
    number: int | None = _attributes_of(blocked).get("call_id")
    return number


def leave_frame(error: BaseException) -> None:
    """Take the frame that handles an error out of its traceback."""
    set_traceback(error, traceback_of(error).tb_next)


def note(error: BaseException, text: str) -> None:
    """Add a text to an error as a note, whatever its class says of being changed."""
    notes = _attributes_of(error).setdefault("__notes__", [])
    if type(notes) is list:
        notes.append(text)


def first_error(*errors: BaseException | None) -> BaseException | None:
    """Return the first of the errors that there is, without asking one whether it is true."""
    return next((error for error in errors if error is not None), None)


def chain(error: BaseException, earlier: BaseException) -> None:
    """Let an exception be shown with an earlier one, at the end of its own contexts, unless it is
    there already.
    """
    last = error
    for linked in contexts_of(error):
        if linked is earlier:
            return
        last = linked
    if all(linked is not error for linked in contexts_of(earlier)):
        set_context(last, earlier)


def contexts_of(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those it is shown with."""
    linked: BaseException | None = error
    seen: set[int] = set()
    while linked is not None and id(linked) not in seen:
        seen.add(id(linked))
        yield linked
        linked = first_error(cause_of(linked), _context_of(linked))
