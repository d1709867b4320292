"""guards.redact: secrets and personal data stay out of arguments, results, streams, exceptions."""

import asyncio
import dataclasses
import os
import random
import re

import attrs
import pytest
from pydantic import BaseModel

from hookbus import Bus, HookBlocked, HookError, Replace, hookable, surrounding
from hookbus.guards import redact
from tests.guards.canaries import BYTES, KINDS, TEXT, canaries, core

COUNT = 100_000 if os.environ.get("HOOKBUS_LONG") else 700
CARD = "4111 1111 1111 1111"


@pytest.fixture(scope="module")
def guard():
    return redact()


def test_each_kind_is_found_and_what_stands_around_it_stays(guard):
    for kind, secret in canaries(COUNT, seed=1):
        said = guard.text(f"before, {secret} after")
        assert core(kind, secret) not in said, secret
        assert said.startswith("before, ") and said.endswith(" after"), secret


@pytest.mark.parametrize("encoding", TEXT)
def test_an_encoding_hides_nothing(guard, encoding):
    for kind, secret in canaries(max(28, COUNT // len(TEXT)), seed=2):
        hidden = TEXT[encoding](secret)
        assert hidden not in guard.text(f"it is: {hidden} indeed"), (kind, secret)


@pytest.mark.parametrize("encoding", BYTES)
def test_bytes_are_looked_into_whichever_encoding_they_are_in(call, bus, encoding):
    bus.plug(redact())
    for _, secret in canaries(14, seed=3):
        call.result = {"body": f"x {secret} y".encode(encoding)}
        said = call("read")["body"]
        assert secret.encode(encoding) not in said and core("", secret).encode() not in said


def split(draw, text):
    """Return a text in pieces."""
    cuts = sorted(draw.sample(range(len(text) + 1), draw.randint(1, min(12, len(text)))))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_nothing_that_is_split_over_the_items_of_a_stream_escapes(colour):
    bus, draw, pieces = Bus(), random.Random(4), []
    guard = redact(hook="model_stream")
    bus.plug(guard)

    @hookable("model_stream", bus=bus)
    def stream():
        yield from pieces

    @hookable("model_stream", bus=bus)
    async def stream_async():
        for piece in pieces:
            await asyncio.sleep(0)
            yield piece

    async def read():
        return [item async for item in stream_async()]

    for kind, secret in canaries(COUNT // 5, seed=5):
        hidden = draw.choice([str, *TEXT.values()])(secret)
        text = f"It is {hidden} and then {draw.choice(list(KINDS))}."
        pieces[:] = split(draw, text)
        items = asyncio.run(read()) if colour == "async" else list(stream())
        assert core(kind, secret) not in "".join(items), (pieces, items)
        assert hidden not in "".join(items), (pieces, items)
        assert "".join(items) == guard.text(text), (pieces, items)


def test_every_split_in_two_and_letter_by_letter():
    bus, pieces = Bus(), []
    guard = redact(hook="model_stream")
    bus.plug(guard)

    @hookable("model_stream", bus=bus)
    def stream():
        yield from pieces

    for _, secret in canaries(14, seed=6):
        text = f"It is {secret[:300]} and more of it"
        for pieces[:] in (list(text), *([text[:i], text[i:]] for i in range(len(text)))):
            assert "".join(stream()) == guard.text(text), pieces


def test_words_that_are_nothing_leave_a_stream_at_once():
    bus, seen = Bus(), []
    bus.plug(redact(hook="model_stream"))

    @hookable("model_stream", bus=bus)
    def stream():
        for word in "The weather in Paris is nice today ".split(" "):
            yield word + " "
            seen.append(word)

    late = [len(seen) - i for i, _ in enumerate(stream())]
    assert max(late) <= 2


def test_a_stream_that_might_be_one_secret_without_end_ends():
    bus = Bus()
    bus.plug(redact(hook="model_stream"))

    @hookable("model_stream", bus=bus)
    def stream():
        yield "before -----BEGIN PRIVATE KEY-----"
        while True:
            yield "ab c" * 1000

    got = []
    with pytest.raises(HookError, match="more than 16384 characters of a stream"):
        got.extend(stream())
    assert "".join(got) == "before "


def test_items_that_are_no_texts_are_redacted_each_for_itself_and_the_return_value_too():
    bus = Bus()
    bus.plug(redact(hook="model_stream"))

    @hookable("model_stream", bus=bus)
    def stream():
        yield {"text": CARD}
        yield 7
        return [CARD]

    def all_of():
        result = yield from stream()
        yield {"returned": result}

    assert list(all_of()) == [{"text": "<card>"}, 7, {"returned": ["<card>"]}]


def test_arguments_and_results_of_all_shapes(call, bus):
    class Model(BaseModel):
        number: str
        other: int = 1

    @dataclasses.dataclass(frozen=True)
    class Data:
        number: object

    @attrs.frozen
    class Attrs:
        number: object

    bus.plug(redact())
    call.result = {
        CARD: [CARD, (CARD, {CARD})], "model": Model(number=CARD), "data": Data([CARD]),
        "attrs": Attrs(CARD), "number": int(CARD.replace(" ", "")), "bytes": CARD.encode(),
    }  # fmt: skip
    before = repr(call.result)
    assert call("pay", to=[{"card": CARD, "fine": 7}]) == {
        "<card>": ["<card>", ("<card>", {"<card>"})], "model": Model(number="<card>"),
        "data": Data(["<card>"]), "attrs": Attrs("<card>"), "number": "<card>", "bytes": b"<card>",
    }  # fmt: skip
    assert repr(call.result) == before
    assert call.made == [("pay", {"to": [{"card": "<card>", "fine": 7}]})]


def test_what_has_nothing_in_it_is_the_very_object(call, bus):
    bus.plug(redact())
    call.result = {"a": [1, "two", (3,)], "b": 1_700_000_000_000}
    assert call("read") is call.result


@pytest.mark.parametrize(
    "fine",
    ["4111 1111 1111 1112", "GB82 WEST 1234 5698 7654 33", "me at example", "1700000000000",
     "a word-with-dashes_and_more", "2026-11-24T05:00:00.000000Z",
     "550e8400-e29b-41d4-a716-446655440000", "https://example.com/a?b=c&d=e",
     "100% of 50 & more", "C:\\users\\x", "x = y + z"],
)  # fmt: skip
def test_what_only_looks_like_it_stays(guard, fine):
    assert guard.text(f"say {fine} now") == f"say {fine} now"


def test_an_exception_loses_its_texts_and_keeps_its_type(call, bus):
    bus.plug(redact())
    call.result = ConnectionError(f"cannot pay with {CARD}", 7)
    call.result.__cause__ = ValueError(CARD)
    call.result.add_note(f"the card: {CARD}")
    with pytest.raises(ConnectionError, match="cannot pay with <card>") as error:
        call("pay")
    assert error.value.args[1] == 7 and str(error.value.__cause__) == "<card>"
    assert error.value.__notes__[0] == "the card: <card>"


def test_an_exception_that_keeps_its_text_elsewhere_is_replaced(call, bus):
    class Odd(Exception):
        def __str__(self):
            return CARD

    bus.plug(redact())
    call.result = Odd()
    with pytest.raises(HookError, match="^Odd, with a text that was redacted$"):
        call("pay")


def test_a_tool_that_may_gets_the_value_back_in_its_session(call, bus):
    guard = redact(reversible=["pay*"])
    bus.plug(guard)
    with surrounding(session=1):
        call.result = {"card": CARD, "mail": "ada@example.com", "again": [CARD]}
        found = call("read")
        card, mail = found["card"], found["mail"]
        assert re.fullmatch("<card-[0-9a-f]{12}>", card) and re.fullmatch("<email-.{12}>", mail)
        assert found["again"] == [card] and guard.text(CARD, session=1) == card
        call.result = "done"
        call("pay_bill", text=f"use {card} or <card-9> <b> or {mail}", list=[card])
        call("send", text=f"use {card}")
    with surrounding(session=2):
        call("pay_bill", text=card)
    given = [arguments for name, arguments in call.made[1:]]
    assert given == [
        {"text": f"use {CARD} or <card-9> <b> or ada@example.com", "list": [CARD]},
        {"text": f"use {card}"},
        {"text": card},
    ]


def test_a_token_of_a_session_that_is_forgotten_restores_nothing_that_came_later(bus):
    guard = redact(reversible="pay")
    first = guard.text(CARD, session="first")
    later = [guard.text("5500 0000 0000 0004", session=i) for i in range(1_001)]
    assert guard.text("5500 0000 0000 0004", session="first") not in (first, *later)
    assert guard.text(CARD, session="first") != first
    assert len({first, *later}) == 1_002


def test_what_others_replace_and_change_is_redacted_too(call, bus):
    bus.plug(redact())
    with bus.signal("post_tool_call").connected_to(lambda sender, result: CARD):
        assert call("read") == "<card>"
    with bus.signal("pre_tool_call").connected_to(lambda sender: Replace(CARD)):
        assert call("read") == "<card>"
    with bus.signal("pre_tool_call").connected_to(lambda sender: {"arguments": {"a": CARD}}):
        call("read")
    assert call.made[-1] == ("read", {"a": "<card>"})


def test_own_patterns_alone(call, bus):
    bus.plug(redact(secrets=False, personal=False, patterns=r"EMP-\d{4,}"))
    call.result = f"EMP-12345 has {CARD}"
    assert call("read") == f"<private> has {CARD}"


def test_a_pattern_that_takes_too_long_blocks(call, bus):
    bus.plug(redact(secrets=False, personal=False, patterns=r"(?:a|a)*b(?:a|aa)*c(?:a|aa)*d"))
    call.result = "ab" + "a" * 60 + "c" + "a" * 60
    with pytest.raises(HookBlocked, match="TimeoutError"):
        call("read")


@pytest.mark.parametrize("deep", [100, 100_000])
def test_what_is_nested_too_deep_and_keys_that_would_be_one_block(call, bus, deep):
    bus.plug(redact())
    nested = []
    for _ in range(deep):
        nested = [nested]
    for wrong in (nested, {CARD: 1, CARD.replace(" ", "-"): 2}):
        call.result = wrong
        with pytest.raises(HookBlocked):
            call("read")
        with pytest.raises(HookBlocked):
            call("read", x=wrong)
    assert len(call.made) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"patterns": "("}, "is no pattern"),
        ({"patterns": [3]}, "is no pattern"),
        ({"secrets": False, "personal": False}, "looks for nothing"),
        ({"reversible": [""]}, "reversible="),
        ({"hook": "a b"}, "hook="),
    ],
)
def test_what_is_none_is_refused(options, words):
    with pytest.raises(HookError, match=words):
        redact(**options)
