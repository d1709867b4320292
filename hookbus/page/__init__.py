"""The live page: watch the calls in a journal and answer approvals in a browser."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import HookError
from .._ground.keywords import named_options

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from ..approvals import Inbox, Store
    from ..journal import Journal

    AnyJournal = str | os.PathLike[str] | Journal
    AnyApprovals = str | os.PathLike[str] | Store | Inbox | None
    AnyPeople = str | os.PathLike[str] | Mapping[str, Any] | None

__all__ = ["app", "serve"]


def __dir__() -> list[str]:
    return sorted(__all__)


@named_options
def serve(
    journal: AnyJournal, *, port: int = 0, approvals: AnyApprovals = None,
    people: AnyPeople = None, open_browser: bool = False,
) -> None:  # fmt: skip
    """Serve the live page on 127.0.0.1 until Ctrl-C, and print its address, which contains a token.

    Args:
        journal: the path of a journal that this or another process writes to, or the journal
            itself.
        port: the port to listen on. 0 picks any free port.
        approvals: a store, the path of its file, or an inbox, whose requests you can then answer on
            the page.
        people: the file, or the mapping, of the people who may use the page. Each signs in with a
            token of their own, so that their answers count for `Ask(roles=..., approvals=...)`.
        open_browser: whether to open the address in a browser.

    Raises:
        HookError: if the journal, the store or the people cannot be read, the port is not
            available, or the packages of the extra `page` are missing.
    """
    serving = _needed("_serving")
    from ..approvals._people import new_token

    token = new_token() if people is None else None
    page = app(journal, token=token, approvals=approvals, people=people)
    serving.serve(page, token, port, open_browser=open_browser)


@named_options
def app(
    journal: AnyJournal, *, token: str | None = None, approvals: AnyApprovals = None,
    people: AnyPeople = None,
) -> ASGIApp:  # fmt: skip
    """Return the page as an ASGI app. The app answers only requests with a valid token, or with the
    cookie that replaces it.

    Args:
        journal: as in `serve`.
        token: the token of the page, without `people`.
        approvals: as in `serve`.
        people: as in `serve`.

    Raises:
        HookError: as in `serve`; or if both or neither of `token` and `people` are passed.
    """
    if people is not None and token is not None:
        raise HookError("pass token= or people=, not both: each person has a token")
    if people is None and (not isinstance(token, str) or len(token) < 16):
        raise HookError("token= must be a random string of at least 16 characters")
    made: ASGIApp = _needed("_app").made(journal, token, approvals, people)
    return made


def _needed(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f"{__name__}.{module}")
    except ModuleNotFoundError as error:
        needs = (error.name or module).partition(".")[0]
        raise HookError(
            f"the page needs the package {needs}; run: pip install 'hookbus[page]'"
        ) from None
