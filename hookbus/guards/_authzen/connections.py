"""Manages connections to a policy server. Connections are reused, and every operation has a
deadline."""

from __future__ import annotations

import functools
import io
import socket
import ssl
import time
import weakref
from collections import deque
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult

from ..._ground.platform import run_at_fork
from .answer import NoAnswer

if TYPE_CHECKING:
    from urllib3.connection import HTTPConnection

KEPT: Final = 64
"""The maximum number of idle connections to keep."""

_PIECE: Final = 65_536
_QUICKACK: Final[int | None] = getattr(socket, "TCP_QUICKACK", None)  # Linux has it


class Server:
    """The connections to one server.

    Args:
        address: the address of the endpoint.
        headers: the headers of each question.
        max_bytes: the maximum length of an answer.
        tls: the TLS settings, for https.
    """

    def __init__(
        self, address: SplitResult, headers: Mapping[str, str], max_bytes: int,
        tls: ssl.SSLContext | None,
    ) -> None:  # fmt: skip
        self._host, self._port, self._path = address.hostname or "", address.port, address.path
        self._headers, self._max_bytes, self._tls = dict(headers), max_bytes, tls
        self._idle: deque[HTTPConnection] = deque()
        weakref.finalize(self, _close_all, self._idle)
        _SERVERS.add(self)

    def post(self, body: bytes, end: float) -> bytes:
        """Return the body of the answer to a question.

        Args:
            body: the question.
            end: the deadline for the answer, as a time of `time.monotonic`.

        Raises:
            NoAnswer: if no usable answer arrives.
        """
        kept = self._kept()
        if kept is not None:
            try:
                return self._exchange(kept, body, end)
            except _Closed:  # the server ended the idle connection at the same moment
                pass
        try:
            return self._exchange(self._connected(end), body, end)
        except _Closed:
            raise NoAnswer(
                "absent", "the policy server closed the connection without an answer"
            ) from None

    def close_idle(self) -> None:
        """Close the connections that are not in use."""
        _close_all(self._idle)

    def _kept(self) -> HTTPConnection | None:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread took it
                return None
            if connection.is_connected:
                return connection
            connection.close()
        return None

    def _connected(self, end: float) -> HTTPConnection:
        from urllib3.connection import HTTPConnection, HTTPSConnection

        left = _left(end)
        connection = (
            HTTPConnection(self._host, self._port, timeout=left) if self._tls is None
            else HTTPSConnection(self._host, self._port, timeout=left, ssl_context=self._tls)
        )  # fmt: skip
        try:
            connection.connect()
        except BaseException as error:
            connection.close()
            if isinstance(error, ssl.SSLCertVerificationError):
                raise NoAnswer(
                    "absent", "the certificate of the policy server cannot be verified"
                ) from None
            if _is_late(error):
                raise _late() from None
            if isinstance(error, _errors()):
                raise NoAnswer("absent", "the policy server cannot be reached") from None
            raise
        timed: Any = _Timed(connection.sock)
        connection.sock = timed
        return connection

    def _exchange(self, connection: HTTPConnection, body: bytes, end: float) -> bytes:
        """Post a question, read the whole answer, and keep the connection."""
        timed: Any = connection.sock
        timed.end = end
        is_kept = False
        try:
            answer = self._answer(connection, body)
            is_kept = connection.sock is not None and len(self._idle) < KEPT
            if is_kept:
                self._idle.append(connection)
            return answer
        finally:
            if not is_kept:
                connection.close()

    def _answer(self, connection: HTTPConnection, body: bytes) -> bytes:
        try:
            connection.request(
                "POST", self._path, body=body, headers=self._headers, preload_content=False,
                decode_content=False,
            )  # fmt: skip
            response = connection.getresponse()
        except ConnectionError:
            raise _Closed from None
        except _errors() as error:
            if _is_late(error):
                raise _late() from None
            raise NoAnswer(
                "malformed", "the answer of the policy server is not valid HTTP"
            ) from None
        with closing(response):  # it keeps the socket open even when the connection is closed
            return self._body_of(response)

    def _body_of(self, response: Any) -> bytes:
        """Return the body of a response, or raise `NoAnswer` if the response is not an answer."""
        if 300 <= response.status < 400:
            raise NoAnswer(
                "refused", f"the policy server answered with a redirect ({response.status}), which "
                "is not followed",
            )  # fmt: skip
        if response.status != 200:
            raise NoAnswer("refused", f"the policy server answered with status {response.status}")
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise NoAnswer("malformed", "the answer of the policy server is compressed")
        try:
            return self._read(response)
        except _errors() as error:
            if _is_late(error):
                raise _late() from None
            raise NoAnswer("malformed", "the answer of the policy server was cut short") from None

    def _read(self, response: Any) -> bytes:
        pieces, size = [], 0
        while piece := response.read(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > self._max_bytes:
                raise NoAnswer(
                    "malformed", "the answer of the policy server is longer than "
                    f"max_bytes={self._max_bytes}",
                )  # fmt: skip
        return b"".join(pieces)


class _Closed(Exception):
    """The server closed the connection before it answered."""


class _Timed:
    """A socket whose operations share a deadline, even if the bytes arrive slowly.

    Attributes:
        end: the deadline, as a time of `time.monotonic`.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock, self.end = sock, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def settimeout(self, seconds: float | None) -> None:
        """Ignore the library's timeout, which would restart with each byte."""

    def wait_until_end(self) -> None:
        """Set the socket's timeout to the time that is left until the deadline."""
        self._sock.settimeout(_left(self.end))

    def acknowledge_at_once(self) -> None:
        """Disable delayed acknowledgments, because many servers send the body only after the
        headers are acknowledged.
        """
        if _QUICKACK is not None:
            self._sock.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 1)

    def sendall(self, data: Any) -> None:
        rest = memoryview(data)
        while rest:
            self.wait_until_end()
            rest = rest[self._sock.send(rest) :]

    def makefile(self, *_: Any, **__: Any) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self, self._sock.makefile("rb", buffering=0)))


class _Reader(io.RawIOBase):
    """Reads from a socket until its deadline."""

    def __init__(self, timed: _Timed, raw: Any) -> None:
        self._timed, self._raw = timed, raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Any:
        self._timed.wait_until_end()
        self._timed.acknowledge_at_once()
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise _late()
    return left


def _late() -> NoAnswer:
    return NoAnswer("late", "the policy server did not answer in time")


@functools.cache
def _errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that the library raises for problems with a connection."""
    from urllib3.exceptions import HTTPError

    return OSError, HTTPException, HTTPError


def _is_late(error: BaseException) -> bool:
    from urllib3.exceptions import NewConnectionError
    from urllib3.exceptions import TimeoutError as HTTPTimeout

    # urllib3 derives a refused connection from its timeouts.
    is_timeout = isinstance(error, (TimeoutError, HTTPTimeout))
    return is_timeout and not isinstance(error, NewConnectionError)


def _close_all(idle: deque[HTTPConnection]) -> None:
    while idle:
        try:
            idle.pop().close()
        except IndexError:  # another thread took it
            return


_SERVERS: Final[weakref.WeakSet[Server]] = weakref.WeakSet()


def _close_in_child() -> None:
    """Close the parent's connections in a forked child process, which must not share them."""
    for each in list(_SERVERS):
        each.close_idle()


run_at_fork(after_in_child=_close_in_child)
