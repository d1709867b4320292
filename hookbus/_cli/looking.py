"""`hookbus hooks` and `hookbus explain`: what there is, and who would run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from .._connections.phases import PHASES
from .preparing import prepare
from .screen import TABLES, Flag, Shown, console, print_items, print_json, print_rows, say
from .settings import find_settings
from .target import buses_of, module_of, object_of

if TYPE_CHECKING:
    from .. import Bus


def hooks(module: str, /, *, shown: Shown = TABLES) -> None:
    """List the hooks that a module declares, and how many receivers each has.

    Args:
        module: package.module, or the path of a file; it is imported.
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
    """Say who would run around one method, in order: where each stands, its policy, its deadline,
    and what can never fire.

    Args:
        target: module:Class.method, file.py:function, or with --hook a tool: module:tool.
        hook: the hook of a framework's adapter, such as tool_call, whose sender the target is.
        source: also print the function that runs the calls.
    """
    from .. import explain as explained
    from .._views.explain import hook_for

    prepare(find_settings())
    found = object_of(target)
    if hook is None:
        told, meant = explained(found, source=source), hook_for(found)
    else:
        told, meant = explained(hook, sender=found, source=source), hook_for(hook)
    never = _never(meant.bus, meant.name)
    if shown.json:
        rows = [attrs.asdict(row) for row in told]
        print_json({"title": told.title, "rows": rows, "never": never, "source": told.source})
        return
    _print(told, never)


def _print(told: Any, never: list[str]) -> None:
    rows = []
    for row in told:
        facts = {"phase": row.phase, "#": row.position, **attrs.asdict(row)}
        del facts["position"], facts["problem"]
        rows.append({**facts, "fails": "will fail" if row.problem else None})
    print_rows(rows, told.when_empty, told.title)
    items = [row.problem for row in told if row.problem] + never
    if items:
        say("what can never fire, or will fail", "bold")
        print_items(items, "yellow")
    if told.source:
        from rich.syntax import Syntax

        console().print(Syntax(told.source, "python", word_wrap=True, background_color="default"))


def _never(bus: Bus, hook: str) -> list[str]:
    """Return what a report says of receivers on this hook that can never have a turn."""
    from .. import report
    from .._views.findings import Note

    names = {hook, *(f"{phase}_{hook}" for phase in PHASES)}
    found = []
    for finding in report(bus).findings:
        words = {word.strip("':,;?()") for word in finding.split()}
        if names & words and not isinstance(finding, Note):
            found.append(finding)
    return found
