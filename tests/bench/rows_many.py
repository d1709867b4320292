"""P5 to P8 and P10: questions, concurrent observers, payloads, overlapping calls, receivers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import hookbus
from hookbus import Bus, hookable

from .agents import hooked
from .calls import asking, hundred, method
from .hand import looped
from .hand_nested import first_answer, gathered
from .harness import Case, Expect, Row
from .limits import LIMITS
from .parts import (
    BODY,
    COLOURS,
    RESULT,
    Colour,
    Function,
    make_answer,
    make_post,
    make_pre,
    payload,
)
from .rivals import (
    by_blinker,
    by_pluggy,
    manager,
    observed_by_blinker,
    observed_by_pluggy,
    signal_of,
)


def rows() -> Iterator[Row]:
    """Yield the rows, in the order of the table."""
    missing = None if hasattr(hookbus, "hookspec") else "not there yet"
    for colour in COLOURS:
        key = f"P5 {colour}"
        yield Row(
            key, "firstresult of 10 / loop by hand", partial(first_of_ten, colour), LIMITS[key],
            missing,
        )  # fmt: skip
    yield Row(
        "P6", "10 async observers / asyncio.gather", partial(side_by_side, False), LIMITS["P6"]
    )
    yield Row("P6 waiting", "the same, each waits once", partial(side_by_side, True))
    for colour in COLOURS:
        yield Row(
            f"P7 {colour}", "1 MB nested argument / small one", partial(large_and_small, colour),
            LIMITS[f"P7 {colour}"],
        )  # fmt: skip
    yield Row("P8", "100 overlapping calls, 1 + 1 / bare", overlapping, LIMITS["P8"])
    sizes: tuple[tuple[Colour, int], ...] = (
        ("sync", 100), ("sync", 1_000), ("sync", 10_000), ("async", 10_000),
    )  # fmt: skip
    for colour, number in sizes:
        key = f"P10 {colour}, {number:,}"
        yield Row(
            key, f"{number:,} receivers / loop by hand", partial(very_many, colour, number),
            LIMITS[key],
        )  # fmt: skip


# -- a question ------------------------------------------------------------------------------------


def first_of_ten(colour: Colour) -> dict[str, Case]:
    receivers, expect = (
        [make_answer(colour, last=place == 9) for place in range(10)],
        Expect(10, "session hi"),
    )
    cases = {
        "by hand": asking(colour, first_answer(colour, receivers), expect, *receivers),
        "hookbus": asking(colour, _spec(colour, receivers), expect, *receivers),
    }
    if colour == "sync":  # neither awaits one answer before it asks for the next
        hook, with_sender = (
            manager(resolve_session=receivers),
            [_for_blinker(last=place == 9) for place in range(10)],
        )
        signal = signal_of(with_sender)
        cases["pluggy"] = asking(
            colour, lambda message: hook.resolve_session(message=message), expect, *receivers
        )
        cases["blinker"] = asking(
            colour,
            lambda message: next(v for _, v in signal.send(None, message=message) if v is not None),
            expect,
            *with_sender,
        )
    return cases


def _for_blinker(last: bool) -> Function:
    def receiver(sender: Any, message: Any) -> Any:
        return "session " + message if last else None

    return receiver


def _spec(colour: Colour, receivers: list[Function]) -> Function:
    def ask(message: Any) -> Any:
        """Which session does this message belong to?"""

    async def aask(message: Any) -> Any:
        """Which session does this message belong to?"""

    question = ask if colour == "sync" else aask
    front: Any = hookbus
    spec = front.hookspec(front.modes.firstresult, bus=Bus())(question)
    for receiver in receivers:
        spec.connect_via()(receiver)
    return spec  # type: ignore[no-any-return]


# -- side by side ----------------------------------------------------------------------------------


def side_by_side(waits: bool) -> dict[str, Case]:
    def observer() -> Function:
        async def looks(agent: Any, msg: Any) -> Any:
            return None

        async def waits_and_looks(agent: Any, msg: Any) -> Any:
            await asyncio.sleep(0)

        return waits_and_looks if waits else looks

    observers, body, expect = [observer() for _ in range(10)], BODY["async"], Expect(10, RESULT)
    return {
        "by hand": method(gathered(observers, body), expect, *observers),
        "hookbus": method(
            hooked("async", options={"role": "observe"}, pre=observers), expect, *observers
        ),
        "blinker": method(observed_by_blinker(signal_of(observers), body), expect, *observers),
        "pluggy": method(
            observed_by_pluggy(manager(saw_reply=observers), body), expect, *observers
        ),
    }


# -- a large argument against a small one ----------------------------------------------------------


def large_and_small(colour: Colour) -> dict[str, Case]:
    pre, post, body = make_pre("sync"), make_post("sync"), BODY[colour]
    owners = {
        "hookbus": hooked(colour, pre=[pre], post=[post]),
        "by hand": looped(colour, "sync", [pre], [post], body),
        "blinker": by_blinker(colour, "sync", signal_of([pre]), signal_of([post]), body),
        "pluggy": by_pluggy(colour, "sync", manager(pre_reply=[pre], post_reply=[post]), body),
    }
    large = payload()
    cases: dict[str, Case] = {}
    for name, owner in owners.items():
        small_case = method(owner, Expect(2, RESULT), pre, post)
        large_case = method(
            owner, Expect(2, {**RESULT, "msg": large}), pre, post, args=(large, 0.7)
        )
        cases |= {f"{name}, small": small_case, name: replace(large_case, against=f"{name}, small")}
    return cases


# -- overlapping calls -----------------------------------------------------------------------------


def overlapping() -> dict[str, Case]:
    """Every call waits in its body until all others have begun theirs."""
    pre, post = make_pre("sync"), make_post("sync")

    class Waiting:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            await asyncio.sleep(0)
            return {"msg": msg, "temperature": temperature}

    bus, waiting = Bus(), Waiting.reply

    class Hooked:
        @hookable("reply", bus=bus)
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            await asyncio.sleep(0)
            return {"msg": msg, "temperature": temperature}

    bus.signal("pre_reply").connect(pre, Hooked)
    bus.signal("post_reply").connect(post, Hooked)
    return {
        "by hand": hundred(Waiting(), 0, pre, post),
        "hookbus": hundred(Hooked(), 200, pre, post),
        "loop": hundred(looped("async", "sync", [pre], [post], waiting), 200, pre, post),
        "blinker": hundred(
            by_blinker("async", "sync", signal_of([pre]), signal_of([post]), waiting),
            200,
            pre,
            post,
        ),
        "pluggy": hundred(
            by_pluggy("async", "sync", manager(pre_reply=[pre], post_reply=[post]), waiting),
            200,
            pre,
            post,
        ),
    }


# -- very many receivers ---------------------------------------------------------------------------


def very_many(colour: Colour, number: int) -> dict[str, Case]:
    pres, body, expect = (
        [make_pre("sync") for _ in range(number)], BODY[colour], Expect(number, RESULT),
    )  # fmt: skip

    def case(owner: Any) -> Case:
        return method(owner, expect, pres[0])  # they share their code

    return {
        "by hand": case(looped(colour, "sync", pres, [], body)),
        "hookbus": case(hooked(colour, pre=pres)),
        "blinker": case(by_blinker(colour, "sync", signal_of(pres), signal_of([]), body)),
        "pluggy": case(by_pluggy(colour, "sync", manager(pre_reply=pres), body)),
    }
