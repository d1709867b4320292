"""`hookbus serve`: the live page."""

from __future__ import annotations

from pathlib import Path

from .. import HookError
from .reading import ANY_FILE, Read
from .screen import TABLES, Flag, Shown
from .settings import find_settings


def serve(
    *, port: int = 0, approvals: Path | None = None, open: Flag = False,
    read: Read = ANY_FILE, shown: Shown = TABLES,
) -> None:  # fmt: skip
    """Serve the live page of a journal on this machine, until Ctrl-C; its address is printed.

    Args:
        port: where it listens; 0 is any port that is free.
        approvals: the file of approvals.Store, which are answered on the page; else the one that
            the settings name.
        open: open it in a browser at once.
    """
    from ..page import serve as serve_page

    store = approvals or find_settings().approvals
    if store is not None and not store.is_file():
        raise HookError(f"there is no store {store}: it is made when a program asks for a yes")
    serve_page(read.opened().path, port=port, approvals=store, open_browser=open)
