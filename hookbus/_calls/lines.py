"""The lines of a plan that becomes source text, and what every turn in it is written with.

A name with an underscore in front belongs to the text; any other is a parameter of the method. No receiver is named, so that
plans of one form share their code.
"""

from __future__ import annotations

import re
from inspect import isawaitable
from textwrap import dedent, indent
from typing import Any, Final

from .._connections.phases import OFFERED
from .._hooks.hook import Hook, Site
from .._hooks.shell import passed
from .cancels import Cancels, is_cancelled_error, is_running, settled, task_lookup
from .context import CURRENT, VERDICTS, HookContext, ReadOnly, next_call_id
from .forms import Form, Part
from .resume import Resumption, Stop, Unusual, beside
from .turns import settle_swallowed


def is_special(answer: Any) -> bool:
    """Tell whether an answer is more than a value: a verdict, or something to await."""
    return isinstance(answer, VERDICTS) or isawaitable(answer)


PLAIN: Final = frozenset({str, int, float, bool, bytes, dict, list, tuple, set, type(None)})
"""Types of which nobody need ask whether an answer `is_special`."""

_TOOLS: Final[dict[str, Any]] = {
    "_Context": HookContext, "_CURRENT": CURRENT, "_ReadOnly": ReadOnly, "_Stop": Stop, "_Unusual": Unusual,
    "_ValueError": ValueError,
    "_beside": beside, "_Cancels": Cancels, "_dict": dict, "_is_cancelled_error": is_cancelled_error, "_is_running": is_running,
    "_is_special": is_special, "_len": len, "_next_id": next_call_id,
    "_settle_swallowed": settle_swallowed,
    "_plain": PLAIN, "_settled": settled, "_type": type,
}  # fmt: skip


class Lines:
    """The text of one plan, line by line."""

    def __init__(self, hook: Hook, site: Site, resume: Resumption, parts: list[Part]) -> None:
        self.hook, self._site = hook, site
        self._is_method = site.attribute is not None
        self.signature = hook.method_signature if self._is_method else hook.function_signature
        self._sender = hook.function_signature.names[0] if self._is_method else "_sender"
        self.awaiting = "await " if hook.is_async else ""
        self.colour = "async " if hook.is_async else ""
        self.wants_ctx = any(part.form.wants_ctx for part in parts)
        self.counts = hook.is_async and resume.plan.awaits
        self.objects: dict[str, Any] = {
            **_TOOLS, "_body": hook.body, "_family": hook.family(site), "_resume": resume, "_sender": hook.shell,
            "_hook": hook.name, "_names": frozenset(self.simple_names()),
        }  # fmt: skip
        if self.counts:
            self.objects["_running_loop"], self.objects["_task_of"] = task_lookup()
        self._numbers: dict[str, int] = {}
        self.lines: list[str] = []
        self.place = 0
        self.depth = 1

    def __str__(self) -> str:
        name = self.name
        return "\n".join([f"def make({', '.join(self.given)}):", *self.lines, f"    return {name}", ""])

    @property
    def given(self) -> dict[str, Any]:
        """The objects that the text uses, by the names it has for them."""
        used = set(re.findall(r"\b_\w+", "\n".join(self.lines)))
        return {name: value for name, value in self.objects.items() if name in used}

    @property
    def is_ambiguous(self) -> bool:
        """Whether a parameter has a name that the text uses for itself."""
        return any(name.startswith("_") for name in self.hook.function_signature.names)

    @property
    def name(self) -> str:
        name = self.hook.body.__name__
        return name if name.isidentifier() and name not in self.hook.function_signature.names else "_call"

    def simple_names(self) -> list[str]:
        """Name the arguments that may hold anything; what `*args` and `**kwargs` may hold is for the walk to check."""
        return [name for name in self.signature.names if name not in (self.signature.star, self.signature.double_star)]

    def add(self, text: str, deeper: int = 0) -> None:
        """Add lines; they belong to the turn that is being written."""
        lines = indent(dedent(text).strip("\n"), "    " * (self.depth + deeper)).splitlines()
        self.lines += lines
        places = self.objects.setdefault("_places", [0])
        places += [self.place] * len(lines)

    def add_body(self, result: str) -> None:
        """Write the call of the method. While it runs, `super()` from inside it must find that it is part of this call."""
        call = f"{result} = {self.awaiting}_body({passed(self.hook.parameters)})"
        if self.counts:
            self.add("try:")
            self.depth += 1
        if self._site.is_shared:
            self.add(f"""
                _previous = _CURRENT.get()
                _frame = [{self._sender}, _family, _previous, None]
                _token = _CURRENT.set(_frame)
                try:
                    {call}
                finally:
                    _frame[0] = _frame[1] = None
                    try:
                        _CURRENT.reset(_token)
                    except _ValueError:  # it is closed from another context
                        _CURRENT.set(_previous)
            """)
        else:
            self.add(call)
        if self.counts:  # a cancellation that the method swallowed is its own affair
            self.depth -= 1
            self.add("""
                except BaseException as _raised:
                    if _cancelling() > _cancels and _is_running(_task) and not _is_cancelled_error(_raised):
                        await _settle_swallowed(_Cancels.since(_cancels))
                    raise
                if _cancelling() > _cancels and _is_running(_task):
                    _task = await _settle_swallowed(_Cancels.since(_cancels))
                    _cancelling = _task.cancelling
            """)

    @property
    def values(self) -> str:
        return "({})".format("".join(f"{name}, " for name in self.hook.function_signature.names))

    def object(self, name: str, value: Any) -> str:
        """Return the name of an object of which there are several."""
        self._numbers[name] = number = self._numbers.get(name, -1) + 1
        self.objects[f"{name}{number}"] = value
        return f"{name}{number}"

    @property
    def shown(self) -> str:
        """Write the arguments as `ctx.kwargs` holds them."""
        return "{{{}}}".format(", ".join(f"{name!r}: {name}" for name in self.signature.names))

    def call(self, form: Form, receiver: str, view: str = "_view", call_next: str = "") -> str:
        result = "_result" if form.phase in ("post", "finally") else "None"
        outcome = "_outcome" if form.phase == "finally" else "None"
        context = f"_Context(_hook, {self._sender}, {view}, {result}, None, {outcome}, _call_id, _state)"
        # What the phase offers goes before an argument of the same name.
        offered = {"ctx": context, "call_next": call_next, "result": result, "error": "None"}
        values = [(keyword, offered[name] if name in OFFERED[form.phase] else name) for keyword, name in form.wanted]
        written = [f"{keyword}={value}" if keyword else value for keyword, value in values]
        return f"{receiver}({', '.join([self._sender, *([self._sender] if form.held == 'own' else []), *written])})"
