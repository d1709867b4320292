"""The plugin that `install` writes for OpenCode, which does not support commands as hooks.

Its documentation (https://opencode.ai/docs/plugins): files in `~/.config/opencode/plugins/` and
`.opencode/plugins/` "are automatically loaded at startup"; a plugin "exports one or more plugin
functions"; `tool.execute.before` gets `output.args`, and throws an error to refuse.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from ._entries import hook_words, starts_hook

_TEMPLATE: Final = Path(__file__).with_name("opencode.js")
_PLACE: Final = "/* the command of the gate */[]"


def make_plugin(settings: str, seconds: float) -> str:
    """Return the text of the plugin for these settings."""
    return _with_words(hook_words("opencode", settings, seconds))


def _with_words(words: list[str]) -> str:
    before, after = _TEMPLATE.read_text(encoding="utf-8").split(_PLACE)
    return before + json.dumps(words, ensure_ascii=False) + after


def is_plugin(text: str) -> bool:
    """Return whether a text is the gate's plugin, as it was installed or changed."""
    return _line_of_words(text) is not None


def words_in_plugin(text: str) -> list[str]:
    """Return the words of the command that starts the hook, or an empty list if the plugin does not
    start the hook for OpenCode."""
    try:
        words = json.loads(_line_of_words(text) or "")
    except (ValueError, RecursionError):
        return []
    is_words = isinstance(words, list) and all(isinstance(each, str) for each in words)
    return words if is_words and starts_hook(words) and words[4] == "opencode" else []


def _line_of_words(text: str) -> str | None:
    before, _ = _TEMPLATE.read_text(encoding="utf-8").split(_PLACE)
    start = before[before.rindex("\n") + 1 :]
    lines = (each.removeprefix(start) for each in text.splitlines() if each.startswith(start))
    return next(lines, None)


def is_plugin_as_installed(text: str) -> bool:
    """Return whether the text equals what `install` writes, with any interpreter and settings."""
    words = words_in_plugin(text)
    return bool(words) and text == _with_words(words)
