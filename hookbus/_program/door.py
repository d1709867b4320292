"""Open the control socket of a running program for `hookbus attach`. Only the user of the process
can connect to it.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import queue
import select
import socket
import stat
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from .. import _bus
from .._external.platform import is_process_running
from .._ground.errors import did_you_mean
from .._ground.platform import run_at_fork
from .._waiting.real_threads import thread_starter
from ..exceptions import HookError

SECONDS: Final = 5.0
"""The time limit in seconds for a client to send its request."""

WAITING: Final = 10_000
"""The number of events to buffer for a slow client. Later events are dropped and only counted."""

MOST_CALLERS: Final = 16
MOST_BYTES: Final = 65_536

ACTS: Final = ("report", "tail", "disable", "enable", "shadow")


NEEDS_LINUX: Final = (
    "hookbus attach needs Linux, where a socket identifies the user of the connected process; "
    "hookbus log and hookbus top read the journal of a program on every system"
)


def can_listen() -> bool:
    """Return whether this system has file sockets that identify the user of the connected process.
    """
    return all(hasattr(socket, name) for name in ("AF_UNIX", "SO_PEERCRED"))


def folder() -> Path:
    """Return the folder for the sockets of this user. Create the folder if it does not exist.

    Raises:
        HookError: if another user owns the folder or can access it.
    """
    path = Path(f"/tmp/hookbus-{os.getuid()}")
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    is_ours = found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode)
    if not is_ours or stat.S_IMODE(found.st_mode) & 0o077:
        raise HookError(
            f"{path} must be a folder that only you can access: remove it, or run chmod 700 on it"
        )
    return path


def socket_of(pid: int) -> Path:
    """Return the path of a program's socket."""
    return folder() / f"{pid}.sock"


class Door:
    """Lets the user of this process query the bus from another process, and switch receivers.

    Args:
        bus: the bus to control.

    Raises:
        HookError: if no socket can be opened, or if this system cannot identify the users of
            clients.
    """

    def __init__(self, bus: _bus.Bus) -> None:
        self._bus, self._is_closed = bus, False
        self._inside: set[socket.socket] = set()
        self._open()
        run_at_fork(after_in_child=self._again)
        atexit.register(self.close)

    def _open(self) -> None:
        if not can_listen():
            raise HookError(NEEDS_LINUX)
        _sweep()
        self._path = socket_of(os.getpid())
        self._path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(str(self._path))
            self._path.chmod(0o600)
            self._socket.listen(8)
        except OSError as error:
            self._socket.close()
            raise HookError(f"{self._path} cannot be opened: {error.strerror}") from None
        self._thread = threading.Thread(target=self._serve, daemon=True, name="hookbus attach")
        self._thread.start()

    def _again(self) -> None:
        """Open a new socket in a forked process."""
        self._socket.close()
        while self._inside:
            self._inside.pop().close()
        if not self._is_closed:
            with suppress(HookError, OSError, RuntimeError):
                self._open()

    def close(self) -> None:
        """Close the socket and remove its file. A second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for a client
        self._thread.join(SECONDS)
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _serve(self) -> None:
        listening_socket, starter = self._socket, thread_starter()
        while True:
            try:
                caller, _ = listening_socket.accept()
            except OSError:  # the socket was closed, or too many files are open
                if self._is_closed:
                    return
                time.sleep(0.1)
                continue
            if thread_starter() is not starter:
                # gevent has been loaded since, and its threads would wait for this one: serve one
                # client at a time.
                self._answer(caller)
                continue
            threading.Thread(
                target=self._answer, args=(caller,), daemon=True, name="hookbus attached"
            ).start()

    def _answer(self, caller: socket.socket) -> None:
        with suppress(OSError), self._callers(caller):  # the client has disconnected
            caller.settimeout(SECONDS)
            pid, uid, _ = struct.unpack(
                "3i", caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            )
            if uid != os.getuid():
                return
            try:
                with caller.makefile("rb") as questions:
                    asked = json.loads(questions.readline(MOST_BYTES))
                for answer in self._answers(asked, f"{_name(uid)} (pid {pid})", caller):
                    caller.sendall(json.dumps(answer, default=str).encode() + b"\n")
            except HookError as error:
                caller.sendall(json.dumps({"error": str(error)}).encode() + b"\n")
            except ValueError:
                caller.sendall(b'{"error": "the request is not valid JSON"}\n')

    @contextmanager
    def _callers(self, caller: socket.socket) -> Iterator[None]:
        """Register a client while it is connected. Reject the client if too many clients are
        connected.
        """
        with caller:
            if len(self._inside) >= MOST_CALLERS:
                raise OSError("too many clients are connected")
            self._inside.add(caller)
            try:
                yield
            finally:
                self._inside.discard(caller)

    def _answers(self, asked: Any, by: str, caller: socket.socket) -> Iterator[dict[str, Any]]:
        act = asked.get("act") if isinstance(asked, dict) else None
        if act == "report":
            yield {"report": _reported(self._bus)}
        elif act == "tail":
            yield from _told(self._bus, caller)
        elif act in ("disable", "enable", "shadow"):
            yield {"switched": self._bus.switch(str(asked.get("receiver")), act, by=by)}
        else:
            hint = did_you_mean(str(act), ACTS)
            raise HookError(f"{act!r:.40} is not a valid request{hint}")


def _reported(bus: _bus.Bus) -> dict[str, Any]:
    from .._views.report import report

    summary = report(bus)
    return {"hooks": summary.hooks, "receivers": summary.receivers, "findings": summary.findings}


def _told(bus: _bus.Bus, caller: socket.socket) -> Iterator[dict[str, Any]]:
    """Yield events from now on, until the client disconnects."""
    waiting: queue.Queue[dict[str, Any]] = queue.Queue(WAITING)
    missed = 0

    def hear(bus: object, event: Any) -> None:
        nonlocal missed
        try:
            waiting.put_nowait(event.as_dict())
        except queue.Full:
            missed += 1

    with bus.events.connected_to(hear, name=f"attached {id(waiting):x}"):
        yield {"listening": True}
        gone = select.poll()
        gone.register(caller, select.POLLIN)
        while not gone.poll(0):
            with suppress(queue.Empty):
                yield {"event": waiting.get(timeout=0.2)}
            if missed:
                yield {"missed": missed}
                missed = 0


def _name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _sweep() -> None:
    """Remove the sockets of processes that no longer run."""
    for path in folder().glob("*.sock"):
        try:
            is_running = is_process_running(int(path.stem))
        except (OSError, OverflowError, ValueError):
            continue
        if not is_running:
            path.unlink(missing_ok=True)


def listen() -> Callable[[], None] | None:
    """Open the socket of this program for `default_bus`, and return a function that closes it. On
    failure, log the reason and return None.
    """
    if not can_listen():
        logging.getLogger("hookbus").info("hookbus attach is not available: %s", NEEDS_LINUX)
        return None
    try:
        return Door(_bus.default_bus).close
    except (HookError, OSError) as error:
        logging.getLogger("hookbus").warning("hookbus attach cannot reach this program: %s", error)
        return None
