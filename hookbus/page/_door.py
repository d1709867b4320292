"""The door of the page: who is let in, and what every answer tells the browser to refuse."""

from __future__ import annotations

import hmac
import secrets
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE: Final = "hookbus"
_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_RAW: Final = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]


class Door:
    """Lets through to an app who comes with the token, later with the cookie it was exchanged for.

    Only the names 127.0.0.1 and localhost with the port of this server are answered, which leaves
    a name that was bent to this machine outside; a request that another page sent is refused.

    Args:
        app: what is behind the door.
        token: what the address has to end with.
        path: what all of the app is beneath. Browsers show a cookie to every port of a machine;
            this one is shown only to who serves that path.
    """

    def __init__(self, app: ASGIApp, token: str, path: str) -> None:
        self._app, self._token, self._path = app, token, path
        self._cookie = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # no websocket is served, and nothing has to be started
            raise RuntimeError(f"the page serves no {scope['type']}")

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_RAW]}
            await send(message)

        answer = self._answer(Request(scope)) or self._app
        await answer(scope, receive, guarded)

    def _answer(self, request: Request) -> Response | None:
        """Return what to say to who is not let through, or who has to come in first."""
        port = request.scope["server"][1]
        host = request.headers.get("host", "")
        if host not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return _refused("this page answers to 127.0.0.1 and localhost only", 421)
        if not _is_own(request, host):
            return _refused("another page sent this request")
        if request.scope["path"] == "/":
            if not _is_same(request.query_params.get("token", ""), self._token):
                return _refused("open the whole address that the program has printed")
            return self._let_in()
        if not _is_same(request.cookies.get(COOKIE, ""), self._cookie):
            return _refused("open the address that the program has printed, its token included")
        return None

    def _let_in(self) -> Response:
        answer = RedirectResponse(f"{self._path}/", 303)
        answer.set_cookie(COOKIE, self._cookie, path=self._path, httponly=True, samesite="strict")
        return answer


def _is_own(request: Request, host: str) -> bool:
    """Say whether no page but our own can have sent a request.

    Who only looks need not say where from, as typed addresses and links have no origin. What
    changes something must say so three times: by its origin, by the browser's word, and by a
    header that a form cannot send.
    """
    headers = request.headers
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin is not None and origin != f"http://{host}":
        return False
    if request.method in ("GET", "HEAD"):
        is_document = headers.get("sec-fetch-mode", "navigate") == "navigate"
        return is_document or site in (None, "same-origin")
    return origin is not None and site in (None, "same-origin") and "x-hookbus" in headers


def _is_same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode(), secret.encode())


def _refused(why: str, status: int = 403) -> Response:
    return PlainTextResponse(f"hookbus: {why}\n", status)
