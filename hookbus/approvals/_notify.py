"""A webhook that hears of requests that wait for an answer."""

from __future__ import annotations

import atexit
import hmac
import json
import socket
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from queue import Full, Queue
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import (
    AbstractHTTPHandler,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    Request,
    build_opener,
)

from .. import HookError
from .._connections.failures import ERROR, log
from .._connections.options import odd_timeout
from .._keywords import named_options
from .._locks import Lock
from .._platform import run_at_fork
from ..events import Blocked, Event
from ..exceptions import warn
from ._memory import MOST, check_seconds

WAITING: Final = 1_000
"""So many requests wait to be posted at most; what is over that is counted as failed."""


MOST_TIMEOUTS: Final = 4
"""A server that answers a little at a time is given up after so many times `timeout`."""


class _Cut(AbstractHTTPHandler):
    """Notes the connection of a request, so that it can be cut off."""

    def do_open(self, http_class: Any, req: Any, **options: Any) -> Any:
        def connection(host: str, **given: Any) -> Any:
            req.connection = http_class(host, **given)
            return req.connection

        return super().do_open(connection, req, **options)


class _Http(_Cut, HTTPHandler):
    """For http."""


class _Https(_Cut, HTTPSHandler):
    """For https."""


def _cut(request: Any) -> None:
    """End a request by its socket, whatever the server still says."""
    end = getattr(getattr(request, "connection", None), "sock", None)
    if end is not None:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class _NoRedirect(HTTPRedirectHandler):
    """Goes nowhere but where it was told to: what is posted is not for everybody."""

    def redirect_request(self, *given: Any, **named: Any) -> None:
        return None


@named_options
class notify:
    """Posts each request that is parked to a webhook:
    `bus.events.connect(approvals.notify(url), kinds=Blocked)`.

    The body is JSON: `id`, `question`, `bound` and `hook`, as the redactors of the bus leave them,
    and no arguments. With a secret the header `X-Hookbus-Signature` is `sha256=` and the HMAC of
    the body. A thread of its own posts it once, so that no call waits for that; the same request
    asked for again is not posted again.

    Args:
        url: an address of http or https. Redirects are not followed.
        secret: what the body is signed with.
        timeout: for how many seconds the server may be silent; it has four times that in all.

    Attributes:
        sent: how many requests the server has taken.
        failed: how many it has not, or were too many; the first is logged.

    Raises:
        HookError: for an address, a secret or a timeout that is none.
    """

    def __init__(
        self, url: str, *, secret: str | bytes | None = None, timeout: float = 5.0
    ) -> None:
        check_seconds("timeout", timeout)
        if odd := odd_timeout(timeout):
            warn(odd)
        self._url, self._where = url, _place_of(url)
        if secret is not None and (not isinstance(secret, (str, bytes)) or not secret):
            raise HookError("secret= must be a string or bytes, and not empty")
        self._secret = secret.encode() if isinstance(secret, str) else secret
        self._timeout, self._opener = timeout, build_opener(_NoRedirect, _Http, _Https)
        self.sent = self.failed = 0
        self._known = OrderedDict[str, None]()
        self._is_closed = False
        self._begin()
        _OPEN.add(self)

    def _begin(self) -> None:
        """Begin with nothing to post; after a fork, too, whose parent posts what it has."""
        self._lock, self._queue = Lock(), Queue[bytes | None](WAITING)
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        return f"<approvals.notify to {self._where}>"  # an address may have a secret in it

    def __call__(self, bus: Any, event: Event) -> None:
        if not isinstance(event, Blocked) or event.code != "pending":
            return
        told = event.details
        if not isinstance(told, Mapping) or not isinstance(told.get("id"), str):
            return
        with self._lock:
            if self._is_closed:
                raise HookError("this notify was closed: disconnect it from bus.events")
            if told["id"] in self._known:
                return
            self._known[told["id"]] = None
            while len(self._known) > MOST:
                self._known.popitem(last=False)
            fields = {name: told.get(name) for name in ("id", "question", "bound")}
            is_taken = self._take(json.dumps({**fields, "hook": event.hook}, default=repr).encode())
        if not is_taken:
            self._fail("too many are waiting to be posted")

    def _take(self, body: bytes) -> bool:
        try:
            self._queue.put_nowait(body)
        except Full:
            return False
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._post_all, name="hookbus: notify", daemon=True
            )
            self._thread.start()
        return True

    def close(self) -> None:
        """Post what is waiting, for at most `timeout` seconds, and take nothing more."""
        with self._lock:
            self._is_closed, thread = True, self._thread
        if thread is not None:
            with suppress(Full):
                self._queue.put_nowait(None)
            thread.join(self._timeout)

    def _post_all(self) -> None:
        while (body := self._queue.get()) is not None:
            try:
                self._post(body)
                self.sent += 1
            except HTTPError as error:
                error.close()
                self._fail(f"the server answered {error.code}")
            except Exception as error:  # of the network, or of a server that speaks no HTTP
                self._fail(type(error).__name__)

    def _post(self, body: bytes) -> None:
        headers = {"Content-Type": "application/json", "User-Agent": "hookbus"}
        if self._secret is not None:
            signature = hmac.digest(self._secret, body, "sha256").hex()
            headers["X-Hookbus-Signature"] = f"sha256={signature}"
        request = Request(self._url, data=body, headers=headers, method="POST")
        limit = threading.Timer(MOST_TIMEOUTS * self._timeout, _cut, (request,))
        limit.daemon = True
        limit.start()
        try:
            with self._opener.open(request, timeout=self._timeout):
                pass
        finally:
            limit.cancel()

    def _fail(self, why: str) -> None:
        self.failed += 1
        if self.failed == 1:
            log(ERROR, f"approvals.notify could not post a request to {self._where}: {why} "
                "(further failures are counted and not logged)")  # fmt: skip


def _place_of(url: Any) -> str:
    """Return the part of an address that is no secret, or refuse what is none."""
    refused = HookError("notify() takes the address of a webhook, such as 'https://host/path'")
    if not isinstance(url, str):
        raise refused
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise refused from None
    if not host or parts.scheme not in ("http", "https"):
        raise refused
    if not url.isascii() or not url.isprintable() or " " in url:
        raise HookError("notify() takes an address in ASCII, percent-encoded and without spaces")
    if "@" in parts.netloc:
        raise HookError("notify() takes no user and password in an address: sign with secret=")
    return f"{parts.scheme}://{host}" + (f":{port}" if port else "")


_OPEN: Final[weakref.WeakSet[notify]] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Post what is waiting when the program ends, which a daemon thread would not."""
    for each in list(_OPEN):
        each.close()


def _begin_all() -> None:
    for each in list(_OPEN):
        each._begin()


run_at_fork(after_in_child=_begin_all)
