"""Where the values of a call came from."""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Final

from .. import Ask, Block, HookError
from ._plugged import Covered, Plugged, Sessions, glob, globs
from ._values import leaves

REMEMBERED: Final = 100
"""So many results of a session are known by what they said."""

_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
_NUMBER: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")


class provenance(Plugged):
    """A guard that asks about a value which neither the user's own words account for, nor a source
    that the operator trusts.

    The user's words are the input of `agent_run` and `agent_stream` in the session, as
    `with surrounding(session=...)` says, of messages those of the role user, and what `heard` was
    told. A text is accounted for if it stands there as a whole, whatever the case of its ASCII
    letters; a number, if that number does. Everything else is asked about, which is a block where
    nobody can be asked.

    Args:
        sinks: what is judged: globs of tools, and for each the globs of its arguments, at any
            depth, such as `{"send_*": ["recipient", "amount"]}`. Other tools are not judged.
        trusted: globs of tools whose results count as the user's words.
        hook: the hook whose calls it judges; it has the arguments `name` and `arguments`.

    Raises:
        HookError: for globs that are none, or no sink at all.
    """

    def __init__(
        self, sinks: Mapping[str, str | Iterable[str]], trusted: str | Iterable[str] = (), *,
        hook: str = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        if not isinstance(sinks, Mapping) or not sinks:
            raise HookError("provenance takes a mapping of tools to the arguments that are judged")
        self._sinks = [(glob(tool, "sinks"), Covered(names)) for tool, names in sinks.items()]
        self._trusted = [glob(each, "trusted=") for each in globs(trusted, "trusted=")]
        self._sessions = Sessions(_Said)
        self.on("pre", self._judge_of(), role="guard")
        self.on("post", self._remember_of(), role="observe")
        for run in ("agent_run", "agent_stream"):
            self.on("pre", self._listen_of(), run, role="observe")

    def heard(self, words: Any, session: Any = None) -> None:
        """Take a text, or messages of which it takes the user's, as the user's words."""
        self._sessions.of(session).hear(_words(words))

    def _judge_of(self) -> Callable[..., Block | Ask | None]:
        def judge(
            sender: Any, name: Any, arguments: Any, surrounding: Mapping[str, Any]
        ) -> Block | Ask | None:
            if not isinstance(name, str):
                return Block("the call names no tool", code="provenance")
            said = self._sessions.of(surrounding.get("session"))
            for tool, covered in self._sinks:
                for path, value in covered.of(arguments) if tool.match(name) else ():
                    if not said.accounts_for(value):
                        where = f"{path} of {name[:60]!a} comes from {said.source_of(value)}"
                        return Ask(f"{where}, not from the user; call it?", code="provenance")
            return None

        return judge

    def _remember_of(self) -> Callable[..., None]:
        def remember(sender: Any, name: Any, result: Any, surrounding: Mapping[str, Any]) -> None:
            said = self._sessions.of(surrounding.get("session"))
            texts = [str(each) for each in leaves(result)]
            if any(each.match(str(name)) for each in self._trusted):
                said.hear(texts)
            else:
                said.brought(str(name), texts)

        return remember

    def _listen_of(self) -> Callable[..., None]:
        def listen(sender: Any, input: Any, surrounding: Mapping[str, Any]) -> None:
            self.heard(input, surrounding.get("session"))

        return listen


class _Said:
    """What was said in a session: by the user, and by tools."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._numbers: set[Decimal] = set()
        self._results: deque[tuple[str, list[str]]] = deque(maxlen=REMEMBERED)

    def hear(self, texts: Iterable[str]) -> None:
        for text in texts:
            folded = _folded(text)
            if folded not in self._words:
                self._words.append(folded)
                self._numbers.update(_numbers(folded))

    def brought(self, tool: str, texts: Iterable[str]) -> None:
        self._results.append((tool, [_folded(text) for text in texts]))

    def accounts_for(self, value: Any) -> bool:
        """Tell whether the user said a value; what is neither text nor number, never."""
        if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)):
            return False
        if not isinstance(value, str):
            return Decimal(str(value)) in self._numbers
        text = _folded(value)
        site = re.sub(r"^https?://(.+?)/?$", r"\1", text)
        return not text or any(
            _stands_in(each, words) for words in self._words for each in {text, site}
        )

    def source_of(self, value: Any) -> str:
        text = _folded(str(value))
        for tool, texts in reversed(self._results):
            if any(_stands_in(text, each) for each in texts):
                return f"a result of {tool[:60]!a}"
        return "nowhere that is known"


def _words(said: Any, is_users: bool = True) -> Iterator[str]:
    """Yield the texts of the user, in the shapes in which frameworks have them.

    Args:
        said: a text, a list, a message, a part of one, or a mapping with `messages`.
        is_users: whether what says no role is the user's; an object is none, outside of a message.
    """
    if isinstance(said, str):
        yield from [said] if is_users else ()
    elif isinstance(said, (list, tuple)):
        for each in said:
            yield from _words(each, is_users)
    elif said is not None:
        role = _of(said, "role") or _of(said, "type")
        is_users = role in _USERS if role else is_users and isinstance(said, Mapping)
        for name in ("content", "parts", "text", "messages") if is_users else ():
            yield from _words(_of(said, name))


_USERS: Final = ("user", "human", "text", "input_text")


def _of(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _folded(text: str) -> str:
    # No more than case and composition: letters that only look alike are somebody else's address.
    return " ".join(unicodedata.normalize("NFC", text).translate(_LOWER).split())


def _numbers(text: str) -> Iterator[Decimal]:
    for found in _NUMBER.findall(text):
        yield Decimal(found.replace(",", ""))


def _stands_in(word: str, text: str) -> bool:
    """Tell whether a word, address or name stands in a text as a whole, as no part of a longer one.
    """
    if word not in text:
        return False
    whole = rf"(?<![\w@.+-]){re.escape(word)}(?![\w@+/-])(?!\.\w)"
    return re.search(whole, text) is not None
