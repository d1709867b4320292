"""How a plan is written as source text. The names of receivers are not in it, so that equal plans share their code."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import isawaitable
from typing import Any, Final

import attrs

from ._cancels import task_lookup
from ._codegen import declared, free_name, passed
from ._context import CURRENT, VERDICTS, Frame, HookContext, ReadOnly, next_call_id
from ._hook import Hook, Site
from ._plan import Seat
from ._resume import Resumption, Stop, Unusual, beside

LOOP_FROM: Final = 12
"""So many receivers in a row that are written alike are called in a loop; fewer are written out."""

_PLAIN: Final = frozenset({str, int, float, bool, bytes, dict, list, tuple, set})


@attrs.frozen
class Form:
    """How the turn of a receiver is written.

    Attributes:
        step: what its answer may be: `pre` or `post` for their modifiers, `look` for who may only answer None, `beside` for
            observers that are awaited side by side.
        phase: the phase it belongs to.
        wanted: what it is called with: pairs of a keyword (empty for a positional argument) and a name of the call.
        is_async: whether it is awaited.
        held: `strong`, `weak`, or `own` for a method of the very sender.
    """

    step: str
    phase: str
    wanted: tuple[tuple[str, str], ...]
    is_async: bool
    held: str

    @property
    def wants_ctx(self) -> bool:
        return any(name == "ctx" for _, name in self.wanted)


@attrs.frozen(eq=False)
class Part:
    """Turns in a row that are written alike; `place` is that of the first."""

    form: Form
    seats: tuple[Seat, ...]
    place: int

    def places(self) -> Iterator[tuple[Seat, int]]:
        yield from zip(self.seats, range(self.place, self.place + len(self.seats)), strict=True)


class Source:
    """The text of one plan, line by line.

    Attributes:
        given: the objects the text uses, by the names it uses for them.
    """

    def __init__(self, hook: Hook, site: Site, resume: Resumption) -> None:
        self._hook, self._site = hook, site
        self._is_method = site.attribute is not None
        self._signature = hook.method_signature if self._is_method else hook.function_signature
        self._taken = set(hook.function_signature.names)
        self._lines: list[str] = []
        self._places: list[int] = []
        self._place = 0
        self._depth = 0
        self.given: dict[str, Any] = {}
        self._at, self._answer, self._result = self._local("at"), self._local("answer"), self._local("result")
        self._view, self._id, self._state = self._local("view"), self._local("call_id"), self._local("state")
        self._task, self._cancels, self._error = self._local("task"), self._local("cancels"), self._local("error")
        self._count = f"({self._task}.cancelling() if {self._task} is not None else 0)"
        self._resume = self._use("resume", resume)
        self._sender = hook.function_signature.names[0] if self._is_method else self._use("sender", hook.shell)
        self._await = "await " if hook.is_async else ""

    def __str__(self) -> str:
        head = [f"def make({', '.join(self.given)}):", *self._lines, f"    return {self._name}", ""]
        return "\n".join(head)

    @property
    def _name(self) -> str:
        return self._local(self._hook.body.__name__ if self._hook.body.__name__.isidentifier() else "call")

    def _local(self, name: str) -> str:
        return free_name(name, self._taken)

    def _use(self, name: str, value: Any) -> str:
        """Return the name under which the text has this object."""
        local = self._local(name)
        self.given[local] = value
        return local

    def _line(self, text: str) -> None:
        self._lines.append("    " * (self._depth + 1) + text)
        self._places.append(self._place)

    def _open(self, text: str) -> None:
        self._line(text)
        self._depth += 1

    # -- the whole ------------------------------------------------------------------------------------------------------

    def write(self, before: list[Part], body: int, after: list[Part], *, is_simple: bool) -> None:
        """Write everything. Where it `is_simple`, an exception of the method concerns nobody and goes out as it is."""
        parts = [*before, *after]
        self._open(f"{'async ' if self._hook.is_async else ''}def {self._name}({declared(self._hook.parameters)}):")
        self._begin(parts)
        self._open("try:")
        for part in before:
            self._part(part)
        self._body(body, parts)
        for part in after:
            self._part(part)
        self._line(f"return {self._result}")
        self._depth -= 1
        self._end(parts, body if is_simple else None)

    def _begin(self, parts: list[Part]) -> None:
        self._line(f"{self._answer} = {self._result} = {self._view} = {self._at} = None")
        if any(part.form.wants_ctx for part in parts):
            self._line(f"{self._id}, {self._state} = {self._use('next_call_id', next_call_id)}(), {{}}")
        if any(part.form.is_async for part in parts):
            running_loop, task_of = task_lookup()
            self._line(f"{self._task} = {self._use('running_loop', running_loop)}()")
            self._open(f"if {self._task} is not None:")
            self._line(f"{self._task} = {self._use('task_of', task_of)}({self._task})")
            self._depth -= 1
            self._line(f"{self._cancels} = {self._count}")

    def _body(self, place: int, parts: list[Part]) -> None:
        self._place = place
        call = f"{self._result} = {self._await}{self._use('body', self._hook.body)}({passed(self._hook.parameters)})"
        if not self._site.is_shared:
            self._line(call)
        else:
            self._in_frame(call)
        if any(part.form.is_async for part in parts):
            self._line(f"{self._cancels} = {self._count}")

    def _in_frame(self, call: str) -> None:
        """Say, while the method runs, that `super()` from inside it is part of this call."""
        current, frame, previous = self._use("CURRENT", CURRENT), self._local("frame"), self._local("previous")
        self._line(f"{previous} = {current}.get()")
        family = self._use("family", self._hook.family(self._site))
        self._line(f"{frame} = {self._use('Frame', Frame)}(None, {self._sender}, {family}, {previous})")
        self._line(f"{current}.set({frame})")
        self._open("try:")
        self._line(call)
        self._depth -= 1
        self._open("finally:")
        self._line(f"{current}.set({previous})")
        self._line(f"{frame}.is_live = False")
        self._depth -= 1

    def _end(self, parts: list[Part], simple_body: int | None) -> None:
        """Write how the walk takes over. Where the code stopped is told by the line, so that nothing has to count along."""
        caught, place = self._local("caught"), self._local("place")
        self._open(f"except BaseException as {caught}:")
        places = self._use("places", self._places)
        self._line(f"{place} = {places}[{caught}.__traceback__.tb_lineno - 2] if {self._at} is None else {self._at}")
        if simple_body is not None:
            self._open(f"if {place} == {simple_body}:")
            self._line("raise")
            self._depth -= 1
        self._line(f"{self._error} = {caught}")
        self._depth -= 1
        stopped = f"{place}, {self._answer}, {self._error}, {self._view}"
        if any(part.form.is_async for part in parts):
            stopped += f", {self._cancels}"
        values = "({})".format("".join(f"{name}, " for name in self._hook.function_signature.names))
        context = f", {self._id}, {self._state}" if any(part.form.wants_ctx for part in parts) else ""
        stop = f"{self._use('Stop', Stop)}.of({stopped})"
        self._line(f"return {self._await}{self._resume}({values}, {stop}, {self._result}{context})")
        self._depth -= 1

    # -- a turn ---------------------------------------------------------------------------------------------------------

    def _part(self, part: Part) -> None:
        functions = [_called(seat, part.form.held) for seat in part.seats]
        self._place = part.place
        if part.form.step == "beside":
            self._beside(part, functions)
        elif len(functions) >= LOOP_FROM:
            pairs = self._use(f"rs{part.place}", tuple(enumerate(functions, part.place)))
            one = self._local("r")
            self._open(f"for {self._at}, {one} in {pairs}:")
            self._turn(part.form, one)
            self._depth -= 1
            self._line(f"{self._at} = None")
        else:
            for self._place, function in enumerate(functions, part.place):
                self._turn(part.form, self._use(f"r{self._place}", function))

    def _turn(self, form: Form, receiver: str) -> None:
        depth = self._depth
        if form.held == "weak":
            held = self._local("held")
            self._line(f"{held} = {receiver}()")
            self._open(f"if {held} is not None:")
            receiver = held
        if form.wants_ctx:
            shown = "{{{}}}".format(", ".join(f"{name!r}: {name}" for name in self._signature.names))
            view = shown if form.step == "pre" else f"{self._use('ReadOnly', ReadOnly)}({shown})"
            self._line(f"{self._view} = {view}")
        self._line(f"{self._answer} = {'await ' if form.is_async else ''}{self._call(form, receiver)}")
        if form.is_async:
            self._unless(f"{self._count} > {self._cancels}")
        if form.wants_ctx and form.step != "pre":
            self._unless(f"{self._view}.tampered")
        {"pre": self._patch, "post": self._revise, "look": self._look}[form.step](form)
        self._depth = depth

    def _call(self, form: Form, receiver: str) -> str:
        written = [self._sender, *([self._sender] if form.held == "own" else [])]
        for keyword, name in form.wanted:
            value = self._value(form, name)
            written.append(f"{keyword}={value}" if keyword else value)
        return f"{receiver}({', '.join(written)})"

    def _value(self, form: Form, name: str) -> str:
        """Write what a receiver gets that asks for a name; what the phase offers goes before an argument."""
        result = self._result if form.phase != "pre" else "None"
        offered = {"pre": {}, "post": {"result": result}, "finally": {"result": result, "error": "None"}}[form.phase]
        if name == "ctx":
            outcome = "'returned'" if form.phase == "finally" else "None"
            shown = (repr(self._hook.name), self._sender, self._view, result, "None", outcome, self._id, self._state)
            return f"{self._use('HookContext', HookContext)}({', '.join(shown)})"
        return offered.get(name, name)

    def _unless(self, condition: str) -> None:
        self._open(f"if {condition}:")
        self._line(f"raise {self._use('Unusual', Unusual)}")
        self._depth -= 1

    def _look(self, form: Form) -> None:
        self._unless(f"{self._answer} is not None")

    def _revise(self, form: Form) -> None:
        answer = self._answer
        self._open(f"if {answer} is not None:")
        plain, special = self._use("PLAIN", _PLAIN), self._use("is_special", is_special)
        self._unless(f"{self._use('type', type)}({answer}) not in {plain} and {special}({answer})")
        self._line(f"{self._result} = {answer}")
        self._depth -= 1

    def _patch(self, form: Form) -> None:
        """Take over what a modifier of `pre` changed. What `*args` and `**kwargs` may hold is for the walk to check."""
        answer, view, names = self._answer, self._view, self._signature.names
        simple = [name for name in names if name not in (self._signature.star, self._signature.double_star)]
        if form.wants_ctx:
            known = [f"{name!r} not in {view}" for name in names]
            same = [f"{view}[{name!r}] is not {name}" for name in names if name not in simple]
            size = f"{self._use('len', len)}({view}) != {len(names)}"
            self._unless(" or ".join([f"{answer} is not None", size, *known, *same]))
            for name in simple:
                self._line(f"{name} = {view}[{name!r}]")
            return
        self._open(f"if {answer} is not None:")
        self._unless(f"{self._use('type', type)}({answer}) is not {self._use('dict', dict)}")
        key = self._local("name")
        self._open(f"for {key} in {answer}:")
        self._unless(f"{key} not in {self._use('names', frozenset(simple))}")
        self._depth -= 1
        for name in simple:
            self._open(f"if {name!r} in {answer}:")
            self._line(f"{name} = {answer}[{name!r}]")
            self._depth -= 1
        self._depth -= 1

    def _beside(self, part: Part, functions: list[Any]) -> None:
        calls = [self._call(part.form, self._use(f"r{p}", f)) for p, f in enumerate(functions, part.place)]
        run, seats = self._use("beside", beside), self._use(f"seats{part.place}", part.seats)
        self._line(f"{self._answer} = await {run}({seats}, ({', '.join(calls)},), {self._task}, {self._cancels})")
        self._unless(f"{self._answer} is not None")


def _called(seat: Seat, held: str) -> Any:
    receiver = seat.receiver
    if held == "weak":
        return receiver.get
    return receiver.function.__func__ if held == "own" else receiver.function  # type: ignore[union-attr]


def is_special(answer: Any) -> bool:
    """Tell whether the answer of a `post` modifier is more than a new result."""
    return isinstance(answer, VERDICTS) or isawaitable(answer)
