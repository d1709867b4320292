"""`hookbus fleet`: decide the calls of agents on other machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from .. import HookError, default_bus
from .screen import Flag
from .target import module_of

fleet = App(
    name="fleet", help="Decide the calls of agents on other machines.",
    default_parameter=Parameter(negative=()),
)  # fmt: skip
Hook = Annotated[str, Parameter(name="--hook")]


@fleet.command
def serve(
    module: str, /, *, tokens: Path, host: str = "127.0.0.1", port: int = 0,
    hook: Hook = "tool_call", certificate: Path | None = None, key: Path | None = None,
    traceback: Flag = False,
) -> None:  # fmt: skip
    """Import a module whose guards are on the default bus, and answer guards.remote of agents
    elsewhere by them until Ctrl-C.

    Args:
        module: package.module, or the path of a file. It is imported.
        tokens: a file with the tokens of the agents, one in each line, of at least 16 characters.
        host: the address to listen on. 0.0.0.0 is every address of this machine.
        port: the port to listen on. 0 picks any free port.
        hook: the hook whose calls are decided.
        certificate: a file with the certificate for https, in PEM.
        key: the file with its key, if that is another one.
        traceback: show the full traceback of an error, as HOOKBUS_TRACEBACK=1 does.
    """
    serving = _serving()
    tls = _tls(certificate, key)
    from ..fleet import policy

    lines = (line.strip() for line in tokens.read_text(encoding="utf-8").splitlines())
    listed = [line for line in lines if line]
    if not listed:
        raise HookError(f"{tokens} contains no token: write one in each line")
    app = policy(default_bus, tokens=listed, hook=hook)
    module_of(module)
    with serving.listening_on(host, port) as listening:
        scheme, shown = ("https" if tls else "http"), (f"[{host}]" if ":" in host else host)
        address = f"{scheme}://{shown}:{listening.getsockname()[1]}"
        print(f"{address}\nAgents ask it with guards.remote. Press Ctrl-C to stop.", flush=True)
        serving.serve_on(listening, app, **tls)


def _serving() -> Any:
    try:
        from ..page import _serving as serving
    except ModuleNotFoundError as error:
        raise HookError(
            f"hookbus fleet serve needs the package {error.name}; run: pip install 'hookbus[fleet]'"
        ) from None
    return serving


def _tls(certificate: Path | None, key: Path | None) -> dict[str, Any]:
    """Return the settings of Uvicorn for TLS, or raise HookError if the files cannot be used."""
    if certificate is None:
        if key is not None:
            raise HookError("--key needs --certificate")
        return {}
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except OSError:  # ssl.SSLError is one
        raise HookError(
            f"{certificate} and its key cannot be used: pass a certificate and its key in PEM"
        ) from None
    return {"ssl_certfile": certificate, "ssl_keyfile": key}
