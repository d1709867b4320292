"""The command line; its commands are in `_cli`, but for the demo."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from . import __version__

ABOUT: Final = "See, change and stop the calls of an agent."
EXTRAS: Final = {"demo": "demo", "serve": "page"}
"""The extra a command needs; the others need `cli`."""
BY_PACKAGE: Final = {"opentelemetry": "otel"}
"""The extra of what only an option of a command needs."""

MISSING_EXTRA: Final = (
    "hookbus {command} needs packages that are not installed ({name}); "
    "install them with: pip install 'hookbus[{extra}]'"
)
WITHOUT_EXTRAS: Final = f"""\
Usage: hookbus COMMAND

{ABOUT}

Commands, and what each needs besides hookbus:
  hooks      pip install 'hookbus[cli]'     list the hooks that a module declares
  explain    pip install 'hookbus[cli]'     say who would run around one method, in order
  check      pip install 'hookbus[cli]'     name what is wrong with a module's hooks
  run        pip install 'hookbus[cli]'     run any Python program, unchanged, under guards
  log        pip install 'hookbus[cli]'     see what happened, in a journal
  replay     pip install 'hookbus[cli]'     see what today's guards say of yesterday's calls
  trace      pip install 'hookbus[cli]'     write the calls of a journal for a trace viewer
  top        pip install 'hookbus[cli]'     see what happens right now
  serve      pip install 'hookbus[page]'    see it in a browser, and approve there
  attach     pip install 'hookbus[cli]'     ask a program that runs, and switch its receivers
  approvals  pip install 'hookbus[cli]'     see what waits for a yes, and answer it
  doctor     pip install 'hookbus[cli]'     see whether all that is installed fits
  demo       pip install 'hookbus[demo]'    play AgentDojo's attacks against an agent with hooks

Options:
  --help     show this
  --version  show the version"""
"""What `--help` shows where the packages are missing that would show more."""


def main(tokens: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, or 1 for findings, 2 for what cannot be
    done as asked, 130 where it was interrupted.

    Args:
        tokens: the words after `hookbus`; those of this process where None is given.
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
            print(f"hookbus has no {words[0]!r}: hookbus --help lists what it has", file=sys.stderr)
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
    """Play AgentDojo's attacks against an agent that always obeys, without hooks and under five
    policies; needs hookbus[demo].

    It measures the enforcement layer, not a model: there is no model, no network and no key.

    Args:
        suite: banking, slack, travel, workspace, or all.
        attack: an attack of AgentDojo's that plants a goal, such as direct or tool_knowledge; or
            plain, the bare goal; or all, every form of them.
        policy: only this policy, and may be given again: tools, provenance, quarantine, ask or
            together.
        json: write every outcome to this file.
    """
    from .demo.main import main as play

    play(suite, attack, policy or [], json)
