"""`hookbus fleet`: operate a fleet of agents on several machines, and decide their calls."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import attrs
from cyclopts import App, Parameter

from .. import HookError, default_bus
from .._external.platform import user_name
from .at import At
from .screen import TABLES, Flag, Several, Shown, as_json, clock, print_json, print_rows, say
from .target import module_of

PAUSE_SECONDS: Final = 0.2

fleet = App(
    name="fleet", help="Operate a fleet of agents on several machines, and decide their calls.",
    default_parameter=Parameter(negative=()),
)  # fmt: skip
Hook = Annotated[str, Parameter(name="--hook")]


HERE: Final = At()


@fleet.command
def make(
    *, agents: Several = (), operators: Several = (), portals: Several = (),
    people: Path | None = None, at: At = HERE,
) -> None:  # fmt: skip
    """Create a fleet, or update one, as the owner of the database.

    Args:
        agents: the role of agents; can be repeated.
        operators: the role of operators; can be repeated.
        portals: the role of a program that signs people in and answers for them; can be repeated.
        people: the file of all people who can approve, with their roles. Default: no change.
    """
    from ..fleet import Fleet

    Fleet.make(
        at.url(), schema=at.schema, agents=agents, operators=operators, portals=portals,
        people=people,
    )  # fmt: skip
    say(f"the fleet {at.schema} is ready")


@fleet.command
def status(*, at: At = HERE, shown: Shown = TABLES) -> None:
    """List the members of the fleet, and the active kills and switches."""
    with at.opened() as opened:
        found = opened.status()
    if shown.json:
        print_json(attrs.asdict(found))
        return
    rows = [
        {
            "member": each["member"], "heard": f"{each['age']:.0f} s ago",
            "not shipped": each["ships"],
            "refused": "; ".join(f"{name}: {why}" for name, why in each["refused"].items()),
        }
        for each in found.members
    ]  # fmt: skip
    print_rows(rows, "no members", "members", is_whole=True)
    print_rows(found.words, "no active kills or switches", "active", is_whole=True)
    say(f"requests for approval without an answer: {found.pending}", "dim")


@fleet.command
def kill(
    tool: str, /, *, reason: str = "", by: str | None = None, hook: Hook = "tool_call",
    at: At = HERE,
) -> None:  # fmt: skip
    """Block the calls of tools in every member, within 2 seconds.

    Args:
        tool: a glob of tool names, such as 'pay_*'.
        reason: the reason, which the caller of a blocked call sees.
        by: your name. Default: the user of this terminal.
        hook: the hook whose calls are blocked.
    """
    with at.opened() as opened:
        opened.kill(tool, by=by or user_name(), reason=reason, hook=hook)


@fleet.command
def revive(
    tool: str, /, *, by: str | None = None, hook: Hook = "tool_call", at: At = HERE
) -> None:
    """Allow killed tools again in every member.

    Args:
        tool: the glob that was passed to `hookbus fleet kill`, unchanged.
        by: your name. Default: the user of this terminal.
        hook: the hook whose kill ends.
    """
    with at.opened() as opened:
        opened.revive(tool, by=by or user_name(), hook=hook)


@fleet.command
def switch(
    receiver: str, act: Literal["disable", "shadow", "enable"], /, *, by: str | None = None,
    at: At = HERE,
) -> None:  # fmt: skip
    """Switch receivers with a name in every member.

    Args:
        receiver: the name of the receivers.
        act: what to do with the receivers.
        by: your name. Default: the user of this terminal.
    """
    with at.opened() as opened:
        opened.switch(receiver, act, by=by or user_name())


@fleet.command
def events(
    *, reader: str | None = None, follow: Flag = False, at: At = HERE, shown: Shown = TABLES
) -> None:
    """Print the events of all members, oldest first.

    Args:
        reader: the name of a reader. The command continues after the last event that this reader
            has printed.
        follow: keep running, and print later events, until Ctrl-C.
    """
    with at.opened() as opened:
        found = opened.events(reader)
        while True:
            for each in found:
                line = f"{clock(each.time, is_long=True)}  {each.source}  {each.type}  "
                text = as_json(attrs.asdict(each)) if shown.json else line + each.subject
                print(text, flush=follow)
            if reader is not None:
                found.commit()
            if not follow:
                return
            time.sleep(PAUSE_SECONDS)


@fleet.command
def ship(*, journal: Path, at: At = HERE) -> None:
    """Publish the unpublished records of a journal, such as those of a killed process.

    Args:
        journal: the file of the journal.
    """
    from ..journal import Journal

    if not journal.is_file():
        raise HookError(f"the journal {journal} does not exist")
    with at.opened() as opened, Journal(journal) as kept:
        shipping = opened.ship(kept)
        while shipping.lag():
            if shipping.problem is not None:
                raise HookError(shipping.problem)
            time.sleep(PAUSE_SECONDS / 10)
        say(f"published: {shipping.shipped}")


@fleet.command
def serve(
    module: str, /, *, tokens: Path, host: str = "127.0.0.1", port: int = 0,
    hook: Hook = "tool_call", certificate: Path | None = None, key: Path | None = None,
    traceback: Flag = False,
) -> None:  # fmt: skip
    """Import a module that connects guards to the default bus, and decide the calls of agents that
    use guards.remote, until Ctrl-C.

    Args:
        module: package.module, or the path of a file. It is imported.
        tokens: a file with the tokens of the agents, one in each line, of at least 16 characters.
        host: the address to listen on. 0.0.0.0 is every address of this machine.
        port: the port to listen on. 0 picks any free port.
        hook: the hook whose calls are decided.
        certificate: a file with the certificate for https, in PEM.
        key: the file with the certificate's key, if it is a separate file.
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
