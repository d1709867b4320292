"""Removes instructions from tool results (prompt injection), recognized only by their form.

The forms below are common ways to turn data into instructions: a tagged block, a fake chat message,
a request to ignore earlier text or to do something first, a to-do, an alarm such as `IMPORTANT!!`,
or text addressed to an AI. An instruction in plain prose has none of these forms and is not
removed.

The removal extends to the end of the paragraph, because such a form usually precedes the actual
request. Harmless text in such a form is also removed. The demo counts such false positives.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Final

from .. import HookError, Replace
from ._batch import changed_together
from ._deadline import SECONDS, Deadline, checked
from ._folded import folded
from ._ready import LAST, Hooks, ReadyGuard, Unseen

TOGETHER: Final = 100
"""The maximum number of texts of a result that are scanned together."""

MARK: Final = "[instructions removed]"
"""Replaces removed text, so that no reader mistakes the rest for the complete text."""

# All forms run in linear time: repeats are possessive or have a unique start.
_TAG: Final = re.compile(r"<\s*+(/?)([a-z][\w:-]*+)[^<>]*+>", re.IGNORECASE)
_PARAGRAPH: Final = re.compile(r"\n\s*?\n")

_WORD: Final = r"(?:(?<![^\W\d_])|(?-i:(?<=[a-z])(?=[A-Z])))"
"""The start of a word: after a symbol, a digit or an underscore, or as in `externalTODO`."""
_END: Final = r"(?![^\W\d_])"
_SPACE: Final = r"[\s_*`~-]++"
_SOME: Final = r"[\s_*`~-]*+"

_ANNOUNCEMENTS: Final = (
    # Ignore earlier instructions.
    (("ignore", "disregard", "forget", "override"),
     rf"{_WORD}(?:ignore|disregard|forget|override)(?:[\W_]++[^\W_]++){{0,3}}?[\W_]++"
     rf"(?:previous|prior|earlier|above|preceding){_END}"),
    # Do something else first.
    (("before",),
     rf"{_WORD}before{_SPACE}you{_SPACE}(?:(?:can|may){_SPACE})?"
     rf"(?:continue|proceed|go{_SPACE}on|start|begin|do|solve|answer|reply|finish){_END}"),
    (("gave",),
     rf"{_WORD}the{_SPACE}(?:task|instructions?|request){_SPACE}(?:that{_SPACE})?"
     rf"(?:i|the{_SPACE}user){_SPACE}gave{_SPACE}you{_END}"),
    # Claim the role of an authority.
    (("system", "assistant", "developer", "admin"),
     r"(?:^|(?<!#)#{2,}+|<\||[\[(])(?:[^\w\n]|_){0,3}(?:system|assistant|developer|admin)"
     r"(?:[ _-]?(?:message|prompt|note|instructions?))?[ \t_*]*+[\])|:]"),
    (("inst",), r"\[/?INST\]"),
    # Assign a task.
    (("do",), rf"{_WORD}to[-_]?do{_SOME}:"),
    (("instruction", "task"),
     rf"{_WORD}(?:new|your|the{_SPACE}following){_SPACE}(?:instructions?|task){_SOME}"
     rf"(?:(?:is|are){_SOME})?:"),
    (("!!",), rf"{_WORD}(?:important|urgent|attention|warning|critical){_SOME}!{{2,}}+"),
    # Address an AI.
    (("ai", "llm", "language", "bot", "assistant", "agent"),
     rf"{_WORD}(?:dear|hey|hello|attention|to{_SPACE}you|as){_END},?{_SPACE}"
     rf"(?:(?:an?|the){_SPACE})?(?:(?:ai|llm){_END}|(?:large{_SPACE})?language{_SPACE}model|"
     rf"chat[\s_-]?bot|(?:virtual|digital){_SPACE}(?:assistant|agent))"),
    (("tool", "function"),
     rf"{_WORD}you{_SPACE}(?:must|should|have{_SPACE}to|need{_SPACE}to){_SPACE}"
     rf"(?:(?:now|first){_SPACE})?(?:use|call|run|invoke){_SPACE}the{_SPACE}"
     rf"(?:tool|function){_END}"),
)  # fmt: skip

_FORMS: Final = [
    (words, re.compile(form, re.IGNORECASE | re.MULTILINE)) for words, form in _ANNOUNCEMENTS
]
"""Each form, with its keywords. A text that contains none of the keywords is not matched against
the form."""


class quarantine(ReadyGuard):
    """Removes instructions from copies of the results of a call, before other code reads them.

    A result that cannot be scanned in time is withheld. An iterator is also withheld, because it
    can be read only once. An object of an unknown class is passed on unchanged, and `report` lists
    the class. Items of a stream and messages of exceptions are not scanned.

    Args:
        timeout: the time limit for cleaning a result, in seconds of CPU time. A result that takes
            longer is withheld.
        hook: the hook to clean: a name, several names, or a glob.

    Raises:
        HookError: for an invalid number.
    """

    def __init__(self, *, timeout: float = SECONDS, hook: Hooks = "tool_call") -> None:
        super().__init__(hook)
        self._seconds = checked(timeout)
        self.on("post", self._clean_of(), role="modify", on_error="block", priority=LAST)

    @staticmethod
    def text(text: str, *, timeout: float = SECONDS) -> str:
        """Return a text with instructions replaced by `[instructions removed]`.

        Raises:
            TimeoutError: if the replacement takes more than `timeout` seconds of CPU time.
        """
        return _cleaned(text, Deadline(checked(timeout)))

    def _clean_of(self) -> Callable[..., Replace | None]:
        unseen = Unseen()

        def note(value: Any) -> None:
            if isinstance(value, (Iterator, AsyncIterator)):
                raise HookError(
                    "a result contains an iterator, which cannot be checked: return a list"
                )
            unseen.note(value)

        def clean(sender: Any, result: Any) -> Replace | None:
            deadline = Deadline(self._seconds)
            new = changed_together(result, lambda texts: _each_cleaned(texts, deadline), note)
            return None if new is result else Replace(new)

        clean.findings = unseen.findings  # type: ignore[attr-defined]
        return clean


def _each_cleaned(texts: list[str], deadline: Deadline) -> list[str]:
    made: list[str] = []
    for at in range(0, len(texts), TOGETHER):
        several = texts[at : at + TOGETHER]
        # If the joined texts are clean, each text is clean.
        together = "\n\n\0\n\n".join(several)
        is_clean = len(several) > 1 and _cleaned(together, deadline) == together
        made += several if is_clean else [_cleaned(text, deadline) for text in several]
    return made


def _cleaned(text: str, deadline: Deadline) -> str:
    deadline.take(text)
    return _without(_without(text, _tagged_blocks, deadline), _announced, deadline)


def _without(
    text: str, find: Callable[[str, Deadline], Iterable[tuple[int, int]]], deadline: Deadline
) -> str:
    plain, place = folded(text)
    pieces, position = [], 0
    for span in sorted(find(plain, deadline)):
        start, end = place(*span)
        if start >= position:
            pieces += [text[position:start], MARK]
        position = max(position, end)
    return "".join([*pieces, text[position:]]) if pieces else text


def _tagged_blocks(text: str, deadline: Deadline) -> Iterable[tuple[int, int]]:
    # One pass over the tags, not one search per tag: an attacker may write a text that makes many
    # searches slow.
    opened: dict[str, int] = {}
    for tag in _TAG.finditer(text) if "<" in text else ():
        name = tag[2].casefold()
        if not tag[1]:
            opened.setdefault(name, tag.start())
        elif name in opened:
            deadline.left()
            yield opened.pop(name), tag.end()


def _announced(text: str, deadline: Deadline) -> Iterable[tuple[int, int]]:
    """Yield the span of each announcement, which extends to the end of the paragraph."""
    lowered = text.lower()
    for words, form in _FORMS:
        if not any(word in lowered for word in words):
            continue
        deadline.take(text)
        end = 0
        for found in form.finditer(text):
            if found.start() >= end:
                deadline.left()
                closing = _PARAGRAPH.search(text, found.end())
                end = len(text) if closing is None else closing.start()
                yield found.start(), end
