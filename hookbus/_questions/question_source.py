"""The fast path of a question: its receivers called by generated code, as long as they answer plainly and nobody raises.

At anything else the walk takes over at that place, as for hookables: whoever had a turn is not called again.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from types import SimpleNamespace
from typing import Any, Final, NoReturn

from .. import modes
from .._calls.cancels import Cancels, settled, task_lookup
from .._calls.lines import PLAIN, is_special
from .._calls.plan import Seat
from .._calls.resume import Unusual
from .._connections.callables import is_coroutine_callable
from .._hooks.shell import declared, free_name, maker
from .spec import Spec

MOST: Final = 200
"""A question with more receivers than this is walked: to compile it would take too long."""

Resume = Callable[..., Any]
"""Lets the walk take over: the values of the parameters, what the first receivers answered, and what the next one answered
unusually, or what was raised instead. With `Unusual` it is the answer, with None there was neither. Last, where receivers are
awaited, how many cancellations of the task were outstanding at the beginning."""

_LOCALS: Final = ("answer", "answers", "error", "caught", "loop", "task", "cancels")

_MODES: Final = (modes.void, modes.broadcast, modes.firstresult)


def compile_question(spec: Spec, resume: Resume) -> Callable[..., Any] | None:
    """Return what runs a question, called as the question is; None where it has to be walked.

    Generated code does not note who had a turn, so it is for those that have had one; the walk goes on behind them.
    """
    rules, panel = spec.rules, spec.panel()
    is_bare = rules.fallback is None and rules.dedup is None and not rules.is_historic
    is_free = not (spec.bus.is_observed or spec.signal.is_muted_somewhere or spec.open_scopes)
    if rules.steps not in _MODES or not (is_bare and is_free and panel.plan.is_empty):
        return None
    seats = [seat for _, seat in panel.seats]
    known = list(takewhile(lambda seat: seat.receiver.has_fired, seats))
    if not 0 < len(known) <= MOST or not all(_is_plain(seat, spec) for seat in seats):
        return None
    if rules.steps is modes.void and any(map(_is_awaited, seats)):
        return None  # they are awaited side by side
    given = {"resume": resume, "refuse": _refuse, "special": is_special, "plain": PLAIN, "type": type}
    given.update((f"r{place}", seat.receiver.function) for place, seat in enumerate(known))
    if any(map(_is_awaited, known)):
        running_loop, task_of = task_lookup()
        given |= {"running_loop": running_loop, "task_of": task_of, "settled": settled, "Cancels": Cancels}
    taken = set(spec.function_signature.names)
    names = {name: free_name(name, taken) for name in (*given, *_LOCALS)}
    source = _source(spec, known, SimpleNamespace(**names), is_whole=len(known) == len(seats))
    run: Callable[..., Any] = maker(f"def make({', '.join(names[name] for name in given)}):\n{source}")(*given.values())
    return run


def _refuse() -> NoReturn:
    raise Unusual


def _is_plain(seat: Seat, spec: Spec) -> bool:
    """Tell whether a seat needs nothing but a call."""
    receiver = seat.receiver
    if seat.problem or seat.timeout is not None or receiver.when or receiver.options.once or receiver.is_weak:
        return False
    return "ctx" not in receiver.asks.names or spec.has_own_ctx


def _is_awaited(seat: Seat) -> bool:
    return is_coroutine_callable(seat.receiver.function)


def _source(spec: Spec, seats: list[Seat], n: Any, *, is_whole: bool) -> str:
    """Write the function; `n` has the names of everything that is no parameter."""
    is_first, counts = spec.rules.steps is modes.firstresult, any(map(_is_awaited, seats))
    head = [
        f"    {'async ' if spec.is_async else ''}def question({declared(spec.parameters)}):",
        *(_count(n) if counts else ()),
        f"        {n.answers}, {n.answer}, {n.error} = {'None' if is_first else '[]'}, None, None",
        "        try:",
    ]
    turns = [line for place, seat in enumerate(seats) for line in _turn(spec, seat, f"r{place}", n)]
    # Where the code of firstresult stopped is told by the line; in front of these is the one of `make`.
    stopped = f"{n.error}.__traceback__.tb_lineno - {len(head) + 2} if {n.error} is not None else {len(seats)}"
    given = f"[{n.answer} for {n.answer} in {n.answers} if {n.answer} is not None]"
    result = given if spec.rules.steps is modes.broadcast else "None"
    values = "({})".format("".join(f"{name}, " for name in spec.function_signature.names))
    told = [values, f"[None] * ({stopped})" if is_first else n.answers, n.answer, n.error, *([n.cancels] if counts else [])]
    rest = f"""\
            {f'return {result}' if is_whole else 'pass'}
        except BaseException as {n.caught}: {n.error} = {n.caught}
        try:
            return {'await ' if spec.is_async else ''}{n.resume}({', '.join(told)})
        finally:
            del {n.error}
    return question
"""
    return "\n".join([*head, *(f"            {turn}" for turn in turns), rest])


def _count(n: Any) -> list[str]:
    """Write how cancellations of the running task are counted, as in calls."""
    return [
        f"        {n.loop} = {n.running_loop}()",
        f"        {n.task} = None if {n.loop} is None else {n.task_of}({n.loop})",
        f"        if {n.task} is None or {n.settled}: {n.task} = {n.Cancels}()",
        f"        {n.cancels} = {n.task}.cancelling()",
    ]


def _turn(spec: Spec, seat: Seat, receiver: str, n: Any) -> list[str]:
    """Write a turn; for firstresult in one line. Who is awaited may have swallowed a cancellation."""
    pairs = seat.receiver.asks.written(spec.function_signature.names)
    call = f"{getattr(n, receiver)}({', '.join(f'{key}={name}' if key else name for key, name in pairs)})"
    special = f"{n.type}({n.answer}) not in {n.plain} and {n.special}({n.answer})"
    swallowed = ""
    if _is_awaited(seat):
        call, swallowed = f"await {call}", f"{n.task}.cancelling() > {n.cancels} or "
    if spec.rules.steps is modes.firstresult:
        either = f" or {swallowed}".removesuffix(" or ")
        return [f"if ({n.answer} := {call}) is not None{either}: return {n.refuse}() if {swallowed}{special} else {n.answer}"]
    unusual = f"{swallowed}{n.answer} is not None and {special}"
    return [f"{n.answer} = {call}", f"if {unusual}: {n.refuse}()", f"{n.answers}.append({n.answer})"]
