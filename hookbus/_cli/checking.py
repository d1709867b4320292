"""`hookbus check`: what is wrong with hooks and receivers before anything has run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from .. import HookError, default_bus
from ..exceptions import HookWarning
from .preparing import prepare
from .screen import TABLES, Several, Shown, print_items, print_json, say
from .settings import Settings, find_settings
from .target import buses_of, module_of


def check(
    module: str, /, *, rules: Several = (), tool: Several = (), shown: Shown = TABLES
) -> int:
    """Import a module and name what cannot be meant so; the exit code is 1 where there is anything.

    That is names that nobody emits, receivers that can never fire, circles of before= and after=,
    overrides that are not hooked, guarded hooks without a guard, modifiers that block but fail
    open, plugins that are refused, what the settings require, and rules that match no tool.

    Args:
        module: package.module, or the path of a file; it is imported.
        rules: a TOML file of guards.tool_policy; may be given again.
        tool: the name of a tool that rules may speak of, besides those the module holds; may be
            given again.
    """
    from .._views.findings import Note

    loaded = [(file, _rules(file)) for file in rules]
    found, held = _found(module, find_settings())
    tools = [*tool, *(_tools_in(held) if held else ())]
    if rules and not tools and held is not None:
        raise HookError(f"{module} holds no tools that rules could match: name them with --tool")
    for file, each in loaded:
        found += [f"{file}: {problem}" for problem in (each.unused_rules(tools) if tools else ())]
    mistakes = [each for each in found if not isinstance(each, Note)]
    # Nothing has run: who has never fired is no news.
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
        say(f"{module}: nothing is wrong", "green")
    if notes:
        say("to know", "bold")
        print_items(notes, "dim")


def _rules(file: str) -> Any:
    from ..guards import tool_policy

    return tool_policy.load(file)


def _found(module: str, settings: Settings) -> tuple[list[str], ModuleType | None]:
    """Return what is wrong, and the module; None where it cannot be imported."""
    from .. import report

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", HookWarning)
        try:
            prepare(settings)
        except HookError as error:
            return [f"{settings.file}: {error}"], None
        try:
            held = module_of(module)
        except HookError as error:
            if not isinstance(error.__cause__, HookError):
                raise
            return [str(error)], None
    found = [str(each.message) for each in warned if issubclass(each.category, HookWarning)]
    for name, bus in buses_of(held).items():
        where = f"{name}: " if bus is not default_bus else ""
        found += [type(each)(f"{where}{each}") for each in report(bus).findings]
    return [*found, *_required(settings)], held


def _required(settings: Settings) -> Iterator[str]:
    for hook in settings.require:
        try:
            default_bus.require_guard(hook)
        except HookError as error:
            yield f"{settings.file} require: {error}"


def _tools_in(module: ModuleType) -> Iterator[str]:
    """Yield the names of what a module holds that says it is a tool: it has a name and a
    description, as the tools of frameworks have.
    """
    for held in vars(module).values():
        for each in held if isinstance(held, (list, tuple)) else [held]:
            name, says = getattr(each, "name", None), getattr(each, "description", None)
            if isinstance(name, str) and isinstance(says, str):
                yield name
