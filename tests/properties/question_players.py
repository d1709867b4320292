"""Who answers a question in a random program, and how the program is run: walked, or by generated
code.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any
from unittest.mock import patch

import attrs

from hookbus import (
    Block,
    Bus,
    Drop,
    Replace,
    _answering,
    _question_source,
    hookable,
    hookspec,
    modes,
)

MODES = [modes.void, modes.broadcast, modes.firstresult]


@attrs.frozen
class Later:
    """An awaitable that can be compared, and warns of nothing where nobody awaits it."""

    value: int

    def __await__(self) -> Any:
        yield from asyncio.sleep(0).__await__()
        return self.value


class Falsy(Exception):
    def __bool__(self) -> bool:
        return False


SAYS: dict[str, Any] = {
    "none": lambda x: None,
    "argument": lambda x: x,
    "zero": lambda x: 0,
    "object": lambda x: range(x),
    "block": lambda x: Block("no"),
    "block with result": lambda x: Block("no", result=("instead", x)),
    "replace": lambda x: Replace(x),
    "drop": lambda x: Drop(),
    "later": lambda x: Later(x),
    "raises": lambda x: [][x],
    "raises what is falsy": lambda x: (_ for _ in ()).throw(Falsy(str(x))),
    "stop iteration": lambda x: next(iter(())),
    "exits": lambda x: (_ for _ in ()).throw(KeyboardInterrupt(str(x))),
    "cancelled": lambda x: (_ for _ in ()).throw(asyncio.CancelledError(str(x))),
}


async def waits() -> None:
    await asyncio.sleep(0)


async def requests() -> None:
    """Have the caller's task cancelled, and answer before it is."""
    asyncio.current_task().cancel()


async def leaves() -> None:
    await requests()
    await asyncio.sleep(0)


async def swallows() -> None:
    try:
        await leaves()
    except asyncio.CancelledError:
        pass


async def swallows_and_forgets() -> None:
    await swallows()
    asyncio.current_task().uncancel()


class Inner:
    """What an async receiver calls in its turn: a question and a hooked method of the same bus, in
    which the same happens.
    """

    def __init__(self, bus: Bus) -> None:
        @hookspec(modes.firstresult, bus=bus)
        async def inner_question(does: Any) -> Any: ...

        async def answers(does: Any) -> None:
            await does()

        @hookable("inner_method", bus=bus)
        async def method(does: Any) -> None:
            await does()

        async def looks(sender: Any) -> None: ...

        inner_question.connect(lambda: None)
        inner_question.connect(answers)
        bus.signal("pre_inner_method").connect(looks)
        self.question, self.method = inner_question, method


DOES = [waits, requests, leaves, swallows, swallows_and_forgets]


@attrs.frozen
class Player:
    """One receiver: what it says in each round, how it is called, and what its failure does; and
    what it awaits, if it does.

    What it awaits in each round is nothing, or what is done and where: in itself, in an inner
    question or an inner method.
    """

    rounds: tuple[str, ...]
    form: str
    on_error: str
    priority: int
    disconnects: bool
    is_async: str = ""  # or "def", "partial", "object", "unknown"
    awaits: tuple[tuple[str, Any] | None, ...] = (None,)


def receiver_of(
    player: Player, number: int, told: list[Any], current: list[int], leave: Any, inner: Inner
) -> Any:
    def said(seen: Any) -> Any:
        told.append((number, seen))
        if player.disconnects:
            leave(number)
        return SAYS[player.rounds[current[0] % len(player.rounds)]](current[0])

    async def awaited(seen: Any) -> Any:
        wanted = player.awaits[current[0] % len(player.awaits)]
        if wanted is not None:
            where, does = wanted
            await {"": lambda does: does(), "question": inner.question, "method": inner.method}[
                where
            ](does)
            told.append((number, "has waited"))
        return said(seen)

    seen = {"": "None", "**k": "sorted(k.items())", "y, *, x": "(x, y)"}.get(player.form, "x")
    names = {"said": said, "awaited": awaited, "partial": partial}
    if player.is_async in ("", "unknown"):
        return eval(
            f"lambda {player.form}: {'awaited' if player.is_async else 'said'}({seen})", names
        )
    if player.is_async == "object":
        exec(
            f"class Receiver:\n    async def __call__(self, {player.form}): return await "
            f"awaited({seen})",
            names,
        )
        return names["Receiver"]()
    exec(f"async def receiver({player.form}): return await awaited({seen})", names)
    return partial(names["receiver"]) if player.is_async == "partial" else names["receiver"]


def play(
    players: list[Player], mode: Any, calls: int, hot: int, colour: str = "sync"
) -> tuple[list[Any], bool]:
    """Ask so often; return all that can be seen, and whether generated code ran."""
    bus, told, current, made = Bus(), [], [0], []
    inner = Inner(bus)

    def plain(x: int, y: str = "y") -> Any: ...

    async def coroutine(x: int, y: str = "y") -> Any: ...

    question: Any = hookspec(mode, name="question", bus=bus)(
        plain if colour == "sync" else coroutine
    )

    def leave(number: int) -> None:
        question.disconnect(receivers[(number + 1) % len(receivers)])

    receivers = [
        receiver_of(player, number, told, current, leave, inner)
        for number, player in enumerate(players)
    ]
    for number, (receiver, player) in enumerate(zip(receivers, players)):
        question.connect(
            receiver, name=f"r{number}", on_error=player.on_error, priority=player.priority
        )

    compile_question = _question_source.compile_question

    def noted(*arguments: Any) -> Any:
        run = compile_question(*arguments)
        made.append(run is not None and arguments[0].name == "question")
        return run

    def fell(error: BaseException) -> None:
        cause, frame = error.__cause__, error.__context__
        told.append(
            ("error", type(error), str(error), type(cause), type(frame) if cause is None else None)
        )

    async def ask() -> None:
        for current[0] in range(calls):
            try:
                told.append(("result", await question(current[0])))
            except BaseException as error:
                fell(error)
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                told.append("a cancellation was still to come")
            told.append(asyncio.current_task().cancelling())

    with (
        patch.object(_answering, "HOT", hot),
        patch.object(_question_source, "compile_question", noted),
    ):
        if colour == "async":
            asyncio.run(ask())
        for current[0] in range(calls if colour == "sync" else 0):
            try:
                told.append(("result", question(current[0])))
            except BaseException as error:
                fell(error)
    rows = [
        (r.name, r.has_fired, r.has_blocked, r.failures, r.fail_opens, error_of(r))
        for r in question.signal.connections()
    ]
    return [*told, *rows], any(made)


def error_of(receiver):
    return (receiver.last_failure or "").partition(" ")[0]
