"""The fast path of a question: its receivers called by generated code, as long as they answer plainly and nobody raises.

At anything else the walk takes over at that place, as for hookables: whoever had a turn is not called again.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import Any, Final, NoReturn

from . import modes
from ._codegen import declared, free_name, maker
from ._lines import is_special
from ._plan import Seat
from ._resume import Unusual
from ._spec import Spec

MOST: Final = 200
"""A question with more receivers than this is walked: to compile it would take too long."""

Resume = Callable[[tuple[Any, ...], list[Any], Any, "BaseException | None"], Any]
"""Lets the walk take over: the values of the parameters, what the first receivers answered, and what the next one answered
unusually, or what was raised instead. With `Unusual` it is the answer, with None there was neither."""

_FIRST_TURN: Final = 5
"""The line of the generated text at which the first turn stands."""

_PLAIN: Final = frozenset({str, int, float, bool, bytes, dict, list, tuple, set})

_MODES: Final = (modes.void, modes.broadcast, modes.firstresult)


def compile_question(spec: Spec, resume: Resume) -> Callable[..., Any] | None:
    """Return what runs a question, called as the question is; None where it has to be walked.

    Generated code does not note who had a turn, so it is for those that have had one; the walk goes on behind them.
    """
    rules, panel = spec.rules, spec.panel()
    is_bare = rules.fallback is None and rules.dedup is None and not rules.is_historic
    is_free = not (spec.bus.is_observed or spec.signal.is_muted_somewhere or spec.open_scopes)
    if spec.is_async or rules.steps not in _MODES or not (is_bare and is_free and panel.plan.is_empty):
        return None
    seats = [seat for _, seat in panel.seats]
    known = list(takewhile(lambda seat: seat.receiver.has_fired, seats))
    if not 0 < len(known) <= MOST or not all(_is_plain(seat, spec) for seat in seats):
        return None
    source, names = _source(spec, known, is_whole=len(known) == len(seats))
    given = {"resume": resume, "refuse": _refuse, "special": is_special, "plain": _PLAIN, "type": type}
    given.update((f"r{place}", seat.receiver.function) for place, seat in enumerate(known))
    run: Callable[..., Any] = maker(source)(**{names[name]: value for name, value in given.items()})
    return run


def _refuse() -> NoReturn:
    raise Unusual


def _is_plain(seat: Seat, spec: Spec) -> bool:
    """Tell whether a seat needs nothing but a call."""
    receiver = seat.receiver
    if seat.problem or seat.timeout is not None or receiver.when or receiver.options.once or receiver.is_weak:
        return False
    return "ctx" not in receiver.asks.names or spec.has_own_ctx


def _source(spec: Spec, seats: list[Seat], *, is_whole: bool) -> tuple[str, dict[str, str]]:
    """Write the function; return its text, and the names that stand in it for what is given."""
    arguments = spec.function_signature.names
    taken = set(arguments)
    given = {name: free_name(name, taken) for name in ("resume", "refuse", "special", "plain", "type")}
    given |= {f"r{place}": free_name(f"r{place}", taken) for place in range(len(seats))}
    answer, answers, error, caught = (free_name(name, taken) for name in ("answer", "answers", "error", "caught"))
    is_special = f"{given['type']}({answer}) not in {given['plain']} and {given['special']}({answer})"
    is_first = spec.rules.steps is modes.firstresult
    turns: list[str] = []
    for place, seat in enumerate(seats):
        pairs = seat.receiver.asks.written(arguments)
        call = f"{given[f'r{place}']}({', '.join(f'{key}={name}' if key else name for key, name in pairs)})"
        if is_first:  # one line each: where the code stopped is told by the line
            turns.append(f"if ({answer} := {call}) is not None: return {given['refuse']}() if {is_special} else {answer}")
        else:
            turns += [f"{answer} = {call}", f"if {answer} is not None and {is_special}: {given['refuse']}()",
                      f"{answers}.append({answer})"]  # fmt: skip
    so_far = f"[None] * ({error}.__traceback__.tb_lineno - {_FIRST_TURN} if {error} else {len(seats)})" if is_first else answers
    values = "({})".format("".join(f"{name}, " for name in arguments))
    result = f"[{answer} for {answer} in {answers} if {answer} is not None]" if spec.rules.steps is modes.broadcast else "None"
    resume = f"{given['resume']}({values}, {so_far}, {answer}, {error})"
    lines = [
        f"def make({', '.join(given.values())}):",
        f"    def question({declared(spec.parameters)}):",
        f"        {answers}, {answer}, {error} = {'None' if is_first else '[]'}, None, None",
        "        try:",
        *(f"            {turn}" for turn in turns),
        f"            {f'return {result}' if is_whole else 'pass'}",
        f"        except BaseException as {caught}: {error} = {caught}",
        "        try:",
        f"            return {resume}",
        "        finally:",
        f"            del {error}",
        "    return question",
        "",
    ]
    return "\n".join(lines), given
