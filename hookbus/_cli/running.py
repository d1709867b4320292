"""`hookbus run`: any Python program, unchanged, with what is to watch over it put in place first.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import attrs
from cyclopts import Parameter

from .. import HookError, default_bus
from .._program.door import listen
from .preparing import instrument_named, prepare
from .program import Program, without_ours
from .reading import check_place, named_journal
from .screen import TABLES, Flag, Several, Shown
from .settings import find_settings

_VALUED: Final = (
    "--plugin", "--instrument", "--adapters", "--journal", "--trace", "--approvals", "--wait",
)  # fmt: skip


@attrs.frozen
class Ended:
    """How a program ended that did not simply come to its end."""

    error: BaseException

    def as_python_does(self) -> NoReturn:
        """Let Python end as it would have without hookbus: with its exit code, or its traceback,
        in which nothing of hookbus is to be seen.
        """
        shown, trace = sys.excepthook, without_ours(self.error.__traceback__)
        sys.excepthook = lambda kind, error, _: shown(kind, error.with_traceback(trace), trace)
        raise self.error


def run(
    program: str, /,
    *arguments: Annotated[str, Parameter(allow_leading_hyphen=True)],
    plugin: Several = (), instrument: Several = (), journal: Path | None = None,
    turns: Flag = False, trace: Path | None = None, otel: Flag = False,
    approvals: Path | None = None, wait: float = 0.0, adapters: str | None = None,
    module: Annotated[Flag, Parameter(alias="-m")] = False,
    shown: Shown = TABLES,
) -> Ended | None:  # fmt: skip
    """Run any Python program, unchanged, under guards and with a record.

    What stands behind the program is for the program; an option of `run` there is refused, unless
    `--` stands in front of the program. It gets its arguments, its exit code and its
    traceback as from Python; what the settings name is in place before it begins.

    Args:
        program: a script, or a folder that Python can run; or with -m a module.
        arguments: what the program is given.
        plugin: the id of a plugin, or its folder; may be given again. One that cannot be loaded
            ends it all.
        instrument: module:Class.method, or module:function, to make hookable; may be given again.
        approvals: the file of approvals.Store, where those are asked who are to say yes; else the
            one that the settings name.
        wait: for so many seconds a call waits for their answer, before it is blocked and has to be
            made again.
        adapters: frameworks that are to run on hookbus, with commas between: langchain,mcp.
        journal: the file that keeps what happens; else HOOKBUS_JOURNAL, else the one that the
            settings name.
        turns: keep every turn of every receiver in it, too: who agreed, and how long each took.
        trace: a file for the calls as a trace, which ui.perfetto.dev opens; one that is there is
            replaced.
        otel: make spans and metrics of the calls, for the OpenTelemetry providers that the program
            sets up.
        module: the program is a module, as for python -m.
    """
    settings = find_settings()
    kept = named_journal(journal, settings)
    if turns and kept is None:
        raise HookError("--turns are kept in a journal: give --journal FILE, too")
    if trace is not None:
        check_place(trace)
    found = Program(program, arguments, is_module=module)
    prepare(settings, plugins=plugin, adapters=adapters or "")
    for target in instrument:
        instrument_named(target)
    _ask_at(approvals or settings.approvals, wait)
    if shown.json:
        _count()
    if kept is not None:
        from .._program.environment import record

        record(kept, turns=turns)
    _export(trace, is_otel=otel)
    listen()
    try:
        found.run()
    except HookError as error:
        if without_ours(error.__traceback__) is None:  # of hookbus run itself
            raise
        return Ended(error)
    except BaseException as error:
        return Ended(error)
    return None


def _ask_at(store: Path | None, seconds: float) -> None:
    """Have those who answer at a store asked where a guard of `default_bus` wants a yes.

    Raises:
        HookError: if the file cannot be used, or it is to be waited for an answer of nobody.
    """
    if not 0 <= seconds <= 86_400:
        raise HookError(f"--wait {seconds:g} must be a number of seconds, from 0 to 86400")
    if store is not None:
        from ..approvals import Store
        from .waiting import Waited

        default_bus.approver(Waited(Store(store), seconds))
    elif seconds:
        raise HookError("--wait waits for answers at a store: give --approvals FILE, too")


def _export(trace: Path | None, *, is_otel: bool) -> None:
    """Have what happens written as a trace, and told to OpenTelemetry, until the program has ended.

    Raises:
        OSError: if the trace cannot be written.
    """
    exporters = list[Any]()
    if trace is not None:
        from ..exporters.chrome import ChromeTrace

        exporters.append(ChromeTrace(trace))
    if is_otel:
        from ..exporters.otel import OpenTelemetry

        exporters.append(OpenTelemetry())
    for each in exporters:
        default_bus.events.connect(each)
        atexit.register(each.close)


def _count() -> None:
    """Say at the end, in a line on stderr, how many calls there were and how they ended."""
    import json

    from ..events import Failed, Finished

    counts: dict[str, int] = {}

    def counted(bus: Any, event: Any) -> None:
        name = event.outcome if isinstance(event, Finished) else "failures"
        counts[name] = counts.get(name, 0) + 1

    default_bus.events.connect(counted, kinds=(Finished, Failed), name="hookbus run --json")
    atexit.register(lambda: print(json.dumps({"calls": counts}), file=sys.stderr))


def program_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command line with `--` before the program that `run` is to run, so that
    the program's own options are its own.

    Raises:
        HookError: for an option of `run` that stands behind the program, with no `--` before it.
    """
    found = list(words)
    if not found or found[0] != "run":
        return found
    place = 1
    while place < len(found) and found[place].startswith("-") and found[place] != "--":
        place += 2 if found[place] in _VALUED else 1
    if place < len(found) and found[place] != "--":
        _check_behind(found[place], found[place + 1 :])
        found.insert(place, "--")
    return found


def _check_behind(program: str, words: Sequence[str]) -> None:
    """Refuse an option of `run` behind the program: what it was to put in place would be missing.

    Raises:
        HookError: naming both ways to write it.
    """
    own = words[: words.index("--")] if "--" in words else words
    for word in own:
        option = word.partition("=")[0]
        if option in (*_VALUED, "--turns", "--otel"):
            raise HookError(
                f"{option} stands behind {program} and would be given to it: write {option} in "
                f"front of {program}; or, if it is for the program, write -- in front of {program}"
            )
