"""`hookbus run`: run any Python program unchanged, with guards and recording set up first."""

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
from .._program.preparing import ask_at, prepare
from .._program.settings import find_settings
from .program import Program, without_ours
from .reading import check_place, named_journal
from .screen import TABLES, Flag, Several, Shown
from .target import instrument_named

_VALUED: Final = (
    "--plugin", "--instrument", "--adapters", "--journal", "--trace", "--approvals", "--wait",
    "--policy", "--policy-schema", "--people", "--hook",
)  # fmt: skip


@attrs.frozen
class Ended:
    """The way in which a program ended early."""

    error: BaseException

    def as_python_does(self) -> NoReturn:
        """Exit the interpreter as `python` would: with the same exit code or traceback, and without
        frames of hookbus.
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
    policy: Path | None = None, policy_schema: Path | None = None, people: Path | None = None,
    hook: str | None = None, values: Flag = False,
    module: Annotated[Flag, Parameter(alias="-m")] = False,
    shown: Shown = TABLES,
) -> Ended | None:  # fmt: skip
    """Run any Python program unchanged, under guards, and record its calls.

    Write the options of hookbus run before the program. Arguments after its name go to the program;
    write -- before the name if they include an option of hookbus run that takes a value. Arguments,
    exit code and traceback are the same as under python. The settings apply before the program
    starts. With --json, the number of calls by outcome is printed to stderr at the end.

    Args:
        program: a script, a folder that Python can run, or, with -m, a module.
        arguments: the arguments of the program.
        plugin: the id of a plugin, or its folder; can be repeated. If a plugin cannot be loaded,
            the program does not start.
        instrument: a method or function to make hookable, as module:Class.method or
            module:function; can be repeated.
        approvals: the file of approvals.Store, where people answer requests for approval. Default:
            the file in the settings.
        wait: the number of seconds that a call waits for an answer before it is blocked.
        adapters: the frameworks whose adapters to install, separated by commas, such as
            langchain,mcp.
        policy: a file or folder of Cedar policies, which decide every call to the hook. The
            policies are reloaded when their files change.
        policy_schema: the types of arguments for the policies: a Cedar schema, or a JSON file with
            the tools of an MCP server. Default: the declarations of the tools.
        people: a TOML file of names and their roles, for the policies.
        hook: the hook of the calls that the policies decide. Default: tool_call.
        values: also record the values of arguments, which hookbus policy and hookbus replay need.
        journal: the file to record events in. Default: HOOKBUS_JOURNAL, or the file in the
            settings.
        turns: also record every call to every receiver, with its answer and duration.
        trace: the file for a trace of the calls, for ui.perfetto.dev. An existing file is replaced.
        otel: create spans and metrics of the calls, for the OpenTelemetry providers that the
            program sets up.
        module: run the program as a module, as python -m does.
    """
    settings = find_settings()
    journal_file = named_journal(journal, settings)
    if turns and journal_file is None:
        raise HookError("--turns needs a journal: add --journal FILE")
    if trace is not None:
        check_place(trace)
    found = Program(program, arguments, is_module=module)
    if values and journal_file is None:
        raise HookError("--values needs a journal: add --journal FILE")
    default_bus.values = default_bus.values or values
    _decide_by(policy, policy_schema, people, hook)
    prepare(settings, plugins=plugin, adapters=adapters or "")
    for target in instrument:
        instrument_named(target)
    ask_at(approvals or settings.approvals, wait, people or settings.people)
    if shown.json:
        _count()
    from .._program.environment import join_fleet, record

    join_fleet(None if journal_file is None else record(journal_file, turns=turns))
    _export(trace, is_otel=otel)
    listen()
    try:
        found.run()
    except HookError as error:
        if without_ours(error.__traceback__) is None:  # an error of hookbus run itself
            raise
        return Ended(error)
    except BaseException as error:
        return Ended(error)
    return None


def _decide_by(
    policy: Path | None, schema: Path | None, people: Path | None, hook: str | None
) -> None:
    """Register a guard with these policies on `default_bus`.

    Raises:
        HookError: if the policies cannot be used, or if only a schema, people or a hook is passed.
    """
    if policy is not None:
        from ..guards import policy as guard_of

        guard = guard_of(
            policy, schema=schema or "tools", people=people, hook=hook or "tool_call"
        )
        default_bus.register(guard)
    elif schema is not None or people is not None or hook is not None:
        raise HookError("--policy-schema, --people and --hook need policies: add --policy FILE")


def _export(trace: Path | None, *, is_otel: bool) -> None:
    """Export the events as a trace, and to OpenTelemetry, until the program has ended.

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
    """Print the number of calls by outcome when the program ends, in one line on stderr."""
    import json

    from ..events import Failed, Finished

    counts: dict[str, int] = {}

    def counted(bus: Any, event: Any) -> None:
        name = event.outcome if isinstance(event, Finished) else "failures"
        counts[name] = counts.get(name, 0) + 1

    default_bus.events.connect(counted, kinds=(Finished, Failed), name="hookbus run --json")
    atexit.register(lambda: print(json.dumps({"calls": counts}), file=sys.stderr))


def program_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command line with `--` before the program of `run`, so that options
    after it belong to the program.

    Raises:
        HookError: for an option of `run` after the program, without `--` before it.
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
    """Raise HookError for an option of `run` after the program, because it would have no effect.

    Raises:
        HookError: if such an option is found; the message shows both ways to write it.
    """
    own = words[: words.index("--")] if "--" in words else words
    for word in own:
        option = word.partition("=")[0]
        if option in (*_VALUED, "--turns", "--otel", "--values"):
            raise HookError(
                f"{option} comes after {program}, so the program would get it: write {option} "
                f"before {program}; or, if it is meant for the program, write -- before {program}"
            )
