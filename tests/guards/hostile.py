"""Texts written to be slow or to evade a guard, and ordinary texts of the same size."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from typing import Any

Make = Callable[[int], Any]
"""Makes a text, or a value with texts, of about so many characters."""


def _repeated(unit: str, before: str = "", after: str = "") -> Make:
    return lambda size: before + unit * ((size - len(before + after)) // len(unit) + 1) + after


def _encoded(encode: Callable[[bytes], bytes], times: int, text: str) -> Make:
    def make(size: int) -> str:
        made = (text * (size // len(text) + 1))[:size].encode()
        for _ in range(times):
            made = encode(made)
        return made[:size].decode()

    return make


def _nested_json(size: int) -> Any:
    value: Any = "a"
    for _ in range(49):
        value = [value, "b" * (size // 49)]
    return value


HOSTILE: dict[str, Make] = {
    # Markdown
    "hashes": _repeated("#"),
    "hashes and spaces": _repeated("# "),
    "stars": _repeated("*"),
    "underscores": _repeated("_"),
    "opened links": _repeated("["),
    "opened brackets": _repeated("[("),
    "quotes": _repeated("> "),
    "ticks": _repeated("`"),
    "empty lines": _repeated("\n \t\n"),
    "announcements": _repeated("TODO:"),
    "announcements in paragraphs": _repeated("TODO:\n\n"),
    "half an announcement": _repeated("ignore a b c "),
    "an announcement with a gap": _repeated(" ", "ignore", "previous"),
    "shouts": _repeated("!", "important "),
    "fake turns": _repeated("###[system"),
    # HTML
    "opened tags": _repeated("<a>"),
    "a tag without end": _repeated("b", "<a"),
    "tags without end": _repeated("<a "),
    "closed tags": _repeated("</a>"),
    "blocks": _repeated("<x></x>"),
    "angles": _repeated("<"),
    "entities": _repeated("&#52;"),
    "entities without end": _repeated("&ampamp"),
    "ampersands": _repeated("&"),
    # encodings
    "base64 of a text": _encoded(base64.b64encode, 1, "hello there, "),
    "base64 twice": _encoded(base64.b64encode, 2, "hello there, "),
    "base64 three times": _encoded(base64.b64encode, 3, "hello there, "),
    "base64 of cards that are none": _encoded(base64.b64encode, 1, "4111 1111 1111 1112 "),
    "base32 of base64": _encoded(lambda b: base64.b32encode(base64.b64encode(b)), 1, "hello you "),
    "hex of hex": _encoded(lambda b: b.hex().encode(), 2, "a1"),
    "base85 of ascii85": _encoded(lambda b: base64.b85encode(base64.a85encode(b)), 1, "hello "),
    "ascii85 of zeros": _repeated("z"),
    "percent": _repeated("%34"),
    "percents": _repeated("%"),
    "escapes": _repeated("\\u0034"),
    "backslashes": _repeated("\\"),
    "quoted-printable": _repeated("=34"),
    "soft line ends": _repeated("a=\n"),
    "utf-7": _repeated("+ADQ-"),
    "base64 in lines": lambda size: base64.encodebytes(b"hello there, " * (size // 18)).decode(),
    "lines of letters": _repeated("A" * 20 + "\n"),
    "short words in base64": _repeated("aGVsbG8gdGhlcmU= "),
    # JSON
    "minified": lambda size: json.dumps([{"a": 1, "b": "c"}] * (size // 17), separators=(",", ":")),
    "opened lists": _repeated("["),
    "numbers": lambda size: json.dumps([123] * (size // 4), separators=(",", ":")),
    "escaped quotes": _repeated('\\"'),
    "many texts": lambda size: ["a@b"] * 10 + [f"a{i}@" for i in range(size // 8)],
    "many keys": lambda size: {f"key {i}": "x=" for i in range(size // 12)},
    "deep": _nested_json,
    # forms
    "locals of addresses": _repeated("a.b+c"),
    "signs of locals": _repeated("!#$%"),
    "at signs": _repeated("a@"),
    "hosts": _repeated("b-", "a@"),
    "cards that are none": _repeated("4 "),
    "cards in a row": _repeated("4111111111111111 "),
    "IBANs that are none": _repeated("AB12 "),
    "users of URLs": _repeated("://a:b"),
    "slashes": _repeated("//a/"),
    "begun keys": _repeated("-----BEGIN PRIVATE KEY-----"),
    "a key without end": _repeated("A", "-----BEGIN A", " "),
    "aws": _repeated("aws key "),
    "bearers": _repeated("bearer "),
    "tokens": _repeated("eyJaaaaaa."),
    "openai": _repeated("sk-aaaaaaaaaaaaaaaaaaaaaaa"),
    # Unicode
    "wide letters": _repeated("\uff21"),
    "unseen signs": _repeated("\u200b"),
    "tags": _repeated("\U000e0041"),
    "wide digits": _repeated("\uff14"),
    "marks": _repeated("\u0301", "e"),
    "dashes": _repeated("\u2011"),
    "ligatures": _repeated("\ufdfa"),
    "halves of pairs": _repeated("\ud800"),
    "half an address": _repeated("\u00e9.", "", "@"),
}


def _prose(size: int) -> str:
    draw = random.Random(7)
    words = "the report of that meeting says we need more time before anyone can decide it".split()
    text = " ".join(draw.choice(words) for _ in range(size // 5))
    return text[:size].replace(" it ", " it.\n\n")


def _rows(size: int) -> list[dict[str, Any]]:
    draw = random.Random(8)
    return [
        {"id": i, "name": _prose(12), "sum": draw.randrange(10**6), "when": "2026-11-24T05:00:00Z"}
        for i in range(size // 60)
    ]


def _numbers(size: int) -> str:
    draw = random.Random(9)
    return "\n".join(
        "\t".join(str(draw.randrange(10**5)) for _ in range(8)) for _ in range(size // 48)
    )


BENIGN: dict[str, Make] = {
    "prose": _prose,
    "rows of a table": _rows,
    "rows as JSON": lambda size: json.dumps(_rows(size * 3 // 5), indent=1),
    "rows as minified JSON": lambda size: json.dumps(_rows(size * 3 // 4), separators=(",", ":")),
    "a table of numbers": _numbers,
    "HTML": _repeated('<li class="row"><a href="https://example.com/a?b=c">One of them</a></li>\n'),
    "code": _repeated("    def total(self, rows):\n        return sum(row.sum for row in rows)\n"),
    "a picture in base64": lambda size: base64.b64encode(
        random.Random(1).randbytes(size * 3 // 4)
    ).decode(),
    "an attachment": lambda size: base64.encodebytes(
        random.Random(2).randbytes(size * 3 // 4)
    ).decode(),
    "small mappings": lambda size: [{"f": f"{i}.txt"} for i in range(size // 13)],
    "Chinese": _repeated("今天天气很好，我们去公园散步。"),
    "German": _repeated("Der Bericht über die Sitzung liegt für Sie bereit. "),
}
