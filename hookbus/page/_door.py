"""Access control of the page: the token, the cookie, and the security headers."""

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
    """Passes requests to an app only if they have the token, or the cookie that replaces it.

    It answers only the host names 127.0.0.1 and localhost with the port of this server, which
    prevents DNS rebinding. It refuses requests sent by another page.

    Args:
        app: the app to protect.
        token: the secret in the address.
        path: the path of the app. Browsers send a cookie to every port of a host, but send this
            cookie only to this path.
    """

    def __init__(self, app: ASGIApp, token: str, path: str) -> None:
        self._app, self._token, self._path = app, token, path
        self._cookie = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # websockets and lifespan events are not used
            raise RuntimeError(f"the page does not support {scope['type']}")

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_RAW]}
            await send(message)

        answer = self._answer(Request(scope)) or self._app
        await answer(scope, receive, guarded)

    def _answer(self, request: Request) -> Response | None:
        """Return the refusal or redirect for a request that is not passed to the app, or None."""
        port = request.scope["server"][1]
        host = request.headers.get("host", "")
        if host not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return _refused("this page accepts only the hosts 127.0.0.1 and localhost", 421)
        if not _is_own(request, host):
            return _refused("this request was sent by another page")
        if request.scope["path"] == "/":
            if not _is_same(request.query_params.get("token", ""), self._token):
                return _refused("open the full address that the program printed")
            return self._let_in()
        if not _is_same(request.cookies.get(COOKIE, ""), self._cookie):
            return _refused("open the address that the program printed, with its token")
        return None

    def _let_in(self) -> Response:
        answer = RedirectResponse(f"{self._path}/", 303)
        answer.set_cookie(COOKIE, self._cookie, path=self._path, httponly=True, samesite="strict")
        return answer


def _is_own(request: Request, host: str) -> bool:
    """Return whether only our own page can have sent a request.

    A read request needs no origin, because browsers send none for typed addresses and links. A
    request that changes data is checked in three ways: by its origin, by the browser's
    `sec-fetch-site`, and by a header that a form cannot send.
    """
    headers = request.headers
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin is not None and origin != f"http://{host}":
        return False
    if request.method in ("GET", "HEAD"):
        is_document = headers.get("sec-fetch-mode", "navigate") == "navigate"
        return is_document or site in (None, "same-origin")
    return origin is not None and site in (None, "same-origin") and "x-hookbus" in headers


def _is_same(value: str, secret: str) -> bool:
    return hmac.compare_digest(value.encode(), secret.encode())


def _refused(why: str, status: int = 403) -> Response:
    return PlainTextResponse(f"hookbus: {why}\n", status)
