"""The generated functions of random programs, kept as files. They show what a change of the engine
does to the code that runs calls.

    python -m tests.properties.plans 17        # print the function of program 17 as it is now
    python -m tests.properties.plans --write  # write both files again, after an intended change

`plan_texts.txt` has the first functions in full, so that a diff shows what changes in them.
`plan_hashes.txt` has a hash of each of them all.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Final

from hookbus import HookError, events, explain

from .described import COLOURS
from .programs import program_of_seed
from .stage import Stage

COUNT: Final = 5_000

TEXTS: Final = Path(__file__).with_name("plan_texts.txt")
HASHES: Final = Path(__file__).with_name("plan_hashes.txt")

LISTENERS: Final = (
    None, None, events.Finished, events.Blocked, events.Invoked,
    (events.Started, events.Mutated, events.Attempted),
)  # fmt: skip
"""What the programs that have a listener listen for, in turn; None is every kind but `Invoked`."""

IN_FULL: Final = len(COLOURS) * len(LISTENERS)
"""The number of functions that are stored in full: each kind of function with each entry of
`LISTENERS`.
"""


def text_of(number: int) -> str:
    """Return the function that runs the call of a program, without the places of its receivers."""
    program = program_of_seed(number, COLOURS[number % len(COLOURS)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of overrides that are not hookable
        stage = Stage(program)
    if program.is_listening:
        kinds = LISTENERS[number // len(COLOURS) % len(LISTENERS)]
        stage.bus.events.connect(lambda bus, event: None, kinds=kinds)
    owner = stage.instance if program.entry is None else stage.classes[program.entry]
    try:
        source = explain(stage.function or owner.work, source=True).source or ""
    except HookError:
        return "The method that is called is not hookable.\n"
    return source[source.find("def ") :] if "def " in source else source.strip() + "\n"


def hash_of(text: str) -> str:
    return blake2b(text.encode(), digest_size=5).hexdigest()


def kept_hashes() -> list[str]:
    return HASHES.read_text().split()


def differing(numbers: Iterable[int]) -> list[int]:
    """Return the numbers of the programs whose functions are not the kept ones."""
    kept = kept_hashes()
    return [number for number in numbers if hash_of(text_of(number)) != kept[number]]


def in_full() -> str:
    return "\n".join(f"# program {number}\n{text_of(number)}" for number in range(IN_FULL))


def write() -> None:
    hashes = [hash_of(text_of(number)) for number in range(COUNT)]
    lines = (" ".join(hashes[at : at + 8]) for at in range(0, COUNT, 8))
    HASHES.write_text("\n".join(lines) + "\n")
    TEXTS.write_text(in_full())


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        print("\n".join(text_of(int(number)) for number in sys.argv[1:]))
