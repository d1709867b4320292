"""Checks whether Codex trusts the gate's hooks, because Codex silently skips untrusted hooks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any, Final

from ._entries import is_ours

SECONDS: Final = 10.0

_UNKNOWN: Final = "so it is not known whether Codex trusts the gate: start codex, and open /hooks"


def find_trust_problems() -> list[str]:
    """Return the reasons why Codex does not run the gate's hooks, as its app server reports."""
    program = shutil.which("codex")
    if program is None:
        return [f"codex is not on the PATH, {_UNKNOWN}"]
    try:
        listed = _hooks(program)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return [f"codex app-server gave no answer ({type(error).__name__}), {_UNKNOWN}"]
    own = [each for each in listed if is_ours(each)]
    if not own:
        return ["Codex does not know the hooks of the gate"]
    untrusted = dict[str, list[str]]()
    for each in own:
        state = str(each.get("trustStatus"))
        if state not in ("trusted", "managed"):
            untrusted.setdefault(state, []).append(str(each.get("eventName")))
    off = [str(each.get("eventName")) for each in own if each.get("enabled") is False]
    return [
        *(f"Codex does not run the hooks of the gate for {', '.join(events)}, because they are "
          f"{state}: start codex, open /hooks, and trust them"
          for state, events in sorted(untrusted.items())),
        *(f"Codex does not run the hook of the gate for {each}, because it is disabled: start "
          "codex, open /hooks, and enable it" for each in off),
    ]  # fmt: skip


def _hooks(program: str) -> list[dict[str, Any]]:
    """Return the hooks that Codex knows in the current folder."""
    asked = [
        {"id": 1, "method": "initialize",
         "params": {"clientInfo": {"name": "hookbus", "title": "hookbus", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [os.getcwd()]}},
    ]  # fmt: skip
    lines = "".join(json.dumps(each) + "\n" for each in asked)
    with subprocess.Popen(
        [program, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    ) as server:  # fmt: skip
        try:
            return _hooks_in(_answer(server, lines))
        finally:
            server.kill()


def _answer(server: subprocess.Popen[str], lines: str) -> Any:
    import threading

    timer = threading.Timer(SECONDS, server.kill)
    timer.start()
    try:
        if server.stdin is None or server.stdout is None:
            raise ValueError("no pipe")
        server.stdin.write(lines)
        server.stdin.flush()
        for line in server.stdout:
            said = json.loads(line)
            if said.get("id") == 2:
                return said["result"]
    except KeyError:
        raise ValueError("no result") from None
    finally:
        timer.cancel()
    raise ValueError("no answer")


def _hooks_in(value: Any) -> list[dict[str, Any]]:
    """Return all objects in an answer that have a `trustStatus`."""
    found = list[dict[str, Any]]()
    if isinstance(value, dict):
        if "trustStatus" in value:
            found.append(value)
        for each in value.values():
            found += _hooks_in(each)
    elif isinstance(value, list):
        for each in value:
            found += _hooks_in(each)
    return found
