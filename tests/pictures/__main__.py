"""Write pictures into the documentation: `python -m tests.pictures --write`, or with names.

`guard-under-langchain` needs `langchain`, which the extra `demo` installs.
The pictures of the live page are made by `HOOKBUS_SCREENSHOTS=1 pytest tests/page`, in a browser.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from . import attacks, flame, recording, seam, spans

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "_static"
PICTURES: Final[dict[str, Callable[[], str]]] = {
    "attacks": attacks.picture,
    "guard-under-langchain": seam.picture,
    "recording": recording.picture,
    "spans": spans.picture,
    "trace": flame.picture,
}


def main(words: list[str]) -> None:
    if words[:1] != ["--write"] or not {*words[1:]} <= {*PICTURES}:
        sys.exit(f"usage: python -m tests.pictures --write [{' '.join(PICTURES)}]")
    for name in words[1:] or PICTURES:
        path = FOLDER / f"{name}.svg"
        path.write_text(PICTURES[name](), encoding="utf-8")
        print(f"docs/_static/{path.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
