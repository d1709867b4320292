"""Random programs of overlapping calls, whose arounds run attempts in tasks, and shield, cancel,
repeat or leave them.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import count
from typing import Any

import attrs
from hypothesis import strategies as st

from hookbus import Block, Bus, hookable

from .clock import run

LATER = "'"
"""What an around adds to the argument when it patches it."""


# -- what arounds do -------------------------------------------------------------------------------


async def _times_out(go, limit):
    async with asyncio.timeout(limit):
        return await go()


async def _gives_up(go, limit):
    attempt = asyncio.create_task(go())
    await asyncio.wait({attempt}, timeout=limit)
    attempt.cancel()
    await asyncio.wait({attempt})
    return "given up" if attempt.cancelled() else attempt.result()


async def _overlaps(go, limit):
    slow = asyncio.create_task(go())
    await asyncio.sleep(limit)
    with suppress(ValueError):
        await go(LATER)
    return await slow


async def _gathers(go, limit):
    first, second = await asyncio.gather(go(), go(LATER), return_exceptions=True)
    for each in (second, first):
        if isinstance(each, BaseException):
            raise each
    return first


async def _races(go, limit):
    attempts = [asyncio.create_task(go()), asyncio.create_task(go(LATER))]
    await asyncio.wait(attempts, return_when=asyncio.FIRST_COMPLETED)
    winner = next(each for each in attempts if each.done())
    for each in attempts:
        each.cancel()
    await asyncio.wait(attempts)
    return winner.result()


async def _leaves(go, limit):
    attempt = asyncio.create_task(go())
    await asyncio.wait({attempt}, timeout=limit)
    return "left"


async def _in_a_group(go, limit):
    async with asyncio.TaskGroup() as group:
        attempt = group.create_task(go())
    return attempt.result()


async def _twice(go, limit):
    await go()
    return await go()


WAYS = {
    "passes on": lambda go, limit: go(),
    "patches": lambda go, limit: go(LATER),
    "twice": _twice,
    "times out": _times_out,
    "waits for": lambda go, limit: asyncio.wait_for(go(), limit),
    "in a task": lambda go, limit: asyncio.create_task(go()),
    "shields": lambda go, limit: asyncio.shield(asyncio.create_task(go())),
    "gives up": _gives_up,
    "overlaps": _overlaps,
    "gathers": _gathers,
    "races": _races,
    "leaves": _leaves,
    "in a group": _in_a_group,
}
"""How an around tries, by name: each is given `go(suffix="")`, which uses `call_next`, and how long
it waits.
"""


# -- programs --------------------------------------------------------------------------------------


@attrs.frozen
class Part:
    """What a receiver or the method does: waits, perhaps keeps a cancellation that comes meanwhile,
    and says something.

    Attributes:
        pause: how long it waits; 0 is not at all.
        keeps: whether it swallows a cancellation.
        says: `nothing`, `raises`, `blocks`, or `value`.
        about: the arguments it says that about: `any`, `plain`, or `patched`.
    """

    pause: int = 0
    keeps: bool = False
    says: str = "nothing"
    about: str = "any"

    def concerns(self, x):
        return self.about == "any" or x.endswith(LATER) == (self.about == "patched")


@attrs.frozen
class Around:
    before: Part
    way: str
    limit: int
    is_retried: bool
    after: Part


@attrs.frozen
class Program:
    """Calls of one method of one object: when each begins, and after how long it is cancelled.

    Attributes:
        bodies: what the method does with a plain argument, and with a patched one.
    """

    bodies: tuple[Part, Part]
    arounds: list[Around]
    guards: list[Part]
    posts: list[Part]
    finals: list[Part]
    calls: list[tuple[int, list[int]]]


def parts(*says, longest=4):
    keeps, about = (
        st.sampled_from([False, False, False, True]),
        st.sampled_from(["any", "plain", "patched"]),
    )
    return st.builds(Part, st.integers(0, longest), keeps, st.sampled_from(says), about)


def arounds(ways=(*WAYS, *["overlaps", "gathers"] * 4)):
    before, after = (
        parts("nothing", "nothing", "raises"),
        parts("nothing", "nothing", "value", "raises"),
    )
    return st.builds(Around, before, st.sampled_from(ways), st.integers(1, 5), st.booleans(), after)


def nested() -> st.SearchStrategy[list[Around]]:
    """One to three arounds. The second of three makes no tasks: in a hot call the third is judged
    by the task of the call.
    """
    second = arounds(["passes on", "patches", "twice", "times out"])
    shapes = [(arounds(),), (arounds(), arounds()), (arounds(), second, arounds())]
    return st.one_of([st.tuples(*shape).map(list) for shape in shapes])


def programs() -> st.SearchStrategy[Program]:
    return st.builds(
        Program,
        st.tuples(*[parts("nothing", "raises", longest=6)] * 2),
        nested(),
        st.lists(parts("nothing", "nothing", "blocks", "raises"), max_size=2),
        st.lists(parts("nothing", "value", "raises"), max_size=1),
        st.lists(parts("nothing", "raises"), max_size=2),
        st.lists(
            st.tuples(st.integers(0, 3), st.lists(st.integers(1, 9), max_size=2)),
            min_size=1,
            max_size=2,
        ),
    )


# -- what happens ----------------------------------------------------------------------------------


class Play:
    """One run of a program: what everybody noted and when, what came of each call, and who has
    failed how often.
    """

    def __init__(self, program: Program):
        self.notes: list[Any] = []
        self._numbers = count(1)
        self.bus = Bus()
        self._agent = self._make_agent(program)
        self.ends = run(self._call_all(program.calls))
        signals = [
            self.bus.signal(f"{phase}_reply") for phase in ("around", "pre", "post", "finally")
        ]
        self.failures = [
            (one.name, one.failures) for signal in signals for one in signal.connections()
        ]

    def seen(self):
        return self.notes, self.ends, self.failures

    def of(self, call):
        """What was noted in the call of this number: who did what."""
        return [(who, what) for _, who, what, x in self.notes if x.strip(LATER) == _argument(call)]

    def note(self, who, what, x):
        self.notes.append((round(asyncio.get_running_loop().time(), 4), who, what, x))

    def _make_agent(self, program):
        bodies = [self._acting("body", part) for part in program.bodies]

        class Agent:
            @hookable("reply", bus=self.bus)
            async def reply(self, x):
                await bodies[x.endswith(LATER)](x)
                return f"result of {x}"

        for place, around in enumerate(program.arounds):
            self._connect("around", f"around {place}", self._around(f"around {place}", around))
        roles = {
            ("pre", "guard"): program.guards,
            ("post", "modify"): program.posts,
            ("finally", "observe"): program.finals,
        }
        for (phase, role), given in roles.items():
            for place, part in enumerate(given):
                self._connect(
                    phase, f"{phase} {place}", self._receiver(f"{phase} {place}", part), role=role
                )
        self._connect("finally", "end", lambda agent, x, ctx: self.note("end", ctx.outcome, x))
        return Agent()

    def _connect(self, phase, name, receiver, **options):
        self.bus.signal(f"{phase}_reply").connect(receiver, weak=False, name=name, **options)

    def _acting(self, name, part):
        """Return what a part does about an argument. No two pauses are of the same length, so that
        nothing hangs on a tie.
        """
        number = next(self._numbers)

        async def act(x):
            self.note(name, "in", x)
            try:
                if part.pause:
                    await asyncio.sleep(part.pause + number / 100 + len(x) / 1000)
            except asyncio.CancelledError:
                self.note(name, "cancelled", x)
                if not part.keeps:
                    raise
            says = part.says if part.concerns(x) else "nothing"
            self.note(name, says, x)
            if says == "raises":
                raise ValueError(name)
            return {"blocks": Block(name), "value": name}.get(says)

        return act

    def _receiver(self, name, part):
        act = self._acting(name, part)

        async def receiver(agent, x):
            return await act(x)

        return receiver

    def _around(self, name, around):
        before, after = (
            self._acting(f"{name}, before", around.before),
            self._acting(f"{name}, after", around.after),
        )
        number = next(self._numbers)

        async def receiver(agent, x, call_next):
            def go(suffix=""):
                return call_next(x=x + suffix) if suffix else call_next()

            async def once():
                return await WAYS[around.way](go, around.limit + number / 100)

            await before(x)
            try:
                result = await once()
            except BaseException as error:
                self.note(name, type(error).__name__, x)
                is_kept = around.before.keeps or isinstance(error, Exception)
                if not (around.is_retried and is_kept):
                    raise
                result = await once()
            return await after(x) or result

        return receiver

    async def _call_all(self, calls):
        return await asyncio.gather(
            *(self._call(_argument(number), *call) for number, call in enumerate(calls))
        )

    async def _call(self, x, start, cancels):
        await asyncio.sleep(start + len(x) / 1000)
        call = asyncio.create_task(self._agent.reply(x))
        for after in cancels:
            await asyncio.wait({call}, timeout=after + next(self._numbers) / 100)
            call.cancel()
        await asyncio.wait({call})
        error = asyncio.CancelledError() if call.cancelled() else call.exception()
        return (
            (type(error).__name__, str(error), getattr(error, "__notes__", []))
            if error
            else call.result()
        )


def _argument(call):
    """Return the argument of the call of this number; however often it is patched, no other has its
    length.
    """
    return "x" * 5 * (call + 1)
