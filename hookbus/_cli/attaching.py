"""`hookbus attach`: inspect a running program, and switch its receivers."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Literal

from .. import HookError
from .._external.platform import is_process_running
from .screen import TABLES, Shown, print_items, print_json, print_rows, say


def attach(
    pid: int,
    act: Literal["report", "tail", "disable", "enable", "shadow"],
    receiver: str | None = None, /, *, shown: Shown = TABLES,
) -> None:  # fmt: skip
    """Inspect a program that you are running, or switch its receivers.

    Start the program with hookbus run, or set HOOKBUS_JOURNAL. Its journal records every switch. A
    guard with locked=True cannot be switched.

    Args:
        pid: the id of the process.
        act: report: print its receivers and findings; tail: print events as they happen;
            disable, shadow or enable: switch a receiver.
        receiver: the name of the receiver to disable, shadow or enable.
    """
    is_switch = act not in ("report", "tail")
    if is_switch != (receiver is not None):
        needs = f"{act} needs the name of a receiver: hookbus attach {pid} {act} NAME"
        raise HookError(needs if is_switch else f"{act} takes no receiver")
    for answer in _asked(pid, {"act": act, "receiver": receiver}):
        if "error" in answer:
            raise HookError(answer["error"])
        if shown.json:
            print_json(answer)
        elif "report" in answer:
            _show(answer["report"])
        elif "switched" in answer:
            print_items(f"{act}: {each}" for each in answer["switched"])
        elif "event" in answer:
            _tell(answer["event"])
        elif "missed" in answer:
            say(f"{answer['missed']} events were skipped, because they came too fast", "yellow")


def _asked(pid: int, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Send a question to a process and yield its answers.

    Raises:
        HookError: if the process does not exist, belongs to another user, or does not accept
            questions.
    """
    from .._program.door import NEEDS_LINUX, can_listen, socket_of

    if not can_listen():
        raise HookError(NEEDS_LINUX)
    try:
        is_running = is_process_running(pid)
    except OverflowError:
        is_running = False
    except PermissionError:
        wrong = f"process {pid} belongs to another user: run hookbus as that user"
        raise HookError(wrong) from None
    if not is_running:
        raise HookError(f"process {pid} does not exist")
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as line:
        try:
            line.connect(str(socket_of(pid)))
        except OSError:
            raise HookError(
                f"cannot attach to process {pid}: start the program with hookbus run, or set "
                "HOOKBUS_JOURNAL"
            ) from None
        line.sendall(json.dumps(question).encode() + b"\n")
        with line.makefile("rb") as answers:
            for answer in answers:
                yield json.loads(answer)


def _show(report: dict[str, Any]) -> None:
    print_rows(report["hooks"], "no hooks", "hooks")
    rows = [{**row, "last failure": None} for row in report["receivers"]]
    print_rows(rows, "no receivers", "receivers")
    say("findings" if report["findings"] else "no findings", "bold")
    print_items(report["findings"])


def _tell(event: dict[str, Any]) -> None:
    from .describing import line_of

    say(line_of(event))
