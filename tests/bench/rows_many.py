"""P5 to P8 and P10: questions, observers side by side, payloads, overlapping calls, very many receivers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count, repeat
from typing import Any

import hookbus
from hookbus import Bus, hookable

from .agents import hooked
from .hand import looped
from .hand_nested import first_answer, gathered
from .harness import Case, Expect, Row, fresh, method
from .limits import LIMITS
from .parts import BODY, RESULT, Colour, Function, make_post, make_pre
from .rivals import by_blinker, by_pluggy, manager, observed_by_blinker, observed_by_pluggy, signal_of

_numbers = count()


def rows() -> Iterator[Row]:
    """Yield the rows, in the order of the table."""
    missing = None if hasattr(hookbus, "hookspec") else "not there yet"
    for colour in ("sync", "async"):
        key = f"P5 {colour}"
        yield Row(key, "firstresult of 10 / loop by hand", partial(first_of_ten, colour), LIMITS[key], missing)
    yield Row("P6", "10 async observers / asyncio.gather", partial(side_by_side, False), LIMITS["P6"])
    yield Row("P6 waiting", "the same, each waits once", partial(side_by_side, True))
    for colour in ("sync", "async"):
        yield Row(f"P7 {colour}", "1 MB nested argument / small one", partial(large_and_small, colour), LIMITS[f"P7 {colour}"])
    yield Row("P8", "100 overlapping calls, 1 + 1 / bare", overlapping, LIMITS["P8"])
    for colour, number in (("sync", 100), ("sync", 1_000), ("sync", 10_000), ("async", 10_000)):
        key = f"P10 {colour}, {number:,}"
        yield Row(key, f"{number:,} receivers / loop by hand", partial(very_many, colour, number), LIMITS[key])


# -- a question --------------------------------------------------------------------------------------------------------


def first_of_ten(colour: Colour) -> dict[str, Case]:
    receivers = [_answering(colour, last=place == 9) for place in range(10)]
    case = partial(_question, colour, Expect(10, "session hi"), receivers)
    cases = {"by hand": case(first_answer(colour, receivers)), "hookbus": case(_spec(colour, receivers))}
    if colour == "sync":  # neither awaits one answer before it asks for the next
        signal, hook = signal_of([_for_blinker(last=place == 9) for place in range(10)]), manager(resolve_session=receivers)
        cases["blinker"] = case(lambda message: next(v for _, v in signal.send(None, message=message) if v is not None))
        cases["blinker"] = replace(cases["blinker"], counted=tuple(signal.receivers.values()))
        cases["pluggy"] = case(lambda message: hook.resolve_session(message=message))
    return cases


def _question(colour: Colour, expect: Expect, receivers: list[Function], ask: Function) -> Case:
    def many(n: int) -> None:
        for _ in repeat(None, n):
            ask("hi")

    async def amany(n: int) -> None:
        for _ in repeat(None, n):
            await ask("hi")

    async def once() -> Any:
        return await ask("hi")

    if colour == "sync":
        return Case(lambda: ask("hi"), fresh(many), expect, tuple(receivers))
    return Case(once, fresh(amany), expect, tuple(receivers))


def _answering(colour: Colour, last: bool) -> Function:
    def receiver(message: Any) -> Any:
        return "session " + message if last else None

    async def areceiver(message: Any) -> Any:
        return "session " + message if last else None

    return receiver if colour == "sync" else areceiver


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
    question.__name__ = f"resolve_session_{next(_numbers)}"  # a spec of its own on the default bus each time
    spec: Any = hookbus.hookspec(hookbus.modes.firstresult)(question)
    for receiver in receivers:
        spec.connect_via()(receiver)
    return spec  # type: ignore[no-any-return]


# -- side by side ------------------------------------------------------------------------------------------------------


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
        "hookbus": method(hooked("async", options={"role": "observe"}, pre=observers), expect, *observers),
        "blinker": method(observed_by_blinker(signal_of(observers), body), expect, *observers),
        "pluggy": method(observed_by_pluggy(manager(saw_reply=observers), body), expect, *observers),
    }


# -- a large argument against a small one ------------------------------------------------------------------------------


def payload() -> list[dict[str, Any]]:
    """Return about a megabyte of nested content blocks, as a conversation has them."""
    return [{"type": "text", "text": f"{place:0100}", "meta": {"tokens": [place, place + 1]}} for place in range(2_500)]


def large_and_small(colour: Colour) -> dict[str, Case]:
    pre, post, body = make_pre("sync"), make_post("sync"), BODY[colour]
    owners = {
        "hookbus": hooked(colour, pre=[pre], post=[post]),
        "by hand": looped(colour, "sync", [pre], [post], body),
        "blinker": by_blinker(colour, "sync", signal_of([pre]), signal_of([post]), body),
        "pluggy": by_pluggy(colour, "sync", manager(pre_reply=[pre], post_reply=[post]), body),
    }
    large, cases = payload(), {}
    for name, owner in owners.items():
        small_case = method(owner, Expect(2, RESULT), pre, post)
        large_case = method(owner, Expect(2, {**RESULT, "msg": large}), pre, post, args=(large, 0.7))
        cases |= {f"{name}, small": small_case, name: replace(large_case, against=f"{name}, small")}
    return cases


# -- overlapping calls -------------------------------------------------------------------------------------------------


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
        "by hand": _hundred(Waiting(), 0, pre, post),
        "hookbus": _hundred(Hooked(), 200, pre, post),
        "loop": _hundred(looped("async", "sync", [pre], [post], waiting), 200, pre, post),
        "blinker": _hundred(by_blinker("async", "sync", signal_of([pre]), signal_of([post]), waiting), 200, pre, post),
        "pluggy": _hundred(by_pluggy("async", "sync", manager(pre_reply=[pre], post_reply=[post]), waiting), 200, pre, post),
    }


def _hundred(owner: Any, runs: int, *counted: Function) -> Case:
    async def once() -> Any:
        return await asyncio.gather(*(owner.reply(number, 0.7) for number in range(100)))

    async def many(n: int) -> None:
        for _ in repeat(None, n):
            await asyncio.gather(*(owner.reply(number, 0.7) for number in range(100)))

    expect = Expect(runs, [{"msg": number, "temperature": 0.7} for number in range(100)])
    return Case(once, fresh(many), expect, counted, unit=100)


# -- very many receivers -----------------------------------------------------------------------------------------------


def very_many(colour: Colour, number: int) -> dict[str, Case]:
    pres, body, expect = [make_pre("sync") for _ in range(number)], BODY[colour], Expect(number, RESULT)
    case: Callable[[Any], Case] = lambda owner: method(owner, expect, pres[0])  # they share their code  # noqa: E731
    return {
        "by hand": case(looped(colour, "sync", pres, [], body)),
        "hookbus": case(hooked(colour, pre=pres)),
        "blinker": case(by_blinker(colour, "sync", signal_of(pres), signal_of([]), body)),
        "pluggy": case(by_pluggy(colour, "sync", manager(pre_reply=pres), body)),
    }
