"""`hookbus check`: find mistakes in hooks and receivers before the program runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from .. import HookError, default_bus
from .._program.preparing import prepare
from .._program.settings import Settings, find_settings
from ..exceptions import HookWarning
from .screen import TABLES, Several, Shown, print_items, print_json, say
from .target import buses_of, module_of
from .tools_in_sources import find_bare_tools


def check(
    module: str, /, *, rules: Several = (), tool: Several = (), shown: Shown = TABLES
) -> int:
    """Import a module and report mistakes in its hooks. The exit code is 1 if it finds any.

    It reports signals that no hook emits, receivers that can never run, cycles of before= and
    after=, overrides that are not hooked, hooks that require a guard but have none, modifiers that
    block but fail open, refused plugins, unmet requirements in the settings, tools of frameworks
    whose adapter is not installed, and rules that match no tool.

    Args:
        module: package.module, or the path of a file. It is imported.
        rules: a TOML file with rules for guards.tool_policy; can be repeated.
        tool: the name of an additional tool for the rules; can be repeated.
    """
    from .._views.findings import Note

    loaded = [(file, _rules(file)) for file in rules]
    found, imported = _found(module, find_settings())
    tools = [*tool, *(_tools_in(imported) if imported else ())]
    if rules and not tools and imported is not None:
        raise HookError(
            f"{module} contains no tools to check the rules against: name them with --tool"
        )
    for file, each in loaded:
        found += [f"{file}: {problem}" for problem in (each.unused_rules(tools) if tools else ())]
    mistakes = [each for each in found if not isinstance(each, Note)]
    # No call has been made yet, so "never fired" is expected.
    notes = [each for each in found if isinstance(each, Note) and "never fired" not in each]
    if shown.json:
        print_json({"module": module, "findings": mistakes, "notes": notes})
    else:
        _print(module, mistakes, notes)
    return int(bool(mistakes))


def _print(module: str, mistakes: Sequence[str], notes: Sequence[str]) -> None:
    if mistakes:
        many = "1 finding" if len(mistakes) == 1 else f"{len(mistakes)} findings"
        say(f"{module}: {many}", "bold red")
        print_items(mistakes)
    else:
        say(f"{module}: no problems found", "green")
    if notes:
        say("notes", "bold")
        print_items(notes, "dim")


def _rules(file: str) -> Any:
    from ..guards import tool_policy

    return tool_policy.load(file)


def _found(module: str, settings: Settings) -> tuple[list[str], ModuleType | None]:
    """Return the findings and the module. The module is None if it cannot be imported."""
    from .. import report

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", HookWarning)
        try:
            prepare(settings)
        except HookError as error:
            return [f"{settings.file}: {error}"], None
        try:
            imported = module_of(module)
        except HookError as error:
            if not isinstance(error.__cause__, HookError):
                raise
            return [str(error)], None
    found = [str(each.message) for each in warned if issubclass(each.category, HookWarning)]
    for name, bus in buses_of(imported).items():
        where = f"{name}: " if bus is not default_bus else ""
        found += [type(each)(f"{where}{each}") for each in report(bus).findings]
    return [*found, *_required(settings), *find_bare_tools(module, settings.adapters)], imported


def _required(settings: Settings) -> Iterator[str]:
    for hook in settings.require_guard:
        try:
            default_bus.require_guard(hook)
        except HookError as error:
            yield f"{settings.file} require_guard: {error}"


def _tools_in(module: ModuleType) -> Iterator[str]:
    """Yield the names of the tools in a module, which are objects with a name and a description,
    like frameworks' tools.
    """
    for value in vars(module).values():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            name, says = getattr(each, "name", None), getattr(each, "description", None)
            if isinstance(name, str) and isinstance(says, str):
                yield name
