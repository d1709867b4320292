"""Describe the failure of a receiver, and log failures that no listener receives. The message of an
exception from other code may contain a secret, so hookbus shows only its type and location. A
message that hookbus itself wrote is shown in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from os.path import dirname, join
from types import CodeType, TracebackType
from typing import Final

from .._callables.callables import written
from .._callables.instructions import is_raised_here
from .._ground.errors import name_of_class, traceback_of
from ..exceptions import HookError

INFO: Final = 20
WARNING: Final = 30
ERROR: Final = 40


def log(level: int, text: str) -> bool:
    """Log a message to the logger `hookbus`. Exceptions in log handlers are ignored, except
    interrupts. Return False if the stack is exhausted.

    The exception that is being handled is hidden from log handlers, because they may print it.
    """
    try:
        import logging

        try:
            raise HookError(text)
        except HookError as shown:
            shown.__context__ = None
            logging.getLogger("hookbus").log(level, "%s", text)
    except Exception as error:
        return not isinstance(error, RecursionError)
    return True


def place_of_failure(error: BaseException, place: CodeType | str) -> str:
    """Return the `file:line` where a receiver failed: the deepest frame of the exception in the
    receiver's file. If there is no such frame, return the start of the receiver. `place` is the
    code or the module of the receiver.
    """
    found = None
    for trace in traces_of(error):
        code = trace.tb_frame.f_code
        if isinstance(place, CodeType):
            is_in = code.co_filename == place.co_filename
        else:
            is_in = found is None and not is_of_engine(code)
        if is_in:
            found = code.co_filename, trace
    return written(place) if found is None else f"{found[0]}:{found[1].tb_lineno}"


def in_words(kind: type[BaseException], place: str, sentence: str | None) -> str:
    """Describe a failure with a sentence of hookbus, if there is one, and with the exception's type
    and location.
    """
    is_said = sentence and kind is HookError
    typed = None if is_said else f"{name_of_class(kind)} at {place}"
    return ": ".join(filter(None, (sentence, typed)))


def is_worded_here(error: BaseException) -> bool:
    """Return whether hookbus itself raised an exception to report a problem with a receiver.

    If the exception passed through other code or came from a future, its message may contain values
    of that code.
    """
    if type(error) is not HookError:
        return False
    traces = list(traces_of(error))
    is_ours = all(is_of_engine(trace.tb_frame.f_code) for trace in traces)
    return is_ours and _is_raised(traces[-1:])


def is_raised_by(error: BaseException, place: CodeType | str) -> bool:
    """Return whether this code raised the exception with `raise` or `assert`."""
    last = list(traces_of(error))[-1:]
    return _is_raised(last) and any(trace.tb_frame.f_code is place for trace in last)


def _is_raised(last: list[TracebackType]) -> bool:
    return any(map(is_raised_here, last))


def traces_of(error: BaseException) -> Iterator[TracebackType]:
    """Yield the traceback entries of an exception, outermost first."""
    trace: TracebackType | None = traceback_of(error)
    while trace is not None:
        yield trace
        trace = trace.tb_next


def is_of_engine(code: CodeType) -> bool:
    """Return whether a code object belongs to the engine of hookbus."""
    return code.co_filename.startswith(_ENGINE)


_HOME: Final = dirname(dirname(log.__code__.co_filename))
_ENGINE: Final = (
    "<hookbus ", join(_HOME, "_"), join(_HOME, "approvals", "_"), join(_HOME, "fleet", "_approvals")
)  # fmt: skip
"""Prefixes of the file names of the engine. Other packages of hookbus, such as its guards and its
demo, contain receivers.
"""
