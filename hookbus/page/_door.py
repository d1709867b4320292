"""Access control of the page: the token, the cookie, and the security headers."""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from functools import partial
from typing import Final, NamedTuple, Protocol

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .. import HookError
from ..approvals._people import People, token_hash

COOKIE: Final = "hookbus"
PERSON: Final = "hookbus.person"
"""The key, in the scope of a request, of the name of the person who is signed in, or of None."""

IS_SIGNED_IN: Final = "hookbus.is_signed_in"
"""The key, in the scope of a request, of a function that returns whether the session is still
valid. A response that stays open calls the function before it sends more data.
"""

_MOST_SESSIONS: Final = 1_000
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


class Session(NamedTuple):
    """The session of a browser that has access.

    Attributes:
        token: the hash of the token that gave the browser access.
        person: the name of the person to whom the token belongs; None if the page has only one
            token.
    """

    token: str
    person: str | None


class Tokens(Protocol):
    """The tokens of a page."""

    def session(self, token: str) -> Session | None:
        """Return a new session for a token, or None if the token is wrong."""
        ...

    def is_valid(self, session: Session) -> bool:
        """Return whether the token of a session is still valid."""
        ...


class OneToken:
    """The token of a page without people."""

    def __init__(self, token: str) -> None:
        self._session = Session(token_hash(token), None)

    def session(self, token: str) -> Session | None:
        is_same = hmac.compare_digest(token_hash(token), self._session.token)
        return self._session if is_same else None

    def is_valid(self, session: Session) -> bool:
        return session == self._session


class TokenOfEach:
    """The tokens of people. If a token is removed from their file, its sessions end, too."""

    def __init__(self, people: People) -> None:
        self._people = people

    def session(self, token: str) -> Session | None:
        person = self._people.by_token(token)
        return None if person is None else Session(token_hash(token), person.name)

    def is_valid(self, session: Session) -> bool:
        person = self._people.read().get(session.person or "")
        return person is not None and person.token == session.token


class Door:
    """Passes requests to an app only if they have the token, or the cookie that replaces it.

    This app answers only the host names 127.0.0.1 and localhost with the port of this server, which
    prevents DNS rebinding. This app refuses requests sent by another page.

    Args:
        app: the app to protect.
        tokens: the secrets in the address.
        path: the path of the app. Browsers send a cookie to every port of a host, but send this
            cookie only to this path.
    """

    def __init__(self, app: ASGIApp, tokens: Tokens, path: str) -> None:
        self._app, self._tokens, self._path = app, tokens, path
        self._sessions = OrderedDict[str, Session]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # websockets and lifespan events are not used
            raise RuntimeError(f"the page does not support {scope['type']}")

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_RAW]}
            await send(message)

        try:
            answer = self._answer(Request(scope)) or self._app
        except HookError as error:  # of the file of people
            answer = _refused(str(error))
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
            session = self._tokens.session(request.query_params.get("token", ""))
            if session is None:
                return _refused("open the full address that the program printed, with your token")
            return self._let_in(session)
        session = self._sessions.get(token_hash(request.cookies.get(COOKIE, "")))
        if session is None or not self._tokens.is_valid(session):
            return _refused("open the address that the program printed, with its token")
        request.scope[PERSON] = session.person
        request.scope[IS_SIGNED_IN] = partial(self._is_signed_in, session)
        return None

    def _is_signed_in(self, session: Session) -> bool:
        try:
            return self._tokens.is_valid(session)
        except HookError:  # the file of people is broken
            return False

    def _let_in(self, session: Session) -> Response:
        cookie = secrets.token_urlsafe(32)
        self._sessions[token_hash(cookie)] = session
        while len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        answer = RedirectResponse(f"{self._path}/", 303)
        answer.set_cookie(COOKIE, cookie, path=self._path, httponly=True, samesite="strict")
        return answer


def _is_own(request: Request, host: str) -> bool:
    """Return whether a request can only come from our own page.

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


def _refused(why: str, status: int = 403) -> Response:
    return PlainTextResponse(f"hookbus: {why}\n", status)
