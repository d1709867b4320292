"""Generate the function that runs the calls of a plan from the templates in `story`. It is compiled
at the first call of a sender, and cached until connections change.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from itertools import compress
from types import CodeType, FunctionType
from typing import Any, Final, NamedTuple

import attrs

from .. import events
from .._connections.failures import WARNING, log
from .._connections.senders import own_class
from .._hooks.hook import Hook
from .._hooks.placement import Placement
from .._hooks.shell import compiled, free_name
from .._hooks.site import Site
from . import attempts
from .arounds import Arounds
from .context import Call
from .pieces import FirstCall, mine, stand_in
from .plan import NO_PHASE, Phase, Plan, build_plan
from .text import own_code, sealed, story
from .tools import TOOLS
from .turns import lines

_GENERATOR: Final = {"send": "send", "throw": "throw", "close": "close", "stop": "StopIteration"}
_ASYNC_GENERATOR: Final = {
    "send": "asend", "throw": "athrow", "close": "aclose", "stop": "StopAsyncIteration",
}  # fmt: skip


class CompiledPlan(NamedTuple):
    """The generated code of a plan.

    Attributes:
        run: the function that runs the calls of the plan. Its parameters are those of the body.
        source: the source of the function. Receivers have short names in it.
        named: the short names and their values.
    """

    run: Callable[..., Any]
    source: str
    named: dict[str, Any]


class Writer(Arounds):
    """Generates the code of one plan."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        hook, self.count = plan.hook, len(plan.phases["around"].modify)
        found = self._conditions()
        self.flags |= set(compress(found, found.values()))
        if "hears_invoked" in self.flags:
            self.alone = ()
        marks = [*map("mark_{}".format, range(self.count))]
        own = hook.body.__name__
        name = f"call_{own}" if own.isidentifier() else "call_it"
        self._users_names = *hook.function_signature.names, *hook.settings.hidden
        self.pieces |= {
            "d": "async " if hook.is_async else "",
            "w": "await " if hook.is_async else "",
            "name": free_name(name, {*self._users_names}),
            "marks": " = ".join(marks),
            "tuple": "".join(map("{}, ".format, marks)),
            "record": self.call,
            "params": self.pieces["arguments"].rstrip(", "),
            "approve": "approve_async" if hook.is_async else "approve",
            "closed": "closed_async" if hook.is_async else "closed",
            "values": self.pieces["shown"] if plan.shows_values else "None",
            **attempts.MARKS,
            **(_ASYNC_GENERATOR if hook.is_async else _GENERATOR),
        }

    def _conditions(self) -> dict[str, bool]:
        """Return the conditions of the whole plan, by their names in `story`."""
        plan, hook = self.plan, self.hook
        kinds, phases = plan.listened_kinds, plan.phases
        wants_ctx = any("ctx" in seat.receiver.parameters.names for seat in plan.seats())
        sealed_phases = {
            seat.phase for phase in ("pre", "post", "item") if plan.site.is_sealed
            for seat in phases[phase].guard if not seat.receiver.options.shadow
        }  # fmt: skip
        observed, final = bool({events.Started, events.Finished} & kinds), any(phases["finally"])
        around, rescue = self.count > 0, any(phases["error"])
        hears_invoked = events.Invoked in kinds
        return {
            "observed": observed,
            "ended": observed or final or hook.is_stream,
            "around": around,
            "rescue": rescue,
            "replaceable": bool(phases["pre"].modify),
            "hears_invoked": hears_invoked,
            "emits_changes": hears_invoked or events.Mutated in kinds,
            "attempted": events.Attempted in kinds,
            "stream": hook.is_stream,
            "async": hook.is_async,
            "eager": observed or wants_ctx or around or hook.is_stream or hears_invoked
            or bool(plan.site.passes),
            "raises": around and any(seat.receiver.on_error == "raise" for seat in plan.answers),
            "noted": hears_invoked or events.Attempted in kinds,
            "has_guards": bool(phases["pre"].guard),
            "approver": self.has_approver,
            "passes": bool(plan.site.passes),
            "answers": hook.whole is not None,
            "sealed": "pre" in sealed_phases and bool(self.names),
            "result_sealed": "post" in sealed_phases,
            "item_sealed": "item" in sealed_phases,
            "resealed": "post" in sealed_phases and final,
            "flagged": bool(phases["pre"].modify) or around or rescue or hook.is_stream,
        }

    def compile(self) -> CompiledPlan:
        """Return the plan in compiled form."""
        self._write_parts()
        source, run = self._made(self.fill(story.FUNCTION, {"main"}))
        run.__qualname__ = self.hook.body.__qualname__  # for "was never awaited"
        named = {
            name: value.function if isinstance(value, FirstCall) else value
            for name, value in self.given.items() if name[-1].isdigit()
        }  # fmt: skip
        return CompiledPlan(run, source, named)

    def guards(self) -> Callable[[Call, tuple[Any, ...]], Any]:
        """Return a function that calls only the `pre` guards. It takes the call and the arguments
        that receivers may have as parameters.
        """
        self.flags.add("eager")
        is_given_sender = self.plan.site.attribute is not None or self.hook.settings.sender
        own = f"{self.pieces['sender']}, " if is_given_sender else ""
        turns = self.turns(self.plan.phases["pre"].guard, "ask")
        run = self._made(self.fill(story.GUARDS_NOW, parts={"guards": turns}, own=own))[1]
        if own:
            return lambda call, values: run(call.sender, *values, call)
        return lambda call, values: run(*values, call)

    def _made(self, text: str) -> tuple[str, Callable[..., Any]]:
        """Compile the source of a function. Return the source and the function, whose globals do
        not contain the function itself.
        """
        tools = {
            **TOOLS,
            "as_items": partial(
                attempts.as_items, is_async=self.hook.is_async, whole=self.hook.whole
            ),
            "Whole": self.hook.whole,
            "plan": self.plan,
            "passes": self.plan.site.passes,
            "body": self.hook.body,
            "names": frozenset(self.simple),
            "nest": lambda *given: self._nested(*given),
            "guards_now": partial(_guards_now, self.plan),
            **self.tools,
            **self.given,
        }
        source, namespace = sealed(text, self._users_names, tools)
        codes = (each for each in compiled(source).co_consts if isinstance(each, CodeType))
        run = FunctionType(own_code(next(codes)), namespace)
        stand_in(run)
        return source, run

    @cached_property
    def _nested(self) -> Callable[..., Any]:
        """The function that creates the arounds of an attempt that patches or repeats. The function
        is compiled once.
        """
        self.flags.add("nested")
        nexts = "(" + "".join(f"next_{i}, " for i in range(self.count)) + ")"
        text = self.fill(story.NEST, parts={"arounds": self.functions()}, nexts=nexts)
        return self._made(text)[1]

    # -- the parts ---------------------------------------------------------------------------------

    def _write_parts(self) -> None:
        phases, given = self.plan.phases, []
        if self.hook.settings.sender:  # which stays the same when the arguments change
            given.append(f"sender = {mine(self.hook.settings.sender)}")
        if self.is_in_star:
            given.append(f"first, {self.star} = {self.star}[0], {self.star}[1:]")
        for name in self.hook.settings.read_only:
            given += [f"{mine(name)} = {self.shown(name, mine(name))}"] * (name in self.names)
        self.parts |= {
            "given": lines(*given),
            "changes": self.modifiers(phases["pre"].modify, "patch"),
            "guards": self.turns(phases["pre"].guard, "ask" if self.has_approver else "weigh"),
            "unaskable": self.turns(self.plan.unaskable, "guard"),
            "looks": self.observers(phases["pre"].observe),
            "inside": self.inside(),
            "errors": lines(
                self.modifiers(phases["error"].modify, "rescue"),
                self.observers(phases["error"].observe, "raised"),
            ),
            "items": self._items() if any(phases["item"]) else "",
            "post": lines(
                self.modifiers(phases["post"].modify, "post"),
                *self._guards_and_observers("result", "post"),
            ),
            "final": self.observers(phases["finally"].observe, "leaving") or "pass",
        }
        if self.count:
            self.parts |= {"level": self.levels[0], "arounds": self.functions()}
        self.pieces["source"] = "outermost()" if self.count else self.pieces["body"]

    def inside(self) -> str:
        """Generate the code that the arounds wrap."""
        return self.fill(story.BODY)

    def _guards_and_observers(self, name: str, phase: str) -> tuple[str, ...]:
        """Generate the calls to the guards and observers of a result or an item. If its contents
        change after the guards have run, the generated code blocks the call.
        """
        seats, seal = self.plan.phases[phase], f"{name}_seal"
        turns = self.turns(seats.guard, "guard"), self.observers(seats.observe)
        if f"{name}_sealed" not in self.flags:
            return turns
        take = f"{seal} = sealed_contents(({name},)) if type({name}) in CONTAINERS else None"
        if "result" in self.hook.settings.sealed_fields:
            take = f"{seal} = sealed_objects(({name},))"
        facts = f"{self.call}, {seal}, {{{name!r}: {name}}}, {phase!r}"
        check = f"if {seal} is not None and is_broken({seal}): break_seal({facts})"
        return take, *turns, check

    def _items(self) -> str:
        item = self.plan.phases["item"]
        turns = lines(*self._guards_and_observers("item", "item"))
        current = self.fill("if call.arguments is not None: {rebound}call.arguments  #? around")
        if not item.modify:
            return lines(current, turns)
        skip = f"if dropped:\n    advance, value = source.{self.pieces['send']}, None\n    continue"
        count = "index += 1\n" if "emits_changes" in self.flags else ""
        return lines(
            current, f"{count}dropped = False", self.modifiers(item.modify, "item"), skip, turns
        )


def _guards_now(plan: Plan, call: Call, exclude: set[Any]) -> Callable[[tuple[Any, ...]], Any]:
    """Return a function that calls the guards that are connected now for a plan's sender, except
    guards that have already checked the call. The function takes the arguments, and returns the
    approval that these guards require. If the hook is async, it returns an awaitable.
    """
    now = build_plan(plan.hook, plan.site, call.sender, is_late=True)
    guards = tuple(seat for seat in now.phases["pre"].guard if seat.receiver not in exclude)
    phases = {**dict.fromkeys(now.phases, NO_PHASE), "pre": Phase(guard=guards)}
    return partial(Writer(attrs.evolve(now, phases=phases, unaskable=())).guards(), call)


def compile_plan(hook: Hook, site: Site, sender: Any) -> tuple[Plan, CompiledPlan | None]:
    """Return the plan of a sender and the function that runs its calls. The function is None if
    there are no receivers.
    """
    plan = build_plan(hook, site, sender)
    is_empty = not plan.listened_kinds and not plan.seats()
    return plan, None if is_empty else Writer(plan).compile()


class Runner:
    """Finds the functions that run the calls of one bus."""

    def __init__(self, bus: Any) -> None:
        self._bus, self._board = bus, bus._switchboard

    def make_run(self, hook: Hook, values: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the function that runs a call with these values, and cache the function for
        similar calls.
        """
        if not hook.is_looked_at:
            self._bus._checks.report_misplaced(hook)
        place = Placement(hook, values)  # created before reading anything that the plan depends on
        run = hook.body
        hook.see(values)
        if place.site.is_owner:
            for other in place.below():
                self._board.discard_plans(other)
            plan, compiled = compile_plan(hook, place.site, place.sender)
            self._meet(plan, place.sender)
            run = run if compiled is None else compiled.run
        place.keep(run)
        return run

    def _meet(self, plan: Plan, sender: Any) -> None:
        """Record that these receivers take part in a call. For the first receiver that can block,
        log the overrides whose calls bypass it.
        """
        closing = None
        for seat in plan.seats():
            seat.receiver.is_met = True
            if closing is None and seat.receiver.on_error == "block":
                closing = seat.receiver
        if closing is not None and plan.site.attribute is not None:
            cls, name = own_class(sender), plan.hook.name
            if name not in self._board.look_at(cls):
                say = partial(log, WARNING)
                self._bus._checks.report_overrides(closing, name, [cls], say)
