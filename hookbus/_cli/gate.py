"""`hookbus gate`: your coding agent under your guards."""

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
from .._ground.platform import IS_WINDOWS
from .screen import TABLES, Flag, Shown, print_items, print_json, say

gate = App(
    name="gate", help="Put the tools of a coding agent under your guards.",
    default_parameter=Parameter(negative=()),
)  # fmt: skip


@Parameter(name="*")
@attrs.frozen
class GateFile:
    """The settings of the gate."""

    settings: Path | None = None
    """the settings. Default: ~/.config/hookbus/hookbus.toml."""

    @property
    def file(self) -> Path:
        """The absolute path of the settings.

        Raises:
            HookError: on Windows, where there is no gate.
        """
        if IS_WINDOWS:
            raise HookError("hookbus gate needs Linux or macOS")
        own = Path.home() / ".config" / "hookbus" / "hookbus.toml"
        return Path(os.path.abspath(self.settings or own))


@gate.default
def answer(
    agent: str,
    /,
    *,
    deadline: float | None = None,
    event: str | None = None,
    where: GateFile = GateFile(),
) -> int:
    """Answer one event of an agent, read from stdin, in the agent's language.

    The exit code is 0 if the event goes on, and 2 if it is refused. Everything that goes wrong
    refuses it. The server that decides is started if none runs.

    Args:
        agent: claude, codex or gemini.
        deadline: how many seconds the event may take. Default: the settings, or 10.
        event: the name of the event. Default: the one in the event.
    """
    file = where.file
    from ..gate import hook

    name = event or ""
    try:
        for number in _ENDING:
            signal.signal(number, _raise_ended)
        given = sys.stdin.buffer.read()
        name = event if event is not None else _name_in(given)
        words = [agent, str(file), f"{_seconds(file, deadline):g}", name]
        program = [sys.executable, "-I", "-S", hook.__file__, *words]
        ended = subprocess.run(program, input=given, capture_output=True, check=False)
        if ended.returncode not in (hook.GO, hook.REFUSED):
            raise HookError(f"the hook ended with {ended.returncode}")
        code, out, err = ended.returncode, ended.stdout, ended.stderr
        _ignore_signals()
    except (HookError, OSError, _Ended) as error:
        _ignore_signals()
        code, out, err = hook.close_event(agent, name, f"{error} (the event is closed)")
    for stream, found in ((sys.stdout.buffer, out), (sys.stderr.buffer, err)):
        stream.write(found)
        stream.flush()
    return 0 if code == hook.GO else 2


class _Ended(BaseException):
    """A signal ends the command. No `except Exception` on the way may take it for its own."""


_ENDING: Final = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)
)


def _raise_ended(number: int, frame: object) -> None:
    _ignore_signals()
    raise _Ended(f"the command was ended by signal {number}")


def _ignore_signals() -> None:
    """Let the answer be written as a whole. The program ends after it, so they stay ignored."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)


def _name_in(given: bytes) -> str:
    """Return the name of an event; an empty string if it has none, which is refused."""
    try:
        found: Any = json.loads(given).get("hook_event_name", "")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return found if isinstance(found, str) else ""


def _seconds(file: Path, deadline: float | None) -> float:
    """Return the deadline of an event: that of the option, or of the settings."""
    from ..gate._settings import DEADLINE_SECONDS, LONGEST_SECONDS, read_gate_settings

    if deadline is not None:
        if not 0 < deadline <= LONGEST_SECONDS:
            raise HookError(f"--deadline {deadline:g} must be a number of seconds from 0 to 86400")
        return deadline
    try:
        return read_gate_settings(file).deadline
    except HookError:
        return DEADLINE_SECONDS  # what is wrong with the settings is told by the gate


@gate.command
def install(
    agent: str, /, *, user: Flag = False, project: Flag = False, deadline: float | None = None,
    where: GateFile = GateFile(),
) -> None:  # fmt: skip
    """Put the gate into the settings file of an agent.

    Nothing is written if the gate does not answer, or if the file cannot be changed without a loss.
    For each thing that the gate does not reach, a line says so.

    Args:
        agent: claude, codex or gemini.
        user: in the settings of the user, which is the default.
        project: in the settings of the current folder.
        deadline: how many seconds an event may take. Default: the settings, or 10.
    """
    file, from_user = where.file, _is_of_user(user, project)
    from ..gate import _install

    found = _install.agent_named(agent)
    written = _install.install(found, file, _seconds(file, deadline), is_project=not from_user)
    say(f"installed: {written}")
    for each in _install.list_limits(agent):
        say(f"cannot guard: {each}")


@gate.command
def uninstall(agent: str, /, *, user: Flag = False, project: Flag = False) -> None:
    """Take the gate out of the settings file of an agent.

    Args:
        agent: claude, codex or gemini.
        user: out of the settings of the user, which is the default.
        project: out of the settings of the current folder.
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
    """Show whether the gate of each agent holds. The exit code is 1 if one is installed and has a
    problem.

    Args:
        agent: claude, codex or gemini. Default: all of them.
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
    return int(any(row["installed"] and row["problems"] for row in rows))


def _show(row: dict[str, Any]) -> None:
    where = ", ".join(row["installed"])
    say(f"{row['agent']}: {row['gate']}{f', in {where}' if where else ''}")
    if row["last"]:
        say(f"  last asked: {row['last']}")
    if row["problems"]:
        print_items(row["problems"], "bold red")
    if row["installed"]:
        print_items((f"cannot guard: {each}" for each in row["cannot"]), "dim")


@gate.command
def serve(*, where: GateFile = GateFile()) -> None:
    """Run the server in the foreground, until Ctrl-C. Agents start one themselves."""
    file = where.file
    from ..gate import hook
    from ..gate._boot import lock
    from ..gate._server import serve as run

    try:
        locked = lock(hook.place(str(file)))
    except hook.Closed as error:
        raise HookError(str(error)) from None
    if locked is None:
        raise HookError(f"a server runs for {file}: end it with hookbus gate stop")
    run(str(file), locked)


@gate.command
def stop(*, where: GateFile = GateFile()) -> None:
    """End the server. The next event of an agent starts another."""
    file = where.file
    from ..gate._install import stop as end

    say("stopped" if end(file) else "no server runs")
