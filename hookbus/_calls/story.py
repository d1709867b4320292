"""The texts of `story.txt`, which every call runs by, by their names: `story.CALL`. How to read one
stands there.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Final

_ALL: Final = files(__name__.rpartition(".")[0]).joinpath("story.txt").read_text(encoding="utf-8")

_TEXTS: Final[dict[str, str]] = {
    found[1]: found[2]
    for found in re.finditer(r"^== (\w+) ==\n(.*?)(?=\n+(?:==|####)|\Z)", _ALL, re.M | re.S)
}


def __getattr__(name: str) -> str:
    if name not in _TEXTS:
        raise AttributeError(f"story.txt has no text {name!r}")
    return _TEXTS[name]
