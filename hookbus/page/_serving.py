"""Serve the page on this machine only, and serve other ASGI apps."""

from __future__ import annotations

import socket
import webbrowser
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import uvicorn

from .. import HookError

if TYPE_CHECKING:
    from starlette.types import ASGIApp


def serve(app: ASGIApp, token: str | None, port: int, *, open_browser: bool) -> None:
    """Serve until Ctrl-C. The address is printed as soon as the port is open.

    Args:
        token: the token of the page. None means that each person adds a separate token.
    """
    with listening_on("127.0.0.1", port) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/?token={token or 'YOUR_TOKEN'}"
        print(f"{address}\nOpen it in a browser on this machine. Press Ctrl-C to stop.", flush=True)
        if open_browser and token is not None:
            webbrowser.open(address)
        serve_on(listening, app)


def serve_on(listening: socket.socket, app: ASGIApp, **tls: Any) -> None:
    """Serve an app on a listening socket until Ctrl-C.

    Args:
        tls: the settings of Uvicorn for TLS, if TLS is used.
    """
    server = uvicorn.Server(
        uvicorn.Config(
            app, lifespan="off", ws="none", log_level="critical", access_log=False,
            server_header=False, proxy_headers=False, timeout_graceful_shutdown=1, **tls,
        )
    )  # fmt: skip
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listening])


def listening_on(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        HookError: if the port is not available.
    """
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 65536:
        raise HookError(f"port={port!r:.40} must be a number from 0 (any free port) to 65535")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off, which delays answers, only if the protocol is named.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # On Windows, SO_REUSEADDR would let another program take over the port.
        alone = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
        listening.setsockopt(socket.SOL_SOCKET, alone, 1)
        listening.bind((host, port))
        listening.listen()
    except OSError as error:
        listening.close()
        why = error.strerror or str(error)
        raise HookError(f"port {port} is not available ({why}): choose another one, or 0") from None
    return listening
