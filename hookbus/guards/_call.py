"""Which tool a call is of, and with which arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import PurePath
from types import FunctionType
from typing import Any, Final

from .. import HookContext
from .._signatures import signature_of

_LABELS: Final = {
    frozenset({"name", "arguments"}): frozenset({"name", "call_id", "kind", "tool", "agent"}),
    frozenset({"model", "messages"}): frozenset({"model", "agent"}),
    frozenset({"agent", "input"}): frozenset({"agent"}),
}
"""What marks a hook of the vocabulary, and which of its arguments say whose call it is."""


def tool_of(ctx: HookContext) -> tuple[Any, Any]:
    """Return the name of the tool that is called, and its arguments.

    A hookable that has the parameters `name` and `arguments` calls tools; any other one is the tool
    itself, and its parameters, without the sender, are the arguments.
    """
    given = ctx.kwargs
    if "name" in given and "arguments" in given:
        return given["name"], given["arguments"]
    return ctx.hook, {name: each for name, each in given.items() if each is not ctx.sender}


def contents_of(ctx: HookContext) -> Any:
    """Return all that a call carries by name: the arguments of the tool, and what the hookable
    takes besides, where that is plain data and does not say whose call it is. An object is for the
    body: a connection, or a framework's own call.
    """
    arguments, given = tool_of(ctx)[1], ctx.kwargs
    if not ("name" in given and "arguments" in given):
        return arguments
    labels = labels_of(ctx)
    more = {name: each for name, each in given.items()
            if name != "arguments" and name not in labels and isinstance(each, _DATA)}  # fmt: skip
    if not more or not isinstance(arguments, Mapping):
        return arguments
    return {**arguments, **more} if more.keys().isdisjoint(arguments) else {**more, "": arguments}


_DATA: Final = (str, bytes, PurePath, dict, list, tuple, set)


def labels_of(ctx: HookContext) -> frozenset[str]:
    """Return the parameters of a call that say whose call it is; all others are its contents."""
    names = frozenset(ctx.kwargs)
    return frozenset().union(*(each for marks, each in _LABELS.items() if marks <= names))


def parameters_of(ctx: HookContext) -> Collection[str] | None:
    """Return the names of the parameters that the called tool has; None where they are not known,
    or it takes others, too.
    """
    if not ("name" in ctx.kwargs and "arguments" in ctx.kwargs):
        return list(tool_of(ctx)[1])
    tool = ctx.kwargs.get("tool")
    schemas = getattr(tool, "__dict__", {}).get("__hookbus_schemas__", {})
    if ctx.kwargs["name"] in schemas:  # of a session or toolset, which stands for several tools
        return _names_in(schemas[ctx.kwargs["name"]])
    for read in _READERS if tool is not None else ():
        try:
            names = _names_in(read(tool))
        except Exception:  # of a framework's object that has no such thing
            continue
        if names is not None:
            return names
    return None


_READERS: Final[tuple[Callable[[Any], Any], ...]] = (
    lambda tool: tool.params_json_schema,  # OpenAI Agents
    lambda tool: tool.tool_spec["inputSchema"]["json"],  # Strands
    lambda tool: tool.tool_def.parameters_json_schema,  # Pydantic AI
    lambda tool: tool.function_schema.json_schema,
    lambda tool: tool.tool_call_schema,  # LangChain, without what is injected
    lambda tool: tool.args_schema,  # LangChain, CrewAI
    lambda tool: tool.metadata.get_parameters_dict(),  # LlamaIndex
    lambda tool: tool.inputSchema,  # MCP
    lambda tool: tool.input_schema,  # Claude Agent SDK, AgentScope
    lambda tool: tool.schema["parameters"],  # AutoGen
    lambda tool: tool.inputs,  # smolagents
    lambda tool: _declared(tool._get_declaration()),  # Google ADK
    lambda tool: tool.parameters() if callable(tool.parameters) else tool.parameters,  # FastMCP
    lambda tool: _signature(tool) if isinstance(tool, FunctionType) else None,
)
"""Where tools of frameworks say what they take."""


def _declared(declaration: Any) -> Any:
    schema = declaration.parameters_json_schema
    if schema is not None:
        return schema
    return {"type": "object", "properties": dict(declaration.parameters.properties or {})}


def _signature(function: FunctionType) -> Mapping[str, Any] | None:
    parameters = signature_of(function).parameters
    takes_more = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    return None if takes_more else parameters


def _names_in(schema: Any) -> Collection[str] | None:
    """Return the names in a JSON schema, a model of pydantic, a mapping or a list of parameters."""
    if isinstance(schema, type) and hasattr(schema, "model_json_schema"):
        schema = schema.model_json_schema()
    if isinstance(schema, (list, tuple)):  # Semantic Kernel
        return [str(each.name) for each in schema]
    if not isinstance(schema, Mapping) or not all(isinstance(each, str) for each in schema):
        return None
    if not _is_schema(schema):
        return list(schema)
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or _takes_more(schema):
        return None
    return list(properties)


def _is_schema(schema: Mapping[str, Any]) -> bool:
    return not schema or "$ref" in schema or isinstance(schema.get("type"), str)


def _takes_more(schema: Mapping[str, Any]) -> bool:
    more: Iterable[str] = ("patternProperties", "anyOf", "oneOf", "allOf", "$ref")
    return bool(schema.get("additionalProperties")) or any(each in schema for each in more)
