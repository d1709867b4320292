"""Writes the function that runs the calls of a plan, of the texts in `story`."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Final, NamedTuple

from .. import events
from .._hooks.shell import compiled, free_name
from .._surroundings import current_surrounding
from ..exceptions import HookBlocked, is_a
from . import approval, attempts, deadline, loop, meaning, outcome, telling
from .background import start
from .context import ENCLOSING, Call, HookContext, ReadOnly
from .pieces import mine
from .plan import Plan, Seat
from .tasks import beside
from .text import own_code, sealed, story
from .turns import Turns, lines

_HELPERS: Final = {
    meaning: "Block DROPPED PLAIN READY Replace check_untampered claimed decided holds "
    "is_awaitable judged meant misfit refused rescued revised settled unawaited",
    outcome: "blocking deferred escaped failed is_own_block over parted stand",
    approval: "weighed",
    telling: "begun finished tell_turn",
    attempts: "again attempted check_open closed closed_async judged_around opened recorded tried",
    deadline: "timed timed_async within",
    loop: "elsewhere",
}

TOOLS: Final[dict[str, Any]] = {
    **{name: getattr(room, name) for room, names in _HELPERS.items() for name in names.split()},
    "Call": Call, "ENCLOSING": ENCLOSING, "HookBlocked": HookBlocked, "HookContext": HookContext,
    "ReadOnly": ReadOnly, "beside": beside, "clock": time.perf_counter, "is_a": is_a,
    "context": tuple.__new__, "start": start, "surrounding": current_surrounding,
}  # fmt: skip
"""What the texts call, by the names they have for it."""

_GENERATOR: Final = {"send": "send", "throw": "throw", "close": "close", "stop": "StopIteration"}
_ASYNC_GENERATOR: Final = {
    "send": "asend", "throw": "athrow", "close": "aclose", "stop": "StopAsyncIteration",
}  # fmt: skip


class Written(NamedTuple):
    """What was written for a plan.

    Attributes:
        run: the function that runs its calls; it is called as the body is.
        source: its text, in which receivers have short names.
        named: those names, and what they stand for.
    """

    run: Callable[..., Any]
    source: str
    named: dict[str, Any]


class Writer(Turns):
    """Writes the text of one plan."""

    def __init__(self, plan: Plan, sender: Any = None) -> None:
        super().__init__(plan, sender)
        hook, heard = plan.hook, plan.heard
        self.is_stream, self.count = hook.is_stream, len(plan.around)
        wants_ctx = any("ctx" in seat.receiver.asks.names for seat in plan.seats())
        observed, final = bool({events.Started, events.Finished} & heard), any(plan.final)
        asked, around, rescue = events.Asked in heard, bool(plan.around), any(plan.error)
        holds = {
            "observed": observed,
            "ended": observed or final or hook.is_stream,
            "around": around,
            "rescue": rescue,
            "replaceable": bool(plan.pre.modify),
            "hears_asked": asked,
            "told": asked or events.Mutated in heard,
            "attempted": events.Attempted in heard,
            "stream": hook.is_stream,
            "async": hook.is_async,
            "eager": observed or wants_ctx or around or hook.is_stream or asked,
            "raises": around and any(seat.receiver.on_error == "raise" for seat in plan.answers),
            "noted": asked or events.Attempted in heard,
            "guarded": bool(plan.pre.guard),
            "flagged": bool(plan.pre.modify) or around or rescue or hook.is_stream,
        }
        self.flags |= {name for name, is_so in holds.items() if is_so}
        marks = [f"mark_{i}" for i in range(self.count)]
        self.pieces |= {
            "d": "async " if hook.is_async else "",
            "w": "await " if hook.is_async else "",
            "name": self.name,
            "marks": " = ".join(marks),
            "tuple": "".join(f"{mark}, " for mark in marks),
            "params": self.pieces["arguments"].rstrip(", "),
            "approve": "approve_async" if hook.is_async else "approve",
            "closed": "closed_async" if hook.is_async else "closed",
            "values": self.pieces["shown"] if plan.shows_values else "None",
            **attempts.MARKS,
            **(_ASYNC_GENERATOR if hook.is_async else _GENERATOR),
        }

    @property
    def name(self) -> str:
        own = self.hook.body.__name__
        name = f"call_{own}" if own.isidentifier() else "call_it"
        return free_name(name, {*self.hook.function_signature.names})

    def written(self) -> Written:
        """Return the function."""
        text = self._stream() if self.is_stream else self._call()
        source, run = self._made(text, self.name)
        run.__qualname__ = self.hook.body.__qualname__  # what nobody awaits is warned of by it
        named = {name: value for name, value in self.given.items() if name[-1].isdigit()}
        return Written(run, source, named)

    def _made(self, text: str, name: str) -> tuple[str, Callable[..., Any]]:
        """Return the source of a text and the function of this name, which does not see itself."""
        unnoted, plan = ["nobody has had a turn"], self.plan

        def note_turns() -> None:
            unnoted.clear()
            telling.fire(plan)

        tools = {
            **TOOLS,
            "as_items": partial(attempts.as_items, is_async=self.hook.is_async),
            "plan": plan,
            "body": self.hook.body,
            "names": frozenset(self.simple),
            "nest": lambda *given: self._nested(*given),
            "unnoted": unnoted,
            "note_turns": note_turns,
            **self.tools,
            **self.given,
        }
        source, scope = sealed(text, self.hook.function_signature.names, tools)
        exec(own_code(compiled(source)), scope)
        found = name if name in scope else next(each for each in scope if each.rstrip("_") == name)
        return source, scope.pop(found)

    # -- the whole ---------------------------------------------------------------------------------

    def _call(self) -> str:
        inside = lines(self.fill(story.UNCHANGED), self.inside())
        inside = self._around() if self.count else inside
        run = self.fill(story.RUN, parts={"inside": inside, "error": self._error()})
        return self._function(story.CALL, run=run)

    def _stream(self) -> str:
        error = self._error()
        pump = self._pump(["main"], error=error, items=self._items())
        source = "outermost()" if self.count else self.pieces["body"]
        leave = self.fill(story.LEAVE)
        arounds = self._functions() if self.count else ""
        self.pieces["source"] = source
        return self._function(story.STREAM, pump=pump, leave=leave, arounds=arounds)

    def _function(self, text: str, **parts: str) -> str:
        frame = self._frame()
        whole = self.fill(text, parts={**frame, **parts})
        return self.fill(story.FUNCTION, parts={"begin": frame["begin"], "whole": whole})

    def inside(self) -> str:
        """Write what the arounds are around."""
        return self.fill(story.BODY)

    def _frame(self) -> dict[str, str]:
        plan = self.plan
        begin = self.fill(story.BEGIN)
        if self.is_in_star:
            begin = f"first, {self.star} = {self.star}[0], {self.star}[1:]\n{begin}"
        if self.hook.given.sender:  # which stays who it is, whatever the arguments become
            begin = f"sender = {mine(self.hook.given.sender)}\n{begin}"
        pre = [self.modifiers(plan.pre.modify, "patch"), self._guards(*plan.unaskable),
               self.observers(plan.pre.observe)]
        final = self.observers(plan.final.observe, "leaving") or "pass"
        return {
            "begin": begin,
            "pre": lines(*pre),
            "unchanged": self.fill(story.UNCHANGED),
            "end": self.fill(story.END, parts={"final": final}),
            "post": lines(
                self.modifiers(plan.post.modify, "post"),
                self.turns(plan.post.guard, "guard"),
                self.observers(plan.post.observe),
            ),
        }

    def _guards(self, *others: Seat) -> str:
        """Write the turns of the guards of `pre`, and that somebody is asked where they ask."""
        if not self.plan.pre.guard:
            return self.turns(others, "guard")
        turns = self.turns((*self.plan.pre.guard, *others), "weigh")
        return self.fill(story.GUARDS, parts={"turns": turns})

    def _error(self) -> str:
        error = self.plan.error
        modifiers = self.modifiers(error.modify, "rescue")
        turns = lines(modifiers, self.observers(error.observe, "raised"))
        return self.fill(story.ERROR, parts={"turns": turns})

    # -- streams -----------------------------------------------------------------------------------

    def _pump(self, more: list[str], seat: str = "", **parts: str) -> str:
        flags = self.flags.union(more)
        if "inner" in more:
            flags.discard("rescue")
        leave = self.fill(story.LEAVE) if "main" in more else ""
        parts = {"error": "", "items": "", "leave": leave, **parts}
        kept, self.flags = self.flags, flags
        try:
            return self.fill(story.PUMP, parts=parts, seat=seat)
        finally:
            self.flags = kept

    def _items(self) -> str:
        item = self.plan.item
        if not any(item):
            return ""
        turns = lines(self.turns(item.guard, "guard"), self.observers(item.observe))
        current = self.fill("if call.arguments is not None: {rebound}call.arguments  #? around")
        if not item.modify:
            return lines(current, turns)
        skip = f"if dropped:\n    advance, value = source.{self.pieces['send']}, None\n    continue"
        count = "index += 1\n" if "told" in self.flags else ""
        return lines(
            current, f"{count}dropped = False", self.modifiers(item.modify, "item"), skip, turns
        )

    # -- arounds -----------------------------------------------------------------------------------

    def _around(self) -> str:
        parts = {"arounds": self._functions(), "level": self._level(0)}
        return self.fill(story.AROUND, parts=parts)

    def _functions(self) -> str:
        """Write the `call_next` of each around, the innermost first."""
        parts = [self._next(i) for i in reversed(range(self.count))]
        if self.is_stream:
            parts.append(self.fill(story.OUTERMOST, parts={"level": self._level(0)}))
        return lines(*parts)

    @cached_property
    def _nested(self) -> Callable[..., Any]:
        """What makes the arounds of an attempt that patches or repeats; written for the first."""
        self.flags.add("nested")
        nexts = "(" + "".join(f"next_{i}, " for i in range(self.count)) + ")"
        text = self.fill(story.NEST, parts={"arounds": self._functions()}, nexts=nexts)
        return self._made(text, "nested")[1]

    def _late(self, i: int) -> str:
        """Write that an around down to number `i`, or one further out, has ended."""
        ended = [f"mark_{j} >= {attempts.ENDED}" for j in range(i + 1)]
        return " or ".join([*ended, "late()"] if "nested" in self.flags else ended)

    def _next(self, i: int) -> str:
        """Write the `call_next` of around number `i`."""
        pump, seat = {"pump": self._pump(["inner"])}, self._seat_name(i)
        again = self.fill(story.AGAIN, parts=pump, i=i, seat=seat, late=self._late(i))
        changed, shut, result = f"mark_{i}, mark_{i + 1}", " or call.is_over", "answer"
        if i == self.count - 1:
            edited = self.flags >= {"nested", "guarded"}  # by who says yes
            changed, result = f"mark_{i}", "result"
            changed += f", {self.pieces['params']}" if edited and self.names else ""
            late = self._late(i - 1)
            shut = " or call.is_over or call.blocked is not None" + (f" or {late}" if late else "")
            parts = {
                "guards": self._guards(),
                "unchanged": self.fill(story.UNCHANGED),
                "inside": self.inside(),
                "pump": self._pump(["inner"]),
            }
            deeper = self.fill(story.INNERMOST, parts=parts, i=i, late=self._late(i))
        else:
            deeper = self.fill(story.DEEPER, parts={"level": self._level(i + 1)}, i=i, j=i + 1)
        parts = {"again": again, "deeper": deeper}
        return self.fill(story.NEXT, parts=parts, i=i, changed=changed, shut=shut, result=result)

    def _level(self, i: int) -> str:
        """Write the turn of around number `i`."""
        seat, name = self.plan.around[i], self._seat_name(i)
        asks_ctx = "ctx" in seat.receiver.asks.names
        pieces = {"i": i, "seat": name, "condition": self.condition(seat, name)}
        more = {"view"} if asks_ctx else set()
        if seat.problem is not None:
            turn = f"misfit({name})"
        else:
            text = story.AROUND_STREAM_TURN if self.is_stream else story.AROUND_TURN
            call_next = f"recorded(next_{i}, opened_{i})" if self.is_stream else f"next_{i}"
            asked = self.asked(seat, name, self._receiver(seat), call_next)
            parts = {
                "view": f"view = ReadOnly({self.pieces['shown']})" if asks_ctx else "",
                "settle": self.settle(seat),
                "pump": self._pump(["inner", *more], seat=name),
            }
            turn = self.fill(text, more, parts, asked=asked, **pieces)
        more = {"conditional"} if self.is_conditional(seat) else set()
        return self.fill(story.LEVEL, more, {"turn": turn, "pump": self._pump(["inner"])}, **pieces)

    def _seat_name(self, i: int) -> str:
        seat: Seat = self.plan.around[i]
        name = f"around{i}"
        self.given[name] = seat
        return name
