"""Inspect the bytecode of functions. The names of instructions depend on the version of Python, so
hookbus learns them from samples that the running interpreter compiles.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable
from itertools import pairwise
from operator import attrgetter
from types import CodeType, TracebackType
from typing import Any


@functools.lru_cache(maxsize=1024)
def returns_nothing(code: CodeType) -> bool:
    """Return whether a function with this code always returns None."""
    value_return, returns, nothing = _learn_returns()
    for before, each in pairwise(dis.get_instructions(code)):
        if each.opname in returns:
            # A jump may lead to a return that does not use the value of the previous instruction.
            end = before if each.opname == value_return and not each.is_jump_target else each
            if (end.opname, end.argval) not in nothing:
                return False
    return True


def awaits(code: CodeType) -> bool:
    """Return whether a coroutine function with this code contains an `await`."""
    return not _learn_awaits().isdisjoint(_found_in(code, "opname"))


def is_raised_here(trace: TracebackType) -> bool:
    """Return whether `raise` or `assert` in the frame of a traceback entry raised the exception."""
    return _opcode_at(trace) in _learn_raises()


@functools.cache
def _learn_returns() -> tuple[str, frozenset[str], tuple[Any, ...]]:
    """Return the instruction that returns a value, the names of all return instructions, and the
    instructions that load None.
    """

    def empty() -> None:
        pass

    *_, of_value = dis.get_instructions(lambda: id)
    *_, of_none = dis.get_instructions(empty)
    with_none, without = (lambda: id(None)).__code__, (lambda: id(id)).__code__
    nothing = _found_in(with_none, "opname", "argval") - _found_in(without, "opname", "argval")
    if of_none.opname != of_value.opname:  # one instruction both loads None and returns it
        nothing |= {(of_none.opname, of_none.argval)}
    return of_value.opname, frozenset((of_value.opname, of_none.opname)), tuple(nothing)


@functools.cache
def _learn_awaits() -> frozenset[str]:
    async def awaiting(function: Any) -> None:
        await function()

    async def calling(function: Any) -> None:
        function()

    def delegating(function: Any) -> Any:
        yield from function()

    others = _found_in(calling.__code__, "opname") | _found_in(delegating.__code__, "opname")
    return _found_in(awaiting.__code__, "opname") - others


@functools.cache
def _learn_raises() -> frozenset[int]:
    def plain() -> None:
        raise ValueError

    def chained() -> None:
        raise ValueError from None

    found = set()
    samples: tuple[Callable[[], None], ...] = (plain, chained)
    for sample in samples:
        try:
            sample()
        except ValueError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                found.add(_opcode_at(error.__traceback__.tb_next))
    return frozenset(found)


def _opcode_at(trace: TracebackType) -> int:
    return trace.tb_frame.f_code.co_code[trace.tb_lasti]


def _found_in(code: CodeType, *attributes: str) -> frozenset[Any]:
    """Return these attributes of each instruction."""
    return frozenset(map(attrgetter(*attributes), dis.get_instructions(code)))
