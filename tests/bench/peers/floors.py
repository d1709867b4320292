"""The handwritten code for the measurement of each peer, by row."""

from __future__ import annotations

from tests.bench.calls import method
from tests.bench.hand import unrolled, unrolled_five
from tests.bench.hand_nested import nested_five
from tests.bench.harness import Case, Expect
from tests.bench.parts import (
    BARE,
    BODY,
    CHANGED,
    RESULT,
    Colour,
    five_of,
    make_around,
    make_post,
    make_pre,
)


def bare(colour: Colour) -> Case:
    return method(BARE[colour](), Expect(0, RESULT))


def one_and_one(colour: Colour, of: Colour) -> Case:
    pre, post = make_pre(of), make_post(of)
    return method(unrolled(colour, of, pre, post, BODY[colour]), Expect(2, RESULT), pre, post)


def five_and_five(colour: Colour, of: Colour) -> Case:
    pres, posts = five_of(make_pre, of), five_of(make_post, of)
    return method(
        unrolled_five(colour, of, pres, posts, BODY[colour]), Expect(10, CHANGED), *pres, *posts
    )


def five_deep(colour: Colour) -> Case:
    arounds = [make_around(colour) for _ in range(5)]
    return method(nested_five(colour, arounds, BODY[colour]), Expect(5, RESULT), *arounds)
