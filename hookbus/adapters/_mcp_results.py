"""Converts results of MCP tools for receivers, and replaces every copy of a value that a receiver
changes.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import GenericAlias
from typing import Any, Final, NamedTuple

_BOTH: Final = {"content", "structured_content"}


class Parts(NamedTuple):
    """The class of a tool's result in the SDK or in FastMCP.

    Attributes:
        content: the blocks that a model reads.
        structured_content: the same content as data for programs, or None.
        is_error: whether the result reports a failed call.
    """

    content: list[Any]
    structured_content: Any = None
    is_error: bool = False


def shown(result: Any) -> Any:
    """Return the complete content of a result as text or plain data, for receivers.

    The result is the structured content if the text contains the same, or the text if there is
    nothing else. Otherwise, it is all blocks together with the structured content.
    """
    structured = result.structured_content
    texts = [block.text for block in result.content if block.type == "text"]
    is_text = len(texts) == len(result.content)
    if structured is None:
        return "\n".join(texts) if is_text else _dumped(result.content)
    if is_text:
        for data in (_unwrapped(structured), structured):
            if _says(texts, data):
                return data
    return {"content": _dumped(result.content), "structured_content": structured}


def _dumped(blocks: list[Any]) -> list[Any]:
    return [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in blocks]


def _unwrapped(structured: Any) -> Any:
    """Return the value in `{"result": value}`, which stands for data that is not an object."""
    is_wrapped = isinstance(structured, Mapping) and [*structured] == ["result"]
    return structured["result"] if is_wrapped else structured


def _says(texts: list[str], data: Any) -> bool:
    if isinstance(data, str):
        return texts == [data]
    loaded = [_loaded(text) for text in texts]
    return loaded == [data] or loaded == data or texts == data


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def parts(result: Any, value: Any, schema: Any = None) -> Parts:
    """Return a result with another value, in which no copy of the old value remains.

    Args:
        result: the old result, or None if the tool did not run.
        value: the new value, in the form receivers see.
        schema: the schema of the structured content, if the tool has one. Clients reject a result
            that does not match the schema. A value that does not match therefore becomes an error
            result, which clients do not check.
    """
    if isinstance(value, Mapping) and {*value} == _BOTH:
        found = Parts(_blocks(value["content"]), value["structured_content"])
    else:
        found = Parts(_blocks(value), _structured(result, _plain(value)))
    if result is not None and result.is_error:
        return found._replace(is_error=True)
    return found if schema is None else fitting(found, schema)


def _structured(result: Any, value: Any) -> Any:
    old = None if result is None else result.structured_content
    if old is not None and _unwrapped(old) is not old:
        return {"result": value}
    return value if isinstance(value, dict) and (result is None or old is not None) else None


def _plain(value: Any) -> Any:
    return import_module("pydantic_core").to_jsonable_python(value, fallback=str)


def _blocks(value: Any) -> list[Any]:
    types, pydantic = import_module("mcp.types"), import_module("pydantic")
    if isinstance(value, str):
        return [types.TextContent(type="text", text=value)]
    try:
        blocks: list[Any] = _adapter(types, pydantic).validate_python(value)
    except pydantic.ValidationError:
        return [types.TextContent(type="text", text=json.dumps(_plain(value)))]
    return blocks


@functools.cache
def _adapter(types: Any, pydantic: Any) -> Any:
    return pydantic.TypeAdapter(GenericAlias(list, (types.ContentBlock,)))


def fitting(found: Parts, schema: Any) -> Parts:
    """Return a result whose structured content matches a tool's schema, or an error with the same
    content.
    """
    draft, registry = import_module("jsonschema.validators"), import_module("referencing")
    validator = draft.validator_for(schema)(schema, registry=registry.Registry())
    for structured in _readings(found):
        if validator.is_valid(structured):
            return found._replace(structured_content=structured)
    return found._replace(structured_content=None, is_error=True)


def _readings(found: Parts) -> Iterator[Any]:
    """Yield candidates for the structured content, with the most likely candidate first."""
    if found.structured_content is not None:
        yield found.structured_content
        yield {"result": found.structured_content}
    if [block.type for block in found.content] == ["text"]:
        text = found.content[0].text
        yield {"result": text}
        yield _loaded(text)
        yield {"result": _loaded(text)}
