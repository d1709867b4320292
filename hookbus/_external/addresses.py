"""Check the URLs of servers. A URL may contain secrets."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from ..exceptions import HookError


def place_of(url: Any, needs: str, name: str, instead: str) -> str:
    """Return the scheme, host and port of an http URL. These parts are safe to show.

    Args:
        url: the URL to check.
        needs: the error message for a value that is not an http URL.
        name: the name of the component that uses the URL, for other error messages.
        instead: the option to use for a secret.

    Raises:
        HookError: if the URL is invalid, or contains a user or password.
    """
    refused = HookError(needs)
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
        raise HookError(f"{name} needs an ASCII address, percent-encoded and without spaces")
    if "@" in parts.netloc:
        raise HookError(f"{name} accepts no user or password in the address: use {instead}")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + (f":{port}" if port else "")
