"""Build the real program from a description: the bus, the classes, and the receivers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from functools import cached_property
from types import MethodType
from typing import Any, Final

from hookbus import ANY, Bus, HookError, hookable
from hookbus.approvals import Approved, Denied

from .described import Connection, Program, Result, plain
from .players import callable_for
from .scripts import Broken, Interrupt, Script, function

SOON: Final = 0.05
LATER: Final = 3.0
"""Where a deadline came so soon that a busy machine had not begun the receiver's turn, this is late
enough to look again.
"""
NEVER: Final = 60.0


class Stage:
    """A bus, the classes, everybody connected, and the log of what happens."""

    def __init__(self, program: Program, soon: float = SOON) -> None:
        self.program, self.soon = program, soon
        self.log: list[tuple[Any, ...]] = []
        self.refused: list[int] = []
        self.recursions = 1
        self.caller: asyncio.Task[Any] | None = None
        self.released = threading.Event()
        self.bus = Bus(values=program.has_values)
        if program.approves is not None:
            said = Approved("ada") if program.approves == "yes" else Denied("ada", "no")
            self.bus.approver(lambda request: said)
        self.keeper = type("Keeper", (), {})()
        self.players = {
            receiver.name: callable_for(self, receiver) for receiver in program.receivers
        }
        self._connect(is_early=True)
        self._declare()
        self._connect(is_early=False)

    # The world

    def _declare(self) -> None:
        self.classes: dict[int, Any] = {}
        for k in reversed(range(len(self.program.bodies))):
            self.classes[k] = type(f"K{k}", self._bases(k) or (object,), self._namespace(k))
        self.instance, self.stranger, self.function = self.classes[0](), self.classes[0](), None
        if self.program.kind in ("staticmethod", "function"):
            stranger: Any = type("Stranger", (), self._namespace(0))
            self.function, self.stranger = self.classes[0].work, stranger.work
        is_class = self.program.kind == "classmethod"
        self.sender = (
            self.classes[self.program.entry or 0] if is_class else self.function or self.instance
        )

    def _bases(self, k: int) -> tuple[type, ...]:
        if self.program.is_diamond and k in (0, 1):
            return (self.classes[1], self.classes[2]) if k == 0 else (self.classes[3],)
        return (self.classes[k + 1],) if k + 1 in self.classes else ()

    def _namespace(self, k: int) -> dict[str, Any]:
        body = self.program.bodies[k]
        if body is None:
            return {}
        me = {"method": "self, ", "classmethod": "cls, "}.get(self.program.kind, "")
        left = f", left=lambda: log.append(('left', None, {k}))" if self.program.is_stream else ""
        script = f"script({k}, {me or 'None, '}dict(a=a, b=b, rest=rest, more=more)){left}"
        known = {"script": self._script, "log": self.log}
        work: Any = function(
            self.program.colour, "work", f"{me}a, b=2, *rest, **more", script, **known
        )
        wraps: dict[str, Any] = {"classmethod": classmethod, "staticmethod": staticmethod}
        wrap = wraps.get(self.program.kind, lambda work: work)
        guarded = self.program.is_guarded or None
        hook: Any = lambda work: work  # noqa: E731
        if body.hookable:
            hook = hookable("work", bus=self.bus, require_guard=guarded)
        return {"work": hook(wrap(work)) if body.is_outside else wrap(hook(work))}

    def _script(self, k: int, me: Any, arguments: dict[str, Any]) -> Script:
        """What a bare `work` does."""
        body, parts = self.program.bodies[k], []
        assert body is not None
        self.log.append(("entered", None, k, plain(arguments)))
        for item in body.items if self.program.is_stream else ():
            yield ("yield", item)
        parents = [
            above for above in self.program.mro(0) if above > k and self.program.bodies[above]
        ]
        if body.calls_super and parents:
            above = super(self.classes[k], me).work  # type: ignore[misc]
            given = (arguments["a"], arguments["b"], *arguments["rest"])
            parts.append((yield ("call", lambda: above(*given, **arguments["more"]))))
        if body.recurs and self.recursions:
            self.recursions -= 1
            again = self.function or me.work
            parts.append((yield ("call", lambda: again(1))))
        return lambda: self._end(body.ends, Result(k, plain(arguments), tuple(parts)))

    def _end(self, ends: str, result: Result) -> Any:
        if ends == "leave":
            return self.leave(swallows=False)
        if ends != "return":
            raise {
                "fail": Broken,
                "stop": StopIteration,
                "interrupt": Interrupt,
                "cancel": asyncio.CancelledError,
            }[ends]
        return result

    # Who listens

    def _connect(self, is_early: bool) -> None:
        for index, connection in enumerate(self.program.connections):
            if connection.early is is_early:
                try:
                    self._connect_one(connection)
                except HookError:
                    self.refused.append(index)

    def _connect_one(self, connection: Connection) -> None:
        receiver = self.program.receiver(connection.receiver)
        options: dict[str, Any] = {
            "name": receiver.name,
            "priority": connection.priority,
            "once": connection.once,
        }
        options |= {"before": connection.before, "after": connection.after}
        if receiver.phase not in ("around", "finally"):
            options["role"] = receiver.role
        if connection.shadow:
            options["shadow"] = True
        if connection.on_error:
            options["on_error"] = connection.on_error
        if connection.when:
            options["when"] = self._condition(connection)
        if connection.timed:
            options["timeout"] = self.soon if receiver.says.kind == "hang" else NEVER
        signal = self.bus.signal(f"{receiver.phase}_work")
        weak = True if connection.is_weak else None
        signal.connect(
            self._player(receiver.name), sender=self._scope(connection.scope), weak=weak, **options
        )

    def _player(self, name: str) -> Any:
        """Return what is connected for this receiver: its function, or a method made anew as Python
        makes them.
        """
        if not self.program.receiver(name).is_method:
            return self.players[name]
        scopes = {one.scope for one in self.program.connections if one.receiver == name}
        is_own = scopes == {"self"} and self.program.kind == "method"
        return MethodType(self.players[name], self.sender if is_own else self.keeper)

    def _scope(self, scope: str) -> Any:
        match scope:
            case "any":
                return ANY
            case "self":
                return self.sender
            case "stranger":
                return self.stranger
        return self.classes[int(scope.removeprefix("K"))]

    def _condition(self, connection: Connection) -> Any:
        if connection.when == "glob":
            return {"a": "1*"}

        def condition(a: int) -> bool:
            self.log.append(("judged", None, connection.receiver, a))
            if connection.when == "fails":
                raise Broken
            return {"always": True, "never": False, "big": a > 4}[connection.when or ""]

        return condition

    def disconnect(self, name: str) -> None:
        """Take a receiver out everywhere, if there is one of that name."""
        if name not in self.players:
            return
        self.bus.signal(f"{self.program.receiver(name).phase}_work").disconnect(self._player(name))

    @cached_property
    def bureau(self) -> Any:
        """Somebody whose hook receivers may call in their turn."""

        class Bureau:
            @hookable("consult", bus=self.bus)
            def consult(self) -> None: ...

        return Bureau()

    # What takes time

    def hang(self, colour: str) -> Awaitable[None] | bool:
        """Run past every deadline, until the program is over."""
        return self.released.wait(NEVER) if colour == "sync" else asyncio.sleep(NEVER)

    async def leave(self, swallows: bool) -> None:
        """Have the caller's task cancelled here."""
        assert self.caller is not None
        self.caller.cancel()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if not swallows:
                raise
