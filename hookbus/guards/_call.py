"""Finds the tool that a call invokes, and the tool's arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import PurePath
from types import FunctionType, MethodType
from typing import Any, Final

from .. import HookContext
from .._ground.signatures import signature_of

_LABELS: Final = {
    frozenset({"name", "arguments"}): frozenset({"name", "call_id", "kind", "tool", "caller"}),
    frozenset({"model", "messages"}): frozenset({"model", "caller"}),
    frozenset({"agent", "input"}): frozenset({"agent"}),
}
"""For each standard hook, the parameters by which it is recognized, and the parameters that
identify the call."""


def tool_of(ctx: HookContext) -> tuple[Any, Any]:
    """Return the name and the arguments of the called tool.

    A hookable with the parameters `name` and `arguments` calls tools. Any other hookable is itself
    the tool, and all of its parameters except the sender are the arguments.
    """
    values = ctx.kwargs
    if "name" in values and "arguments" in values:
        return values["name"], values["arguments"]
    return ctx.hook, {name: each for name, each in values.items() if each is not ctx.sender}


def principal_in(baggage: Mapping[str, Any]) -> str:
    """Return the principal of a call: the user; without a user, the session; otherwise,
    `anonymous`."""
    user, session = baggage.get("user"), baggage.get("session")
    return str(user if user is not None else "anonymous" if session is None else session)


def contents_of(ctx: HookContext) -> Any:
    """Return all data of a call by name: the arguments of the tool, and all other parameters of the
    hookable that are plain data and do not identify the call. Other objects, such as a connection
    or a framework's call object, are left out.
    """
    arguments, values = tool_of(ctx)[1], ctx.kwargs
    if not ("name" in values and "arguments" in values):
        return arguments
    labels = labels_of(ctx)
    more = {name: each for name, each in values.items()
            if name != "arguments" and name not in labels and isinstance(each, _DATA)}  # fmt: skip
    if not more or not isinstance(arguments, Mapping):
        return arguments
    return {**arguments, **more} if more.keys().isdisjoint(arguments) else {**more, "": arguments}


_DATA: Final = (str, bytes, PurePath, dict, list, tuple, set)


def labels_of(ctx: HookContext) -> frozenset[str]:
    """Return the parameters that identify a call. All other parameters are the contents of the
    call."""
    names = frozenset(ctx.kwargs)
    return frozenset().union(*(each for marks, each in _LABELS.items() if marks <= names))


def parameters_of(ctx: HookContext) -> Collection[str] | None:
    """Return the parameter names of the called tool, or None if they are unknown or the tool
    accepts additional parameters.
    """
    if not ("name" in ctx.kwargs and "arguments" in ctx.kwargs):
        return list(tool_of(ctx)[1])
    declared = declaration_of(ctx)
    return None if declared is None else _names_in(declared)


def declaration_of(ctx: HookContext) -> Any:
    """Return the declaration of the called tool's parameters: a JSON schema, a pydantic model, or a
    mapping or list of parameters. Return None if the tool declares no parameters or accepts
    additional parameters.
    """
    tool = ctx.kwargs.get("tool")
    schemas = getattr(tool, "__dict__", {}).get("__hookbus_schemas__", {})
    if ctx.kwargs["name"] in schemas:  # a session or toolset, which has several tools
        listed = schemas[ctx.kwargs["name"]]
        return None if _names_in(listed) is None else listed
    return declared_by(tool)


def whole_declaration_of(ctx: HookContext) -> Any:
    """Return the declaration of the called tool's parameters, or None. Tools that accept additional
    parameters are included.
    """
    tool = ctx.kwargs.get("tool")
    schemas = getattr(tool, "__dict__", {}).get("__hookbus_schemas__", {})
    if ctx.kwargs["name"] in schemas:
        return schemas[ctx.kwargs["name"]]
    if isinstance(tool, (FunctionType, MethodType)):
        return _parameters(tool)
    for read in _READERS if tool is not None else ():
        try:
            declared = read(tool)
        except Exception:  # the object of this framework has no such attribute
            continue
        is_model = isinstance(declared, type) and hasattr(declared, "model_json_schema")
        if is_model or isinstance(declared, (Mapping, list, tuple)):
            return declared
    return None


def declared_by(tool: Any) -> Any:
    """Return the declaration of the parameters of a tool from any framework, or None."""
    for read in _READERS if tool is not None else ():
        try:
            declared = read(tool)
            names = _names_in(declared)
        except Exception:  # the object of this framework has no such attribute
            continue
        if names is not None:
            return declared
    return None


_READERS: Final[tuple[Callable[[Any], Any], ...]] = (
    lambda tool: tool.params_json_schema,  # OpenAI Agents
    lambda tool: tool.tool_spec["inputSchema"]["json"],  # Strands
    lambda tool: tool.tool_def.parameters_json_schema,  # Pydantic AI
    lambda tool: tool.function_schema.json_schema,
    lambda tool: tool.tool_call_schema,  # LangChain, without injected arguments
    lambda tool: tool.args_schema,  # LangChain, CrewAI
    lambda tool: tool.metadata.get_parameters_dict(),  # LlamaIndex
    lambda tool: tool.inputSchema,  # MCP
    lambda tool: tool.input_schema,  # Claude Agent SDK, AgentScope
    lambda tool: tool.schema["parameters"],  # AutoGen
    lambda tool: tool.inputs,  # smolagents
    lambda tool: _declared(tool._get_declaration()),  # Google ADK
    lambda tool: tool.parameters() if callable(tool.parameters) else tool.parameters,  # FastMCP
    lambda tool: _signature(tool) if isinstance(tool, (FunctionType, MethodType)) else None,
)
"""The attributes in which the tools of frameworks declare parameters."""


def _declared(declaration: Any) -> Any:
    schema = declaration.parameters_json_schema
    if schema is not None:
        return schema
    return {"type": "object", "properties": dict(declaration.parameters.properties or {})}


def _parameters(function: FunctionType | MethodType) -> Mapping[str, Any]:
    """Return the parameters of a function, without `self`."""
    parameters = signature_of(function).parameters
    return {name: each for name, each in parameters.items() if name != "self"}


def _signature(function: FunctionType | MethodType) -> Mapping[str, Any] | None:
    parameters = _parameters(function)
    takes_more = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    return None if takes_more else parameters


def _names_in(schema: Any) -> Collection[str] | None:
    """Return the names in a JSON schema, a pydantic model, a mapping or a list of parameters."""
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
