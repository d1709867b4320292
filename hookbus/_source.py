"""How a plan is written as source text. No receiver is named in it, so that plans of one form share their code.

A name with an underscore in front belongs to the text; any other is a parameter of the method.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import isawaitable
from textwrap import dedent, indent
from typing import Any, Final

import attrs

from ._cancels import accept, never, task_lookup
from ._codegen import declared, passed
from ._context import CURRENT, VERDICTS, Frame, HookContext, ReadOnly, next_call_id
from ._detour import ENDED
from ._hook import OFFERED, Hook, Site
from ._plan import Seat
from ._resume import Resumption, Stop, Unusual, beside

LOOP_FROM: Final = 12
"""So many receivers in a row that are written alike are called in a loop; fewer are written out."""


def is_special(answer: Any) -> bool:
    """Tell whether an answer is more than a value: a verdict, or something to await."""
    return isinstance(answer, VERDICTS) or isawaitable(answer)


_TOOLS: Final[dict[str, Any]] = {
    "_Context": HookContext, "_CURRENT": CURRENT, "_Frame": Frame, "_ReadOnly": ReadOnly, "_Stop": Stop, "_Unusual": Unusual,
    "_accept": accept, "_beside": beside, "_dict": dict, "_is_special": is_special, "_len": len, "_never": never,
    "_next_id": next_call_id,
    "_plain": frozenset({str, int, float, bool, bytes, dict, list, tuple, set, type(None)}), "_type": type,
}  # fmt: skip


@attrs.frozen
class Form:
    """How the turn of a receiver is written.

    Attributes:
        step: what its answer may be: `pre` or `post` for their modifiers, `look` for who may only answer None, `beside` for
            observers that are awaited side by side, `around`.
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

    def functions(self) -> list[Any]:
        """Return what is called for each seat; for one that is held weakly, what gives it."""
        held = [seat.receiver for seat in self.seats]
        if self.form.held == "weak":
            return [receiver.get for receiver in held]
        return [getattr(r.function, "__func__", None) if self.form.held == "own" else r.function for r in held]


class Source:
    """The text of one plan, line by line."""

    def __init__(self, hook: Hook, site: Site, resume: Resumption, parts: list[Part]) -> None:
        self._hook, self._site = hook, site
        self._is_method = site.attribute is not None
        self._signature = hook.method_signature if self._is_method else hook.function_signature
        self._sender = hook.function_signature.names[0] if self._is_method else "_sender"
        self._await = "await " if hook.is_async else ""
        self._async = "async " if hook.is_async else ""
        self._wants_ctx = any(part.form.wants_ctx for part in parts)
        self._counts = any(part.form.is_async for part in parts)
        self._needs_outcome = any(part.form.phase == "finally" and part.form.wants_ctx for part in parts)
        self._objects: dict[str, Any] = {
            **_TOOLS, "_body": hook.body, "_family": hook.family(site), "_resume": resume, "_sender": hook.shell,
            "_hook": hook.name, "_names": frozenset(self._simple_names()),
        }  # fmt: skip
        if self._counts:
            self._objects["_running_loop"], self._objects["_task_of"] = task_lookup()
        self._numbers: dict[str, int] = {}
        self._lines: list[str] = []
        self._place = 0
        self._depth = 1

    def __str__(self) -> str:
        name = self._function_name
        return "\n".join([f"def make({', '.join(self.given)}):", *self._lines, f"    return {name}", ""])

    @property
    def given(self) -> dict[str, Any]:
        """The objects that the text uses, by the names it has for them."""
        used = set(re.findall(r"\b_\w+", "\n".join(self._lines)))
        return {name: value for name, value in self._objects.items() if name in used}

    @property
    def is_ambiguous(self) -> bool:
        """Whether a parameter has a name that the text uses for itself."""
        return any(name.startswith("_") for name in self._hook.function_signature.names)

    @property
    def _function_name(self) -> str:
        name = self._hook.body.__name__
        return name if name.isidentifier() and name not in self._hook.function_signature.names else "_call"

    def _simple_names(self) -> list[str]:
        """Name the arguments that may hold anything; what `*args` and `**kwargs` may hold is for the walk to check."""
        return [name for name in self._signature.names if name not in (self._signature.star, self._signature.double_star)]

    def _add(self, text: str, deeper: int = 0) -> None:
        """Add lines; they belong to the turn that is being written."""
        lines = indent(dedent(text).strip("\n"), "    " * (self._depth + deeper)).splitlines()
        self._lines += lines
        places = self._objects.setdefault("_places", [0])
        places += [self._place] * len(lines)

    # -- the whole ------------------------------------------------------------------------------------------------------

    def write(self, before: list[Part], body: int, arounds: list[Part], after: list[Part], *, is_simple: bool) -> None:
        """Write everything. Where it `is_simple`, an exception of the method concerns nobody and goes out as it is."""
        self._add(f"{self._async}def {self._function_name}({declared(self._hook.parameters)}):")
        self._depth = 2
        self._begin()
        if arounds:
            count = sum(len(part.seats) for part in arounds)
            self._add("_detour = None\n" + " = ".join(f"_ran{i}" for i in range(count)) + " = 0")
        self._add("try:")
        self._depth = 3
        for part in before:
            self._part(part)
        self._place = body
        if arounds:
            self._arounds([(part.form, function) for part in arounds for function in part.functions()])
        else:
            self._add_body("_result")
            if self._needs_outcome:
                self._add("_outcome = 'returned'")
        for part in after:
            self._part(part)
        self._add("return _result")
        self._depth = 2
        self._end(body if is_simple else None, has_arounds=bool(arounds))

    def _begin(self) -> None:
        self._add("_answer = _result = _view = _at = None")
        if self._wants_ctx:
            self._add("_call_id, _state = _next_id(), {}")
        if self._counts:
            self._add("""
                _loop = _running_loop()
                _task = None if _loop is None else _task_of(_loop)
                _cancelling = _never if _task is None else _task.cancelling
                _cancels = _cancelling()
            """)

    def _add_body(self, result: str) -> None:
        """Write the call of the method. While it runs, `super()` from inside it must find that it is part of this call."""
        call = f"{result} = {self._await}_body({passed(self._hook.parameters)})"
        if self._site.is_shared:
            self._add(f"""
                _previous = _CURRENT.get()
                _frame = _Frame(None, {self._sender}, _family, _previous)
                _CURRENT.set(_frame)
                try:
                    {call}
                finally:
                    _CURRENT.set(_previous)
                    _frame.is_live = False
            """)
        else:
            self._add(call)
        if self._counts:  # a cancellation that the method swallowed is its own affair
            self._add("""
                if _cancelling() > _cancels:
                    _accept(_task, _cancelling() - _cancels)
                    _cancels = _cancelling()
            """)

    def _end(self, simple_body: int | None, *, has_arounds: bool) -> None:
        """Write how the walk takes over. Where the code stopped is told by the line, so that nothing has to count along."""
        self._add("""
            except BaseException as _caught:
                _place = _places[_caught.__traceback__.tb_lineno - 1] if _at is None else _at
        """)
        if simple_body is not None and not has_arounds:
            self._add(f"if _place == {simple_body}:\n    raise", deeper=1)
        self._add("_error = _caught", deeper=1)
        cancels = ", _cancels" if self._counts else ""
        stop = f"_Stop.of(_place, _answer, _error, _view{cancels})"
        known = ", call_id=_call_id, state=_state" if self._wants_ctx else ""
        known += ", ran=_ran0, detour=_detour" if has_arounds else ""
        self._add(f"return {self._await}_resume({self._values}, {stop}, _result{known})")

    @property
    def _values(self) -> str:
        return "({})".format("".join(f"{name}, " for name in self._hook.function_signature.names))

    # -- a turn ---------------------------------------------------------------------------------------------------------

    def _part(self, part: Part) -> None:
        functions = part.functions()
        self._place = part.place
        if part.form.step == "beside":
            self._objects[f"_seats{part.place}"] = part.seats
            calls = "".join(f"{self._call(part.form, self._object('_r', f))}, " for f in functions)
            self._add(f"""
                _answer = await _beside(_seats{part.place}, ({calls}), _cancelling, _cancels)
                if _answer is not None:
                    raise _Unusual
            """)
        elif len(functions) < LOOP_FROM:
            for self._place, function in enumerate(functions, part.place):
                self._turn(part.form, self._object("_r", function))
        else:
            self._add(f"for _at, _r in {self._object('_many', tuple(enumerate(functions, part.place)))}:")
            self._depth += 1
            self._turn(part.form, "_r")
            self._depth -= 1
            self._add("_at = None")
        self._place = part.place

    def _object(self, name: str, value: Any) -> str:
        """Return the name of an object of which there are several."""
        self._numbers[name] = number = self._numbers.get(name, -1) + 1
        self._objects[f"{name}{number}"] = value
        return f"{name}{number}"

    def _turn(self, form: Form, receiver: str) -> None:
        depth = self._depth
        if form.held == "weak":
            self._add(f"_held = {receiver}()\nif _held is not None:")
            self._depth += 1
            receiver = "_held"
        if form.wants_ctx:
            self._add(f"_view = {self._shown if form.step == 'pre' else f'_ReadOnly({self._shown})'}")
        self._add(f"_answer = {'await ' if form.is_async else ''}{self._call(form, receiver)}")
        {"pre": self._patch, "post": self._revise, "look": self._look}[form.step](form, self._misuse(form))
        self._depth = depth

    def _misuse(self, form: Form) -> str:
        """Write what else than its answer makes a turn unusual: a swallowed cancellation, a write where it may not."""
        swallowed = "_cancelling() > _cancels or " if form.is_async else ""
        return swallowed + ("_view.tampered or " if form.wants_ctx and form.step != "pre" else "")

    def _look(self, form: Form, misuse: str) -> None:
        self._add(f"if {misuse}_answer is not None:\n    raise _Unusual")

    def _revise(self, form: Form, misuse: str) -> None:
        if misuse:
            self._add(f"if {misuse.removesuffix(' or ')}:\n    raise _Unusual")
        self._add("""
            if _answer is not None:
                if _type(_answer) not in _plain and _is_special(_answer):
                    raise _Unusual
                _result = _answer
        """)

    def _patch(self, form: Form, misuse: str) -> None:
        names = self._simple_names()
        if form.wants_ctx:
            self._take_draft(misuse, names)
            return
        if misuse:
            self._add(f"if {misuse.removesuffix(' or ')}:\n    raise _Unusual")
        self._add("""
            if _answer is not None:
                if _type(_answer) is not _dict:
                    raise _Unusual
                for _name in _answer:
                    if _name not in _names:
                        raise _Unusual
        """)
        for name in names:
            self._add(f"if {name!r} in _answer:\n    {name} = _answer[{name!r}]", deeper=1)

    def _take_draft(self, misuse: str, names: list[str]) -> None:
        known = [f"{name!r} not in _view" for name in self._signature.names]
        same = [f"_view[{name!r}] is not {name}" for name in self._signature.names if name not in names]
        unusual = " or ".join(["_answer is not None", f"_len(_view) != {len(known)}", *known, *same])
        self._add(f"if {misuse}{unusual}:\n    raise _Unusual")
        for name in names:
            self._add(f"{name} = _view[{name!r}]")

    @property
    def _shown(self) -> str:
        """Write the arguments as `ctx.kwargs` holds them."""
        return "{{{}}}".format(", ".join(f"{name!r}: {name}" for name in self._signature.names))

    def _call(self, form: Form, receiver: str, view: str = "_view", call_next: str = "") -> str:
        result = "_result" if form.phase in ("post", "finally") else "None"
        outcome = "_outcome" if form.phase == "finally" else "None"
        context = f"_Context(_hook, {self._sender}, {view}, {result}, None, {outcome}, _call_id, _state)"
        # What the phase offers goes before an argument of the same name.
        offered = {"ctx": context, "call_next": call_next, "result": result, "error": "None"}
        values = [(keyword, offered[name] if name in OFFERED[form.phase] else name) for keyword, name in form.wanted]
        written = [f"{keyword}={value}" if keyword else value for keyword, value in values]
        return f"{receiver}({', '.join([self._sender, *([self._sender] if form.held == 'own' else []), *written])})"

    # -- arounds --------------------------------------------------------------------------------------------------------

    def _arounds(self, arounds: list[tuple[Form, Any]]) -> None:
        """Write the arounds and the method inside them: `_next0` is the `call_next` of the outermost."""
        last = len(arounds) - 1
        names = [self._object("_around", function) for _, function in arounds]
        for i, (form, _) in enumerate(arounds):
            if form.wants_ctx:
                self._add(f"{_view(i, form)} = _ReadOnly({self._shown})")
        for i in reversed(range(last + 1)):
            self._open_next(i, arounds)
            if i == last:
                self._add_body("_inner")
                self._add(f"_ran{i} = 2\nreturn _inner")
            else:
                self._inner_around(i + 1, arounds[i + 1][0], names[i + 1])
            self._depth -= 1
        form = arounds[0][0]
        view = _view(0, form)
        self._add(f"""
            _answer = {'await ' if form.is_async else ''}{self._call(form, names[0], view, '_next0')}
            if {self._odd(form, view)}:
                raise _Unusual
            _ran0 += {ENDED}
            _result = _answer
        """)
        if self._needs_outcome:
            self._add(f"_outcome = 'returned' if _ran0 == {ENDED + 2} else 'replaced'")

    def _open_next(self, i: int, arounds: list[tuple[Form, Any]]) -> None:
        inner = f", _ran{i + 1}" if i + 1 < len(arounds) else ""
        cancels = " or _cancelling() > _cancels" if self._counts else ""
        view = _view(i, arounds[i][0])
        self._add(f"""
            {self._async}def _next{i}(**_patch):
                nonlocal _detour, _ran{i}{inner}{', _cancels' if self._counts and not inner else ''}
                if _patch or _ran{i} or _detour is not None{cancels}:
                    _detour = _detour or {self._new_detour}
                    return {self._await}_detour.again({i}, _ran{i}, {view}, _patch)
                _ran{i} = 1
        """)
        self._depth += 1

    @property
    def _new_detour(self) -> str:
        known = ["_cancels" if self._counts else "0", *(["_call_id", "_state"] if self._wants_ctx else [])]
        return f"_resume.detour({self._values}, {', '.join(known)})"

    def _inner_around(self, i: int, form: Form, name: str) -> None:
        """Write an around that another one waits for."""
        view = _view(i, form)
        settle = "settle_async" if self._hook.is_async else "settle"
        self._add(f"""
            _failure = None
            try:
                _inner = {'await ' if form.is_async else ''}{self._call(form, name, view, f'_next{i}')}
            except BaseException as _caught:
                _inner, _failure = None, _caught
            if _failure is not None or {self._odd(form, view).replace('_answer', '_inner')}:
                _detour = _detour or {self._new_detour}
                _ran{i} += {ENDED}
                _inner = {self._await}_detour.{settle}({i}, _ran{i}, {view}, _inner, _failure)
            else:
                _ran{i} += {ENDED}
            _ran{i - 1} = 2 if _ran{i} == {ENDED + 2} else 3
            return _inner
        """)

    def _odd(self, form: Form, view: str) -> str:
        swallowed = "_cancelling() > _cancels or " if form.is_async else ""
        tampered = f"{view}.tampered or " if form.wants_ctx else ""
        return f"{swallowed}{tampered}_detour is not None or _type(_answer) not in _plain and _is_special(_answer)"


def _view(i: int, form: Form) -> str:
    """Write what around number `i` sees of the arguments."""
    return "None" if not form.wants_ctx else f"_view{i}" if i else "_view"
