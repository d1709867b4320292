"""The command line: `hookbus demo`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from . import __version__

ABOUT: Final = "See, change and stop the calls of an agent."
MISSING_EXTRA: Final = (
    "hookbus demo needs packages that are not installed ({name}); "
    "install them with: pip install 'hookbus[demo]'"
)
WITHOUT_EXTRAS: Final = f"""\
Usage: hookbus COMMAND

{ABOUT}

Commands, and what each needs besides hookbus:
  demo    pip install 'hookbus[demo]'    play AgentDojo's attacks against an agent with hooks

Options:
  --help     show this
  --version  show the version"""
"""What `--help` shows where the packages are missing that would show more."""


def main(tokens: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, or 2 for what cannot be done as asked.

    Args:
        tokens: the words after `hookbus`; those of this process where None is given.
    """
    words = sys.argv[1:] if tokens is None else list(tokens)
    if words == ["--version"]:
        print(__version__)
        return 0
    try:
        return _run(words)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] == "hookbus":
            raise
        if not words or {"--help", "-h"} & {*words}:
            print(WITHOUT_EXTRAS)
            return 0
        print(MISSING_EXTRA.format(name=missing.name), file=sys.stderr)
        return 2


def _run(words: Sequence[str]) -> int:
    from cyclopts import App, CycloptsError, Parameter

    from .exceptions import HookError

    app = App(
        name="hookbus", help=ABOUT, version=__version__,
        default_parameter=Parameter(negative=()),
    )  # fmt: skip
    app.command(demo)
    try:
        command, bound, *_ = app.parse_args(words, exit_on_error=False, print_error=False)
        command(*bound.args, **bound.kwargs)
    except (HookError, CycloptsError) as wrong:
        print(f"hookbus: {wrong}", file=sys.stderr)
        return 2
    return 0


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
