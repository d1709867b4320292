"""The entry point of the command line. The package `_cli` contains all commands except the demo."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from . import __version__

__all__ = ["main"]


def __dir__() -> list[str]:
    return sorted(__all__)


ABOUT: Final = "Guard, observe and approve the calls of a Python agent."
EXTRAS: Final = {"demo": "demo", "fleet": "cli,fleet", "mcp": "cli,fastmcp", "serve": "page"}
"""The extra that a command needs. All other commands need `cli`."""
BY_PACKAGE: Final = {"opentelemetry": "otel"}
"""The extra of a package that only one option needs."""

MISSING_EXTRA: Final = (
    "hookbus {command} needs packages that are not installed ({name}); "
    "install them with: pip install 'hookbus[{extra}]'"
)
WITHOUT_EXTRAS: Final = f"""\
Usage: hookbus COMMAND

{ABOUT}

Commands, and what to install for each:
  hooks      pip install 'hookbus[cli]'         list the hooks that a module declares
  explain    pip install 'hookbus[cli]'         show the receivers of one method, in order
  check      pip install 'hookbus[cli]'         find mistakes in the hooks of a module
  run        pip install 'hookbus[cli]'         run any Python program unchanged, under guards
  mcp        pip install 'hookbus[cli,fastmcp]' guard the tools of an MCP server
  log        pip install 'hookbus[cli]'         list the calls in a journal
  replay     pip install 'hookbus[cli]'         check recorded calls with today's guards
  trace      pip install 'hookbus[cli]'         write the calls of a journal for a trace viewer
  top        pip install 'hookbus[cli]'         watch the calls that happen now
  serve      pip install 'hookbus[page]'        watch and approve calls in a browser
  attach     pip install 'hookbus[cli]'         inspect a running program, and switch its receivers
  approvals  pip install 'hookbus[cli]'         list and answer requests for approval
  policy     pip install 'hookbus[cli]'         check, test and compare policies in Cedar
  fleet      pip install 'hookbus[cli,fleet]'   operate agents on several machines
  doctor     pip install 'hookbus[cli]'         check versions, adapters, plugins and files
  gate       pip install 'hookbus[cli]'         put the tools of a coding agent under your guards
  demo       pip install 'hookbus[demo]'        run AgentDojo's attacks against a guarded agent

Options:
  --help     show this help
  --version  show the version"""
"""The output of `--help` if the packages for the full help are not installed."""


def main(tokens: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 for success, 1 for findings, 2 for an error,
    130 for an interrupt.

    Args:
        tokens: the words after `hookbus`. None means the arguments of this process.
    """
    words = sys.argv[1:] if tokens is None else list(tokens)
    if words == ["--version"]:
        print(__version__)
        return 0
    try:
        from ._cli.app import play

        ended = play(words, ABOUT, demo)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] == "hookbus":
            raise
        if not words or {"--help", "-h"} & {*words}:
            print(WITHOUT_EXTRAS)
            return 0
        if words[0] not in WITHOUT_EXTRAS.split():
            print(f"hookbus has no command {words[0]!r}: see hookbus --help", file=sys.stderr)
            return 2
        extra = BY_PACKAGE.get(missing.name.partition(".")[0], EXTRAS.get(words[0], "cli"))
        said = MISSING_EXTRA.format(command=words[0], extra=extra, name=missing.name)
        print(said, file=sys.stderr)
        return 2
    if isinstance(ended, int):
        return ended
    return ended.as_python_does()


def demo(
    *,
    suite: str = "banking",
    attack: str = "important_instructions",
    policy: list[str] | None = None,
    json: Path | None = None,
) -> None:
    """Run AgentDojo's attacks against an agent that follows every instruction, without hooks and
    under five policies. Requires hookbus[demo].

    The demo measures the enforcement, not a model: it needs no model, no network and no API key.

    Args:
        suite: banking, slack, travel, workspace, or all.
        attack: the AgentDojo attack that injects the goal, such as direct or tool_knowledge. Use
            plain for the goal alone, or all for every attack.
        policy: run only this policy: tools, provenance, quarantine, ask, policy or together. Can be
            repeated.
        json: write every result to this file.
    """
    from .demo.main import main as play

    play(suite, attack, policy or [], json)
