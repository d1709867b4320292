"""Finds secrets and personal data in a text, plain or encoded."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from itertools import accumulate
from typing import Any, Final, NamedTuple

from .. import HookError
from ._deadline import Deadline
from ._encoded import views
from ._folded import folded
from ._ready import library

_LIBRARY: Final = (
    "artifactory aws azure_storage_key basic_auth cloudant discord github_token gitlab_token "
    "ibm_cloud_iam ibm_cos_hmac mailchimp openai private_key pypi_token sendgrid slack "
    "softlayer square_oauth stripe telegram_token twilio"
)
"""The detect-secrets plugins that match a known format. None of these plugins uses entropy or
keywords."""

_KEY: Final = r"[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_SECRETS: Final = (
    # A key with all of its lines. The library matches only the first.
    rf"-----BEGIN {_KEY}[\s\S]*?(?:-----END {_KEY}|\Z)",
    r"PuTTY-User-Key-File-[\s\S]*",
    # A token with its signature, which the library's pattern leaves out.
    r"eyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)*",
    # The library's pattern matches from any two slashes to the end of the line.
    r"//[^\s/]+(?:/[^\s/]+)*/:_authToken=\s*\S+",
    # Forms that the library does not know yet.
    r"\bsk-[A-Za-z0-9_-]{20,}",
    r"\bgithub_pat_\w{22,}",
    r"\bAIza[\w-]{35}",
    r"(?i:\bbearer\s+[\w.~+/-]{16,}=*)",
)
_LOCAL: Final = r"[\w.!#$%&'*+/=?^`{|}~-]"
# A match can start only at the beginning of a run, so each run is scanned once.
_EMAIL: Final = rf"(?<!{_LOCAL}){_LOCAL}++@[\w-]+(?:\.[\w-]+)+"
# A number after an underscore is also found: `card_4111...`.
_CARD: Final = r"(?<![^\W_])[2-6](?:[ .-]?\d){12,18}"
_IBAN: Final = r"(?<![^\W_])[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]){11,30}"


SEPARATOR: Final = "\n\0\n"
"""Separates texts that are scanned together. Only patterns without an end marker can match across
this separator.
"""

TOGETHER: Final = 50_000
"""The maximum total length of short texts that are scanned together."""


class Finding(NamedTuple):
    """The position and the kind of a match."""

    start: int
    end: int
    kind: str


class Finder:
    """Finds secrets and personal data by pattern.

    Args:
        secrets: whether to find keys and tokens.
        personal: whether to find card numbers, IBANs and e-mail addresses.
        patterns: additional regular expressions.

    Attributes:
        has_patterns: whether there are additional patterns.

    Raises:
        HookError: for an invalid pattern, or if no option selects anything to find.
    """

    def __init__(self, secrets: bool, personal: bool, patterns: Iterable[str]) -> None:
        regex = library("regex", "redact")
        private_forms = [("private", each) for each in patterns]
        forms = [("secret", each) for each in (*_library(), *_SECRETS) if secrets]
        self._checks: dict[str, Callable[[str], bool]] = {}
        if personal:
            forms += [("email", _EMAIL), ("card", _CARD), ("iban", _IBAN)]
            is_iban = library("stdnum.iban", "redact").is_valid
            self._checks = {"card": _is_card, "iban": lambda each: _is_97(each) and is_iban(each)}
        if not (private_forms or forms):
            raise HookError("redact() has nothing to find: set secrets=, personal= or patterns=")
        self._given = _Forms(regex, private_forms)
        self._forms = _Forms(regex, forms)
        self.has_patterns = bool(private_forms)

    def of(
        self, text: str, deadline: Deadline, start: int = 0, *, depth: int = 2,
        is_split: bool = False,
    ) -> list[Finding]:  # fmt: skip
        """Return the matches in a text after a start position, in order and without overlaps.

        Args:
            text: the text to scan.
            deadline: the time limit.
            start: the position to start at.
            depth: the number of nested encodings to decode.
            is_split: whether the text starts inside a word that is split by quotes.

        Raises:
            TimeoutError: if the time limit is exceeded.
        """
        plain, place = folded(text)
        begin = start if plain is text else len(folded(text[:start])[0])
        found = list(self._given.find(text, start, deadline, {}))
        for each in self._forms.find(plain, begin, deadline, self._checks):
            span = place(each.start, each.end)
            found.append(Finding(*span, each.kind))
        several = list(views(plain, begin, deadline, is_split)) if depth else []
        inner = self.of_each([decoded for _, decoded in several], deadline, depth=depth - 1)
        for (run, _), inside in zip(several, inner, strict=True):
            if inside:
                found.append(Finding(*place(*run), inside[0].kind))
        return list(_merged(found))

    def of_each(
        self, texts: list[str], deadline: Deadline, *, depth: int = 2
    ) -> list[list[Finding]]:
        """Return the matches in each of several texts, as `of` does. Short texts are scanned
        together, which is faster.
        """
        made: list[list[Finding]] = []
        for several in _batches(texts):
            # A pattern may match at the end of a text.
            if len(several) == 1 or self.has_patterns:
                made += [self.of(text, deadline, depth=depth) for text in several]
            else:
                made += self._together(several, deadline, depth)
        return made

    def _together(self, texts: list[str], deadline: Deadline, depth: int) -> list[list[Finding]]:
        made: list[list[Finding]] = [[] for _ in texts]
        starts = [*accumulate((len(text) + len(SEPARATOR) for text in texts), initial=0)]
        for each in self.of(SEPARATOR.join(texts), deadline, depth=depth):
            first, last = bisect_right(starts, each.start) - 1, bisect_left(starts, each.end) - 1
            inside = [i for i in range(first, last + 1) if starts[i] + len(texts[i]) > each.start]
            for i in inside:
                if len(inside) == 1:
                    a, b = max(0, each.start - starts[i]), min(len(texts[i]), each.end - starts[i])
                    made[i].append(Finding(a, b, each.kind))
                else:  # the match has no end in its own text
                    made[i] = self.of(texts[i], deadline, depth=depth)
        return made

    def open_from(self, text: str, start: int, deadline: Deadline) -> int:
        """Return the position from which the end of a text may be the start of a longer match."""
        plain, place = folded(text)
        begin = start if plain is text else len(folded(text[:start])[0])
        of_forms = self._forms.open_from(plain, begin, deadline)
        is_open = of_forms < len(plain)
        of_forms = place(of_forms, of_forms + 1)[0] if is_open else len(text)
        return min(of_forms, self._given.open_from(text, start, deadline))


class _Forms:
    """Regular expressions, each with the kind of its findings."""

    def __init__(self, regex: Any, forms: list[tuple[str, str]]) -> None:
        self._forms: list[tuple[str, Any]] = []
        for i, (kind, form) in enumerate(forms):
            try:
                self._forms.append((kind, regex.compile(form)))
            except (regex.error, TypeError) as error:  # the pattern may be a secret: do not show it
                raise HookError(
                    f"patterns=: element [{i}] is not a valid pattern: {error}"
                ) from None
        # Never matches, but reports where a partial match starts.
        either = "|".join(f"(?:{form})" for _, form in forms)
        self._open = regex.compile(f"(?:{either})(*F)") if forms else None

    def find(
        self, text: str, start: int, deadline: Deadline, checks: Mapping[str, Callable[[str], bool]]
    ) -> Iterator[Finding]:
        for kind, form in self._forms:
            check = checks.get(kind)
            for match in form.finditer(
                text, start, overlapped=bool(check), timeout=deadline.left()
            ):
                deadline.left()
                for a, b in [match.span()] if check is None else _proved(match, check):
                    if a < b:
                        yield Finding(a, b, kind)

    def open_from(self, text: str, start: int, deadline: Deadline) -> int:
        if self._open is None:
            return len(text)
        match = self._open.search(text, start, partial=True, timeout=deadline.left())
        return len(text) if match is None else match.start()


def _batches(texts: list[str]) -> Iterator[list[str]]:
    several: list[str] = []
    length = 0
    for text in texts:
        if several and length + len(text) > TOGETHER:
            yield several
            several, length = [], 0
        several.append(text)
        length += len(text) + len(SEPARATOR)
    if several:
        yield several


def _library() -> Iterator[str]:
    library("detect_secrets", "redact")
    for name in _LIBRARY.split():
        module = import_module(f"detect_secrets.plugins.{name}")
        lists = [getattr(each, "denylist", None) for each in vars(module).values()]
        for form in (form for each in lists if isinstance(each, (list, tuple)) for form in each):
            flags = "i" * bool(form.flags & re.IGNORECASE) + "m" * bool(form.flags & re.MULTILINE)
            yield f"(?{flags}:{form.pattern})" if flags else form.pattern


def _proved(match: Any, is_valid: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    """Yield the longest prefix of a run of letters and digits whose checksum is valid."""
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


_DOUBLED: Final = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]


def _is_card(number: str) -> bool:
    """Return whether a number ends with its Luhn check digit."""
    digits = [int(each) for each in reversed(number)]
    return (sum(digits[::2]) + sum(_DOUBLED[each] for each in digits[1::2])) % 10 == 0


def _is_97(number: str) -> bool:
    """Return whether an IBAN has valid check digits, before its country is checked."""
    turned = number[4:] + number[:4]
    return turned.isascii() and int("".join(str(int(each, 36)) for each in turned)) % 97 == 1
