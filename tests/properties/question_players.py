"""Random questions, and a plain model of their answers, which shares no code with hookbus."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs

from hookbus import Block, Bus, HookBlocked, ReceiverError, Replace, hookspec, modes
from hookbus.events import Failed


class Provided:
    """A context manager that is an answer, and notes that it is closed."""

    def __init__(self, number: int, told: list[Any]) -> None:
        self.number, self.told = number, told

    def __enter__(self) -> Any:
        return f"provided {self.number}"

    def __exit__(self, *_: object) -> None:
        self.told.append(("closed", self.number))

    def __eq__(self, other: object) -> bool:
        return type(other) is Provided and other.number == self.number

    def __hash__(self) -> int:
        return hash(self.number)


@attrs.frozen
class Player:
    """One receiver.

    Attributes:
        says: what it answers; one of `SAYS`.
        is_async: whether it is a coroutine function that waits, where the question is one.
        when: whether it is asked at all, by its `when=`; None is none.
    """

    says: str
    is_async: bool = False
    priority: int = 0
    on_error: str = "isolate"
    when: bool | None = None
    once: bool = False
    timeout: float | None = None


SAYS = ["none", "none", "x", "zero", "list", "raises", "block", "replace", "manager"]


@attrs.frozen
class Program:
    """A question, and how it is asked: so many calls of this kind, with or without what is around.
    """

    players: tuple[Player, ...]
    mode: str
    is_async: bool
    calls: tuple[str, ...]  # each "call" or "ask"
    listens: bool
    in_scope: bool
    repeats: bool


def two_by_two(receivers: Any) -> Any:
    found = []
    for index in range(0, len(receivers), 2):
        answers = yield receivers[index : index + 2]
        found.append([answer.value for answer in answers if answer.asked])
    return found


async def backwards(receivers: Any, arguments: Any) -> Any:
    for receiver in receivers[::-1]:
        [answer] = yield [receiver], {"x": arguments["x"] + 1}
        if answer.value is not None:
            yield modes.Result(answer.receiver)


MODES: dict[str, Any] = {
    "void": modes.void, "broadcast": modes.broadcast, "firstresult": modes.firstresult,
    "len": len, "unique": modes.unique(str), "fold": modes.fold("x"), "two by two": two_by_two,
    "with_default": modes.with_default(modes.firstresult, lambda x: ("fallback", x)),
    "backwards": backwards,
}  # fmt: skip


def said(player: Player, number: int, x: Any, told: list[Any]) -> Any:
    told.append((number, x))
    match player.says:
        case "x":
            return x
        case "zero":
            return 0
        case "list":
            return [number % 2]
        case "raises":
            raise ValueError(number)
        case "block":
            return Block("no")
        case "replace":
            return Replace(1)
        case "manager":
            return Provided(number, told)
    return None


# -- hookbus ---------------------------------------------------------------------------------------


def receiver_of(player: Player, number: int, told: list[Any], is_async: bool) -> Any:
    async def later(x: Any) -> Any:
        answer = said(player, number, x, told)
        await asyncio.sleep(0)
        return answer

    return later if is_async and player.is_async else lambda x: said(player, number, x, told)


def played(program: Program) -> Any:
    """Play a program; return what came of each call, what was told, and who failed."""
    bus, told, failed = Bus(), [], []
    if program.is_async:

        async def question(x: Any) -> Any: ...
    else:

        def question(x: Any) -> Any: ...

    spec: Any = hookspec(MODES[program.mode], bus=bus)(question)
    for number, player in enumerate(program.players):
        when = None if player.when is None else (lambda x, holds=player.when: holds)
        spec.connect(
            receiver_of(player, number, told, program.is_async), name=f"r{number}", when=when,
            priority=player.priority, on_error=player.on_error, once=player.once,
            timeout=player.timeout,
        )  # fmt: skip
    if program.listens:
        bus.events.connect(
            lambda bus, event: failed.append(event.receiver) if type(event) is Failed else None
        )
    if program.repeats and program.is_async:

        async def twice(spec: Any, call_next: Any) -> Any:
            await call_next()
            return await call_next(x=50)

        bus.signal("around_question").connect(twice)
    elif program.repeats:
        bus.signal("around_question").connect(
            lambda spec, call_next: (call_next(), call_next(x=50))[1]
        )

    async def ask_all() -> list[Any]:
        results = []
        for x, kind in enumerate(program.calls):
            try:
                result = (spec if kind == "call" else spec.ask)(x)
                result = await result if program.is_async else result
            except (HookBlocked, ReceiverError) as error:
                results.append((type(error), error.receiver))
                continue
            if kind == "ask":
                result = (
                    [(answer.receiver, answer.value) for answer in result.answers],
                    [answer.receiver for answer in result.failures],
                    result.result,
                )
            results.append(result)
        return results

    async def run() -> list[Any]:
        if not program.in_scope:
            return await ask_all()
        if program.is_async:
            async with spec.scope():
                return await ask_all()
        with spec.scope():
            return await ask_all()

    return asyncio.run(run()), told, failed


# -- the model -------------------------------------------------------------------------------------


class Ended(Exception):
    pass


class Model:
    """What asking should give, told plainly."""

    def __init__(self, program: Program) -> None:
        self.program, self.told, self.failed = program, [], []
        ranked = sorted(enumerate(program.players), key=lambda each: (-each[1].priority, each[0]))
        self.order = [number for number, _ in ranked]
        self.gone: set[int] = set()
        self.provided: dict[int, Any] = {}

    def turn(self, number: int, x: Any) -> Any:
        """Return (was asked, answer); or raise what ends the question."""
        player = self.program.players[number]
        self.asked.append(number)
        if number in self.provided:
            return self.answer(number, self.provided[number])
        if number in self.gone or player.when is False:
            return False, None
        if player.once:
            self.gone.add(number)
        is_void = self.program.mode == "void"
        try:
            value = said(player, number, x, self.told)
            if isinstance(value, Replace) or (isinstance(value, Block) and is_void):
                raise ValueError
        except ValueError:
            return self.failure(number)
        if isinstance(value, Block):
            self.end(number, HookBlocked)
            return True, None
        if isinstance(value, Provided) and self.program.in_scope:
            value = self.provided[number] = value.__enter__()
        return self.answer(number, value)

    def answer(self, number: int, value: Any) -> Any:
        self.answers.append((f"r{number}", value))
        return True, value

    def failure(self, number: int) -> Any:
        self.failures.append(f"r{number}")
        self.failed.append(f"r{number}")
        on_error = self.program.players[number].on_error
        if on_error != "isolate":
            self.end(number, HookBlocked if on_error == "block" else ReceiverError)
        return True, None

    def end(self, number: int, kind: type) -> None:
        if kind is HookBlocked and f"r{number}" not in self.failures and self.asks_all:
            self.failures.append(f"r{number}")
        self.ending = self.ending or (kind, f"r{number}")
        if kind is HookBlocked:
            self.blocked = self.blocked or (kind, f"r{number}")
        if not self.waits:
            raise Ended

    def several(self, numbers: list[int], x: Any) -> list[Any]:
        kept, self.waits = self.waits, True
        found = [self.turn(number, x) for number in numbers]
        self.waits = kept
        if self.ending and not self.waits:
            raise Ended
        return found

    def lead(self, x: Any) -> Any:
        mode, order = self.program.mode, self.order
        if mode == "void":
            self.several(order, x)
            return None
        if mode == "two by two":
            pairs = [self.several(order[i : i + 2], x) for i in range(0, len(order), 2)]
            return [[value for was_asked, value in pair if was_asked] for pair in pairs]
        if mode == "backwards":
            for number in order[::-1]:
                if self.turn(number, x + 1)[1] is not None:
                    return f"r{number}"
            return None
        if mode == "fold":
            for number in order:
                _, value = self.turn(number, x)
                x = x if value is None else value
            return x
        if mode in ("firstresult", "with_default"):
            for number in order:
                _, value = self.turn(number, x)
                if value is not None:
                    return value
            return ("fallback", x) if mode == "with_default" else None
        found = [value for _, value in [self.turn(n, x) for n in order] if value is not None]
        return {"broadcast": list, "len": len, "unique": once_each}[mode](found)

    def attempt(self, x: Any) -> Any:
        self.asked, self.answers, self.failures, self.ending = [], [], [], None
        self.waits = self.asks_all
        result = self.lead(x)
        if self.asks_all:
            for number in [each for each in self.order if each not in self.asked]:
                self.turn(number, x)
            if self.ending:
                raise Ended
        return result

    def run(self) -> Any:
        results = []
        for x, kind in enumerate(self.program.calls):
            self.asks_all, self.blocked = kind == "ask", None
            self.order = [number for number in self.order if number not in self.gone]
            try:
                result = self.attempt(x)
                if self.program.repeats:
                    result = self.attempt(50)
            except Ended:
                # Whatever comes out of an around, a block stands.
                stands = self.program.repeats and self.blocked
                results.append(stands or self.ending)
                continue
            whole = (list(self.answers), list(self.failures), result)
            results.append(whole if self.asks_all else result)
        if self.program.in_scope:
            self.told += [("closed", number) for number in reversed(self.provided)]
        return results, self.told, self.failed


def once_each(found: list[Any]) -> list[Any]:
    kept, seen = [], set()
    for value in found:
        items = value if isinstance(value, list) else [value]
        new = [item for item in items if str(item) not in seen]
        seen.update(map(str, items))
        if new:
            kept.append(new if isinstance(value, list) else new[0])
    return kept
