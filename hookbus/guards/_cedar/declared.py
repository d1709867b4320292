"""Determines the types of a tool's arguments from JSON schemas, signatures and annotations."""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from inspect import Parameter
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin
from uuid import UUID

from ... import Bus
from ..._ground.signatures import signature_of
from ..._hooks.hook import Hook
from .types import BOOL, DECIMAL, LONG, STRING, TEXT, Field, Kind, record_of, set_of

DEEPEST: Final = 8
"""The maximum nesting depth of records. Deeper records become text."""

# -- JSON schemas -------------------------------------------------------------------------------


def fields_of_schema(schema: Any) -> dict[str, Field] | None:
    """Return the arguments in a tool's declaration: a JSON schema, a pydantic model, or a mapping
    or list of parameters. Return None for any other declaration.
    """
    if isinstance(schema, type) and hasattr(schema, "model_json_schema"):
        schema = schema.model_json_schema()
    if isinstance(schema, (list, tuple)):
        return {str(each.name): Field(TEXT, is_required=False) for each in schema}
    if callable(schema) and not isinstance(schema, type):
        return fields_of_function(schema)
    if not isinstance(schema, Mapping) or not all(isinstance(each, str) for each in schema):
        return None
    if not schema or "$ref" in schema or isinstance(schema.get("type"), str):
        followed = _follow(schema, schema)
        properties = followed.get("properties")
        if isinstance(properties, Mapping):
            return _properties(followed, schema, 0)
        return {} if schema.get("type", "object") == "object" else None
    return {name: _field_of_any(each) for name, each in schema.items()}


def _field_of_any(declared: Any) -> Field:
    if isinstance(declared, Parameter):
        return field_of_parameter(declared)
    if isinstance(declared, Mapping):
        kind, may_be_none = _kind_of_json(declared, declared, 0)
        is_optional = may_be_none or bool(declared.get("nullable"))
        return Field(kind, is_required=not is_optional)
    kind, may_be_none = kind_of_annotation(declared)
    return Field(kind, is_required=not may_be_none)


def _properties(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, Field]:
    listed = schema.get("required")
    required = listed if isinstance(listed, (list, tuple)) else ()
    found = {}
    for name, each in schema["properties"].items():
        kind, may_be_none = _kind_of_json(each, root, depth + 1)
        found[str(name)] = Field(kind, is_required=name in required and not may_be_none)
    return found


def _follow(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema, or the schema to which it refers."""
    for _ in range(DEEPEST):
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        schema = root
        for part in reference[2:].split("/"):
            schema = schema.get(part) if isinstance(schema, Mapping) else None
    return schema if isinstance(schema, Mapping) else {}


def _kind_of_json(given: Any, root: Mapping[str, Any], depth: int) -> tuple[Kind, bool]:
    """Return the type of a JSON schema, and whether it may be null."""
    schema = _follow(given, root)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            several = [_follow(each, root) for each in schema[key]]
            real = [each for each in several if each.get("type") != "null"]
            may_be_none = len(real) < len(several)
            if len(real) != 1:
                return TEXT, may_be_none
            kind, inner = _kind_of_json(real[0], root, depth + 1)
            return kind, may_be_none or inner
    named, may_be_none = schema.get("type"), False
    if isinstance(named, (list, tuple)):
        real_names = [each for each in named if each != "null"]
        may_be_none = len(real_names) < len(named)
        named = real_names[0] if len(real_names) == 1 else None
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if named is None and isinstance(values, list):
        return _kind_of_values(values)
    return _kind_by_name(named, schema, root, depth), may_be_none


def _kind_by_name(name: Any, schema: Any, root: Mapping[str, Any], depth: int) -> Kind:
    simple = {"string": STRING, "integer": LONG, "number": DECIMAL, "boolean": BOOL}
    if name in simple:
        return simple[name]
    if depth > DEEPEST:
        return TEXT
    if name == "array" and isinstance(schema.get("items"), Mapping):
        kind, may_be_none = _kind_of_json(schema["items"], root, depth + 1)
        return TEXT if may_be_none else set_of(kind)
    is_closed = not schema.get("additionalProperties") and "patternProperties" not in schema
    if name == "object" and isinstance(schema.get("properties"), Mapping) and is_closed:
        return record_of(_properties(schema, root, depth))
    return TEXT


def _kind_of_values(values: Iterable[Any]) -> tuple[Kind, bool]:
    several = list(values)
    kinds = {type(each) for each in several if each is not None}
    simple: dict[type, Kind] = {str: STRING, int: LONG, bool: BOOL}
    kind = simple.get(kinds.pop(), TEXT) if len(kinds) == 1 else TEXT
    return kind, None in several


# -- annotations --------------------------------------------------------------------------------


def fields_of_function(function: Callable[..., Any]) -> dict[str, Field] | None:
    """Return the arguments of a function, without a first parameter named `self`. Return None if
    the function takes arbitrary arguments.
    """
    parameters = _parameters_of(function)
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return None
    return {name: field_of_parameter(each) for name, each in parameters.items() if name != "self"}


def _parameters_of(function: Callable[..., Any]) -> Mapping[str, Parameter]:
    try:
        return signature_of(function, eval_str=True).parameters
    except Exception:  # an annotation names something that does not exist
        return signature_of(function).parameters


def field_of_parameter(parameter: Parameter) -> Field:
    """Return the type of a parameter. A parameter with a default may be missing."""
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return Field(TEXT, is_required=False)
    kind, may_be_none = kind_of_annotation(parameter.annotation)
    return Field(kind, is_required=parameter.default is parameter.empty and not may_be_none)


_BY_TYPE: Final[dict[Any, Kind]] = {
    str: STRING, int: LONG, bool: BOOL, float: DECIMAL, Decimal: DECIMAL, UUID: STRING,
    "str": STRING, "int": LONG, "bool": BOOL, "float": DECIMAL,
}  # fmt: skip


def kind_of_annotation(given: Any) -> tuple[Kind, bool]:
    """Return the type of an annotation, and whether the value may be None."""
    if isinstance(given, (type, str)) and given in _BY_TYPE:
        return _BY_TYPE[given], False
    origin, inner = get_origin(given), get_args(given)
    if origin is Annotated:
        return kind_of_annotation(inner[0])
    if origin in (Union, types.UnionType):
        real = [each for each in inner if each is not type(None)]
        kind, may_be_none = kind_of_annotation(real[0]) if len(real) == 1 else (TEXT, False)
        return kind, may_be_none or len(real) < len(inner)
    if origin is Literal:
        return _kind_of_values(inner)
    is_list = isinstance(origin, type) and issubclass(origin, (list, set, frozenset))
    if is_list or (origin is tuple and inner[1:] == (...,)):
        kind, may_be_none = kind_of_annotation(inner[0])
        return (TEXT if may_be_none else set_of(kind)), False
    if isinstance(given, type):
        if issubclass(given, Enum):
            return _kind_of_values(each.value for each in given)
        if issubclass(given, (date, time)) or hasattr(given, "__fspath__"):
            return STRING, False
        if hasattr(given, "model_json_schema"):
            return _kind_of_json(schema := given.model_json_schema(), schema, 0)
    return TEXT, False


# -- hookables ----------------------------------------------------------------------------------


def has_arguments(hook: Hook, given: Collection[str]) -> bool:
    names = {each.name for each in hook.parameters}
    return names >= set(given)


def rests_of(hooks: Iterable[Hook]) -> frozenset[str]:
    """Return the names of parameters such as `*rest` and `**more`, in which hookables take
    arbitrary arguments."""
    rests = Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD
    return frozenset(each.name for hook in hooks for each in hook.parameters if each.kind in rests)


def fields_of_hook(hook: Hook | None, given: Collection[str]) -> dict[str, Field]:
    """Return the arguments of a hookable. Defaults are applied, so only arguments that may be None
    can be missing.
    """
    parameters = {} if hook is None else _parameters_of(hook.body)
    found = {}
    for name in given:
        each = parameters.get(name)
        if each is None:
            found[name] = _UNKNOWN
            continue
        field = field_of_parameter(each.replace(default=each.empty))
        found[name] = Field(field.kind, field.is_required and each.default is not None)
    return found


def fields_of_own_tools(bus: Bus, name: str) -> Iterator[dict[str, Field]]:
    """Yield the arguments of each hookable that has this name and is itself a tool."""
    for hook in bus._switchboard.declared(name):
        names = [each.name for each in hook.parameters]
        if not hook.is_question and not {"name", "arguments"} <= set(names):
            yield fields_of_hook(hook, names[1:] if hook.looks_like_method else names)


_UNKNOWN: Final = field_of_parameter(signature_of(lambda value: None).parameters["value"])
