"""The receivers of one call: how each is called, and the effect of its failure (section 4 of the
design).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from .described import ABSENT, NOT_ERRORS, Connection, Receiver, plain
from .oracle_answers import Failure, decision, draft, may_write

if TYPE_CHECKING:
    from .oracle import World


UNGUARDED = (
    "work has require_guard=True, but no guard covers this call: connect a guard to pre_work, for "
    "the class or ANY, enforced and without when="
)


def question(connection: Connection) -> str:
    """Return what a guard asks."""
    return f"may it, {connection.receiver}?"


class Fault(Exception):
    """An exception on its way through the story: its kind, what it says, and the receivers its
    notes name.
    """

    def __init__(self, kind: str, *facts: Any, of: Any = None, gift: Any = ABSENT) -> None:
        super().__init__(kind, *facts)
        self.kind, self.facts, self.of, self.gift = kind, facts, of, gift
        self.notes: list[str] = []

    @property
    def is_error(self) -> bool:
        """Whether `except Exception` catches it."""
        return self.kind not in NOT_ERRORS


class Listeners:
    """Everybody who listens to one call.

    Attributes:
        number: the number of the call.
        blocked: the first block, which nothing lifts.
        raised: what goes out for a receiver that failed and asked for that.
        noted: the exception on its way to the caller, to which the failures of receivers are
            attached.
        failed_around: what an around raised: no cancel, even where it is a CancelledError.
        is_cancelled: whether the call has ended by an exception: a CancelledError that comes then
            is of somebody else.
    """

    def __init__(self, world: World, plan: Mapping[tuple[str, str], list[Connection]]) -> None:
        self.world, self.program, self.plan = world, world.program, plan
        self.number = world.number()
        self.blocked: Fault | None = None
        self.raised: Fault | None = None
        self.noted: Fault | None = None
        self.failed_around: Fault | None = None
        self.is_cancelled = False

    @property
    def ending(self) -> Fault | None:
        """What an around meets of a call that is over."""
        return self.blocked or self.raised

    def say(self, event: str, *facts: Any) -> None:
        """Tell the listeners of events, if there are any."""
        if self.program.is_listening:
            self.world.log.append((event, self.number, *facts))

    def each(self, phase: str, role: str) -> Iterator[Connection]:
        """Give everybody who is to be asked."""
        yield from self.plan.get((phase, role), ())

    def ask(
        self, connection: Connection, arguments: Mapping[str, Any], extra: tuple[Any, ...] = ()
    ) -> str | None:
        """Return what a receiver decides, None where it is not asked or failed."""
        receiver = self.program.receiver(connection.receiver)
        try:
            if not self.begins(connection, arguments, extra):
                return None
            self.speaks(connection)
            decided = decision(self.program, receiver)
            if decided not in ("block", "ask astray") and may_write(receiver):
                draft(receiver)
        except Failure as failure:
            self.fails(connection, failure.kind)
            return None
        if decided in ("ask", "block") and connection.shadow:
            reason = f"no from {receiver.name}" if decided == "block" else question(connection)
            self.say("Blocked", receiver.name, reason, receiver.phase, False)
            return None
        if decided == "block":
            self.block(connection)
        if decided == "ask astray":  # whatever its failure does: nobody has said yes
            self._say_failed(connection, "misuse", "blocked")
            self.withhold(connection, f"{receiver.role} failed: misuse")
        if decided == "ask" and self.program.approves is None:
            advice = "no approver is configured; set one with bus.approver(...)"
            self.withhold(connection, f"{question(connection)} {advice}")
        return decided

    def approve(self, asking: list[Connection]) -> None:
        """Ask the approver if any guard requires approval: anything but an approval blocks."""
        if not asking or self.program.approves == "yes":
            return
        asked = "\n".join(map(question, asking))
        self.withhold(asking[0], f"{asked} denied by ada: no")

    def observe(
        self, phase: str, arguments: Mapping[str, Any], extra: tuple[Any, ...] = ()
    ) -> None:
        """Ask the observers side by side: what must go out goes out once all have settled."""
        going_out = None
        for connection in self.each(phase, "observe"):
            try:
                self.ask(connection, arguments, extra)
            except Fault as fault:
                going_out = going_out or fault
        if going_out:
            raise going_out

    def begins(
        self, connection: Connection, arguments: Mapping[str, Any], extra: tuple[Any, ...] = ()
    ) -> bool:
        """Start the turn of a receiver: say whether it is asked at all."""
        receiver = self.program.receiver(connection.receiver)
        if not self._applies(connection, arguments) or connection in self.world.spent:
            return False
        if connection.once:
            self.world.spend(connection)
        if receiver.asks == "misfit" or (receiver.colour == "async" and not self.program.is_async):
            raise Failure
        self._log_turn(receiver, arguments, extra)
        if receiver.consults:
            self._consult()
        if receiver.cuts:
            self.world.disconnect(receiver.cuts)
        if (
            receiver.writes and not may_write(receiver) and not receiver.swallows
        ) or self._gives_no_answer(receiver):
            raise Failure
        return True

    def speaks(self, connection: Connection) -> None:
        """End the turn of a receiver: raise what it raises."""
        receiver = self.program.receiver(connection.receiver)
        says = receiver.says
        if says.kind in ("leave", "swallow"):
            self.world.is_cancelling = True
        if says.kind == "leave":
            raise Fault("CancelledError")
        kinds = {
            "fail": says.value,
            "interrupt": "Interrupt",
            "cancel": "CancelledError",
            "hang": "misuse",
        }
        if says.kind in kinds:
            is_around_stream = receiver.phase == "around" and self.program.is_stream
            runs_as_generator = (
                receiver.colour != "sync"
                or is_around_stream
                or (connection.timed and self.program.is_async)
            )
            is_stop = says.value == "StopIteration"
            raise Failure("RuntimeError" if is_stop and runs_as_generator else kinds[says.kind])
        if receiver.writes and not may_write(receiver):
            raise Failure

    def must_go_out(self, kind: str) -> bool:
        """Whether nothing may keep this: an interrupt, or a cancellation where there is no task
        whose own it could be.
        """
        is_of_caller = self.world.is_cancelling or not self.program.is_async
        return kind == "Interrupt" or (kind == "CancelledError" and is_of_caller)

    def fails(self, connection: Connection, kind: str) -> None:
        """Apply the policy of a receiver to its failure."""
        receiver = self.program.receiver(connection.receiver)
        is_of_caller = self.world.is_cancelling and not self.is_cancelled
        if kind == "CancelledError" and (is_of_caller or not self.program.is_async):
            raise Fault(kind)
        if receiver.phase == "around":
            self._say_failed(connection, kind, "raised")
            self.failed_around = Fault(kind)
            raise self.failed_around
        if kind == "Interrupt":
            self._say_failed(connection, kind, "raised")
            raise Fault(kind)
        is_late = receiver.phase in ("error", "finally")
        policy = "block" if receiver.role == "guard" else connection.on_error or "isolate"
        policy = "isolate" if connection.shadow else policy
        if is_late or policy == "isolate":
            self._say_failed(connection, kind, "isolated")
            if self.noted:
                self.noted.notes.append(receiver.name)
        elif policy == "block":
            self._say_failed(connection, kind, "blocked")
            self.withhold(connection, f"{receiver.role} failed: {kind}")
        else:
            self._say_failed(connection, kind, "raised")
            self.raised = Fault("ReceiverError", receiver.name, receiver.phase, kind, of=self)
            raise self.raised

    def block(self, connection: Connection) -> NoReturn:
        """Block the call as the receiver asks."""
        says = self.program.receiver(connection.receiver).says
        self.withhold(connection, f"no from {connection.receiver}", says.value)

    def withhold(self, connection: Connection, reason: str, gift: Any = ABSENT) -> NoReturn:
        """Block the call for this reason."""
        phase = self.program.receiver(connection.receiver).phase
        self._withhold(connection.receiver, phase, reason, gift)

    def closed_for_want_of_a_guard(self) -> NoReturn:
        """Block a call of a guarded hook that no guard watches over."""
        self._withhold("require_guard=True", "pre", UNGUARDED)

    def _withhold(self, who: str, phase: str, reason: str, gift: Any = ABSENT) -> NoReturn:
        self.say("Blocked", who, reason, phase, True)
        self.blocked = Fault("HookBlocked", who, reason, of=self, gift=gift)
        raise self.blocked

    def _applies(self, connection: Connection, arguments: Mapping[str, Any]) -> bool:
        if connection.when in ("always", "never", "fails", "big"):
            self.world.log.append(("judged", None, connection.receiver, arguments["a"]))
        if connection.when == "fails":
            raise Failure("Broken")
        a: int = arguments["a"]
        return {
            None: True,
            "always": True,
            "never": False,
            "big": a > 4,
            "glob": str(a).startswith("1"),
        }[connection.when]

    def _log_turn(
        self, receiver: Receiver, arguments: Mapping[str, Any], extra: tuple[Any, ...]
    ) -> None:
        is_open, has_context = receiver.asks != "sender", receiver.asks == "ctx"
        outcome_is_hidden = receiver.phase == "finally" and not has_context
        shown = (*extra[:-1], None) if outcome_is_hidden else extra
        number = self.number if has_context else None
        seen = plain(arguments) if is_open else None
        self.world.log.append(("asked", number, receiver.name, seen, shown if is_open else ()))

    def _consult(self) -> None:
        if self.program.is_listening:
            number = self.world.number()
            values = () if self.program.has_values else "hidden"
            self.world.log.append(("Started", number, self.number, "consult", (), values))
            self.world.log.append(("Finished", number, "returned", None, None))

    def _gives_no_answer(self, receiver: Receiver) -> bool:
        return (
            receiver.colour == "awaitable" and not self.program.is_async
        ) or receiver.says.kind == "no generator"

    def _say_failed(self, connection: Connection, kind: str, action: str) -> None:
        receiver = self.program.receiver(connection.receiver)
        role = "around" if receiver.phase == "around" else receiver.role
        self.say("Failed", receiver.name, role, receiver.phase, kind, action, not connection.shadow)
