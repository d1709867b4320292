"""The page as an ASGI app: its files, the stream, older calls, one call, and approvals."""

from __future__ import annotations

import json
import os
import secrets
from importlib.resources import files
from typing import Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from .. import HookError
from .._external.strict_json import strict_json
from ..approvals import Proof, Store
from ..approvals._people import People
from ._asked import answer_of
from ._door import IS_SIGNED_IN, PERSON, Door, OneToken, TokenOfEach
from ._reading import Reading
from ._rows import row
from ._stream import happening
from ._tree import tree

_KINDS: Final = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
_LONGEST: Final = 1_000_000
"""The maximum number of bytes in a person's answer."""


class Page:
    """The endpoints of the page."""

    def __init__(self, reading: Reading, approvals: Any) -> None:
        self._reading, self._approvals = reading, approvals

    async def stream(self, request: Request) -> Response:
        """Send events from now on, or those after the last event that this browser received."""
        seen = request.headers.get("last-event-id", "")
        since = int(seen) if seen.isdecimal() else None
        is_signed_in = request.scope[IS_SIGNED_IN]
        events = happening(self._reading, self._approvals, since, is_signed_in)
        return StreamingResponse(events, media_type="text/event-stream")

    async def calls(self, request: Request) -> Response:
        """Return the calls that are older than the record with the number `before`."""
        query = dict(request.query_params)
        before = _number(query.pop("before", ""))
        records, more = await run_in_threadpool(self._reading.before, before, query)
        return _json({"rows": [row(each) for each in records], "before": more})

    async def call(self, request: Request) -> Response:
        """Return the lines of one call."""
        run, call = request.path_params["run"], request.path_params["call"]
        lines = await run_in_threadpool(lambda: tree(self._reading.of_call(run, call), run, call))
        return _json(lines)

    async def answer(self, request: Request) -> Response:
        """Pass a person's answer to the store or inbox."""
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > _LONGEST:
                raise HookError(f"an answer may have at most {_LONGEST} bytes")
        person = request.scope[PERSON]
        decision = answer_of(strict_json(body), person)
        id = request.path_params["id"]
        state = await run_in_threadpool(self._pass_on, id, decision, person)
        return _json({"answered": id, "state": state})

    def _pass_on(self, id: str, decision: Any, person: str | None) -> str:
        """Pass an answer on, and return the state of its request."""
        proven = {} if person is None else {"proof": Proof(person, "page")}
        self._approvals.answer(id, decision, **proven)
        get = getattr(self._approvals, "get", None)  # an inbox keeps no answers
        return "answered" if get is None else str(get(id).state)


def made(journal: Any, token: str | None, approvals: Any, people: Any) -> ASGIApp:
    """Return the app, under a random path and with access control.

    Args:
        journal: the file of a journal, or the journal itself.
        token: the secret in the address. None means that each person has a token of their own.
        approvals: the file of a store, or an object with `pending()` and `answer(id, answer)`, or
            None.
        people: a file or mapping of people, or None.

    Raises:
        HookError: if the journal, the store or the people cannot be read.
    """
    known = None if people is None else People(people)
    if isinstance(approvals, (str, os.PathLike)):
        approvals = Store(approvals, people=people)
    elif known is not None and not hasattr(approvals, "people"):
        raise HookError("people= needs approvals=, a store or its file: only a store keeps names")
    page, path = Page(Reading(journal), approvals), f"/{secrets.token_urlsafe(9)}"
    routes = [
        *_files(),
        Route("/stream", page.stream),
        Route("/calls", page.calls),
        Route("/calls/{run}/{call:int}", page.call),
    ]
    if approvals is not None:
        routes.append(Route("/approvals/{id}", page.answer, methods=["POST"]))
    wrong: Any = {HookError: _wrong, OverflowError: _wrong}  # a number that SQLite cannot store
    inner = Starlette(routes=[Mount(path, routes=routes)], exception_handlers=wrong)
    tokens = OneToken(token or "") if known is None else TokenOfEach(known)
    return Door(inner, tokens, path)


def _files() -> list[Route]:
    """Return the routes of the static files. The list is fixed, so a request cannot read other
    files.
    """
    found = []
    for file in files("hookbus.page").joinpath("static").iterdir():
        kind, text = _KINDS[file.name.rpartition(".")[2]], file.read_text(encoding="utf-8")
        name = "" if file.name == "index.html" else file.name
        found.append(Route(f"/{name}", _file(text, kind)))
    return found


def _file(text: str, kind: str) -> Any:
    async def answer(request: Request) -> Response:
        return Response(text, media_type=kind)

    return answer


def _number(text: str) -> int:
    if not text.isdecimal():
        raise HookError(f"before={text!r:.40} must be the number of a record")
    return int(text)


def _json(data: Any, status: int = 200) -> Response:
    """Return a JSON response in ASCII, so that lone surrogates in a model's text are escaped."""
    return Response(json.dumps(data), status, media_type="application/json")


async def _wrong(request: Request, error: Exception) -> Response:
    return _json({"problem": str(error)}, 409)
