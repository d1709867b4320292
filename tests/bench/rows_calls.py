"""P1 to P4, P12 and P13: one call with few receivers or none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from hookbus import Bus

from .agents import classic_wrapper, hooked, overriding
from .calls import method
from .hand import looped, unrolled, unrolled_five
from .hand_nested import decorated_five, nested_five, overridden, with_context
from .harness import Case, Expect, Row
from .limits import LIMITS
from .parts import (
    BARE,
    BODY,
    CHANGED,
    COLOURS,
    RESULT,
    Colour,
    five_of,
    make_around,
    make_post,
    make_pre,
)
from .rivals import by_blinker, by_pluggy, manager, pass_on, signal_of, wrapped_by_pluggy


def rows() -> Iterator[Row]:
    """Yield the rows, in the order of the table."""
    mixes: tuple[tuple[Colour, Colour], ...] = (
        ("sync", "sync"), ("async", "sync"), ("async", "async"),
    )  # fmt: skip
    for colour in COLOURS:
        yield _row(f"P1 {colour}", "idle / bare method", partial(idle, colour))
    for colour, of in mixes:
        yield _row(
            f"P2 {_mix(colour, of)}", "1 pre + 1 post / by hand", partial(one_and_one, colour, of)
        )
    for colour, of in mixes[:2]:
        yield _row(
            f"P2 {colour}, ctx", "1 pre + 1 post that ask for ctx / by hand",
            partial(asking_for_ctx, colour),
        )  # fmt: skip
    for colour, of in mixes:
        yield _row(
            f"P3 {_mix(colour, of)}", "5 pre + 5 post, 2 changing / by hand",
            partial(five_and_five, colour, of),
        )  # fmt: skip
    for colour in COLOURS:
        yield _row(f"P4 {colour}", "around, 5 deep / nested by hand", partial(five_deep, colour))
        key, title = f"P4 {colour}, decorators", "around, 5 deep / 5 decorators"
        yield _row(key, title, partial(five_decorators, colour))


def rows_of_classes() -> Iterator[Row]:
    for colour in COLOURS:
        yield _row(
            f"P12 {colour}", "receivers on another instance / bare", partial(on_another, colour)
        )
    for colour in COLOURS:
        yield _row(
            f"P13 {colour}", "override that calls super(), 1 + 1 / by hand",
            partial(calling_super, colour),
        )  # fmt: skip


def _row(key: str, title: str, cases: Any) -> Row:
    return Row(key, title, cases, LIMITS.get(key))


def _mix(colour: Colour, of: Colour) -> str:
    return f"{colour}, async receivers" if of == "async" else colour


def idle(colour: Colour) -> dict[str, Case]:
    body, expect = BODY[colour], Expect(0, RESULT)
    counted = make_pre("sync"), make_post("sync")
    return {
        "by hand": method(BARE[colour](), expect, *counted),
        "hookbus": method(hooked(colour), expect, *counted),
        "wrapper": method(classic_wrapper(colour, body), expect, *counted),
        "blinker": method(
            by_blinker(colour, "sync", signal_of(()), signal_of(()), body), expect, *counted
        ),
        "pluggy": method(by_pluggy(colour, "sync", manager(), body), expect, *counted),
    }


def one_and_one(colour: Colour, of: Colour) -> dict[str, Case]:
    pre, post, body, expect = make_pre(of), make_post(of), BODY[colour], Expect(2, RESULT)
    return {
        "by hand": method(unrolled(colour, of, pre, post, body), expect, pre, post),
        "hookbus": method(hooked(colour, pre=[pre], post=[post]), expect, pre, post),
        "loop": method(looped(colour, of, [pre], [post], body), expect, pre, post),
        "blinker": method(
            by_blinker(colour, of, signal_of([pre]), signal_of([post]), body), expect, pre, post
        ),
        "pluggy": method(
            by_pluggy(colour, of, manager(pre_reply=[pre], post_reply=[post]), body),
            expect,
            pre,
            post,
        ),
    }


def asking_for_ctx(colour: Colour) -> dict[str, Case]:
    def pre(agent: Any, ctx: Any) -> Any:
        return None

    def post(agent: Any, ctx: Any) -> Any:
        return None

    expect = Expect(2, RESULT)
    return {
        "by hand": method(with_context(colour, pre, post, BODY[colour]), expect, pre, post),
        "hookbus": method(hooked(colour, pre=[pre], post=[post]), expect, pre, post),
    }


def five_and_five(colour: Colour, of: Colour) -> dict[str, Case]:
    pres, posts, body = five_of(make_pre, of), five_of(make_post, of), BODY[colour]
    expect, counted = Expect(10, CHANGED), (*pres, *posts)
    return {
        "by hand": method(unrolled_five(colour, of, pres, posts, body), expect, *counted),
        "hookbus": method(hooked(colour, pre=pres, post=posts), expect, *counted),
        "loop": method(looped(colour, of, pres, posts, body), expect, *counted),
        "blinker": method(
            by_blinker(colour, of, signal_of(pres), signal_of(posts), body), expect, *counted
        ),
        "pluggy": method(
            by_pluggy(colour, of, manager(pre_reply=pres, post_reply=posts), body), expect, *counted
        ),
    }


def five_deep(colour: Colour) -> dict[str, Case]:
    arounds, body, expect = [make_around(colour) for _ in range(5)], BODY[colour], Expect(5, RESULT)
    cases = {
        "by hand": method(nested_five(colour, arounds, body), expect, *arounds),
        "hookbus": method(hooked(colour, around=arounds), expect, *arounds),
    }
    if colour == "sync":  # pluggy's wrappers cannot await, and blinker has none
        cases["pluggy"] = method(wrapped_by_pluggy(5, body), expect, pass_on)
    return cases


def five_decorators(colour: Colour) -> dict[str, Case]:
    arounds, expect = [make_around(colour) for _ in range(5)], Expect(5, RESULT)
    by_hand, wrapper = decorated_five(colour, BODY[colour])
    return {
        "by hand": method(by_hand, expect, wrapper),
        "hookbus": method(hooked(colour, around=arounds), expect, *arounds),
    }


def on_another(colour: Colour) -> dict[str, Case]:
    pre, post, body, expect = make_pre("sync"), make_post("sync"), BODY[colour], Expect(0, RESULT)
    bus = Bus()
    agent = hooked(colour, bus=bus)
    # kept alive, for connections hold their sender weakly
    other = type(agent).other = type(agent)()
    bus.signal("pre_reply").connect(pre, other)
    bus.signal("post_reply").connect(post, other)
    signals = signal_of([pre], other), signal_of([post], other)
    return {
        "by hand": method(BARE[colour](), expect, pre, post),
        "hookbus": method(agent, expect, pre, post),
        "blinker": method(by_blinker(colour, "sync", *signals, body), expect, pre, post),
    }


def calling_super(colour: Colour) -> dict[str, Case]:
    pre, post, expect = make_pre("sync"), make_post("sync"), Expect(2, RESULT)
    return {
        "by hand": method(overridden(colour, pre, post), expect, pre, post),
        "hookbus": method(overriding(colour, pre, post), expect, pre, post),
    }
