"""Instructions in what tools bring, known by their form alone.

Data informs; an instruction tells the reader what to do. The forms below are the usual ways to make
data do the latter: a tagged block set apart from the text around it, a fake turn of the chat, a
call to ignore what came before, to do something first, or to mind a to-do, a shout, an address to
an AI. An instruction in plain prose has none of these forms and stays.

What is taken out reaches to the end of its paragraph, since the wish follows the form that
announces it. Clean text that happens to have such a form goes as well: that is the price of the
policy, and the demo counts it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from .. import Replace
from ._plugged import LAST, Hooks, Plugged
from ._values import changed

MARK: Final = "[instructions removed]"
"""Stands where something was taken out, so that nobody mistakes the text for the whole of it."""

_TAG: Final = re.compile(r"<\s*(/?)([a-z][\w:-]*)[^<>]*>", re.IGNORECASE)

_ANNOUNCEMENTS: Final = (
    # Never mind what you were told.
    r"\b(?:ignore|disregard|forget|override)\b(?:\W+\w+){0,3}?\W+"
    r"(?:previous|prior|earlier|above|preceding)\b",
    # Something comes first.
    r"\bbefore\s+you\s+(?:can\s+|may\s+)?"
    r"(?:continue|proceed|go\s+on|start|begin|do|solve|answer|reply|finish)\b",
    r"\bthe\s+(?:task|instructions?|request)\s+(?:that\s+)?(?:i|the\s+user)\s+gave\s+you\b",
    # Somebody with authority takes the floor.
    r"(?:^|#{2,}|<\||[\[(])[^\w\n]{0,3}(?:system|assistant|developer|admin)"
    r"(?:[ _-]?(?:message|prompt|note|instructions?))?[ \t]*[\])|:]",
    r"\[/?INST\]",
    # A job is handed out.
    r"\bto-?do\s*:",
    r"\b(?:new|your|the\s+following)\s+(?:instructions?|task)\s*(?:(?:is|are)\s*)?:",
    r"\b(?:important|urgent|attention|warning|critical)\s*!{2,}",
    # A machine is spoken to.
    r"\b(?:dear|hey|hello|attention|to\s+you|as)\b,?\s+(?:an?\s+|the\s+)?"
    r"(?:ai\b|llm\b|(?:large\s+)?language\s+model|chat\s?bot|"
    r"(?:virtual|digital)\s+(?:assistant|agent))",
    r"\byou\s+(?:must|should|have\s+to|need\s+to)\s+(?:now\s+|first\s+)?"
    r"(?:use|call|run|invoke)\s+the\s+(?:tool|function)\b",
)

_ANNOUNCED: Final = re.compile(
    rf"(?:{'|'.join(_ANNOUNCEMENTS)}).*?(?=\n\s*\n|\Z)", re.IGNORECASE | re.DOTALL | re.MULTILINE
)


class quarantine(Plugged):
    """What takes instructions out of the results of a call, in copies, before anybody reads them.

    A result that it cannot look through is withheld.

    Args:
        hook: the hook whose results it cleans, several, or a glob.
    """

    def __init__(self, *, hook: Hooks = "tool_call") -> None:
        super().__init__(hook)
        self.on("post", self._clean_of(), role="modify", on_error="block", priority=LAST)

    @staticmethod
    def text(text: str) -> str:
        """Return a text with `[instructions removed]` where it held instructions."""
        return _ANNOUNCED.sub(MARK, _without_tagged_blocks(text))

    def _clean_of(self) -> Callable[..., Replace | None]:
        def clean(sender: Any, result: Any) -> Replace | None:
            new = changed(result, self.text)
            return None if new is result else Replace(new)

        return clean


def _without_tagged_blocks(text: str) -> str:
    # One pass over the tags, not one search per tag: the text may have been written to make that
    # slow.
    opened: dict[str, int] = {}
    blocks: list[tuple[int, int]] = []
    for tag in _TAG.finditer(text):
        name = tag[2].casefold()
        if not tag[1]:
            opened.setdefault(name, tag.start())
        elif name in opened:
            blocks.append((opened.pop(name), tag.end()))
    kept, position = [], 0
    for start, end in sorted(blocks):
        if start >= position:
            kept += [text[position:start], MARK]
        position = max(position, end)
    return "".join([*kept, text[position:]])
