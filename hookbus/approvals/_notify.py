"""A webhook that is notified of pending approval requests."""

from __future__ import annotations

import atexit
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
from .._external.addresses import place_of
from .._ground.errors import warn
from .._ground.keywords import named_options
from .._ground.locks import Lock
from .._ground.platform import run_at_fork
from ..events import Blocked, Event
from ._memory import MOST, check_seconds
from ._people import signature_of

WAITING: Final = 1_000
"""The maximum number of queued requests. Further requests are not posted and count as failed."""


MOST_TIMEOUTS: Final = 4
"""A request to a slow server is aborted after this multiple of `timeout`."""


class _Cut(AbstractHTTPHandler):
    """Keeps the connection of a request, so that the request can be aborted."""

    def do_open(self, http_class: Any, req: Any, **options: Any) -> Any:
        def connection(host: str, **options: Any) -> Any:
            req.connection = http_class(host, **options)
            return req.connection

        return super().do_open(connection, req, **options)


class _Http(_Cut, HTTPHandler):
    """The handler for http addresses."""


class _Https(_Cut, HTTPSHandler):
    """The handler for https addresses."""


def _cut(request: Any) -> None:
    """End a request by shutting down its socket, even if the server is still sending."""
    end = getattr(getattr(request, "connection", None), "sock", None)
    if end is not None:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class _NoRedirect(HTTPRedirectHandler):
    """Refuses redirects, because the body may be confidential."""

    def redirect_request(self, *args: Any, **named: Any) -> None:
        return None


@named_options
class notify:
    """Post each pending request for approval to a webhook:
    `bus.events.connect(approvals.notify(url), kinds=Blocked)`.

    The JSON body contains `id`, `question`, `bound` and `hook`, redacted by the redactors of the
    bus. It does not contain the arguments. If you pass a secret, the header `X-Hookbus-Signature`
    contains `sha256=` and the HMAC of the body. A background thread posts each request once, so
    calls do not wait for the server. A repeated call with a pending request is not posted again.
    If you pass the address of the page, the body also contains a `link` to the request on the page.

    Args:
        url: an http or https address. Redirects are not followed.
        secret: the key that signs the body.
        timeout: the maximum time to wait for data from the server, in seconds. The whole request
            can take four times as long.
        page: the address of the live page, without a token. Each person signs in as usual.

    Attributes:
        sent: the number of requests that the server accepted.
        failed: the number of requests that were not delivered. The first failure is logged.

    Raises:
        HookError: for an invalid address, secret or timeout, or if the address of the page has a
            token.
    """

    def __init__(
        self, url: str, *, secret: str | bytes | None = None, timeout: float = 5.0,
        page: str | None = None,
    ) -> None:  # fmt: skip
        check_seconds("timeout", timeout)
        if odd := odd_timeout(timeout):
            warn(odd)
        self._url, self._where = url, _place_of(url)
        if page is not None:
            _place_of(page, "page= needs the address of the page, such as 'https://host/path/'")
            if "?" in page or "#" in page:
                raise HookError(
                    "page= must be the address of the page without a token, and without anything "
                    "after ? or #, because the webhook would receive it"
                )
        self._page = page
        if secret is not None and (not isinstance(secret, (str, bytes)) or not secret):
            raise HookError("secret= must be a non-empty string or bytes")
        self._secret = secret.encode() if isinstance(secret, str) else secret
        self._timeout, self._opener = timeout, build_opener(_NoRedirect, _Http, _Https)
        self.sent = self.failed = 0
        self._known = OrderedDict[str, None]()
        self._is_closed = False
        self._begin()
        _OPEN.add(self)

    def _begin(self) -> None:
        """Start with an empty queue, also in a forked child process, because the parent process
        posts its queued requests.
        """
        self._lock, self._queue = Lock(), Queue[bytes | None](WAITING)
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        return f"<approvals.notify to {self._where}>"  # the path of an address may be secret

    def __call__(self, bus: Any, event: Event) -> None:
        if not isinstance(event, Blocked) or event.code != "pending":
            return
        details = event.details
        if not isinstance(details, Mapping) or not isinstance(details.get("id"), str):
            return
        with self._lock:
            if self._is_closed:
                raise HookError("this approvals.notify is closed: disconnect it from bus.events")
            if details["id"] in self._known:
                return
            self._known[details["id"]] = None
            while len(self._known) > MOST:
                self._known.popitem(last=False)
            fields = {name: details.get(name) for name in ("id", "question", "bound")}
            if self._page is not None:
                fields["link"] = f"{self._page}#request-{details['id']}"
            is_taken = self._take(json.dumps({**fields, "hook": event.hook}, default=repr).encode())
        if not is_taken:
            self._fail("the queue of unsent requests is full")

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
        """Post the queued requests for at most `timeout` seconds, and accept no further
        requests."""
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
            except Exception as error:  # from the network, or a server that does not speak HTTP
                self._fail(type(error).__name__)

    def _post(self, body: bytes) -> None:
        headers = {"Content-Type": "application/json", "User-Agent": "hookbus"}
        if self._secret is not None:
            headers["X-Hookbus-Signature"] = signature_of(self._secret, body)
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


def _place_of(
    url: Any, needs: str = "notify() needs the address of a webhook, such as 'https://host/path'"
) -> str:
    """Check an address, and return the part that is safe to show."""
    return place_of(url, needs, name="notify()", instead="secret=")


_OPEN: Final[weakref.WeakSet[notify]] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Post the queued requests when the program exits, because a daemon thread would be killed."""
    for each in list(_OPEN):
        each.close()


def _begin_all() -> None:
    for each in list(_OPEN):
        each._begin()


run_at_fork(after_in_child=_begin_all)
