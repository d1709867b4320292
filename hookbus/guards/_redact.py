"""Removes secrets and personal data from calls and their results."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, aclosing, closing, nullcontext
from inspect import isasyncgen, isgenerator
from secrets import token_hex
from typing import Any, Final

from .. import HookContext, HookError, Replace
from .._ground.locks import Lock
from ._batch import changed_together
from ._call import labels_of, tool_of
from ._deadline import SECONDS, Allowance, Deadline, checked
from ._found import Finder, Finding
from ._held import Held
from ._ready import FIRST, LAST, Hooks, ReadyGuard, Sessions, Unseen, either, glob, globs
from ._values import changed


class redact(ReadyGuard):
    """Redacts secrets and personal data in the arguments of a call, its result, the items of its
    stream and the message of its exception.

    The guard scans strings, bytes, paths, long numbers, mappings, collections, pydantic models,
    dataclasses, attrs objects and namespaces. `report` lists the classes of objects that the guard
    cannot scan. If the guard fails, the call is blocked, or its stream ends.

    Args:
        secrets: whether to redact keys and tokens, in the formats of detect-secrets and some
            others.
        personal: whether to redact card numbers and IBANs with a valid checksum, and e-mail
            addresses.
        patterns: additional regular expressions. Searching for them counts toward `timeout`.
        reversible: globs of tools that get the original values. If globs are given, a value is
            replaced with a token such as `<card-9f2c41d07ab3>`, which is valid in the session that
            `with baggage(session=...)` sets. Otherwise, a value is replaced with its kind, such as
            `<card>`.
        timeout: the time limit for the arguments, result and exception of a call together, in
            seconds of CPU time. A call that takes longer is blocked. Each item of a stream adds
            some time.
        hook: the hook to redact: a name, several names, or a glob.

    Raises:
        HookError: for an invalid pattern or number, or if no option selects anything to find.
    """

    def __init__(
        self, secrets: bool = True, personal: bool = True, patterns: str | Iterable[str] = (),
        reversible: str | Iterable[str] = (), *, timeout: float = SECONDS,
        hook: Hooks = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        self._seconds, self._key = checked(timeout), f"hookbus redact {id(self)}"
        several = [patterns] if isinstance(patterns, str) else list(patterns)
        self._finder = Finder(secrets, personal, several)
        self._back = [glob(each, "reversible=") for each in globs(reversible, "reversible=")]
        self.remembers = bool(self._back)
        self._sessions = Sessions(lambda: _Tokens(is_kept=True))
        self._unseen = Unseen()
        closed: dict[str, Any] = {"role": "modify", "on_error": "block", "priority": LAST}
        arguments: Any = self._arguments_of()
        arguments.findings = self._unseen.findings
        self.on("pre", arguments, **closed)
        self.on("post", self._result_of(), **closed)
        self.on("around", either(self._run, self._run_async), priority=FIRST)

    def text(self, text: str, session: Any = None, *, timeout: float | None = None) -> str:
        """Return a text in which secrets and personal data are replaced, with the tokens of a
        session.

        Args:
            text: the text.
            session: the session whose tokens to use, if there are tokens.
            timeout: the time limit in seconds. None means the limit of the guard.

        Raises:
            TimeoutError: if the time limit is exceeded.
        """
        deadline = Deadline(self._seconds if timeout is None else checked(timeout))
        return self._tokens(session).instead(text, self._finder.of(text, deadline))

    def _tokens(self, session: Any) -> _Tokens:
        return self._sessions.of(session) if self._back else _Tokens(is_kept=False)

    def _of(self, ctx: HookContext) -> tuple[_Tokens, Allowance]:
        tokens = self._tokens(ctx.baggage.get("session"))
        return tokens, ctx.state.setdefault(self._key, Allowance(self._seconds))

    def _clean(self, value: Any, ctx: HookContext) -> Any:
        tokens, allowance = self._of(ctx)
        with allowance.deadline() as deadline:
            return cleaned(value, self._finder, tokens, deadline, self._unseen.note)

    def _arguments_of(self) -> Callable[..., Mapping[str, Any]]:
        def arguments(sender: Any, ctx: HookContext) -> Mapping[str, Any]:
            name, labels = tool_of(ctx)[0], labels_of(ctx)
            values = {key: value for key, value in ctx.kwargs.items()
                     if key not in labels and value is not ctx.sender}  # fmt: skip
            if isinstance(name, str) and any(each.match(name) for each in self._back):
                restored = self._of(ctx)[0].restored
                new = {key: changed(value, restored) for key, value in values.items()}
            else:
                new = {key: self._clean(value, ctx) for key, value in values.items()}
            return {key: value for key, value in new.items() if value is not values[key]}

        return arguments

    def _result_of(self) -> Callable[..., Replace | None]:
        def redact_result(sender: Any, result: Any, ctx: HookContext) -> Replace | None:
            new = self._clean(result, ctx)
            return None if new is result else Replace(new)

        return redact_result

    def _run(self, call_next: Callable[[], Any], ctx: HookContext) -> Any:
        try:
            made = call_next()
        except Exception as error:
            self._clean_error(error, ctx)
            raise
        return self._items_of(made, ctx)

    async def _run_async(self, call_next: Callable[[], Any], ctx: HookContext) -> Any:
        try:
            made = await call_next()
        except Exception as error:
            self._clean_error(error, ctx)
            raise
        return self._items_of(made, ctx)

    def _items_of(self, made: Any, ctx: HookContext) -> Any:
        """Return a stream with redacted items, or any other result unchanged."""
        if isasyncgen(made):
            return self._stream_async(made, ctx)
        is_lazy = isinstance(made, Iterator) and type(made).__module__ in ("builtins", "itertools")
        return self._stream(made, ctx) if is_lazy else made

    def _clean_error(self, error: BaseException, ctx: HookContext) -> None:
        clean_error(error, lambda value: self._clean(value, ctx))

    def _out(self, buffer: Held, item: Any, ctx: HookContext) -> list[Any]:
        allowance = self._of(ctx)[1]
        allowance.add(item)
        if not isinstance(item, str):
            return [self._clean(item, ctx)]
        with allowance.deadline() as deadline:
            return buffer.out(item, deadline)

    def _rest(self, buffer: Held, ctx: HookContext) -> list[str]:
        with self._of(ctx)[1].deadline() as deadline:
            return buffer.rest(deadline)

    def _stream(self, made: Iterator[Any], ctx: HookContext) -> Generator[Any, Any, Any]:
        buffer, result = Held(self._finder, self._of(ctx)[0]), None

        def items() -> Generator[Any, Any, None]:
            nonlocal result
            result = yield from made  # type: ignore[func-returns-value]  # a generator's, or None

        end: AbstractContextManager[Any] = closing(made) if isgenerator(made) else nullcontext()
        with end:
            try:
                for item in items():
                    yield from self._out(buffer, item, ctx)
            except Exception as error:
                self._clean_error(error, ctx)
                raise
        yield from self._rest(buffer, ctx)
        return result

    async def _stream_async(
        self, made: AsyncGenerator[Any, Any], ctx: HookContext
    ) -> AsyncGenerator[Any, Any]:
        buffer = Held(self._finder, self._of(ctx)[0])
        async with aclosing(made):
            try:
                async for item in made:
                    for each in self._out(buffer, item, ctx):
                        yield each
            except Exception as error:
                self._clean_error(error, ctx)
                raise
        for each in self._rest(buffer, ctx):
            yield each


def cleaned(
    value: Any, finder: Finder, tokens: _Tokens, deadline: Deadline,
    unseen: Callable[[Any], object] = id,
) -> Any:  # fmt: skip
    """Return a redacted value, or the same object if it contains nothing to redact."""

    def clean(texts: list[str]) -> list[str]:
        found = finder.of_each(texts, deadline)
        return [tokens.instead(text, each) for text, each in zip(texts, found, strict=True)]

    return changed_together(value, clean, unseen)


class _Tokens:
    """Replaces values with tokens and, in a session, tokens with values."""

    def __init__(self, is_kept: bool) -> None:
        self._is_kept, self._lock = is_kept, Lock()
        self._tokens: dict[str, str] = {}
        self._values: dict[str, str] = {}

    def instead(self, text: str, found: Iterable[Finding]) -> str:
        parts: list[str] = []
        at = 0
        for start, end, kind in found:
            parts += [text[at:start], self._token(text[start:end], kind)]
            at = end
        return "".join([*parts, text[at:]]) if parts else text

    def restored(self, text: str) -> str:
        """Return a text in which the tokens of this session are replaced with their values."""
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
            token = self._tokens.get(value)
            if token is None:
                # Random: a counter would restore a value of another session.
                token = f"<{kind}-{token_hex(6)}>"
                self._tokens[value], self._values[token] = token, value
        return token


_MEMBERS: Final = ("errno", "strerror", "filename", "filename2", "msg", "text", "reason")
"""The attributes in which built-in exceptions store strings, besides their arguments and
`__dict__`."""


def clean_error(error: BaseException, clean: Callable[[Any], Any]) -> None:
    """Redact the strings of an exception, its causes and its contexts, in place.

    Raises:
        HookError: instead of the exception, if a string in it cannot be redacted.
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
            continue  # its message is from hookbus or a guard
        each.args = clean(each.args)
        vars(each).update({name: clean(value) for name, value in vars(each).items()})
        for name in _MEMBERS:
            if isinstance(text := getattr(each, name, None), str):
                setattr(each, name, clean(text))
        if clean(str(each)) != str(each):
            raise HookError(f"{type(each).__name__} (its message was redacted)") from None
