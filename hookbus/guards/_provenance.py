"""Tracks where the values of a call came from (taint tracking)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from re import Pattern
from typing import Any, Final

from .. import Ask, Block, HookContext, HookError
from ._call import contents_of, tool_of
from ._covered import Covered
from ._deadline import Deadline
from ._look import walk
from ._outermost import Outermost
from ._ready import Hooks, ReadyGuard, Sessions, glob, globs
from ._words import folded, stands_in

REMEMBERED: Final = 100
"""The maximum number of results to remember for a session."""

CHARACTERS: Final = 262_144
"""The maximum total length of the results to remember for a session."""

VALUES: Final = 10_000
"""The maximum number of values from trusted fields to remember for a session."""

_NUMBER: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")


class provenance(ReadyGuard):
    """A guard that requires approval for values that do not come from the user or from a trusted
    source.

    The user's words are the inputs of `agent_run` and `agent_stream` in the session that
    `with baggage(session=...)` sets, and all words passed to `trust`. If an input is a list of
    messages, only those with the role `user` count. The input of a run that is nested in another
    call does not count, because a model wrote this input for a sub-agent. A string comes from the
    user if the user wrote it as a whole, ignoring the case of ASCII letters. A number comes from
    the user if the user wrote that number. A value comes from a trusted result if it equals the
    complete value of a trusted field. Any other value requires approval; without an approver, the
    call is blocked.

    Args:
        sinks: the arguments to check: a mapping of tool globs to globs of argument names, at any
            depth, such as `{"send_*": ["recipient", "amount"]}`. Other tools are not checked.
        trusted: a mapping of tool globs to globs of result fields that only the user and the
            operator can write, at any depth, such as `{"get_contacts": ["email"]}`. A tool glob
            alone, or the field `"*"`, trusts all values.
        hook: the hook to check: a name, several names, or a glob. A nested call with the same tool
            and arguments does not need a second approval.

    Raises:
        HookError: for an invalid glob, or if `sinks` is empty.
    """

    remembers = True

    def __init__(
        self, sinks: Mapping[str, str | Iterable[str]],
        trusted: str | Iterable[str] | Mapping[str, str | Iterable[str]] = (), *,
        hook: Hooks = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        if not isinstance(sinks, Mapping) or not sinks:
            raise HookError("provenance() needs a mapping of tools to the arguments to check")
        self._sinks = [(glob(tool, "sinks"), Covered(names)) for tool, names in sinks.items()]
        self._trusted = _trusted(trusted)
        self._sessions = Sessions(_Said)
        self._outermost = Outermost(self, "agent_run", "agent_stream")
        self.on("pre", self._judge_of(), role="guard")
        self.on("post", self._remember_of(), role="observe")
        for run in ("agent_run", "agent_stream"):
            self.on("pre", self._listen_of(), run, role="observe")

    def trust(self, words: Any, session: Any = None) -> None:
        """Add a string, or the user's messages in a list of messages, to the user's words."""
        self._sessions.of(session).hear(_words(words))

    def _judge_of(self) -> Callable[..., Block | Ask | None]:
        def judge(sender: Any, ctx: HookContext) -> Block | Ask | None:
            name = tool_of(ctx)[0]
            if not isinstance(name, str):
                return Block("the call has no tool name", code="provenance")
            words = self._sessions.of(ctx.baggage.get("session"))
            deadline = Deadline()
            try:
                path, value = self._unaccounted(name, contents_of(ctx), words, deadline)
                if path is None:
                    return self._outermost.apply(ctx, None)
                where = f"{path} of {name[:60]!a} comes from {words.source_of(value, deadline)}"
                question = f"{where}, not from the user; allow the call?"
                return self._outermost.apply(ctx, Ask(question, code="provenance"))
            except HookError as error:
                return Block(str(error), code="provenance")
            except TimeoutError:
                reason = "the arguments take too long to check"
                return Block(reason, code="provenance")

        return judge

    def _unaccounted(
        self, name: str, arguments: Any, session_words: _Said, deadline: Deadline
    ) -> tuple[str | None, Any]:
        """Return the path and the value of the first argument with an untrusted source, or None."""
        seen = set[str]()
        for tool, covered in self._sinks:
            for path, value in covered.of(arguments) if tool.match(name) else ():
                if type(value) is str and value in seen:
                    continue
                if not session_words.accounts_for(value, deadline):
                    return path, value
                if type(value) is str:
                    seen.add(value)
        return None, None

    def _remember_of(self) -> Callable[..., None]:
        def remember(sender: Any, result: Any, ctx: HookContext) -> None:
            name = str(tool_of(ctx)[0])
            session_words = self._sessions.of(ctx.baggage.get("session"))
            fields = [each for tool, each in self._trusted if tool.match(name)]
            others = []
            for is_trusted, value in _leaves(result, fields):
                if is_trusted:
                    session_words.trust(value)
                else:
                    others.append(str(value))
            session_words.brought(name, others)

        return remember

    def _listen_of(self) -> Callable[..., None]:
        def listen(sender: Any, input: Any, ctx: HookContext) -> None:
            session = ctx.baggage.get("session")
            if not self._is_inside(ctx, session):
                self.trust(input, session)

        return listen

    def _is_inside(self, ctx: HookContext, session: Any) -> bool:
        """Return whether a run is nested in another call.

        A thread without a context has no session and no enclosing call. Therefore, a run without a
        session that starts while a call is in flight counts as nested.
        """
        if self._outermost.around(ctx) is not None:
            return True
        return session is None and any(
            each.session is None and each.call_id != ctx.call_id
            for each in list(self._outermost.running or ())
        )


def _trusted(tools: Any) -> list[tuple[Pattern[str], Covered | None]]:
    """Return globs of tools, each with the trusted fields of results. None means all fields."""
    if not isinstance(tools, Mapping):
        return [(glob(each, "trusted="), None) for each in globs(tools, "trusted=")]
    return [(glob(tool, "trusted="), Covered(names)) for tool, names in tools.items()]


def _leaves(result: Any, fields: list[Covered | None]) -> Iterator[tuple[bool, Any]]:
    """Yield each value in a result, and whether the value is trusted."""
    is_all = any(each is None for each in fields)

    def step(is_trusted: bool, name: str) -> bool:
        return is_trusted or any(each is not None and each.covers(name) for each in fields)

    for leaf in walk({"": result}, is_all, step):
        if not leaf.is_opaque and leaf.value is not None:
            yield leaf.state, leaf.value


class _Said:
    """The words of a session, from the user and from tools."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._numbers: set[Decimal] = set()
        self._trusted: dict[str | Decimal, None] = {}
        self._results: deque[tuple[str, str]] = deque(maxlen=REMEMBERED)
        self._size = 0

    def hear(self, texts: Iterable[str]) -> None:
        for text in texts:
            words = folded(text)
            if words not in self._words:
                self._words.append(words)
                self._numbers.update(_numbers(words))

    def trust(self, value: Any) -> None:
        """Add a value of a trusted field, which is the source of equal values only."""
        if (key := _whole(value)) is not None:
            self._trusted.setdefault(key)
            if len(self._trusted) > VALUES:
                del self._trusted[next(iter(self._trusted))]

    def brought(self, tool: str, texts: Iterable[str]) -> None:
        """Add the untrusted text of a result, truncated if it is long."""
        text = folded("\n".join(texts)[:CHARACTERS])
        if len(self._results) == REMEMBERED:
            self._size -= len(self._results[0][1])
        self._results.append((tool, text))
        self._size += len(text)
        while self._size > CHARACTERS:
            self._size -= len(self._results.popleft()[1])

    def accounts_for(self, value: Any, deadline: Deadline) -> bool:
        """Return whether a value, which must be a string or a number, comes from these words.

        Raises:
            TimeoutError: if the time limit is exceeded.
        """
        key = _whole(value)
        if key is None or key in self._trusted:
            return key is not None
        if isinstance(key, Decimal):
            return key in self._numbers
        site = re.sub(r"^https?://(.+?)/?$", r"\1", key)
        return not key or any(
            stands_in(each, words, deadline) for words in self._words for each in {key, site}
        )

    def source_of(self, value: Any, deadline: Deadline) -> str:
        text = folded(str(value))
        for tool, words in reversed(self._results):
            if stands_in(text, words, deadline):
                return f"a result of {tool[:60]!a}"
        return "an unknown source"


def _whole(value: Any) -> str | Decimal | None:
    """Normalize a string or number for comparison. Return None for any other value."""
    if isinstance(value, str):
        return folded(value)
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return None
    number = Decimal(str(value))
    return number if number.is_finite() else None


def _words(value: Any, is_users: bool = True) -> Iterator[str]:
    """Yield the strings of the user, in the message formats of all supported frameworks.

    Args:
        value: a string, a list, a message, a part of one, or a mapping with `messages`.
        is_users: whether strings and mappings without a role count as words of the user. Other
            objects without a role never count.
    """
    if isinstance(value, str):
        yield from [value] if is_users else ()
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _words(each, is_users)
    elif value is not None:
        role = _of(value, "role") or _of(value, "type")
        is_users = role in _USERS if role else is_users and isinstance(value, Mapping)
        for name in ("content", "parts", "text", "messages") if is_users else ():
            yield from _words(_of(value, name))


_USERS: Final = ("user", "human", "text", "input_text")


def _of(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _numbers(text: str) -> Iterator[Decimal]:
    for found in _NUMBER.findall(text):
        yield Decimal(found.replace(",", ""))
