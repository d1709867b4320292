"""Generate the call to a receiver: its arguments, its deadline, an `await` if necessary, and the
reference to the receiver, which records its first call without overhead for later calls.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, Final

from .._connections.phases import ANSWER, EXTRA_NAMES
from .._hooks.ports import advice_of
from .._hooks.shell import HIDDEN, declared, passed
from .plan import Plan, Seat
from .text import MINE, fill

globals().update(HIDDEN)  # `FirstCall` has the parameters of the compiled function

_VALUE: Final = f"{MINE}{{0}}, "
_ITEM: Final = f"{{0!r}}: {MINE}{{0}}"


def mine(name: str) -> str:
    """Mark a name as part of the user's code."""
    return MINE + name


def values_of(names: Iterable[str]) -> str:
    """Generate the values of a tuple: the values of these names of the user's code."""
    return "".join(map(_VALUE.format, names))


def display(names: Iterable[str]) -> str:
    """Generate a dict display with names of the user's code and their values."""
    return f"{{{', '.join(map(_ITEM.format, names))}}}"


class Pieces:
    """The calls to the receivers of a plan as code, and the objects that the code refers to.

    Attributes:
        flags: the conditions that apply to the whole plan.
        pieces: the code of each piece.
        given: the receivers and their seats by their names in the code.
        dicts: the arguments that are dicts, because a patch may drop keys from a dict.
        has_approver: whether the bus had an approver, whom guards of the plan may ask, when the
            code was begun. Another thread may set an approver meanwhile.
        offered: for each phase, the names that a receiver may have as parameters besides the
            arguments.
    """

    offered: Mapping[str, tuple[str, ...]] = EXTRA_NAMES

    def __init__(self, plan: Plan) -> None:
        self.plan, self.hook = plan, plan.hook
        self.flags: set[str] = set()
        self.pieces: dict[str, Any] = {}
        self.given: dict[str, Any] = {}
        self.tools: dict[str, Any] = {}
        self.parts: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        signature, seen = plan.signature, plan.hook.seen_dicts
        stars = signature.star, signature.double_star
        self.names = signature.names
        self.simple = [name for name in self.names if name not in stars]
        self.dicts = [name for name in self.simple if name in seen]
        if self.hook.is_question:  # an argument named `ctx` of a question is just that argument
            self.offered = {
                phase: tuple(name for name in names if name not in self.names)
                for phase, names in EXTRA_NAMES.items()
            }
        has_guard = bool(plan.phases["pre"].guard)
        self.has_approver = has_guard and plan.hook.bus._approver is not None  # read only once
        self._write_pieces()

    def _write_pieces(self) -> None:
        whole, is_method = self.hook.function_signature, self.plan.site.attribute is not None
        self.is_in_star = is_method and not whole.positional  # the object is first in `*args`
        self.star = mine(whole.star or "")
        sender = ("first" if self.is_in_star else mine(whole.names[0])) if is_method else "sender"
        if not is_method and not self.hook.settings.sender:
            self.given["sender"] = self.hook.shell
        # The code of an attempt gets the sender, because no variable may refer to it any more.
        owner = f"{sender}, " if is_method or self.hook.settings.sender else ""
        owner += values_of(self.hook.settings.hidden)
        given = self.hook.parameters
        labels = [name for name in self.hook.settings.labels if name in self.names]
        arguments = values_of(self.names)
        copies = {name: f"plain_copy({mine(name)})" for name in self.hook.settings.read_only}
        passes = passed(given, mine, copies)
        body = "(body if asking is None else asking.cover(body))" if self.has_approver else "body"
        self.pieces |= {
            "sender": sender, "owner": owner, "arguments": arguments,
            "rebound": f"{arguments.rstrip()} = " if arguments else "",
            # Without defaults: the shell, which calls it, passes every argument.
            "parameters": declared([p.replace(default=p.empty) for p in given], mine),
            "body": f"{body}({'first, ' if self.is_in_star else ''}{passes})",
            "seal": self._seal(),
            "shown": display(self.names),
            "labels": f", {display(labels)}" if labels else "",
        }  # fmt: skip

    def shown(self, name: str, value: str) -> str:
        """Generate the expression for the value of an argument that receivers get."""
        is_shown = name in self.hook.settings.read_only
        return f"read_only({value}, {name!r})" if is_shown else value

    def _seal(self) -> str:
        """Generate the code that seals the arguments, or that returns None if no argument is a
        container.
        """
        objects = [name for name in self.hook.settings.sealed_fields if name in self.names]
        others = [name for name in self.names if name not in objects]
        values = f"({values_of(others)})"
        if objects:
            return f"sealed_objects(({values_of(objects)}), {values})"
        is_any = " or ".join([f"type({mine(name)}) in CONTAINERS" for name in others])
        return f"sealed_contents({values}) if {is_any} else None"

    def _odd_draft(self) -> str:
        """Generate the condition for a full check of a modifier's draft: the draft may be invalid,
        or a listener receives changes.
        """
        gone = [f"{name!r} not in draft" for name in self.names]
        starred = [name for name in self.names if name not in self.simple]
        seen = self.names if "emits_changes" in self.flags else [*starred, *self.dicts]
        other = [f"draft[{name!r}] is not {mine(name)}" for name in seen]
        return " or ".join([f"len(draft) != {len(gone)}", *gone, *other])

    def fill(
        self, text: str, more: Iterable[str] = (), parts: dict[str, str] | None = None,
        **pieces: Any,
    ) -> str:  # fmt: skip
        """Fill a template with the conditions and pieces of the whole plan and with additional
        ones.
        """
        parts = self.parts | (parts or {})
        flags = frozenset(self.flags.union(more, ["view"] if parts.get("view") else ()))
        return fill(text, flags, parts, {**self.pieces, **pieces} if pieces else self.pieces)

    def give(self, prefix: str, value: Any) -> str:
        """Return a new numbered name for an object."""
        self._numbers[prefix] = number = self._numbers.get(prefix, -1) + 1
        self.given[f"{prefix}{number}"] = value
        return f"{prefix}{number}"

    # -- the call to a receiver --------------------------------------------------------------------

    def invocation(self, seat: Seat, name: str, receiver: str, call_next: str = "") -> str:
        """Generate the call to a receiver, with an `await` and a deadline if necessary."""
        arguments = self._arguments(seat, seat.receiver.parameters, call_next)
        called = f"{receiver}({arguments})"
        is_timed, is_awaited = seat.timeout is not None, seat.receiver.is_async
        if not self.hook.is_async and is_awaited and seat.problem is None:
            return f"{self._waiting('run_on_loop_thread')}({name}, {receiver}, {arguments})"
        if not self.hook.is_async:
            timed = is_timed and f"{self._waiting('timed')}({name}, {receiver}, {arguments})"
            return timed or called
        if is_timed and is_awaited:
            called = f"{self._waiting('within')}({name}, {called})"
        elif is_timed:
            called = f"{self._waiting('timed_async')}({name}, {receiver}, {arguments})"
        elif not is_awaited or (seat.phase == "around" and self.hook.is_stream):
            return called
        if seat.phase == "finally" and not self.hook.is_stream:
            wait = "await " if not self.is_beside(seat) else ""
            late = f"reject_late_awaitable({called})"
            return f"({late} if is_a(leaving, GeneratorExit) else {wait}{called})"
        return called if self.is_beside(seat) else f"await {called}"

    def _waiting(self, name: str) -> str:
        """Return the name of a function of `_waiting`. The package is loaded on first use."""
        self.tools[name] = getattr(self.hook.bus._waiting, name)
        return name

    def resolving(self, seat: Seat) -> str:
        """Generate the code that awaits the answer of a plain receiver of an async hook."""
        if self.hook.is_async and self.hook.is_stream and seat.phase == "around":
            return "if is_awaitable(source): source = await source"
        if not self.hook.is_async or seat.receiver.is_async or seat.timeout is not None:
            return ""
        return "if type(answer) not in READY: answer = await await_if_needed(answer)"

    def is_beside(self, seat: Seat) -> bool:
        """Return whether a receiver is awaited concurrently with other receivers."""
        observers = self.plan.phases[seat.phase].observe
        return seat in observers and len(observers) > 1

    def is_awaited(self, seat: Seat) -> bool:
        """Return whether a receiver of an async hook is known to be async."""
        is_waited_for = seat.receiver.is_async or seat.timeout is not None
        return self.hook.is_async and seat.problem is None and is_waited_for

    def _values(self, seat: Seat, call_next: str = "") -> dict[str, str]:
        """Generate the value of each name that a receiver may have as a parameter. Names of the
        phase take precedence over names of arguments.
        """
        result = "result" if seat.phase in ("post", "finally") else "None"
        error = {"error": "raised", "finally": "leaving"}.get(seat.phase, "None")
        outcome = "outcome" if seat.phase == "finally" else "None"
        view = "draft" if seat.phase == "pre" and seat.receiver.role == "modify" else "view"
        sender = self.pieces["sender"]
        facts = f"{self.hook.name!r}, {seat.phase!r}, {sender}, {view}, {result}"
        facts += f", {error}, {outcome}"
        state = "dict(call.state)" if seat.receiver.options.background else "call.state"
        state += f", {self.hook.is_async}"
        facts_by_name = {
            "ctx": f"context({facts}, call.id, baggage(), {state})",
            "result": result, "error": error, "item": "item", "call_next": call_next,
            "baggage": "baggage()",
        }  # fmt: skip
        values = dict(zip(self.names, map(mine, self.names)))
        for name in self.offered[seat.phase]:
            values[name] = facts_by_name[name]
        return values

    def view(self, seat: Seat) -> str:
        """Generate the read-only view of the arguments for a receiver with the parameter `ctx`."""
        offered = self.offered[seat.phase]
        asks_ctx = "ctx" in seat.receiver.parameters.names and "ctx" in offered
        return f"view = ReadOnly({self.pieces['shown']})" if asks_ctx else ""

    def _arguments(self, seat: Seat, parameters: Any, call_next: str = "") -> str:
        values = self._values(seat, call_next)
        wanted = parameters.written(values)
        written = [f"{mine(key)}={values[name]}" if key else values[name] for key, name in wanted]
        takes_sender = parameters is seat.receiver.parameters and seat.phase != ANSWER
        sender = [self.pieces["sender"]] if takes_sender else []
        own = sender if sender and seat.holding == "own" else []
        return ", ".join([*own, *sender, *written])

    # -- references to receivers -------------------------------------------------------------------

    def receiver(self, seat: Seat) -> str:
        """Generate the expression for the function to call. For a receiver that could block the
        event loop, it is a wrapper that times the first calls. A wrapper around every call would
        cost as much as a typical guard.
        """
        if seat.holding == "weak":
            return "receiver"
        name = self.give("r", self.called(seat))
        is_plain = self.hook.is_async and not seat.receiver.is_async and seat.timeout is None
        if not is_plain or seat.receiver.role not in ("guard", "modify"):
            return name
        if (advice := advice_of(self.hook.bus)) is None:
            return name
        watched, over = advice.watching(seat.receiver, self.given[name])
        self.tools |= {f"watched_{name}": watched, f"over_{name}": over}
        return f"({name} if over_{name} else watched_{name})"

    def called(self, seat: Seat) -> Any:
        """Return the object to call: the receiver, or a placeholder that records its first call.
        For a method of the sender, return its function, which does not keep the sender alive.
        """
        function: Any = seat.receiver.function
        if seat.holding == "own":
            function = function.__func__
        return function if seat.receiver.has_fired else FirstCall(seat, function)


class FirstCall:
    """A placeholder for a receiver until its first call. The first call is recorded, and the
    receiver then replaces the placeholder.

    Attributes:
        places: the compiled functions whose globals contain the placeholder, each with the name,
            and for the list with this name, with the index.
    """

    def __init__(self, seat: Seat, function: Callable[..., Any]) -> None:
        self.seat, self.function = seat, function
        self.places: list[tuple[weakref.ref[FunctionType], str, int | None]] = []

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        self.seat.receiver.has_fired = True
        for reference, name, index in self.places:
            if (run := reference()) is not None:
                if index is None:
                    run.__globals__[name] = self.function
                else:
                    run.__globals__[name][index] = self.seat, self.function
                del run
        return self.function(*args, **kwargs)


def stand_in(run: FunctionType) -> None:
    """Find the placeholders in a compiled function, and record their positions."""
    # A weak reference, so that the function is freed with its owner and not by a later collection.
    reference = weakref.ref(run)
    for name, value in run.__globals__.items():
        if type(value) is FirstCall:
            value.places.append((reference, name, None))
        elif type(value) is list and name.startswith("many"):
            for index, (_, each) in enumerate(value):
                if type(each) is FirstCall:
                    each.places.append((reference, name, index))
