"""Secrets and personal data stay out of calls, and of what they give."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from contextlib import aclosing, closing
from inspect import isasyncgen, isgenerator
from typing import Any, Final

from .. import HookContext, HookError, Replace
from ._call import labels_of, tool_of
from ._found import Finder, Finding
from ._plugged import FIRST, LAST, Hooks, Plugged, Sessions, either, glob, globs
from ._values import changed

HELD: Final = 16_384
"""So many characters of a stream are held back at most."""

CONTEXT: Final = 64
"""So many characters that have left a stream are still looked at, before what comes."""


class redact(Plugged):
    """What takes secrets and personal data out of the arguments of a call, its result, the texts of
    its stream and those of its exception.

    It looks into texts, bytes, long numbers, mappings, lists, tuples, sets, models of pydantic,
    dataclasses and attrs classes. If it fails, the call is blocked, or its stream ends.

    Args:
        secrets: keys and tokens, in the forms that detect-secrets knows, and some more.
        personal: cards and IBANs whose checksum is right, and e-mail addresses.
        patterns: further regular expressions; each has a second for a text.
        reversible: globs of tools that get the values back. If there are any, a value is replaced
            by a token, `<card-1>`, that stands for it in its session, as
            `with surrounding(session=...)` says; else by its kind, `<card>`.
        hook: the hook whose calls it redacts, several, or a glob.

    Raises:
        HookError: for a pattern that is none, or if there is nothing to look for.
    """

    def __init__(
        self, secrets: bool = True, personal: bool = True, patterns: str | Iterable[str] = (),
        reversible: str | Iterable[str] = (), *, hook: Hooks = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        several = [patterns] if isinstance(patterns, str) else list(patterns)
        self._finder = Finder(secrets, personal, several)
        self._back = [glob(each, "reversible=") for each in globs(reversible, "reversible=")]
        self._sessions = Sessions(lambda: _Tokens(is_kept=True))
        closed: dict[str, Any] = {"role": "modify", "on_error": "block", "priority": LAST}
        self.on("pre", self._arguments_of(), **closed)
        self.on("post", self._result_of(), **closed)
        self.on("around", either(self._run, self._run_async), priority=FIRST)

    def text(self, text: str, session: Any = None) -> str:
        """Return a text without what is looked for, with the tokens of a session.

        Raises:
            TimeoutError: if a pattern takes too long.
        """
        return self._tokens(session).instead(text, self._finder.of(text))

    def _tokens(self, session: Any) -> _Tokens:
        return self._sessions.of(session) if self._back else _Tokens(is_kept=False)

    def _of(self, ctx: HookContext) -> tuple[_Tokens, Callable[[str], str]]:
        tokens = self._tokens(ctx.surrounding.get("session"))
        return tokens, lambda text: tokens.instead(text, self._finder.of(text))

    def _arguments_of(self) -> Callable[..., Mapping[str, Any]]:
        def arguments(sender: Any, ctx: HookContext) -> Mapping[str, Any]:
            name, labels = tool_of(ctx)[0], labels_of(ctx)
            tokens, clean = self._of(ctx)
            if isinstance(name, str) and any(each.match(name) for each in self._back):
                clean = tokens.restored
            given = {key: value for key, value in ctx.kwargs.items()
                     if key not in labels and value is not ctx.sender}  # fmt: skip
            new = {key: changed(value, clean) for key, value in given.items()}
            return {key: value for key, value in new.items() if value is not given[key]}

        return arguments

    def _result_of(self) -> Callable[..., Replace | None]:
        def given(sender: Any, result: Any, ctx: HookContext) -> Replace | None:
            new = changed(result, self._of(ctx)[1])
            return None if new is result else Replace(new)

        return given

    def _run(self, call_next: Callable[[], Any], ctx: HookContext) -> Any:
        try:
            made = call_next()
        except Exception as error:
            _clean_error(error, self._of(ctx)[1])
            raise
        if isgenerator(made):
            return self._stream(made, ctx)
        return self._stream_async(made, ctx) if isasyncgen(made) else made

    async def _run_async(self, call_next: Callable[[], Any], ctx: HookContext) -> Any:
        try:
            return await call_next()
        except Exception as error:
            _clean_error(error, self._of(ctx)[1])
            raise

    def _stream(
        self, made: Generator[Any, Any, Any], ctx: HookContext
    ) -> Generator[Any, Any, Any]:
        tokens, clean = self._of(ctx)
        held, result = _Held(self._finder, tokens), None

        def items() -> Generator[Any, Any, None]:
            nonlocal result
            result = yield from made

        with closing(made):
            try:
                for item in items():
                    yield from held.out(item, clean)
            except Exception as error:
                _clean_error(error, clean)
                raise
        yield from held.rest()
        return result

    async def _stream_async(
        self, made: AsyncGenerator[Any, Any], ctx: HookContext
    ) -> AsyncGenerator[Any, Any]:
        tokens, clean = self._of(ctx)
        held = _Held(self._finder, tokens)
        async with aclosing(made):
            try:
                async for item in made:
                    for each in held.out(item, clean):
                        yield each
            except Exception as error:
                _clean_error(error, clean)
                raise
        for each in held.rest():
            yield each


class _Tokens:
    """What stands for values, and, in a session, which value each stands for."""

    def __init__(self, is_kept: bool) -> None:
        self._is_kept, self._lock = is_kept, threading.Lock()
        self._tokens: dict[str, str] = {}
        self._values: dict[str, str] = {}

    def instead(self, text: str, found: Iterable[Finding]) -> str:
        parts, at = [], 0
        for start, end, kind in found:
            parts += [text[at:start], self._token(text[start:end], kind)]
            at = end
        return "".join([*parts, text[at:]])

    def restored(self, text: str) -> str:
        """Return a text with the values in it that its tokens stand for."""
        parts = text.split("<")
        for i, part in enumerate(parts[1:], 1):
            name, is_there, rest = part.partition(">")
            value = self._values.get(f"<{name}>") if is_there else None
            parts[i] = f"<{part}" if value is None else value + rest
        return "".join(parts)

    def _token(self, value: str, kind: str) -> str:
        if not self._is_kept:
            return f"<{kind}>"
        with self._lock:
            token = self._tokens.setdefault(value, f"<{kind}-{len(self._tokens) + 1}>")
            self._values[token] = value
        return token


class _Held:
    """The end of a stream's text so far, which what comes may make a finding of."""

    def __init__(self, finder: Finder, tokens: _Tokens) -> None:
        self._finder, self._tokens = finder, tokens
        self._left = self._held = ""

    def out(self, item: Any, clean: Callable[[str], str]) -> Iterable[Any]:
        """Return what may leave the stream now. Only texts are held back."""
        if not isinstance(item, str):
            return [changed(item, clean)]
        text, start = self._left + self._held + item, len(self._left)
        found = self._finder.of(text, start)
        end = self._finder.open_from(text, start)
        for each in reversed(found):
            if each.end > end:
                end = min(end, each.start)
        if len(text) - end > HELD:
            raise HookError(f"more than {HELD} characters of a stream might be one secret")
        leaves = [each for each in found if each.end <= end]
        self._left, self._held = text[max(0, end - CONTEXT) : end], text[end:]
        return self._said(text[:end], start, leaves)

    def rest(self) -> Iterable[str]:
        """Return what is still held back, when the stream has ended."""
        text, start = self._left + self._held, len(self._left)
        return self._said(text, start, self._finder.of(text, start))

    def _said(self, text: str, start: int, found: Iterable[Finding]) -> list[str]:
        moved = [each._replace(start=each.start - start, end=each.end - start) for each in found]
        said = self._tokens.instead(text[start:], moved)
        return [said] if said else []


_MEMBERS: Final = ("errno", "strerror", "filename", "filename2", "msg", "text", "reason")
"""Where exceptions of Python keep texts beside their arguments and their `__dict__`."""


def _clean_error(error: BaseException, clean: Callable[[str], str]) -> None:
    """Redact the texts of an exception, and of those that led to it, in place.

    Raises:
        HookError: instead of it, if it keeps such a text elsewhere.
    """
    seen: set[int] = set()
    several: list[BaseException | None] = [error]
    while several:
        each = several.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        several += [each.__cause__, each.__context__]
        several += each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        if isinstance(each, HookError):
            continue  # hookbus or a guard worded it
        each.args = changed(each.args, clean)
        vars(each).update({name: changed(value, clean) for name, value in vars(each).items()})
        for name in _MEMBERS:
            if isinstance(text := getattr(each, name, None), str):
                setattr(each, name, clean(text))
        if clean(str(each)) != str(each):
            raise HookError(f"{type(each).__name__}, with a text that was redacted") from None
