"""guards.redact: secrets and personal data stay out of arguments, results, streams, exceptions."""

import asyncio
import base64
import dataclasses
import enum
import functools
import itertools
import os
import random
import re
from collections import UserList, deque
from decimal import Decimal
from pathlib import PurePosixPath
from types import SimpleNamespace

import attrs
import pydantic.v1
import pytest
from pydantic import BaseModel, PrivateAttr

from hookbus import Bus, HookBlocked, HookError, Replace, baggage, hookable, report
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
    bus.register(redact())
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
    bus.register(guard)

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
    bus.register(guard)

    @hookable("model_stream", bus=bus)
    def stream():
        yield from pieces

    for _, secret in canaries(14, seed=6):
        text = f"It is {secret[:300]} and more of it"
        for pieces[:] in (list(text), *([text[:i], text[i:]] for i in range(len(text)))):
            assert "".join(stream()) == guard.text(text), pieces


def test_words_that_are_nothing_leave_a_stream_at_once():
    bus, seen = Bus(), []
    bus.register(redact(hook="model_stream"))

    @hookable("model_stream", bus=bus)
    def stream():
        for word in "The weather in Paris is nice today ".split(" "):
            yield word + " "
            seen.append(word)

    late = [len(seen) - i for i, _ in enumerate(stream())]
    assert max(late) <= 2


def test_a_stream_that_might_be_one_secret_without_end_ends():
    bus = Bus()
    bus.register(redact(hook="model_stream"))

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
    bus.register(redact(hook="model_stream"))

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

    bus.register(redact())
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


@dataclasses.dataclass
class PostInit:
    number: str

    def __post_init__(self):
        self.shown = f"card {self.number}"


@attrs.define
class Slotted:
    number: str
    shown: str = attrs.field(init=False)

    def __attrs_post_init__(self):
        self.shown = f"card {self.number}"

    @functools.cached_property
    def again(self):
        return [self.number]


@dataclasses.dataclass
class Cached:
    number: str

    @functools.cached_property
    def shown(self):
        return f"card {self.number}"


class CachedModel(BaseModel):
    number: str
    _kept: str = PrivateAttr(default="")

    def model_post_init(self, context):
        self._kept = self.number

    @functools.cached_property
    def shown(self):
        return f"card {self.number}"


@pytest.mark.parametrize("kind", [PostInit, Slotted, Cached, CachedModel])
def test_what_an_object_keeps_besides_its_fields_is_redacted_in_a_copy(call, bus, kind):
    bus.register(redact())
    call.result = kind(number=CARD)
    values = [getattr(call.result, name, None) for name in ("shown", "again", "_kept")]
    got = call("read")
    assert got.number == "<card>" and got.shown == "card <card>"
    for name in ("again", "_kept"):
        assert CARD not in str(getattr(got, name, None))
    assert [getattr(call.result, name, None) for name in ("shown", "again", "_kept")] == values


def test_a_slot_of_a_property_that_was_not_asked_for_stays_empty(call, bus):
    asked = []

    @attrs.define
    class Slow:
        number: str

        @functools.cached_property
        def slow(self):
            asked.append(1)
            return self.number

    bus.register(redact())
    call.result = Slow(CARD)
    got = call("read")
    assert asked == [] and got.slow == "<card>"


@pytest.mark.parametrize(
    "sign",
    [" ", ".", "-", *"\u00a0\u00ad\u2002\u2007\u200b\u2009\u2010\u2011\u2012\u2013\u2014\u2015"
     "\u202f\u2060\u2212\u3000\ufe63\ufeff\uff0d\uff0e"],
)  # fmt: skip
@pytest.mark.parametrize("zero", "0\u0660\u0966\uff10\U0001d7ce")
def test_a_card_is_found_whatever_signs_stand_in_it_and_whatever_its_digits(guard, sign, zero):
    digits = "".join(chr(ord(zero) + int(each)) for each in CARD.replace(" ", ""))
    card = sign.join(digits[i : i + 4] for i in range(0, 16, 4))
    assert guard.text(f"\u00e9\u200b, {card}\u200b; \u2011") == "\u00e9\u200b, <card>\u200b; \u2011"


@pytest.mark.parametrize(
    "secret",
    ["ada\uff20example.com", "GB82\u2013WEST\u20131234\u20135698\u20137654\u201332",
     "AKIA\u200bIOSFODNN7EXAMPLE", "\uff21KIAIOSFODNN7EXAMPLE"],
)  # fmt: skip
def test_other_forms_in_letters_that_only_look_alike_are_found(guard, secret):
    assert secret not in guard.text(f"say {secret} now")
    assert guard.text(f"say {secret} now").endswith("> now")


def test_what_is_lazy_is_redacted_as_it_is_read(call, bus):
    bus.register(redact())

    async def texts():
        yield CARD[:9]
        yield CARD[9:]

    async def read(made):
        return "".join([item async for item in made])

    pieces = ["a ", CARD[:9], CARD[9:], " b"]
    for call.result in (
        (each for each in pieces), map(str, pieces), iter(pieces), itertools.chain(pieces),
    ):  # fmt: skip
        assert "".join(call("read")) == "a <card> b"
    call.result = texts()
    assert asyncio.run(read(call("read"))) == "<card>"


def test_many_texts_become_what_each_would_alone(guard):
    key = "-----BEGIN PRIVATE KEY-----"
    texts = [*(secret for _, secret in canaries(60, seed=9)), key, "x", *TEXT, "a=", "", CARD, key]
    draw = random.Random(9)
    bus, result = Bus(), []

    @hookable("tool_call", bus=bus)
    def tool_call(name, arguments):
        return result

    bus.register(redact())
    for _ in range(20):
        draw.shuffle(texts)
        result[:] = texts
        assert tool_call("read", {}) == [guard.text(each) for each in texts]


def test_what_has_nothing_in_it_is_the_very_object(call, bus):
    bus.register(redact())
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
    bus.register(redact())
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

    bus.register(redact())
    call.result = Odd()
    with pytest.raises(HookError, match=r"^Odd \(its message was redacted\)$"):
        call("pay")


def test_a_tool_that_may_gets_the_value_back_in_its_session(call, bus):
    guard = redact(reversible=["pay*"])
    bus.register(guard)
    with baggage(session=1):
        call.result = {"card": CARD, "mail": "ada@example.com", "again": [CARD]}
        found = call("read")
        card, mail = found["card"], found["mail"]
        assert re.fullmatch("<card-[0-9a-f]{12}>", card) and re.fullmatch("<email-.{12}>", mail)
        assert found["again"] == [card] and guard.text(CARD, session=1) == card
        call.result = "done"
        call("pay_bill", text=f"use {card} or <card-9> <b> or {mail}", list=[card])
        call("send", text=f"use {card}")
    with baggage(session=2):
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
    bus.register(redact())
    with bus.signal("post_tool_call").connected_to(lambda sender, result: CARD):
        assert call("read") == "<card>"
    with bus.signal("pre_tool_call").connected_to(lambda sender: Replace(CARD)):
        assert call("read") == "<card>"
    with bus.signal("pre_tool_call").connected_to(lambda sender: {"arguments": {"a": CARD}}):
        call("read")
    assert call.made[-1] == ("read", {"a": "<card>"})


def test_own_patterns_alone(call, bus):
    bus.register(redact(secrets=False, personal=False, patterns=r"EMP-\d{4,}"))
    call.result = f"EMP-12345 has {CARD}"
    assert call("read") == f"<private> has {CARD}"


def test_a_pattern_that_takes_too_long_blocks(call, bus):
    bus.register(redact(secrets=False, personal=False, patterns=r"(?:a|a)*b(?:a|aa)*c(?:a|aa)*d"))
    call.result = "ab" + "a" * 60 + "c" + "a" * 60
    with pytest.raises(HookBlocked, match="TimeoutError"):
        call("read")


@pytest.mark.parametrize("deep", [100, 100_000])
def test_what_is_nested_too_deep_and_keys_that_would_be_one_block(call, bus, deep):
    bus.register(redact())
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
        ({"patterns": "("}, "is not a valid pattern"),
        ({"patterns": [3]}, "is not a valid pattern"),
        ({"secrets": False, "personal": False}, "has nothing to find"),
        ({"reversible": [""]}, "reversible="),
        ({"hook": "a b"}, "hook="),
    ],
)
def test_what_is_none_is_refused(options, words):
    with pytest.raises(HookError, match=words):
        redact(**options)


class Struct:
    """An object as libraries of structs make them."""

    __struct_fields__ = __slots__ = ("text",)

    def __init__(self, text):
        self.text = text


class Rows(list):
    pass


class OldModel(pydantic.v1.BaseModel):
    text: str


def with_text(value, text):
    value.text = text
    return value


HELD = {
    "a deque": (lambda text: deque([text], maxlen=3), lambda held: held[0]),
    "a namespace": (lambda text: SimpleNamespace(text=text), lambda held: held.text),
    "a struct": (Struct, lambda held: held.text),
    "an old model of pydantic": (lambda text: OldModel(text=text), lambda held: held.text),
    "a path": (PurePosixPath, str),
    "keys": (lambda text: {text: 1}.keys(), lambda held: next(iter(held))),
    "a list of one's own": (lambda text: UserList([text]), lambda held: held[0]),
    "an attribute of a list": (lambda text: with_text(Rows([1]), text), lambda held: held.text),
    "a buffer": (lambda text: memoryview(text.encode()), lambda held: bytes(held).decode()),
    "bytes behind others": (lambda text: b"\xff" + text.encode(),
                            lambda held: held[1:].decode()),
    "bytes of two each": (lambda text: text.encode("utf-16"),
                          lambda held: held.decode("ascii", "ignore")),
}  # fmt: skip


@pytest.mark.parametrize("make, read", HELD.values(), ids=HELD)
def test_a_text_is_redacted_in_what_holds_it_and_the_original_stays(call, bus, make, read):
    bus.register(redact())
    card, plain = make("4111 1111 1111 1111"), make("nothing here")
    call("send", card=card, plain=plain)
    sent = call.made[0][1]
    assert read(sent["card"]) == "<card>" and sent["plain"] is plain
    assert "4111" in repr(read(card)).replace("\\x00", "")


def test_a_number_of_a_card_is_redacted_whatever_class_it_has(call, bus):
    bus.register(redact())
    call("send", a=4111111111111111, b=Decimal("4111111111111111"), c="card_4111111111111111")
    assert call.made[0][1] == {"a": "<card>", "b": "<card>", "c": "card_<card>"}


@pytest.mark.parametrize("pad", range(40, 60))
def test_a_secret_over_two_lines_of_base64_is_found(pad):
    text = "x" * pad + " 4111 1111 1111 1111 " + "y " * 60
    written = base64.encodebytes(text.encode()).decode()
    assert redact().text(f"a mail:\n\n{written}\nbye").replace("\n", " ").split() == [
        "a", "mail:", "<card>", "bye",
    ]  # fmt: skip


class Opaque:
    pass


def test_what_it_cannot_look_into_is_reported_and_a_text_it_cannot_change_blocks(call, bus):
    bus.register(redact())
    call("send", connection=Opaque(), items=iter([1]), function=print)
    text = str(report(bus).findings)
    assert "objects of class Opaque were not checked" in text and "list_iterator" in text
    assert "builtin" not in text
    for value in (enum.Enum("Choice", {"A": "4111 1111 1111 1111"}).A,
                  ValueError("4111 1111 1111 1111")):  # fmt: skip
        with pytest.raises(HookBlocked):
            call("send", value=value)
    assert len(call.made) == 1
