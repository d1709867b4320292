"""Connect to the Postgres server of a fleet. Each wait has a deadline in this process, because the
system of a stopped server still acknowledges packets.
"""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from .. import HookError
from .._ground.locks import Lock
from ..exceptions import Failure

try:
    import psycopg
    from psycopg import errors
    from psycopg.conninfo import conninfo_to_dict
except ImportError:
    raise HookError(
        "a fleet needs the package psycopg; run: pip install 'hookbus[fleet]'"
    ) from None

SECONDS: Final = 5.0
"""The time limit of one operation on the server, in seconds."""

_CONNECT_SECONDS: Final = 2
"""The time limit in seconds for a connection to one address. A host name may have two addresses."""

_IDLE: Final = 4
"""The maximum number of idle connections to keep for later operations."""

_OLDEST_SERVER: Final = 130_000

_SELECTOR: Final[Any] = getattr(selectors, "PollSelector", selectors.SelectSelector)


class _Late(Exception):
    """The server did not answer in time."""


class _Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is closed if the server does not answer before its deadline."""

    until = 0.0

    def __del__(self, *_: Any) -> None:
        """Suppress the warning of psycopg, because an idle connection is freed together with its
        fleet.
        """

    def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
        file = self.pgconn.socket
        try:
            state = next(gen)
            while True:
                left = self.until - time.monotonic()
                if left <= 0:
                    raise _Late
                state = gen.send(_ready(file, state, left))
        except StopIteration as end:
            return end.value
        except errors.Error:
            raise
        except BaseException:  # late, or interrupted: what the server does with it is unknown
            self.pgconn.finish()
            raise


def _ready(file: int, state: int, seconds: float) -> int:
    """Wait until a socket is ready, and return the operations that it is ready for. As in psycopg,
    bit 1 of `state` means reading and bit 2 means writing.
    """
    with _SELECTOR() as selector:
        selector.register(file, state)
        return next((events for _, events in selector.select(seconds)), 0)


class Server:
    """The server of a fleet, used with one role. All threads can share this object.

    Raises:
        HookError: if the URL is not a Postgres URL.
    """

    def __init__(self, url: str, schema: str) -> None:
        self._options = _options_of(url)
        self.schema, self._is_closed = schema, False
        host = self._options.get("host") or self._options.get("hostaddr") or "localhost"
        port = self._options.get("port") or 5432
        self.user = self._options.get("user") or "the user of this process"
        self.where = f"{host}:{port}/{self._options.get('dbname') or ''}"
        self._lock = Lock()
        self._process, self._idle = os.getpid(), list[_Connection]()

    def call(self, function: str, *values: Any) -> list[tuple[Any, ...]]:
        """Call a function of the schema in its own transaction, and return the rows.

        Raises:
            HookError: if the function cannot be called, or the server does not answer in time.
        """
        # Arrays are sent in binary, because each quote of a text array needs an escape.
        places = ", ".join(["%b::text[]" if isinstance(each, list) else "%s" for each in values])
        statement = f'SELECT * FROM "{self.schema}".{function}({places})'
        with self.connected() as connection:
            return connection.execute(statement.encode(), values).fetchall()

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """Lend a connection for one operation.

        Raises:
            HookError: in place of every error of psycopg. Its message never contains the password.
        """
        if self._is_closed:
            raise _service_error(f"the fleet at {self.where} is closed", "unsent")
        until = time.monotonic() + SECONDS
        connection = None
        try:
            connection = self._taken() or self._opened()
            connection.until = until
            yield connection
        except _Late:
            raise _service_error(
                f"the fleet at {self.where} did not answer within {SECONDS:g} seconds", "late"
            ) from None
        except psycopg.Error as error:
            raise _service_error(self._message(error), _failure_of(error)) from None
        finally:
            if connection is not None:
                self._give_back(connection)

    def close(self) -> None:
        """Close all idle connections. Later operations raise HookError."""
        self._is_closed = True
        while (connection := self._taken()) is not None:
            connection.close()

    def _taken(self) -> _Connection | None:
        """Return an idle connection that the server has not closed, or None."""
        with self._lock:
            if self._process != os.getpid():
                # They belong to the parent. psycopg does not end them in this process.
                _FOREIGN.extend(self._idle)
                self._process, self._idle = os.getpid(), []
            while self._idle:
                connection = self._idle.pop()
                # An idle server sends nothing but the end of the connection.
                if not connection.closed and not _ready(connection.pgconn.socket, 1, 0):
                    return connection
                connection.close()
        return None

    def _opened(self) -> _Connection:
        connection = _Connection.connect(
            **self._options, autocommit=True, prepare_threshold=None
        )  # fmt: skip
        if connection.info.server_version < _OLDEST_SERVER:
            connection.close()
            raise HookError(f"the fleet at {self.where} needs Postgres 13 or newer")
        return connection

    def _give_back(self, connection: _Connection) -> None:
        is_idle = not connection.closed and connection.info.transaction_status.name == "IDLE"
        with self._lock:
            is_kept = is_idle and not self._is_closed and len(self._idle) < _IDLE
            if is_kept and self._process == os.getpid():
                self._idle.append(connection)
                return
        with suppress(psycopg.Error):
            connection.close()

    def _message(self, error: psycopg.Error) -> str:
        if isinstance(error, errors.InsufficientPrivilege):
            return (
                f"the role {self.user} has no right to do this in the fleet {self.schema} at "
                f"{self.where}: use the URL of an operator, or let the owner grant it with "
                "Fleet.make(agents=..., operators=...)"
            )
        missing = (errors.InvalidSchemaName, errors.UndefinedFunction, errors.UndefinedTable)
        if isinstance(error, missing):
            return (
                f"the schema {self.schema} at {self.where} has no fleet, or a fleet of another "
                "version: the owner can create or update it with Fleet.make(url)"
            )
        text = " ".join(str(error).split()) or type(error).__name__
        password = self._options.get("password")
        if password:
            text = text.replace(password, "***")
        return f"the fleet at {self.where} cannot be used: {text:.300}"


def _failure_of(error: psycopg.Error) -> Failure:
    """Return the kind of failure that an error of psycopg represents."""
    if isinstance(error, errors.ConnectionTimeout):
        return "late"
    if error.sqlstate is not None:
        is_away = error.sqlstate.startswith(("08", "57P"))  # it shuts down, or has crashed
        return "absent" if is_away else "refused"
    if not isinstance(error, psycopg.OperationalError):
        return "unsent"  # the values cannot be represented
    return "refused" if "FATAL" in str(error) else "absent"


_FOREIGN: Final[list[_Connection]] = []
"""Connections that a forked process inherited from its parent, and must not close."""


def _options_of(url: str) -> dict[str, Any]:
    """Return the connection options that a URL contains. No error message contains the URL, because
    the URL contains a password.

    Raises:
        HookError: if the URL is not a valid Postgres URL.
    """
    if not isinstance(url, str) or not url.startswith(("postgresql://", "postgres://")):
        raise HookError(
            "the URL of a fleet must have the form postgresql://USER:PASSWORD@HOST/DB"
        )
    try:
        found = conninfo_to_dict(url)
        int(found.get("port") or 0)
    except (psycopg.Error, ValueError):
        raise HookError(
            "the URL of the fleet cannot be read: write postgresql://USER:PASSWORD@HOST:PORT/DB, "
            "and special characters as %XX"
        ) from None
    if "," in str(found.get("host") or ""):
        raise HookError("the URL of a fleet must name one server, not several")
    return {**found, "connect_timeout": _CONNECT_SECONDS}


def _service_error(text: str, failure: Failure) -> HookError:
    """Return a HookError that records how a service failed."""
    error = HookError(text)
    error.failure = failure
    return error
