"""Where in a text secrets and personal data stand, as they are or in an encoding."""

from __future__ import annotations

import base64
import html
import quopri
import re
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from .. import HookError
from ._plugged import library

SECONDS: Final = 1.0
"""For so long one pattern may look at one text."""

_LIBRARY: Final = (
    "artifactory aws azure_storage_key basic_auth cloudant discord github_token gitlab_token "
    "ibm_cloud_iam ibm_cos_hmac mailchimp openai private_key pypi_token sendgrid slack "
    "softlayer square_oauth stripe telegram_token twilio"
)
"""The plugins of detect-secrets that know a form: none that guesses by entropy or keyword."""

_KEY: Final = r"[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_SECRETS: Final = (
    # A key with all of its lines, where the library knows the first one.
    rf"-----BEGIN {_KEY}[\s\S]*?(?:-----END {_KEY}|\Z)",
    r"PuTTY-User-Key-File-[\s\S]*",
    # A token with its signature, which the library's pattern leaves.
    r"eyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)*",
    # The library's goes from any two slashes to the end of the line.
    r"//[^\s/]+(?:/[^\s/]+)*/:_authToken=\s*\S+",
    # Forms that are newer than the library's.
    r"\bsk-[A-Za-z0-9_-]{20,}",
    r"\bgithub_pat_\w{22,}",
    r"\bAIza[\w-]{35}",
    r"(?i:\bbearer\s+[\w.~+/-]{16,}=*)",
)
_EMAIL: Final = r"(?<![\w.+-])[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(?:\.[\w-]+)+"
_CARD: Final = r"(?<![\w])[2-6](?:[ .\u00a0-]?\d){12,18}"
_IBAN: Final = r"(?i:(?<![\w])[a-z]{2}\d\d(?:[ \u00a0-]?[a-z0-9]){11,30})"


class Finding(NamedTuple):
    """A place in a text, and what stands there."""

    start: int
    end: int
    kind: str


class Finder:
    """Knows the forms of what is looked for.

    Args:
        secrets: whether it looks for keys and tokens.
        personal: whether it looks for cards, IBANs and e-mail addresses.
        patterns: further regular expressions.

    Raises:
        HookError: for a pattern that is none, or if there is nothing to look for.
    """

    def __init__(self, secrets: bool, personal: bool, patterns: Iterable[str]) -> None:
        regex = library("regex", "redact")
        forms = [("private", each) for each in patterns]
        forms += [("secret", each) for each in (*_library(), *_SECRETS) if secrets]
        self._checks: dict[str, Callable[[str], bool]] = {}
        if personal:
            forms += [("email", _EMAIL), ("card", _CARD), ("iban", _IBAN)]
            self._checks["card"] = library("stdnum.luhn", "redact").is_valid
            self._checks["iban"] = library("stdnum.iban", "redact").is_valid
        if not forms:
            raise HookError("redact() looks for nothing: say secrets=, personal= or patterns=")
        self._forms: list[tuple[str, Any]] = []
        for kind, form in forms:
            try:
                self._forms.append((kind, regex.compile(form)))
            except (regex.error, TypeError) as error:
                raise HookError(f"patterns: {form!r:.60} is no pattern: {error}") from None
        # Matches nothing, but says from where on a text that goes on could match.
        self._open = regex.compile("(?:" + "|".join(f"(?:{form})" for _, form in forms) + ")(*F)")

    def of(self, text: str, start: int = 0, depth: int = 2) -> list[Finding]:
        """Return what stands in a text from a place on, in its order, none within another.

        Raises:
            TimeoutError: if a pattern takes too long.
        """
        found = []
        for kind, form in self._forms:
            check = self._checks.get(kind)
            for match in form.finditer(text, start, overlapped=bool(check), timeout=SECONDS):
                spans = [match.span()] if check is None else _proved(match, check)
                found += [Finding(a, b, kind) for a, b in spans if a < b]
        for run, decoded in _views(text, start) if depth else ():
            if inner := self.of(decoded, depth=depth - 1):
                found.append(Finding(*run, inner[0].kind))
        return list(_merged(found))

    def open_from(self, text: str, start: int) -> int:
        """Return from where on a text could be a part of what is looked for, if it goes on."""
        match = self._open.search(text, start, partial=True, timeout=SECONDS)
        from_here = len(text) if match is None else match.start()
        # An encoding has no form to go by; it is one word.
        words = [word.span() for word in re.finditer(WORD, text[start:])]
        is_open = bool(words) and start + words[-1][1] == len(text)
        return min(from_here, start + words[-1][0]) if is_open else from_here


def _library() -> Iterator[str]:
    library("detect_secrets", "redact")
    for name in _LIBRARY.split():
        module = import_module(f"detect_secrets.plugins.{name}")
        lists = [getattr(each, "denylist", None) for each in vars(module).values()]
        for form in (form for each in lists if isinstance(each, (list, tuple)) for form in each):
            flags = "i" * bool(form.flags & re.IGNORECASE) + "m" * bool(form.flags & re.MULTILINE)
            yield f"(?{flags}:{form.pattern})" if flags else form.pattern


def _proved(match: Any, is_valid: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    """Yield the longest beginning of a run of letters and digits that a checksum proves."""
    text = match.string
    signs = [i for i in range(*match.span()) if text[i].isalnum()]
    for count in range(len(signs), 12, -1):
        end = signs[count - 1] + 1
        is_whole = end == len(text) or not text[end].isalnum()
        if is_whole and is_valid("".join(text[i] for i in signs[:count])):
            yield match.start(), end
            return


def _merged(found: list[Finding]) -> Iterator[Finding]:
    last: Finding | None = None
    for each in sorted(found, key=lambda finding: (finding.start, -finding.end)):
        if last is None or each.start >= last.end:
            if last is not None:
                yield last
            last = each
        elif each.end > last.end:
            last = last._replace(end=each.end)
    if last is not None:
        yield last


# -- encodings -------------------------------------------------------------------------------------

WORD: Final = r"(?:[^\s=]|=(?:\r?\n)?)+"
"""What has no space in it, but for the line ends that quoted-printable takes out again."""

_RUN: Final = r"[A-Za-z0-9+/_-]{12,}={0,6}"


def _views(text: str, start: int) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield what parts of a text say when they are decoded, and where they stand."""
    for word in re.finditer(WORD, text[start:]):
        for decode in _of_word(word[0]):
            if decoded := _plain(decode, word[0]):
                yield (start + word.start(), start + word.end()), decoded
        for run in re.finditer(_RUN, word[0]):
            for decode in (_base64, _base32, bytes.fromhex):
                if decoded := _plain(decode, run[0]):
                    at = start + word.start()
                    yield (at + run.start(), at + run.end()), decoded


def _of_word(word: str) -> Iterator[Callable[[str], str | bytes]]:
    if "%" in word:
        yield unquote
    if "&" in word:
        yield html.unescape
    if "\\" in word:
        yield lambda word: re.sub(_ESCAPED, lambda escaped: _sign(escaped[0][1:]), word)
    if "=" in word:
        yield quopri.decodestring
    if "+" in word:
        yield lambda word: word.encode("ascii").decode("utf-7")
    if len(word) >= 12:
        yield base64.b85decode
        yield lambda word: base64.a85decode(word, adobe=word.startswith("<~"))


_ESCAPED: Final = r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U000[0-9A-Fa-f]{5}|[0-7]{1,3})"


def _sign(number: str) -> str:
    return chr(int(number, 8) if number[0] in "01234567" else int(number[1:], 16))


def _base64(run: str) -> bytes:
    text = run.replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(text + "=" * (-len(text) % 4))


def _base32(run: str) -> bytes:
    text = run.upper().rstrip("=")
    return base64.b32decode(text + "=" * (-len(text) % 8))


def _plain(decode: Callable[[str], str | bytes], run: str) -> str | None:
    """Return what a run says in an encoding, if that is text, and another one."""
    try:
        decoded = decode(run)
    except ValueError:
        return None
    text = decoded if isinstance(decoded, str) else decoded.decode("latin-1").replace("\0", "")
    is_text = all(each.isprintable() or each.isspace() for each in text)
    return text if is_text and text != run else None
