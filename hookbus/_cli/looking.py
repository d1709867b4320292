"""`hookbus hooks` and `hookbus explain`: list hooks, and the receivers of one method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from .._connections.phases import PHASES
from .._program.preparing import prepare
from .._program.settings import find_settings
from .screen import TABLES, Flag, Shown, console, print_items, print_json, print_rows, say
from .target import buses_of, module_of, object_of

if TYPE_CHECKING:
    from .. import Bus


def hooks(module: str, /, *, shown: Shown = TABLES) -> None:
    """List the hooks that a module declares, and the number of receivers of each.

    Args:
        module: package.module, or the path of a file. It is imported.
    """
    from .. import report

    prepare(find_settings())
    buses = buses_of(module_of(module))
    rows = [
        {"hook": row["hook"], "bus": name if len(buses) > 1 else None, **row}
        for name, bus in buses.items() for row in report(bus).hooks
    ]  # fmt: skip
    if shown.json:
        print_json({"module": module, "hooks": rows})
        return
    empty = f"{module} declares no hook: put @hookable above a method"
    print_rows(rows, empty, f"hooks of {module}")


def explain(
    target: str, /, *, hook: str | None = None, source: Flag = False, shown: Shown = TABLES
) -> None:
    """Show the receivers of one method in order, each with its location, policy and deadline, and
    list the receivers that can never run.

    Args:
        target: module:Class.method or file.py:function; with --hook, a tool such as module:tool.
        hook: the hook of a framework's adapter, such as tool_call. The target is its sender.
        source: also print the generated function that runs the calls.
    """
    from .. import explain as explain_calls
    from .._views.explain import hook_for

    prepare(find_settings())
    found = object_of(target)
    if hook is None:
        explanation, target_hook = explain_calls(found, source=source), hook_for(found)
    else:
        explanation, target_hook = explain_calls(hook, sender=found, source=source), hook_for(hook)
    never = _never(target_hook.bus, target_hook.name)
    if shown.json:
        rows = [attrs.asdict(row) for row in explanation]
        print_json({
            "title": explanation.title, "rows": rows, "never": never, "source": explanation.source
        })  # fmt: skip
        return
    _print(explanation, never)


def _print(explanation: Any, never: list[str]) -> None:
    rows = []
    for row in explanation:
        facts = {"phase": row.phase, "#": row.position, **attrs.asdict(row)}
        del facts["position"], facts["problem"]
        rows.append({**facts, "fails": "will fail" if row.problem else None})
    print_rows(rows, explanation.when_empty, explanation.title)
    items = [row.problem for row in explanation if row.problem] + never
    if items:
        say("receivers that can never run, or will fail", "bold")
        print_items(items, "yellow")
    if explanation.source:
        from rich.syntax import Syntax

        source = Syntax(explanation.source, "python", word_wrap=True, background_color="default")
        console().print(source)


def _never(bus: Bus, hook: str) -> list[str]:
    """Return `report`'s findings about receivers of this hook that can never run."""
    from .. import report
    from .._views.findings import Note

    names = {hook, *(f"{phase}_{hook}" for phase in PHASES)}
    found = []
    for finding in report(bus).findings:
        words = {word.strip("':,;?()") for word in finding.split()}
        if names & words and not isinstance(finding, Note):
            found.append(finding)
    return found
