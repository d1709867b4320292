"""The command line: `hookbus demo`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

MISSING_EXTRA = (
    "hookbus demo needs packages that are not installed ({name}); "
    "install them with: pip install 'hookbus[demo]'"
)


def main(tokens: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, or 2 for what cannot be done as asked.

    Args:
        tokens: the words after `hookbus`; those of this process where None is given.
    """
    try:
        return _run(tokens)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] == "hookbus":
            raise
        print(MISSING_EXTRA.format(name=missing.name), file=sys.stderr)
        return 2


def _run(tokens: Sequence[str] | None) -> int:
    from cyclopts import App, CycloptsError, Parameter

    from .exceptions import HookError

    app = App(
        name="hookbus", help="See, change and stop the calls of an agent.",
        default_parameter=Parameter(negative=()),
    )  # fmt: skip
    app.command(demo)
    try:
        command, bound, *_ = app.parse_args(tokens, exit_on_error=False, print_error=False)
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
    """Play AgentDojo's attacks against an agent that always obeys, without hooks and under four
    policies.

    It measures the enforcement layer, not a model: there is no model, no network and no key.

    Args:
        suite: banking, slack, travel, workspace, or all.
        attack: an attack of AgentDojo's that plants a goal, such as direct or tool_knowledge; or
            plain, the bare goal.
        policy: only this policy, and may be given again: allow-list, provenance, both or sanitiser.
        json: write every outcome to this file.
    """
    from .demo.main import main as play

    play(suite, attack, policy or [], json)
