"""The receivers of a program as real callables, in every kind and with every form of parameters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from hookbus import Ask, Block, Drop, Replace

from .described import ABSENT, NAMES, Receiver, Says, plain
from .scripts import Broken, Interrupt, Script, function, kind_of

if TYPE_CHECKING:
    from .stage import Stage

SERVED: Final = {
    "pre": (), "around": ("call_next",), "item": ("item",),
    "post": ("result",), "error": ("error",), "finally": ("error", "result"),
}  # fmt: skip
ASKED: Final = {"ctx": ("ctx",), "names": NAMES, "all": (), "sender": (), "misfit": ("nonsense",)}


def callable_for(stage: Stage, receiver: Receiver) -> Callable[..., Any]:
    """Return the callable that does what `receiver` describes."""
    is_around = receiver.phase == "around"
    names = (
        *ASKED[receiver.asks],
        *(() if receiver.asks in ("all", "sender") and not is_around else SERVED[receiver.phase]),
    )
    given = ", ".join(f"{name}={name}" for name in names)
    parameters = ", ".join((*("me",) * receiver.is_method, "sender", *names))
    if receiver.asks == "all":
        parameters, given = f"{parameters}, **asked", ", ".join(filter(None, (given, "**asked")))
    colour = stage.program.colour if is_around and stage.program.is_stream else receiver.colour
    if receiver.says.kind == "no generator":
        colour = "no generator"
    script = f"turn(sender, dict({given})), catches={receiver.catches}"
    return function(colour, receiver.name, parameters, script, turn=Turn(stage, receiver))


class Turn:
    """What one receiver does each time it is asked."""

    def __init__(self, stage: Stage, receiver: Receiver) -> None:
        self.stage, self.receiver = stage, receiver

    def __call__(self, sender: Any, given: Mapping[str, Any]) -> Script:
        """Say so in the log, then do and answer as described."""
        receiver, stage = self.receiver, self.stage
        self._log(sender, given)
        if receiver.consults:
            stage.bureau.consult()
        if receiver.cuts:
            stage.disconnect(receiver.cuts)
        for name, value in receiver.writes:
            self._write(given["ctx"].kwargs, name, value)
        last = None
        if receiver.phase == "around" and receiver.says.kind != "no generator":
            for patch in receiver.attempts:
                last = yield ("call", partial(given["call_next"], **patch))
            if receiver.says.kind == "value" and stage.program.is_stream:
                yield ("yield", receiver.says.value)
                return lambda: last
        return partial(self._answer, receiver.says, last)

    def _log(self, sender: Any, given: Mapping[str, Any]) -> None:
        asks, context = self.receiver.asks, given.get("ctx")
        arguments = None if asks == "sender" else plain(context.kwargs if context else given)
        number = context.call_id if context else None
        extra = () if asks == "sender" else self._extra(given)
        self.stage.log.append(("asked", number, self.receiver.name, arguments, extra))
        if sender is not self.stage.sender or (context and not self._is_sound(context)):
            self.stage.log.append(("unsound", number, self.receiver.name))

    def _is_sound(self, context: Any) -> bool:
        """One call has one state, and it is of no other call."""
        is_own = context.state.setdefault("call", context.call_id) == context.call_id
        return is_own and context.hook == "work" and context.sender is self.stage.sender

    def _extra(self, given: Mapping[str, Any]) -> tuple[Any, ...]:
        match self.receiver.phase:
            case "item" | "post" as phase:
                name = {"item": "item", "post": "result"}[phase]
                return (name, given[name])
            case "error":
                return ("error", kind_of(given["error"]))
            case "finally":
                outcome = given["ctx"].outcome if "ctx" in given else None
                return ("end", given["result"], kind_of(given["error"]), outcome)
        return ()

    def _write(self, arguments: Any, name: str, value: Any) -> None:
        try:
            if value is ABSENT:
                del arguments[name]
            else:
                arguments[name] = value
        except Exception:
            if not self.receiver.swallows:
                raise

    def _answer(self, says: Says, last: Any) -> Any:
        match says.kind:
            case "fail":
                raise {"Broken": Broken, "StopIteration": StopIteration}[says.value]("a secret")
            case "interrupt":
                raise Interrupt
            case "cancel":
                raise asyncio.CancelledError
            case "hang":
                return self.stage.hang(self.receiver.colour)
            case "leave" | "swallow":
                return self.stage.leave(swallows=says.kind == "swallow")
            case "through":
                return last
        return self._decision(says)

    def _decision(self, says: Says) -> Any:
        match says.kind:
            case "replace":
                return Replace(says.value)
            case "block":
                reason = f"no from {self.receiver.name}"
                return Block(reason) if says.value is ABSENT else Block(reason, result=says.value)
            case "ask":
                return Ask(f"may it, {self.receiver.name}?")
            case "drop":
                return Drop()
            case "nothing":
                return None
        return says.value
