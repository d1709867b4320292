"""Collects the calls and tools with which `hookbus policy` tries policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import attrs
from cyclopts import Parameter

from .. import HookError
from .._views.tables import brief
from .target import buses_of, module_of

if TYPE_CHECKING:
    from ..guards._cedar.schemas import Schema
    from ..guards._cedar.trial import Trial
    from ..journal import Journal


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


def calls_in(journal: Journal, hook: str) -> Iterator[Seen]:
    """Yield the recorded calls to a hook whose values were recorded."""
    from ..journal._replay import past_calls

    for call in past_calls(journal):
        values = call.values
        if call.hook != hook or values is None:
            continue
        arguments, is_allowed = values.get("arguments"), call.then[0] == "allowed"
        if "name" in call.names and "arguments" in call.names:
            if isinstance(arguments, Mapping):
                yield Seen(str(values.get("name")), arguments, call.baggage, is_allowed)
        else:
            yield Seen(hook, values, call.baggage, is_allowed)


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
