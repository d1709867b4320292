"""Random values that must not leak, and the encodings in which a tool may return them."""

import base64
import html
import quopri
import random
import string
from urllib.parse import quote

from stdnum import iban, luhn

LETTERS = string.ascii_letters + string.digits


def _letters(draw, count, among=LETTERS):
    return "".join(draw.choice(among) for _ in range(count))


def _spaced(draw, text, sign):
    return sign.join(text[i : i + 4] for i in range(0, len(text), 4))


def _card(draw):
    digits = draw.choice("3456") + _letters(draw, draw.choice((13, 14, 15)), string.digits)
    digits += luhn.calc_check_digit(digits)
    return _spaced(draw, digits, draw.choice(("", " ", "-", ".")))


def _iban(draw):
    bban = draw.choice(("37040044", "50010517", "10010010")) + _letters(draw, 10, string.digits)
    number = f"DE{iban.calc_check_digits('DE00' + bban)}{bban}"
    return _spaced(draw, number, draw.choice(("", " ")))


def _private_key(draw):
    lines = "\n".join(_letters(draw, 64) for _ in range(draw.randint(3, 12)))
    kind = draw.choice(("RSA ", "EC ", "", "OPENSSH "))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{lines}\n-----END {kind}PRIVATE KEY-----"


KINDS = {
    "card": _card,
    "iban": _iban,
    "email": lambda draw: f"{_letters(draw, 8)}.{_letters(draw, 4)}@{_letters(draw, 6)}.test",
    "aws": lambda draw: "AKIA" + _letters(draw, 16, string.ascii_uppercase + string.digits),
    "github": lambda draw: "ghp_" + _letters(draw, 36),
    "gitlab": lambda draw: "glpat-" + _letters(draw, 24),
    "stripe": lambda draw: "sk_live_" + _letters(draw, 24),
    "openai": lambda draw: "sk-proj-" + _letters(draw, 40),
    "slack": lambda draw: f"xoxb-{_letters(draw, 11, string.digits)}-{_letters(draw, 24)}",
    "sendgrid": lambda draw: f"SG.{_letters(draw, 22)}.{_letters(draw, 43)}",
    "jwt": lambda draw: f"eyJ{_letters(draw, 20)}.eyJ{_letters(draw, 40)}.{_letters(draw, 43)}",
    "url": lambda draw: f"postgres://app:{_letters(draw, 16)}@db.example.com/main",
    "bearer": lambda draw: f"Authorization: Bearer {_letters(draw, 32)}",
    "key": _private_key,
}  # fmt: skip


def core(kind, secret):
    """Return the part of a canary that nothing may hold, whatever stands around it."""
    if kind == "url":
        return secret.split(":")[2].split("@")[0]
    return secret.split()[-1] if kind == "bearer" else secret


def _a85(secret):
    return base64.a85encode(secret.encode()).decode()


# One word each, or nothing could say where an encoding ends.
TEXT = {
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "urlsafe base64": lambda s: base64.urlsafe_b64encode(s.encode()).decode().rstrip("="),
    "base64 twice": lambda s: base64.b64encode(base64.b64encode(s.encode())).decode(),
    "base32": lambda s: base64.b32encode(s.encode()).decode(),
    "base16": lambda s: base64.b16encode(s.encode()).decode(),
    "hex": lambda s: s.encode().hex(),
    "base85": lambda s: base64.b85encode(s.encode()).decode(),
    "ascii85": _a85,
    "quoted-printable": lambda s: "".join(f"={ord(each):02X}" for each in s),
    "quopri": lambda s: quopri.encodestring(s.encode(), quotetabs=True).decode(),
    "percent": lambda s: "".join(f"%{ord(each):02x}" for each in s),
    "urllib quote": lambda s: quote(s, safe=""),
    "html decimal": lambda s: "".join(f"&#{ord(each)};" for each in s),
    "html hexadecimal": lambda s: "".join(f"&#x{ord(each):x};" for each in s),
    "html.escape": lambda s: html.escape(s).replace(" ", "&#32;").replace("\n", "&#10;"),
    "unicode_escape": lambda s: "".join(f"\\u{ord(each):04x}" for each in s),
    "\\x": lambda s: "".join(f"\\x{ord(each):02x}" for each in s),
    "octal": lambda s: "".join(f"\\{ord(each):03o}" for each in s),
    "utf-7": lambda s: s.encode("utf-7").decode().replace(" ", "+ACA-").replace("\n", "+AAo-"),
}  # fmt: skip
BYTES = (
    "ascii utf-8 utf-8-sig utf-16 utf-16-le utf-16-be utf-32 utf-32-le utf-32-be latin-1 cp1252 "
    "cp437 mac-roman koi8-r gb18030 big5 shift-jis euc-jp euc-kr iso8859-15"
).split()


def canaries(count, seed):
    """Yield so many kinds and values, the same for the same seed."""
    draw = random.Random(seed)
    kinds = list(KINDS)
    for i in range(count):
        kind = kinds[i % len(kinds)]
        yield kind, KINDS[kind](draw)
