"""The resident server of the gate, which answers the events of one user's agents."""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import json
import logging
import os
import socket
import sys
import time
from pathlib import Path
from typing import Final

import attrs

from .. import HookError, __version__
from . import _hook as hook
from ._answering import Answering
from ._answers import close_event
from ._loading import Loaded, load
from ._watch import Watch
from ._wire import Request, find_older, format_answer, is_own_user, read_request

IDLE_SECONDS: Final = 1800.0
SWEEP_SECONDS: Final = 1.0
LONGEST_BLOCK_SECONDS = 300.0
"""How long a plugin may keep the server from answering any event. Then the server exits, and the
next event starts another one.
"""

_log = logging.getLogger("hookbus")


def serve(settings: str, locked: int, *, idle: float = IDLE_SECONDS) -> None:
    """Answer events until the server has been idle for too long, or until `stop`.

    Args:
        settings: the absolute path of the settings.
        locked: the locked file. Closing it allows another server to start.
        idle: the number of seconds without an event or open call after which the server exits.
    """
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING, stream=sys.stderr)
    asyncio.run(Server(settings, locked, idle).run())


@attrs.define(eq=False)
class Server:
    """A server.

    Args:
        settings: the absolute path of the settings.
        locked: the locked file.
        idle: the number of seconds that the server may be idle.
    """

    settings: str
    locked: int
    idle: float
    watch: Watch = attrs.field(factory=Watch)
    loaded: Loaded | None = None
    problem: str = ""
    path: str = ""
    busy: int = 0
    asked: dict[str, float] = attrs.field(factory=dict)
    last: float = attrs.field(factory=time.monotonic)
    is_retired: bool = False
    ended: asyncio.Event = attrs.field(factory=asyncio.Event)
    identity: tuple[int, ...] | None = None

    async def run(self) -> None:
        """Load the settings, and answer events."""
        self._limit_block()
        own = os.getpid()
        try:
            self.loaded = load(Path(self.settings), self.watch)
        except HookError as error:
            _log.warning("the gate could not load %s: %s", self.settings, error)
            self.problem = str(error)
        except BaseException as error:  # a plugin may raise anything
            _log.warning("the gate could not load %s", self.settings, exc_info=error)
            self.problem = f"{self.settings} could not be loaded: {type(error).__name__}"
        if os.getpid() != own:
            os._exit(1)  # a plugin has forked, and this is the child
        self.path = hook.place(self.settings) + ".sock"
        listening = self._listen()
        # A process that a plugin forks must not keep the socket.
        os.register_at_fork(after_in_child=listening.close)
        server = await asyncio.start_unix_server(self._serve, sock=listening, limit=1 << 16)
        try:
            await self._until_idle()
        finally:
            if not self.is_retired:
                self._step_back()
            self._remove_socket()
            server.close()
            await self._close()
            faulthandler.cancel_dump_traceback_later()

    def _limit_block(self) -> None:
        """Exit, and log what the server does, unless this method is called again in time."""
        deadline = 0.0 if self.loaded is None else self.loaded.settings.deadline
        seconds = max(LONGEST_BLOCK_SECONDS, 2 * deadline)
        if sys.platform == "darwin":
            return  # its clock for this purpose continues while the machine sleeps
        faulthandler.dump_traceback_later(seconds, exit=True, file=2)

    def _listen(self) -> socket.socket:
        """Return the listening socket. Its file gets its name only after the socket listens."""
        listening, new = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), f"{self.path}.new"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)
        listening.bind(new)
        listening.listen(128)
        os.rename(new, self.path)
        self.identity = _identify(self.path)
        return listening

    def _has_socket(self) -> bool:
        """Return whether hooks still reach this server at its path."""
        return self.identity is not None and _identify(self.path) == self.identity

    def _remove_socket(self) -> None:
        if self._has_socket():
            os.unlink(self.path)

    async def _until_idle(self) -> None:
        while not self.ended.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.ended.wait(), min(SWEEP_SECONDS, self.idle))
            self._limit_block()
            if not self.is_retired and not self._has_socket():
                _log.warning("%s was removed or replaced, so another server may start", self.path)
                self._step_back()
            if self.busy or self._open_calls():
                continue
            if self.is_retired or time.monotonic() - self.last > self.idle:
                return

    def _open_calls(self) -> int:
        return 0 if self.loaded is None else self.loaded.calls.sessions.count_open()

    def _step_back(self) -> None:
        """Let another server start. From now on, this server answers only events of its open
        calls."""
        if not self.is_retired:
            self.is_retired = True
            if self._has_socket():
                old = f"{self.path.removesuffix('.sock')}.{os.getpid()}.old"
                os.rename(self.path, old)
                self.path = old
            os.close(self.locked)

    async def _close(self) -> None:
        loaded, self.loaded, self.problem = self.loaded, None, "the server ends"
        if loaded is not None:
            await loaded.calls.sessions.close()
            if loaded.journal is not None:
                loaded.journal.close()

    # -- one connection ----------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.busy, self.last = self.busy + 1, time.monotonic()
        try:
            if is_own_user(writer):
                request = await read_request(reader)
                writer.write(await self._reply(request, reader, writer))
                await writer.drain()
        except (OSError, EOFError, ValueError):
            _log.info("a hook ended before it had its answer")
        finally:
            self.busy, self.last = self.busy - 1, time.monotonic()
            writer.close()

    async def _reply(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes:
        if request.act == "stop":
            self._step_back()
            self._remove_socket()
            await self._close()  # whoever stops it can read the journal
            self.ended.set()
            return format_answer(hook.GO, b"", b"")
        if request.settings != self.settings or request.python != sys.executable:
            return format_answer(
                *close_event(request.agent, request.event, "the server is another's")
            )
        if not self.is_retired and self.watch.has_changed():
            self._step_back()
        if not request.agent:
            return b"again\n" if self.is_retired else self._report()
        answering = Answering(self.loaded, self.problem, request, writer)
        is_ours = self.loaded is not None and answering.has_open_call()
        if not is_ours and request.act == "forward":
            if answering.is_ending():
                await answering.answer(reader)
            return b"unknown\n"
        if not is_ours and (answering.is_second_half() or answering.is_ending()):
            found = await self._ask_older(request)
            if found:
                return found
        if self.is_retired and not is_ours:
            return b"again\n"
        writer.write(b"taken\n")
        await writer.drain()
        self.asked[request.agent] = time.time()
        return format_answer(*await answering.answer(reader))

    def _report(self) -> bytes:
        """Return whether this server answers and when each agent last used it, for `status`."""
        if self.problem:
            return format_answer(hook.REFUSED, b"", f"hookbus: {self.problem}\n".encode())
        unused = [] if self.loaded is None else self.loaded.find_unused_rules()
        state = {"version": __version__, "last": self.asked, "unused": unused}
        return format_answer(hook.GO, json.dumps(state).encode(), b"")

    async def _ask_older(self, request: Request) -> bytes:
        """Return the answer of the older server that began the call of an event, or b""."""
        for path in find_older(self.settings):
            if path == self.path:
                continue
            try:
                reader, writer = await asyncio.open_unix_connection(path)
            except OSError:
                with contextlib.suppress(FileNotFoundError):  # its server was killed
                    os.unlink(path)
                continue
            try:
                writer.write(request.forwarded())
                found = await reader.read()
            finally:
                writer.close()
            if found != b"unknown\n":
                return found
        return b""


def _identify(path: str) -> tuple[int, ...] | None:
    """Return numbers that are different for another file at the same path, or None."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns
