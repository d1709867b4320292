"""How the arounds of a plan are written: functions inside each other, the method innermost."""

from __future__ import annotations

from typing import Any

from .detour import ENDED
from .forms import Form
from .lines import Lines


def write_arounds(text: Lines, arounds: list[tuple[Form, Any]]) -> None:
    """Write the arounds and the method inside them: `_next0` is the `call_next` of the outermost."""
    last = len(arounds) - 1
    names = [text.object("_around", function) for _, function in arounds]
    for i, (form, _) in enumerate(arounds):
        if form.wants_ctx:
            text.add(f"{_view(i, form)} = _ReadOnly({text.shown})")
    for i in reversed(range(last + 1)):
        _open_next(text, i, arounds)
        if i == last:
            _write_body(text, i)
        else:
            _inner_around(text, i + 1, arounds[i + 1][0], names[i + 1])
        text.depth -= 1
    form = arounds[0][0]
    view = _view(0, form)
    text.add(f"""
        _answer = {'await ' if form.is_async else ''}{text.call(form, names[0], view, '_next0')}
        if {_odd(form, view)}:
            raise _Unusual
        _ran0 += {ENDED}
        _result = _answer
    """)
    if text.wants_ctx:
        text.add(f"_outcome = 'returned' if _ran0 == {ENDED + 2} else 'replaced'")


def _open_next(text: Lines, i: int, arounds: list[tuple[Form, Any]]) -> None:
    inner = f", _ran{i + 1}" if i + 1 < len(arounds) else ""
    view = _view(i, arounds[i][0])
    text.add(f"""
        {text.colour}def _next{i}(**_patch):
            nonlocal _detour, _ran{i}{inner}{', _task, _cancelling, _cancels' if text.counts and not inner else ''}
            if _patch or _ran{i} or _detour is not None{_elsewhere(text, i, is_last=not inner)}:
                _detour = _detour or {new_detour(text)}
                return {text.awaiting}_detour.again({i}, _ran{i}, {view}, _patch)
    """)
    text.depth += 1
    text.add(f"_ran{i} = 1")


def _elsewhere(text: Lines, i: int, *, is_last: bool) -> str:
    """Write what else leads a `call_next` out of generated code: a cancellation that came, or that it is used elsewhere.

    To ask every `call_next` for its task would take too long. Who is inside the outermost around must not be part of another
    task; who is further in may be, and may even be left running in one, as in a thread of a plain call.
    """
    cancelled = " or _cancelling() > _cancels" if text.counts else ""
    if i == 0:
        is_asked = text.counts and not is_last
        return cancelled + (" or _loop is not None and _task_of(_loop) is not _task" if is_asked else "")
    return cancelled + ("" if text.counts and i == 1 else f" or _ran0 >= {ENDED}")


def _write_body(text: Lines, i: int) -> None:
    text.add("try:")
    text.depth += 1
    text.add_body("_inner")
    text.depth -= 1
    text.add(f"""
        except BaseException as _caught:
            _detour = _detour or {new_detour(text)}
            _detour.came_out({i}, None, _caught)
            raise
        _ran{i} = 2
        if _detour is not None:
            _detour.came_out({i}, _inner)
        return _inner
    """)


def new_detour(text: Lines) -> str:
    """Write what leads the arounds of a call out of generated code."""
    known = [f"_ran0 >= {ENDED}", *(["_cancels", "_task"] if text.counts else ["0", "None"])]
    known += ["_call_id", "_state"] if text.wants_ctx else []
    return f"_resume.detour({text.values}, {', '.join(known)})"


def _inner_around(text: Lines, i: int, form: Form, name: str) -> None:
    """Write an around that another one waits for."""
    view = _view(i, form)
    settle = "settle_async" if text.hook.is_async else "settle"
    text.add(f"""
        _failure = None
        try:
            _inner = {'await ' if form.is_async else ''}{text.call(form, name, view, f'_next{i}')}
        except BaseException as _caught:
            _inner, _failure = None, _caught
        if _failure is not None or {_odd(form, view).replace('_answer', '_inner')}:
            _detour = _detour or {new_detour(text)}
            _ran{i} += {ENDED}
            _inner = {text.awaiting}_detour.{settle}({i}, _ran{i}, {view}, _inner, _failure)
        else:
            _ran{i} += {ENDED}
        _ran{i - 1} = 2 if _ran{i} == {ENDED + 2} else 3
        return _inner
    """)


def _odd(form: Form, view: str) -> str:
    swallowed = "_cancelling() > _cancels or " if form.is_async else ""
    tampered = f"{view}.tampered or " if form.wants_ctx else ""
    return f"{swallowed}{tampered}_detour is not None or _type(_answer) not in _plain and _is_special(_answer)"


def _view(i: int, form: Form) -> str:
    """Write what around number `i` sees of the arguments."""
    return "None" if not form.wants_ctx else f"_view{i}" if i else "_view"
