"""How a plan is written as source text: its turns one after the other, and the way out to where the walk takes over."""

from __future__ import annotations

from typing import Final

from .._hooks.shell import declared
from .forms import Form, Part
from .lines import Lines
from .nesting import new_detour, write_arounds

LOOP_FROM: Final = 12
"""So many receivers in a row that are written alike are called in a loop; fewer are written out."""


class Source(Lines):
    """The text of one plan."""

    # -- the whole ------------------------------------------------------------------------------------------------------

    def write(self, before: list[Part], body: int, arounds: list[Part], after: list[Part], *, is_simple: bool) -> None:
        """Write everything. Where it `is_simple`, an exception of the method concerns nobody and goes out as it is."""
        self.add(f"{self.colour}def {self.name}({declared(self.hook.parameters)}):")
        self.depth = 2
        self._begin()
        if arounds:
            count = sum(len(part.seats) for part in arounds)
            self.add("_detour = None\n" + " = ".join(f"_ran{i}" for i in range(count)) + " = 0")
        self.add("try:")
        self.depth = 3
        for part in before:
            self._part(part)
        self.place = body
        if arounds:
            write_arounds(self, [(part.form, function) for part in arounds for function in part.functions()])
        else:
            self.add_body("_result")
            if self.wants_ctx:
                self.add("_outcome = 'returned'")
        for part in after:
            self._part(part)
        self.add("return _result")
        self.depth = 2
        self._end(body, is_simple=is_simple, has_arounds=bool(arounds))

    def _begin(self) -> None:
        self.add("_answer = _result = _view = _at = None")
        if self.wants_ctx:
            self.add("_call_id, _state = _next_id(), {}")
        if self.counts:
            self.add("""
                _loop = _running_loop()
                _task = None if _loop is None else _task_of(_loop)
                if _task is None or _settled:
                    _task = _Cancels()
                _cancelling = _task.cancelling
                _cancels = _cancelling()
            """)

    def _end(self, body: int, *, is_simple: bool, has_arounds: bool) -> None:
        """Write how the walk takes over. Where the code stopped is told by the line, so that nothing has to count along."""
        self.add("""
            except BaseException as _caught:
                _place = _places[_caught.__traceback__.tb_lineno - 1] if _at is None else _at
        """)
        if has_arounds:  # a `call_next` that somebody keeps must find that its around has ended
            self.add(f"if _place == {body}:\n    _detour = _detour or {new_detour(self)}", deeper=1)
        elif is_simple:
            self.add(f"if _place == {body}:\n    raise", deeper=1)
        self.add("_error = _caught", deeper=1)
        cancels = ", _cancels" if self.counts else ""
        stop = f"_Stop.of(_place, _answer, _error, _view{cancels})"
        known = ", call_id=_call_id, state=_state" if self.wants_ctx else ""
        known += ", ran=_ran0, detour=_detour" if has_arounds else ""
        self.add(f"return {self.awaiting}_resume({self.values}, {stop}, _result{known})")

    # -- a turn ---------------------------------------------------------------------------------------------------------

    def _part(self, part: Part) -> None:
        functions = part.functions()
        self.place = part.place
        if part.form.step == "beside":
            self.objects[f"_seats{part.place}"] = part.seats
            calls = "".join(f"{self.call(part.form, self.object('_r', f))}, " for f in functions)
            self.add(f"""
                _answer = await _beside(_seats{part.place}, ({calls}))
                if _answer is not None:
                    raise _Unusual
            """)
        elif len(functions) < LOOP_FROM:
            for self.place, function in enumerate(functions, part.place):
                self._turn(part.form, self.object("_r", function))
        else:
            self.add(f"for _at, _r in {self.object('_many', tuple(enumerate(functions, part.place)))}:")
            self.depth += 1
            self._turn(part.form, "_r")
            self.depth -= 1
            self.add("_at = None")

    def _turn(self, form: Form, receiver: str) -> None:
        depth = self.depth
        if form.held == "weak":
            self.add(f"_held = {receiver}()\nif _held is not None:")
            self.depth += 1
            receiver = "_held"
        if form.wants_ctx:
            self.add(f"_view = {self.shown if form.step == 'pre' else f'_ReadOnly({self.shown})'}")
        self.add(f"_answer = {'await ' if form.is_async else ''}{self.call(form, receiver)}")
        {"pre": self._patch, "post": self._revise, "look": self._look}[form.step](form, self._misuse(form))
        self.depth = depth

    def _misuse(self, form: Form) -> str:
        """Write what else than its answer makes a turn unusual: a swallowed cancellation, a write where it may not."""
        swallowed = "_cancelling() > _cancels or " if form.is_async else ""
        return swallowed + ("_view.tampered or " if form.wants_ctx and form.step != "pre" else "")

    def _look(self, form: Form, misuse: str) -> None:
        self.add(f"if {misuse}_answer is not None:\n    raise _Unusual")

    def _revise(self, form: Form, misuse: str) -> None:
        if misuse:
            self.add(f"if {misuse.removesuffix(' or ')}:\n    raise _Unusual")
        self.add("""
            if _answer is not None:
                if _type(_answer) not in _plain and _is_special(_answer):
                    raise _Unusual
                _result = _answer
        """)

    def _patch(self, form: Form, misuse: str) -> None:
        """Write how a draft and a patch are taken: checked first, both of them, so that none is taken by half."""
        names = self.simple_names()
        if form.wants_ctx:
            known = [f"{name!r} not in _view" for name in self.signature.names]
            same = [f"_view[{name!r}] is not {name}" for name in self.signature.names if name not in names]
            misuse += " or ".join([f"_len(_view) != {len(known)}", *known, *same])
        if misuse:
            self.add(f"if {misuse.removesuffix(' or ')}:\n    raise _Unusual")
        self.add("""
            if _answer is not None:
                if _type(_answer) is not _dict:
                    raise _Unusual
                for _name in _answer:
                    if _name not in _names:
                        raise _Unusual
        """)
        if form.wants_ctx:
            self.add("_view = {**_view, **_answer}", deeper=1)
            for name in names:
                self.add(f"{name} = _view[{name!r}]")
        else:
            for name in names:
                self.add(f"if {name!r} in _answer:\n    {name} = _answer[{name!r}]", deeper=1)
