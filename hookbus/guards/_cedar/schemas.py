"""The values of `schema=`: `"tools"`, the declarations of tools, or a Cedar schema."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ... import HookError
from ..._external.trust import read_trusted
from .declared import fields_of_schema
from .library import cedar, in_one_line
from .source import malformed_as_hook_error
from .types import Field

TOOLS: Final = "tools"
_WORD: Final = re.compile(r"\w+")


class Schema:
    """The types of arguments.

    Args:
        given: `"tools"`; a mapping of tool names to functions, pydantic models, JSON schemas or
            mappings of parameters to types; or a Cedar schema, or the answer of an MCP server to
            `tools/list`, as a string or as the path of a file.

    Attributes:
        path: the file, or None.
        fields: the arguments of each tool if they are declared, or None.
        handle: the Cedar schema, or None.
        words: the words in the text of the Cedar schema.
        is_partial: whether there may be more tools than those in `fields`.

    Raises:
        HookError: if the schema cannot be read or is malformed.
    """

    def __init__(self, given: Any) -> None:
        self.path: Path | None = None
        self.fields: dict[str, dict[str, Field]] | None = None
        self.handle: Any = None
        self.words = frozenset[str]()
        self.is_partial = False
        if isinstance(given, Schema):
            vars(self).update(vars(given))
        elif isinstance(given, Mapping):
            self.fields = _declared(given, "schema=")
        elif given != TOOLS:
            self._read(given)

    def _read(self, given: Any) -> None:
        self.path = path_of_schema(given)
        if self.path is None and not isinstance(given, str):
            raise HookError(
                f"schema={given!r:.40} must be 'tools', a mapping of tools to their declarations, "
                "or a Cedar schema"
            )
        where = f"{self.path}" if self.path else "schema="
        text = read_trusted(self.path) if self.path else str(given)
        if not text.strip():
            raise HookError(f"{where} is empty: write a Cedar schema")
        listed = _json_in(text)
        if isinstance(listed, Mapping) and isinstance(listed.get("tools"), list):
            self.fields = _of_mcp(listed["tools"], where)
            return
        try:
            schema = cedar().Schema
            read = schema.from_str if listed is None else schema.from_json_str
            self.handle = read(text)
        except ValueError as error:
            raise HookError(f"{where}: {in_one_line(error)}") from None
        self.words = frozenset(_WORD.findall(text))


def path_of_schema(given: Any) -> Path | None:
    """Return the path of a schema file, or None if the schema is passed directly."""
    is_text = isinstance(given, str) and (
        given == TOOLS or not given.strip() or any(each in given for each in "{;\n")
    )
    return Path(given) if isinstance(given, (str, os.PathLike)) and not is_text else None


def _json_in(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def _of_mcp(tools: list[Any], where: str) -> dict[str, dict[str, Field]]:
    declared = {}
    for each in tools:
        if not isinstance(each, Mapping) or not isinstance(each.get("name"), str):
            raise HookError(f"{where} has a tool without a name")
        declared[each["name"]] = each.get("inputSchema", each.get("input_schema", {}))
    return _declared(declared, where)


def _declared(given: Mapping[Any, Any], where: str) -> dict[str, dict[str, Field]]:
    found = {}
    for name, declaration in given.items():
        with malformed_as_hook_error(f"{where}: the declaration of {name!a:.40}"):
            fields = fields_of_schema(declaration)
        if not isinstance(name, str) or fields is None:
            raise HookError(
                f"{where}: {name!a:.40} needs a function, a pydantic model, a JSON schema or a "
                "mapping of parameters to types"
            )
        found[name] = fields
    return found
