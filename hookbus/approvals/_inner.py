"""Decides whether a nested call is the approved call itself, passed on by another layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .._approval.inner import is_behind, question_in_layer

_OF_LAYER: Final = ("name", "kind")
"""The arguments of a tool call that another layer may have changed."""


def facts_as_approved(outer: Any, facts: Mapping[str, Any]) -> Any:
    """Return the facts of a nested call, with all the values that a layer may change reset to those
    approved: the sender, the prefix of the tool's name, and the kind. The digest then shows whether
    the other values are equal.

    Args:
        outer: the `Approval` of the enclosing call.
        facts: the facts of the nested call, as the approver gets them.

    Returns:
        The facts, or None for a separate call. A call is separate if it calls another tool, is a
        recursive call to the same tool, or if a guard asks a different question about it.
    """
    before = outer.facts
    outer_name, name = _tool_of(before), _tool_of(facts)
    if outer_name is None or name is None or not is_behind(outer_name, name):
        return None
    if _is_recursion(outer, facts, name):
        return None
    asked, answered = (
        [(receiver, *question_in_layer(ask, outer_name, name)) for receiver, ask in each]
        for each in (facts["asks"], outer.questions)
    )
    if not all(each in answered for each in asked):
        return None
    arguments = dict(facts["arguments"])
    if _is_tool_call(facts) and _is_tool_call(before):
        of_layer = _OF_LAYER if facts["hook"] == "tool_call" else ("name",)
        known = before["arguments"]
        arguments |= {each: known[each] for each in of_layer if each in known and each in arguments}
    same = {key: before[key] for key in ("of", "identity", "asks")}
    return {**facts, **same, "arguments": arguments}


def _is_recursion(outer: Any, facts: Mapping[str, Any], name: str) -> bool:
    while outer is not None:
        if outer.facts["of"] is facts["of"] and _tool_of(outer.facts) == name:
            return True
        outer = outer.outer
    return False


def _is_tool_call(facts: Mapping[str, Any]) -> bool:
    return "name" in facts["arguments"] and "arguments" in facts["arguments"]


def _tool_of(facts: Mapping[str, Any]) -> str | None:
    """Return the name of the called tool. A hookable without a `name` argument is itself a tool."""
    name = facts["arguments"]["name"] if _is_tool_call(facts) else facts["hook"]
    return name if type(name) is str else None
