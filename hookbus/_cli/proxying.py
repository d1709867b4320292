"""`hookbus mcp`: a guarding proxy in front of an MCP server, for hosts in any language."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import Parameter

from .. import HookError, default_bus
from .._program.preparing import ask_at, prepare
from .._program.settings import Settings, find_settings, read_settings
from .reading import named_journal
from .screen import Flag, Several

_SERVER: Final = "--server"
_LOOPBACK: Final = "127.0.0.1"
_SYNTAX: Final = "hookbus mcp PLUGIN... -- COMMAND ARGS, or hookbus mcp PLUGIN... -- URL"


def mcp(
    *plugins: str,
    server: Annotated[Several, Parameter(show=False)] = (),
    settings: Path | None = None, port: int | None = None, timeout: float = 300.0,
    token_env: str | None = None, journal: Path | None = None, turns: Flag = False,
    approvals: Path | None = None, wait: float = 0.0, traceback: Flag = False,
) -> None:  # fmt: skip
    """Guard the tools of an MCP server: run a proxy in front of it.

    Write the command that starts the server, or its URL, after --. A host such as Claude Desktop
    or Cursor starts hookbus mcp instead of the server. Guards check every tool call. Resources and
    prompts pass unchanged. Without a guard the proxy does not start.

    Args:
        plugins: the id of a plugin, or its folder. If a plugin cannot be loaded, the proxy does not
            start.
        server: the command with its arguments, or the URL, after --.
        settings: the settings file. Default: the file in the current folder or in one of its
            parents.
        port: serve streamable HTTP at http://127.0.0.1:PORT/mcp instead of stdio.
        timeout: the number of seconds that the server may take for an answer. After that, the model
            reads an error.
        token_env: the environment variable with the bearer token for the server's URL.
        journal: the file to record events in. Default: HOOKBUS_JOURNAL, or the file in the
            settings.
        turns: also record every call to every receiver, with its answer and duration.
        approvals: the file of approvals.Store, where people answer requests for approval. Default:
            the file in the settings.
        wait: seconds that a call waits for an answer before it is blocked.
        traceback: show the full traceback of an error, as HOOKBUS_TRACEBACK=1 does.
    """
    transport = _transport_to(server, _seconds(timeout), _token(token_env, server))
    found = find_settings() if settings is None else read_settings(settings)
    kept = named_journal(journal, found)
    if turns and kept is None:
        raise HookError("--turns needs a journal: add --journal FILE")
    with redirect_stdout(sys.stderr):  # stdout belongs to the protocol
        prepare(found, plugins=plugins, adapters="fastmcp")
    ask_at(approvals or found.approvals, wait, found.people)
    _check_guards(found)
    if kept is not None:
        from .._program.environment import record

        record(kept, turns=turns)
    from .._program.door import listen

    listen()
    proxy = import_module("fastmcp.server").create_proxy(transport, name="hookbus")
    proxy.provider_error_strategy = "raise"  # a server that is gone has no empty list of tools
    _serve(proxy, port)


def server_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command line, with each word after the `--` of `mcp` as the value of an
    option. The server's words are therefore not parsed as options of hookbus.
    """
    if words[:1] != ["mcp"] or "--" not in words:
        return [*words]
    place = words.index("--")
    return [*words[:place], *(f"{_SERVER}={word}" for word in words[place + 1 :])]


def _check_guards(settings: Settings) -> None:
    """Raise an error if no guard checks tool calls, because such a proxy would only seem to guard
    them.

    Raises:
        HookError: if no guard can block a tool call; the message names the ways to load a guard.
    """
    guards = [each for signal in default_bus.signals() if signal.hook == "tool_call"
              for each in signal.connections()
              if each.role == "guard" or (each.role == "modify" and each.closes)]  # fmt: skip
    if any(each.is_enabled and not each.options.shadow for each in guards):
        return
    if guards:
        names = ", ".join(sorted({each.name for each in guards}))
        raise HookError(
            f"no guard can block a tool call: {names} run in shadow mode or are disabled"
        )
    where = settings.file or "a hookbus.toml"
    raise HookError(
        "no guard judges tool calls, so the proxy would let every call pass: pass a plugin that "
        f"connects one to pre_tool_call, or name it in {where}"
    )


# -- the server behind the proxy -------------------------------------------------------------------


def _transport_to(server: Sequence[str], seconds: float, token: str | None) -> Any:
    """Return the transport to a server, whose answers have a time limit.

    Raises:
        HookError: if no server is given, or its command does not exist.
    """
    if not server:
        raise HookError(f"the MCP server is missing: write {_SYNTAX}")
    transports = import_module("fastmcp.client.transports")
    if _is_url(server[0]):
        if len(server) > 1:
            raise HookError(f"{server[1]} comes after the URL of the server: write {_SYNTAX}")
        return _limited(transports.StreamableHttpTransport, seconds)(server[0], auth=token)
    command, *arguments = server
    if shutil.which(command) is None:
        raise HookError(f"the command {command} does not exist: write {_SYNTAX}")
    return _limited(transports.StdioTransport, seconds)(command, arguments, env=dict(os.environ))


def _is_url(word: str) -> bool:
    return word.lower().startswith(("http://", "https://"))


def _limited(cls: Any, seconds: float) -> Any:
    """Return a class of transports whose requests have a time limit."""

    def connect_session(self: Any, **options: Any) -> Any:
        return cls.connect_session(self, **{**options, "read_timeout_seconds": seconds})

    return type(f"Limited{cls.__name__}", (cls,), {"connect_session": connect_session})


def _seconds(timeout: float) -> float:
    if not 0 < timeout <= 86_400:
        raise HookError(f"--timeout {timeout:g} must be a number of seconds up to 86400")
    return timeout


def _token(variable: str | None, server: Sequence[str]) -> str | None:
    if variable is None:
        return None
    if not server or not _is_url(server[0]):
        raise HookError("--token-env needs the URL of a server after --")
    if not (token := os.environ.get(variable)):
        raise HookError(f"--token-env {variable}: this environment variable is not set")
    return token


# -- the host in front of it -----------------------------------------------------------------------


def _serve(proxy: Any, port: int | None) -> None:
    """Serve a host until it disconnects, or until Ctrl-C.

    Raises:
        BrokenPipeError: if the host disconnected before it read an answer.
    """
    options: dict[str, Any] = {"transport": "stdio"}
    if port is not None:
        # A web page in a browser also reaches loopback: its Host and Origin headers are checked.
        options = {
            "transport": "http", "host": _LOOPBACK, "port": port,
            "host_origin_protection": True, "allowed_hosts": [_LOOPBACK, "localhost"],
        }  # fmt: skip
    try:
        proxy.run(show_banner=False, **options)
    except BaseExceptionGroup as group:
        if group.split(BrokenPipeError)[1] is None:
            raise BrokenPipeError from group
        raise
