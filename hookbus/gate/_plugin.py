"""The plugin that `install` writes for OpenCode, which has no hooks that are commands.

Its documents (https://opencode.ai/docs/plugins): files in `~/.config/opencode/plugins/` and
`.opencode/plugins/` "are automatically loaded at startup"; a plugin "exports one or more plugin
functions"; `tool.execute.before` gets `output.args`, and throws an error to refuse.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from . import hook
from ._entries import MARK

_TEMPLATE: Final = Path(__file__).with_name("opencode.js")
_PLACE: Final = "/* the command of the gate */[]"


def make_plugin(settings: str, seconds: float) -> str:
    """Return the text of the plugin for these settings."""
    words = [sys.executable, "-I", "-S", hook.__file__, "opencode", settings, f"{seconds:g}"]
    return _with_words(words)


def _with_words(words: list[str]) -> str:
    before, after = _TEMPLATE.read_text(encoding="utf-8").split(_PLACE)
    return before + json.dumps(words, ensure_ascii=False) + after


def words_in_plugin(text: str) -> list[str]:
    """Return the words that start the hook; none if the text is not the gate's plugin."""
    before, _ = _TEMPLATE.read_text(encoding="utf-8").split(_PLACE)
    start = before[before.rindex("\n") + 1 :]
    line = next((each for each in text.splitlines() if each.startswith(start)), "")
    try:
        words = json.loads(line.removeprefix(start))
    except ValueError:
        return []
    is_hook = isinstance(words, list) and len(words) == 7 and str(words[3]).endswith(f"/{MARK}")
    return [str(each) for each in words] if is_hook else []


def is_plugin_as_installed(text: str) -> bool:
    """Return whether `install` would write this text, for some interpreter and settings."""
    words = words_in_plugin(text)
    return bool(words) and text == _with_words(words)
