"""`hookbus serve`: the live page."""

from __future__ import annotations

from pathlib import Path

from .. import HookError
from .._program.settings import find_settings
from .reading import ANY_FILE, Read
from .screen import Flag


def serve(
    *, port: int = 0, approvals: Path | None = None, people: Path | None = None, open: Flag = False,
    read: Read = ANY_FILE, traceback: Flag = False,
) -> None:  # fmt: skip
    """Serve the live page of a journal on this machine until Ctrl-C, and print its address.

    Args:
        port: the port to listen on. 0 picks any free port.
        approvals: the file of approvals.Store whose requests you can answer on the page. Default:
            the file in the settings.
        people: a TOML file that lists the people who may use the page, each with a separate token.
        open: open the page in a browser.
        traceback: show the full traceback of an error, as HOOKBUS_TRACEBACK=1 does.
    """
    from ..page import serve as serve_page

    store = approvals or find_settings().approvals
    if open and people is not None:
        raise HookError("leave out --open: with --people, each person opens the page with a token")
    if store is not None and not store.is_file():
        raise HookError(
            f"the store {store} does not exist yet: a program creates it when a call first "
            "requires approval"
        )
    serve_page(read.opened().path, port=port, approvals=store, people=people, open_browser=open)
