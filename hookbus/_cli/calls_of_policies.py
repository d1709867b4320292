"""Collects the calls and tools with which `hookbus policy` tries policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import attrs
from cyclopts import Parameter

from .. import HookError
from .._views.tables import brief
from .screen import print_rows, say
from .target import buses_of, module_of

if TYPE_CHECKING:
    from ..guards._cedar.schemas import Schema
    from ..guards._cedar.trial import Trial
    from ..journal import Journal
    from ..journal._replay import PastCall

OF_ADAPTERS: Final = ("tool_call", "model_call", "model_stream", "agent_run", "agent_stream")
"""The hooks that the adapters of frameworks declare."""


@Parameter(name="*")
@attrs.frozen
class PolicyOptions:
    """The options that describe tools, users and calls for policies."""

    module: str | None = None
    """a module with the tools: package.module, or the path of a file. It is imported."""
    schema: Path | None = None
    """the types of arguments: a Cedar schema, or a JSON file with the tools of an MCP server."""
    entities: Path | None = None
    """a JSON file with entities."""
    people: Path | None = None
    """a TOML file of names and their roles."""
    hook: str = "tool_call"
    """the hook of the calls."""

    def trial(self, source: Path, schema: Any) -> Trial:
        """Return a `Trial` of policies, which can decide calls.

        Args:
            source: the policies.
            schema: the types of arguments.
        """
        from ..guards._cedar.trial import Trial

        return Trial(source, schema, self.entities, self.people, self.hook, self.own_hooks())

    def overrides(self) -> dict[str, Any]:
        """Return the options that replace settings of a table."""
        is_given = self.module is not None or self.schema is not None
        hook = None if self.hook == "tool_call" else self.hook
        return {
            "schema": schema_in_force(self) if is_given else None, "entities": self.entities,
            "people": self.people, "hook": hook, "hooks": self.own_hooks() or None,
        }  # fmt: skip

    def own_hooks(self) -> list[str]:
        """Return the hooks of the module that are themselves tools."""
        return [] if self.module is None else list(_own_hooks(module_of(self.module)))


    def known_hooks(self) -> set[str]:
        """Return `--hook`, the hooks of the module, and those of the adapters."""
        buses = () if self.module is None else buses_of(module_of(self.module)).values()
        return {self.hook, *OF_ADAPTERS, *(name for bus in buses for name in bus.hook_names())}


@attrs.frozen
class Seen:
    """A call from a journal or table.

    Attributes:
        is_allowed: whether no guard blocked the call or required approval.
    """

    tool: str
    arguments: Mapping[str, Any]
    baggage: Mapping[str, Any]
    is_allowed: bool = True

    @property
    def title(self) -> str:
        """A description of the call in one line."""
        user = f" by {self.baggage['user']}" if "user" in self.baggage else ""
        given = ", ".join(f"{name}={brief(repr(each))}" for name, each in self.arguments.items())
        return f"{self.tool}({given}){user}"


@attrs.frozen
class Recorded:
    """The calls of a journal to the hooks of policies.

    Attributes:
        calls: the calls whose argument values are known.
        left_out: the number of other calls.
    """

    calls: Sequence[Seen]
    left_out: int

    @property
    def note(self) -> str | None:
        """A sentence about the calls that are left out, or None."""
        many = len(self.calls) + self.left_out
        return cannot_judge(self.left_out, many) if self.left_out else None


def cannot_judge(left_out: int, many: int) -> str:
    """Return the sentence about calls that no command can judge."""
    return (
        f"{left_out} of {many} calls cannot be judged, because the values of their arguments were "
        "not recorded or are redacted: record with hookbus run --values, default_bus.values = "
        "True or Bus(values=True), and do not redact the arguments that policies need"
    )


def calls_in(journal: Journal, *hooks: str) -> Recorded:
    """Return the recorded calls to these hooks.

    Raises:
        HookError: if there are none, or if the values of all of them are unknown.
    """
    from ..journal._replay import past_calls

    calls, left_out, others = list[Seen](), 0, set[str]()
    for call in past_calls(journal):
        if call.hook in hooks:
            seen = _seen(call)
            calls += [] if seen is None else [seen]
            left_out += seen is None
        else:
            others.add(call.hook)
    if not calls and not left_out:
        instead = f"it has calls of {', '.join(sorted(others))}: pass --hook" if others else (
            "it has no calls at all"
        )  # fmt: skip
        raise HookError(f"{journal.path} has no calls of {' or '.join(hooks)}; {instead}")
    found = Recorded(calls, left_out)
    if not calls:
        raise HookError(f"{journal.path}: {found.note}")
    return found


def _seen(call: PastCall) -> Seen | None:
    """Return a recorded call, or None if the values of its arguments are unknown."""
    from ..journal._judges import is_redacted

    is_tool = "name" in call.names and "arguments" in call.names
    values = call.values or {}
    arguments = values.get("arguments") if is_tool else call.values
    name = values.get("name") if is_tool else call.hook
    if not isinstance(arguments, Mapping) or is_redacted(arguments) or is_redacted(name):
        return None
    return Seen(str(name), arguments, call.baggage, call.then[0] == "allowed")


def say_left_out(recorded: Recorded) -> None:
    """Print a sentence about the calls that are left out, if there are any."""
    if recorded.note:
        say(recorded.note, "bold")


def in_shadow(calls: Iterable[Seen], trial: Trial) -> list[dict[str, Any]]:
    """Return the calls whose verdict would be different if the policies with `@shadow` decided.
    """
    found = []
    for call in calls:
        now = trial.decide(call.tool, call.arguments, call.baggage)
        other = trial.in_shadow(call.tool, call.arguments, call.baggage)
        if other is not None:
            found.append({
                "call": call.title, "verdict": now.effect, "would be": other.effect,
                "policies": ", ".join(other.ids), "reason": other.reason,
            })  # fmt: skip
    return found


def print_shadow(rows: Sequence[Mapping[str, Any]], many: int) -> None:
    """Print what the policies with `@shadow` would change."""
    if rows:
        of_all = f" of {many} calls" if many > 1 else ""
        count = f"{len(rows)}{of_all}" if of_all else "this call"
        print_rows(rows, "", f"policies in shadow decide nothing; enforced, they would change "
                   f"{count}", is_whole=True)  # fmt: skip


def schema_in_force(given: PolicyOptions) -> Schema:
    """Return the types of arguments from the options.

    Raises:
        HookError: if neither `--schema` nor `--module` is passed, or if their values cannot be
            used.
    """
    from ..guards._cedar.schemas import Schema

    if given.schema is not None:
        return Schema(given.schema)
    if given.module is None:
        raise HookError(
            "the arguments of the tools are not known: pass --schema FILE, or --module MODULE with "
            "the tools"
        )
    return module_schema(module_of(given.module))


def module_schema(module: ModuleType) -> Schema:
    """Return the types of the arguments of the tools in a module. The tools are objects like those
    of frameworks, functions in mappings by name, and hookables that are themselves tools.

    Raises:
        HookError: if the module has no tools.
    """
    from ..guards._call import declared_by
    from ..guards._cedar.declared import fields_of_function, fields_of_schema
    from ..guards._cedar.schemas import Schema

    schema = Schema({})
    fields: dict[str, Any] = {}
    for held in vars(module).values():
        for each in held if isinstance(held, (list, tuple)) else [held]:
            name, declared = getattr(each, "name", None), declared_by(each)
            if isinstance(name, str) and declared is not None:
                fields[name] = fields_of_schema(declared)
        if isinstance(held, dict) and held and all(map(callable, held.values())):
            for name, each in held.items():
                fields[str(name)] = fields_of_function(each)
    fields |= _own_hooks(module)
    schema.fields = {name: each for name, each in fields.items() if each is not None}
    if not schema.fields:
        raise HookError(f"{module.__name__} contains no tools: pass --schema FILE")
    return schema


def _own_hooks(module: ModuleType) -> dict[str, Any]:
    from ..guards._cedar.declared import fields_of_own_tools

    found = {}
    for bus in buses_of(module).values():
        for name in bus.hook_names():
            for fields in fields_of_own_tools(bus, name):
                found[name] = fields
    return found
