"""How a mistake is made, and every report about it, by the place of the report."""

import logging
import re
import threading
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import hookbus
from hookbus import Bus, HookError, hookable, report

Make = Callable[[Bus, Any], Callable[[], Any] | None]
"""Makes a mistake with a bus and an `Agent` on it; returns the first call where there is one."""

DECORATORS = ("<lambda>", "hookable", "instrument", "hook_overrides", "declare", "receives")
"""The functions of hookbus that a mistake in decorating leads to."""


class Topic(NamedTuple):
    """The mistakes of one table.

    Attributes:
        title: its heading on the page.
        made: what makes each, by the words of its row.
    """

    title: str
    made: dict[str, Make]

    def mistake(self, row: str) -> Callable[[Make], Make]:
        """Make a decorator that adds the mistake of this row."""

        def add(make: Make) -> Make:
            assert row not in self.made, row
            self.made[row] = make
            return make

        return add


class Kept(logging.Handler):
    """Keeps the lines of the log."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.came = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        self.came.set()


def make_agent(bus: Bus) -> Any:
    """Return the class that all rows of the page are about."""

    class Agent:
        @hookable(bus=bus)
        def reply(self, msg, temperature=0.7):
            return msg

        @hookable(bus=bus)
        async def fetch(self, url):
            return url

        @hookable(bus=bus)
        def tokens(self, n):
            yield from range(n)

    return Agent


def all_told(make: Make) -> dict[str, list[str]]:
    """Make a mistake, and return what is said where."""
    bus, kept, logger = Bus(), Kept(), logging.getLogger("hookbus")
    Agent, alive = make_agent(bus), list[Any]()
    said: dict[str, list[str]] = {}
    level = logger.level
    logger.addHandler(kept)
    logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            said |= _made(partial(make, bus, Agent), alive)
        receivers = [each for signal in bus.signals() for each in signal.connections()]
        if any(each.failures and each.role != "around" for each in receivers):
            kept.came.wait(10)  # where no stack was left, a thread logs it
    finally:
        logger.removeHandler(kept)
        logger.setLevel(level)
    said["log"] = kept.lines
    said["warning"] = [str(each.message) for each in warned]
    said["report()"] = list(report(bus).findings)
    return {place: [_brief(line) for line in lines] for place, lines in said.items() if lines}


def _brief(line: str) -> str:
    """Return a line as the page has it: without the places of receivers and functions."""
    line = re.sub(r" \(/[^)]*\.py:\d+\)", "", line)
    line = re.sub(r"/\S+\.py:\d+", "agent.py:12", line)
    return re.sub(r"[\w.]*<locals>\.", "", line)


def _made(make: Callable[[], Any], alive: list[Any]) -> dict[str, list[str]]:
    """Make a mistake and the first call; what they leave is alive until all is reported."""
    try:
        call = make()
    except (HookError, TypeError) as error:
        alive.append(error)
        return {_place_of(error): [str(error)]}
    alive.append(call)
    try:
        _ = call and call()
    except Exception as error:
        return {"first call": [str(error), *getattr(error, "__notes__", ())]}
    return {}


def _place_of(error: BaseException) -> str:
    """Say what was being done: the function of hookbus that the mistake called tells."""
    frames = traceback.extract_tb(error.__traceback__)
    home = str(Path(hookbus.__file__).parent)
    ours = [frame for frame in frames if frame.filename.startswith(home)]
    called = next((f.name for f in ours if not f.filename.endswith("keywords.py")), "")
    if called == "require_guard":
        return "start-up"
    return "decorating" if called in DECORATORS else "connecting"
