"""Random calls with secrets: in arguments, results, exceptions and reasons for a block."""

import os
import string
from functools import lru_cache

import pytest

from hookbus import Block, HookBlocked, baggage, hookable

CANARIES = 100_000 if os.environ.get("HOOKBUS_LONG") else 300
FORM = r"SECRET-\w{8}"


def called(bus, name="tool_call"):
    @hookable(name, bus=bus)
    def tool_call(name, arguments):
        return arguments

    return tool_call


@lru_cache(maxsize=1)
def hooked(bus):
    """Return hookables that give, raise and yield what they are given; of a bus once, which many of
    one name that wait for the collector make slow.
    """

    @hookable("raises", bus=bus)
    def raises(tool):
        raise LookupError(tool)

    @hookable("tokens", bus=bus)
    def tokens(pieces):
        yield from pieces()

    return called(bus), raises, tokens


def placed(draw, canary):
    """Return a value with a canary somewhere in it."""
    text = f"a {canary}, b"
    return draw.choice((
        text, [text], {"k": text}, {text: 1}, (1, {"x": [text]}), [[[{"y": text}]]], {text},
        text.encode(), bytearray(text.encode()), ValueError(text), type("Odd", (), {"x": text})(),
        Block(text), {"SECRET": text, canary: canary}, text * 3, "x" * 99_000 + text,
        "x" * 100_001 + text,
    ))  # fmt: skip


def canary_of(draw):
    return "SECRET-" + "".join(draw.choice(string.ascii_letters + string.digits) for _ in range(8))


def holds(canary, text):
    """Tell whether a text says a canary, or one of two pieces of it, in any case."""
    return "secret-" in (text := text.lower()) or canary[7:].lower() in text


class Tool:
    def __init__(self, name):
        self.name = name


WAYS = ("argument", "raised", "blocked", "failed", "changed", "label", "around", "stream")


def call_with(bus, draw, canary, way=None):
    """Have a call meet a canary in a way, which is drawn if it is not said."""
    value = placed(draw, canary)
    way = way or draw.choice(WAYS)
    tool_call, raises, tokens = hooked(bus)
    pre = bus.signal("pre_tool_call")

    def blocks(_):
        return Block(f"because {canary}", code=canary, details={"d": value, canary: 1})

    def fails(_):
        raise ValueError(f"key {canary}")

    def changes(_):
        return {"arguments": {"new": value}}

    roles = {"blocked": (blocks, "guard"), "failed": (fails, "guard"), "changed": (changes, None)}
    with baggage(user=value if way == "around" else "ada"):
        if way in roles:
            receiver, role = roles[way]
            with pre.connected_to(receiver, role=role) if role else pre.connected_to(receiver):
                with pytest.raises(HookBlocked) if role else baggage():
                    tool_call("t", {})
        elif way == "raised":
            with pytest.raises(LookupError):
                raises(value)
        elif way == "stream":
            at = draw.randrange(1, len(canary))
            with bus.signal("item_tokens").connected_to(lambda _, item: item.swapcase()):
                got = "".join(tokens(lambda: [canary[:at], canary[at:]]))
            assert got == canary.swapcase()
        else:
            name = f"pay {canary}" if way == "label" else "t"
            assert tool_call(name, value) is value  # the live value, untouched
