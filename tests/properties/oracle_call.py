"""One hooked call, from section 3 of the design; see `oracle`."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .described import ABSENT, NAMES, Connection, Receiver, plain, plain_value
from .oracle_answers import Failure, checked, draft
from .oracle_listeners import Fault, Listeners

if TYPE_CHECKING:
    from .oracle import World

Story = Generator[Any, None, Any]
DROPPED = object()


@dataclass
class End:
    """How a call ended."""

    outcome: str
    result: Any = None
    fault: Fault | None = None

    @property
    def gift(self) -> Any:
        """The result of a Block, which the caller gets instead of HookBlocked."""
        return self.fault.gift if self.fault else ABSENT


def is_watch(guard: Connection) -> bool:
    """Whether a guard is asked of every call, and its word counts."""
    return not guard.shadow and guard.when is None


class Call:
    """One call of a hooked `work`."""

    def __init__(
        self, world: World, k: int, arguments: Mapping[str, Any], plan: Any, parent: int | None
    ) -> None:
        self.world, self.program, self.k, self.parent = world, world.program, k, parent
        self.arguments = dict(arguments)
        self.listeners = Listeners(world, plan)
        self.outcome = "returned"

    def story(self) -> Story:
        """Tell the whole call, from Started to Finished."""
        has_values, say = self.program.has_values, self.listeners.say
        say(
            "Started", self.parent, "work", NAMES, plain(self.arguments) if has_values else "hidden"
        )
        try:
            result = yield from self._until_result()
            end = End(self.outcome, result)
        except Fault as fault:
            end = End(self._outcome_of(fault), fault=fault)
        except GeneratorExit:
            end = End("cancelled", fault=Fault("GeneratorExit"))
        if end.gift is not ABSENT and self.program.is_stream:
            try:
                yield end.gift
            except GeneratorExit:
                pass
        end = self._finally(end)
        is_served = has_values and end.outcome in ("returned", "replaced")
        error = end.fault.kind if end.fault and end.outcome != "blocked" else None
        say("Finished", end.outcome, error, end.result if is_served else None)
        return self._for_caller(end)

    def _for_caller(self, end: End) -> Any:
        if end.gift is not ABSENT:
            return None if self.program.is_stream else end.gift
        if end.fault and end.fault.kind == "StopIteration" and self.program.is_async:
            raise Fault("RuntimeError")  # no coroutine lets a StopIteration out
        if end.fault and end.fault.kind != "GeneratorExit":
            raise end.fault
        return None if self.program.colour == "async generator" else end.result

    def _outcome_of(self, fault: Fault) -> str:
        if fault is self.listeners.blocked:
            return "blocked"
        is_cancel = fault.kind == "CancelledError" and fault is not self.listeners.failed_around
        return "cancelled" if is_cancel else "raised"

    def _until_result(self) -> Story:
        supplied = self._pre()
        if supplied is not ABSENT:
            return self._post((yield from self._supply(supplied)))
        try:
            result = yield from self._items(self._around(0, self.arguments, is_changed=False))
        except Fault as fault:
            if not fault.is_error or fault.of is self.listeners:
                raise
            result = yield from self._rescue(fault)
        return self._post(result)

    # pre

    def _pre(self) -> Any:
        supplied = ABSENT
        for connection in self.listeners.each("pre", "modify"):
            decided = self.listeners.ask(connection, self.arguments)
            if decided:
                self.arguments = self._patched(
                    connection, self.arguments, draft(self._receiver(connection))
                )
            if decided == "supply":
                supplied = self._supplied(connection)
                break
        asking = self._guards("pre", self.arguments)
        if self.program.is_guarded and not any(map(is_watch, self.listeners.each("pre", "guard"))):
            self.listeners.closed_for_want_of_a_guard()
        if self.program.is_stream:
            # What has left cannot be withheld: a guard of the whole result says no while there is
            # nothing to withhold.
            for guard in self.listeners.each("post", "guard"):
                self.listeners.fails(guard, "misuse")
        self._approve(asking, self.arguments)
        self.listeners.observe("pre", self.arguments)
        return supplied

    def _patched(
        self, connection: Connection, arguments: Mapping[str, Any], patch: Mapping[str, Any]
    ) -> dict[str, Any]:
        for name, value in patch.items():
            if value is not arguments[name]:
                self._say_mutated(
                    connection, name, plain_value(name, arguments[name]), plain_value(name, value)
                )
        return {**arguments, **patch}

    def _guards(
        self, phase: str, arguments: Mapping[str, Any], extra: tuple[Any, ...] = ()
    ) -> list[Connection]:
        """Ask the guards; return those that ask for a yes."""
        guards = self.listeners.each(phase, "guard")
        return [one for one in guards if self.listeners.ask(one, arguments, extra) == "ask"]

    def _approve(self, asking: list[Connection], arguments: Mapping[str, Any]) -> None:
        """Get an approval if any guard asks for one. Then the other guards that are still connected
        are called once more.
        """
        self.listeners.approve(asking)
        for guard in self.listeners.each("pre", "guard") if asking else ():
            is_asking = any(guard is each for each in asking)
            if not is_asking and self.world.is_connected(guard):
                self.listeners.ask(guard, arguments)

    # around and the body

    def _around(self, level: int, arguments: Mapping[str, Any], is_changed: bool) -> Story:
        arounds = self.listeners.plan.get(("around", "modify"), ())
        if level == len(arounds):
            if is_changed:
                self._approve(self._guards("pre", arguments), arguments)
            # Whoever comes later is shown what the method really got.
            self.arguments = dict(arguments)
            self.outcome = "returned"
            return (yield from self.world.body(self.k, arguments, self.listeners.number))
        connection, tries = arounds[level], []
        try:
            return (yield from self._around_turn(level, arguments, is_changed, tries))
        finally:
            for number, outcome in enumerate(tries if len(tries) > 1 else (), 1):
                self.listeners.say("Attempted", connection.receiver, number, outcome)

    def _around_turn(
        self, level: int, arguments: Mapping[str, Any], is_changed: bool, tries: list[str]
    ) -> Story:
        connection = self.listeners.plan["around", "modify"][level]
        try:
            if not self.listeners.begins(connection, arguments):
                return (yield from self._inside(level + 1, arguments, is_changed))
            last, inner, is_own = yield from self._trusted(
                connection, self._attempts(level, arguments, is_changed, tries)
            )
            value = yield from self._around_ends(connection, last)
        except Failure as failure:
            if self.listeners.ending and not self.listeners.must_go_out(failure.kind):
                raise self.listeners.ending from None
            self.listeners.fails(connection, failure.kind)
        if self.listeners.ending:
            raise self.listeners.ending
        if is_own:
            self.outcome = "replaced"
            self._say_mutated(connection, "result", None, value)
        elif value is not inner:
            self._say_mutated(connection, "result", inner, value)
        return value

    def _trusted(self, connection: Connection, story: Story) -> Story:
        """Let no item leave an around that wrote where it may only read."""
        if not self._receiver(connection).writes:
            return (yield from story)
        try:
            next(story)
        except StopIteration as end:
            return end.value
        story.close()
        raise Failure

    def _attempts(
        self, level: int, arguments: Mapping[str, Any], is_changed: bool, tries: list[str]
    ) -> Generator[Any, None, tuple[Any, Any, bool]]:
        """Make each `call_next`: what the around has in the end, the last result from inside, and
        whether there is none. An attempt with a bad patch is refused, and changes nothing inside.
        """
        connection = self.listeners.plan["around", "modify"][level]
        receiver = self._receiver(connection)
        last, inner, is_own, is_again = None, None, True, False
        for patch in receiver.attempts:
            is_refused = True
            try:
                if self.listeners.ending:
                    raise self.listeners.ending
                patched = self._patched(connection, arguments, checked(patch))
                is_other, is_again = is_changed or is_again or bool(patch), True
                is_refused = False
                last = inner = yield from self._attempt(level + 1, patched, is_other, tries)
                is_own = False
            except (Fault, Failure) as error:
                if not receiver.catches or (isinstance(error, Fault) and not error.is_error):
                    raise
                last, is_own = ("caught", error.kind), is_own or not is_refused
        if self.program.colour == "async generator":
            last = inner = None
        return last, inner, is_own

    def _attempt(
        self, level: int, arguments: Mapping[str, Any], is_changed: bool, tries: list[str]
    ) -> Story:
        """Go further in, and note how that ended."""
        outcome = "raised"
        try:
            result = yield from self._inside(level, arguments, is_changed)
            outcome = self.outcome
        except GeneratorExit:
            outcome = "cancelled"
            raise
        except Fault as fault:
            outcome = self._outcome_of(fault)
            raise
        finally:
            tries.append(outcome)
        return result

    def _inside(self, level: int, arguments: Mapping[str, Any], is_changed: bool) -> Story:
        """What an around has inside: of an async call a coroutine, which lets no StopIteration
        out.
        """
        try:
            return (yield from self._around(level, arguments, is_changed))
        except Fault as fault:
            if fault.kind == "StopIteration" and self.program.is_async:
                raise Fault("RuntimeError") from fault
            raise

    def _around_ends(self, connection: Connection, last: Any) -> Story:
        self.listeners.speaks(connection)
        says = self._receiver(connection).says
        if says.kind == "block" and not self.listeners.blocked:
            self.listeners.block(connection)
        if says.kind == "drop":
            raise Failure
        if says.kind == "value" and self.program.is_stream:
            yield says.value
            return last
        return (
            says.value
            if says.kind in ("value", "replace", "patch")
            else None
            if says.kind in ("nothing", "swallow")
            else last
        )

    # What leaves: items, the result

    def _supply(self, supplied: Any) -> Story:
        """Send what a receiver supplied the way the method's own would go."""
        self.outcome = "replaced"
        if not self.program.is_stream:
            return supplied
        yield from self._items(iter(supplied))
        return None

    def _items(self, source: Any) -> Story:
        while True:
            try:
                item = next(source)
            except StopIteration as end:
                return end.value
            try:
                if self.listeners.blocked:
                    raise self.listeners.blocked
                item = self._item(item)
                if item is not DROPPED:
                    yield item
            except BaseException:
                getattr(source, "close", lambda: None)()
                raise

    def _item(self, item: Any) -> Any:
        item = self._modified("item", item)
        if item is not DROPPED:
            self._guards("item", self.arguments, ("item", item))
            self.listeners.observe("item", self.arguments, ("item", item))
        return item

    def _post(self, result: Any) -> Any:
        result = self._modified("post", result)
        if not self.program.is_stream:
            self._guards("post", self.arguments, ("result", result))
        self.listeners.observe("post", self.arguments, ("result", result))
        return result

    def _modified(self, phase: str, value: Any) -> Any:
        name = "item" if phase == "item" else "result"
        for connection in self.listeners.each(phase, "modify"):
            decided = self.listeners.ask(connection, self.arguments, (name, value))
            if decided == "drop":
                self._say_mutated(connection, name, value, None)
                return DROPPED
            after = self._receiver(connection).says.value if decided == "value" else value
            if after is not value:
                self._say_mutated(connection, name, value, after)
            value = after
        return value

    # error and finally

    def _rescue(self, fault: Fault) -> Story:
        self.listeners.noted = fault
        remedy, extra = ABSENT, ("error", fault.kind)
        for connection in self.listeners.each("error", "modify"):
            if self.listeners.ask(connection, self.arguments, extra) == "supply":
                remedy = self._supplied(connection)
                break
        self.listeners.observe("error", self.arguments, extra)
        if remedy is ABSENT:
            raise fault
        self.listeners.noted = None
        return (yield from self._supply(remedy))

    def _finally(self, end: End) -> End:
        # A model may read HookBlocked: no receiver's failure is told there.
        self.listeners.noted = end.fault if end.outcome != "blocked" else None
        self.listeners.is_cancelled = end.outcome in ("cancelled", "raised")
        error = end.fault.kind if end.fault and end.gift is ABSENT else None
        try:
            self.listeners.observe(
                "finally", self.arguments, ("end", end.result, error, end.outcome)
            )
        except Fault as fault:
            return End(self._outcome_of(fault), fault=fault)
        return end

    # In short

    def _receiver(self, connection: Connection) -> Receiver:
        return self.program.receiver(connection.receiver)

    def _supplied(self, connection: Connection) -> Any:
        value = self._receiver(connection).says.value
        self._say_mutated(connection, "result", None, value)
        return value

    def _say_mutated(self, connection: Connection, name: str, before: Any, after: Any) -> None:
        shown = (before, after) if self.program.has_values else ("hidden", "hidden")
        self.listeners.say("Mutated", connection.receiver, name, *shown)
