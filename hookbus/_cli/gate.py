"""`hookbus gate`: check the tool calls of a coding agent with your guards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import attrs
from cyclopts import App, Parameter

from .. import HookError
from .._external.platform import IS_WINDOWS
from .._program.settings import find_user_file
from .screen import TABLES, Flag, Shown, print_items, print_json, say

gate = App(
    name="gate", help="Check the tool calls of a coding agent with your guards.",
    default_parameter=Parameter(negative=()),
)  # fmt: skip


@Parameter(name="*")
@attrs.frozen
class GateFile:
    """The settings of the gate."""

    settings: Path | None = None
    """the settings file. Default: ~/.config/hookbus/hookbus.toml."""

    @property
    def file(self) -> Path:
        """The absolute path of the settings file.

        Raises:
            HookError: on Windows, which the gate does not support.
        """
        if IS_WINDOWS:
            raise HookError("hookbus gate needs Linux or macOS")
        return Path(os.path.abspath(self.settings or find_user_file()))


@gate.default
def answer(
    agent: str,
    /,
    *,
    deadline: float | None = None,
    event: str | None = None,
    where: GateFile = GateFile(),
) -> int:
    """Read one event of an agent from stdin, and print the answer in the agent's own format.

    The exit code is 0 if the event may continue, and 2 if it is refused. Any failure refuses the
    event. The command starts the gate's server if it is not running.

    Args:
        agent: claude, codex, gemini, cursor, copilot or opencode.
        deadline: the time limit for the event in seconds. Default: the value in the settings, or
            10.
        event: the name of the event. Default: the name in the event itself. Events of copilot
            contain no name.
    """
    file = where.file
    from ..gate import _hook as hook
    from ..gate._entries import hook_words

    name = event or ""
    try:
        for number in _ENDING:
            signal.signal(number, _raise_ended)
        event_bytes = sys.stdin.buffer.read()
        name = event if event is not None else _name_in(event_bytes)
        words = [*hook_words(agent, str(file), _seconds(file, deadline)), name]
        ended = subprocess.run(words, input=event_bytes, capture_output=True, check=False)
        if ended.returncode not in (hook.GO, hook.REFUSED):
            raise HookError(f"the hook ended with {ended.returncode}")
        code, out, err = ended.returncode, ended.stdout, ended.stderr
        _ignore_signals()
    except (HookError, OSError, _Ended) as error:
        _ignore_signals()
        code, out, err = hook.close_event(agent, name, f"{error} (the event is blocked)")
    for stream, found in ((sys.stdout.buffer, out), (sys.stderr.buffer, err)):
        stream.write(found)
        stream.flush()
    return 0 if code == hook.GO else 2


class _Ended(BaseException):
    """A signal ended the command. It is not an `Exception`, so that `except
    Exception` does not catch it.
    """


_ENDING: Final = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)
)


def _raise_ended(number: int, frame: object) -> None:
    _ignore_signals()
    raise _Ended(f"the command was stopped by signal {number}")


def _ignore_signals() -> None:
    """Ignore signals from now on, so that the answer is written completely before the program
    exits.
    """
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)


def _name_in(event_bytes: bytes) -> str:
    """Return the name of an event, or an empty string if it has no name. Such an event is
    refused.
    """
    try:
        found: Any = json.loads(event_bytes).get("hook_event_name", "")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return found if isinstance(found, str) else ""


def _seconds(file: Path, deadline: float | None) -> float:
    """Return the deadline of an event from the option or, without an option, from the settings."""
    from ..gate._settings import DEADLINE_SECONDS, LONGEST_SECONDS, read_gate_settings

    if deadline is not None:
        if not 0 < deadline <= LONGEST_SECONDS:
            raise HookError(f"--deadline {deadline:g} must be a number of seconds from 0 to 86400")
        return deadline
    try:
        return read_gate_settings(file).deadline
    except HookError:
        return DEADLINE_SECONDS  # the server reports the problem in the settings


@gate.command
def install(
    agent: str, /, *, user: Flag = False, project: Flag = False, deadline: float | None = None,
    where: GateFile = GateFile(),
) -> None:  # fmt: skip
    """Add the gate to the settings file of an agent.

    If the gate does not answer, or if the file cannot be changed without losing content, nothing is
    written. The output lists the actions that the gate cannot check.

    Args:
        agent: claude, codex, gemini, cursor, copilot or opencode.
        user: use the settings of the user. This is the default.
        project: use the settings of the current folder.
        deadline: the time limit for an event in seconds. Default: the value in the settings, or 10.
    """
    file, from_user = where.file, _is_of_user(user, project)
    from ..gate import _install
    from ..gate._trying import STARTS

    found = _install.agent_named(agent)
    written = _install.install(found, file, _seconds(file, deadline), is_project=not from_user)
    say(f"installed: {written}")
    for each in _install.list_limits(agent):
        say(f"cannot guard: {each}")
    trust = "start codex and trust the hooks of the gate, then " if agent == "codex" else ""
    if agent in STARTS:
        say(f"next: {trust}run hookbus gate try {agent}")


@gate.command
def uninstall(agent: str, /, *, user: Flag = False, project: Flag = False) -> None:
    """Remove the gate from the settings file of an agent.

    Args:
        agent: claude, codex, gemini, cursor, copilot or opencode.
        user: use the settings of the user. This is the default.
        project: use the settings of the current folder.
    """
    from_user = _is_of_user(user, project)
    from ..gate import _install

    found = _install.agent_named(agent)
    file = _install.uninstall(found, is_project=not from_user)
    say("not installed" if file is None else f"uninstalled: {file}")


def _is_of_user(user: bool, project: bool) -> bool:
    if IS_WINDOWS:
        raise HookError("hookbus gate needs Linux or macOS")
    if user and project:
        raise HookError("pass --user or --project, not both")
    return not project


@gate.command
def status(
    agent: str | None = None, /, *, where: GateFile = GateFile(), shown: Shown = TABLES
) -> int:
    """Show the state of the gate of each agent. The exit code is 1 if an installed gate has a
    problem.

    Args:
        agent: claude, codex, gemini, cursor, copilot or opencode. Default: all of them.
    """
    file = where.file
    from ..gate._agents import AGENTS
    from ..gate._install import agent_named
    from ..gate._status import status_of

    agents = [*AGENTS.values()] if agent is None else [agent_named(agent)]
    rows = [status_of(each, file) for each in agents]
    if shown.json:
        print_json(rows)
    else:
        for row in rows:
            _show(row)
        _show_settings([each for row in rows for each in row["settings"]])
    return int(any(row["installed"] and row["problems"] for row in rows))


def _show(row: dict[str, Any]) -> None:
    where = ", ".join(row["installed"])
    if not where:
        say(f"{row['agent']}: not installed")
    else:
        say(f"{row['agent']}: {'has a problem' if row['problems'] else 'works'}, in {where}")
    if row["last"]:
        say(f"  last used: {row['last']['at']}, by hookbus {row['last']['version']}")
    if row["problems"]:
        print_items(row["problems"], "bold red")
    if row["installed"]:
        print_items((f"cannot guard: {each}" for each in row["cannot"]), "dim")


def _show_settings(found: list[dict[str, Any]]) -> None:
    """Show the files of each gate once, and the rules that may be mistakes."""
    for each in {own["file"]: own for own in found}.values():
        say(f"settings: {each['file']}")
        for name in ("journal", "approvals", "log"):
            if each[name]:
                say(f"  {name}: {each[name]}")
        if each["unused_rules"]:
            lines = [f"rule that matched no call so far: {rule}" for rule in each["unused_rules"]]
            print_items(lines, "yellow")


@gate.command(name="try")
def run_agent(agent: str, /) -> int:
    """Run an installed agent, and check whether it asks the gate about its calls.

    The agent runs in an empty folder, with a scripted model on this machine and a made-up key. The
    model calls a shell with a command that the gate always blocks. The exit code is 0 for "live",
    and 1 for "not live", with the reason and the problems that hookbus gate status finds.

    Args:
        agent: claude, codex, gemini, copilot or opencode.
    """
    if IS_WINDOWS:
        raise HookError("hookbus gate needs Linux or macOS")
    from ..gate._install import agent_named
    from ..gate._status import status_of
    from ..gate._trying import find_gap

    found = agent_named(agent)
    gap = find_gap(found.name)
    say(f"not live: {gap}" if gap else "live")
    if gap:
        row = status_of(found, GateFile().file)
        missing = [f"{agent} has no gate: run hookbus gate install {agent}"]
        problems = row["problems"] if row["installed"] else missing
        if problems:
            print_items(problems, "bold red")
    return int(bool(gap))


@gate.command
def serve(*, where: GateFile = GateFile()) -> None:
    """Run the server in the foreground until Ctrl-C. Usually, the first event of an agent starts
    it.
    """
    file = where.file
    from ..gate import _hook as hook
    from ..gate._lock import lock
    from ..gate._server import serve as run

    try:
        locked = lock(hook.place(str(file)))
    except hook.Closed as error:
        raise HookError(str(error)) from None
    if locked is None:
        raise HookError(f"a server is already running for {file}: stop it with hookbus gate stop")
    run(str(file), locked)


@gate.command
def stop(*, where: GateFile = GateFile()) -> None:
    """Stop the server. The next event of an agent starts a new one."""
    file = where.file
    from ..gate._install import stop as end

    say("stopped" if end(file) else "no server is running")
