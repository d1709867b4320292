"""Taking instructions out of text by their form alone.

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
from collections.abc import Iterable
from typing import Any, Final

from pydantic import BaseModel

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


def without_instructions(value: Any) -> Any:
    """Return the value with `MARK` where its texts held instructions: a copy of the same type, or
    the very object.

    Tools hand out their own data, not copies of it, so nothing is changed in place.
    """
    if type(value) is str:
        cleaned = _ANNOUNCED.sub(MARK, _without_tagged_blocks(value))
        return value if cleaned == value else cleaned
    if isinstance(value, BaseModel):
        changed = {
            name: new for name, old in value if (new := without_instructions(old)) is not old
        }
        return value.model_copy(update=changed) if changed else value
    if type(value) in (list, tuple):
        items = [without_instructions(item) for item in value]
        return value if _are_the_same(value, items) else type(value)(items)
    if type(value) is dict:
        # Keys are names, of a hotel or a file, and those can be written by anybody as well.
        keys, items = without_instructions(list(value)), without_instructions(list(value.values()))
        if _are_the_same([*value, *value.values()], [*keys, *items]):
            return value
        return dict(zip(keys, items, strict=True))
    return value


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


def _are_the_same(before: Iterable[Any], after: Iterable[Any]) -> bool:
    return all(old is new for old, new in zip(before, after, strict=True))
