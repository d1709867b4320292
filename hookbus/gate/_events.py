"""Reads and checks the events of coding agents."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextvars import ContextVar
from functools import cached_property
from typing import Any, Final

import attrs

from ._agents import Agent
from ._shapes import parse_json, with_common_names

TOOLS: Final = ("before", "after", "failed")


class WrongEvent(Exception):
    """An event does not have the format that its agent documents. The message states the
    problem."""


@attrs.frozen
class Event:
    """One event.

    Attributes:
        agent: the agent.
        kind: the kind of the event, as in `Agent.events`; None for an event that the gate ignores.
        name: the agent's name for the event.
        given: the event, with the field names that all agents share.
        variables: environment variables of the agent.
    """

    agent: Agent
    kind: str | None
    name: str
    given: Mapping[str, Any]
    variables: Mapping[str, str]

    @property
    def session(self) -> str:
        """The id of the session, which is unique among all agents."""
        return f"{self.agent.name}:{self.given['session_id']}"

    @property
    def tool(self) -> str:
        """The name of the tool. An MCP tool is named `mcp__SERVER__TOOL` for every agent."""
        context = self.given.get("mcp_context")
        if context is None:
            return str(self.given["tool_name"])
        return f"mcp__{context['server_name']}__{context['tool_name']}"

    @cached_property
    def sent(self) -> str:
        """The arguments of the tool as a `comparable` text."""
        return comparable(self.given["tool_input"])

    @property
    def baggage(self) -> dict[str, Any]:
        """The baggage of the call or prompt."""
        prompt = self.given.get("prompt_id", self.given.get("turn_id"))
        found = {"session": self.session, "agent": self.agent.name,
                 "cwd": self.given.get("cwd"), "prompt": prompt}  # fmt: skip
        return {name: value for name, value in found.items() if value is not None}


CURRENT: Final[ContextVar[Event | None]] = ContextVar("hookbus_gate_event", default=None)
"""The event that is being answered, for the guards of the gate."""


def read_event(
    agent: Agent, expected: str, data: bytes, variables: Mapping[str, str] | None = None
) -> Event:
    """Parse and check an event.

    Args:
        agent: the agent that sent it.
        expected: the name of the event for which the hook is installed, or "" for any event.
        data: the bytes from stdin.
        variables: environment variables of the agent.

    Raises:
        WrongEvent: if the event does not have the documented format.
    """
    try:
        given = parse_json(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise WrongEvent("the event is not UTF-8") from None
    except (ValueError, RecursionError):
        raise WrongEvent("the event is not valid JSON") from None
    if not isinstance(given, dict):
        raise WrongEvent("the event is not a JSON object")
    given = _in_folder_of_shell(agent, with_common_names(agent.name, expected, given))
    name = _text(given, "hook_event_name")
    if expected and name != expected:
        raise WrongEvent(f"the hook for {expected} received the event {name!a:.40}")
    event = Event(agent, agent.events.get(name), name, given, dict(variables or {}))
    if event.kind is not None:
        _check(event)
    return event


def comparable(arguments: Mapping[str, Any]) -> str:
    """Return a string that is the same only for equal arguments. True differs from 1, but 1.0
    equals 1, because agents in JavaScript have only one number type.

    Raises:
        TypeError: if the arguments cannot be serialized to JSON.
        ValueError: if the arguments contain a number that JSON cannot represent.
    """
    plain = json.loads(json.dumps(arguments, allow_nan=False), parse_float=_whole_if_equal)
    return json.dumps(plain, sort_keys=True)


def _whole_if_equal(number: str) -> float:
    value = float(number)
    return int(value) if value.is_integer() else value


def _in_folder_of_shell(agent: Agent, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an event whose `cwd` is the folder in which its shell command will run."""
    tool, arguments, base = given.get("tool_name"), given.get("tool_input"), given.get("cwd")
    is_of_shell = isinstance(tool, str) and agent.group_of(tool) == "shell"
    if not is_of_shell or not isinstance(arguments, dict) or not isinstance(base, str):
        return given
    folders = [arguments[name] for name in agent.folder_arguments
               if arguments.get(name) not in (None, "")]  # fmt: skip
    if not folders:
        return given
    if not all(isinstance(each, str) and each == folders[0] for each in folders):
        raise WrongEvent("the folder of the command is not a single string")
    if folders[0].startswith("~"):
        raise WrongEvent("the folder of the command must be a path without ~")
    return {**given, "cwd": os.path.join(base, folders[0])}


def _check(event: Event) -> None:
    given, kind = event.given, event.kind
    _text(given, "session_id")
    for name in ("cwd", "agent_id", "agent_type", "permission_mode"):
        if not isinstance(given.get(name), (str, type(None))):
            raise WrongEvent(f"{name} in the event is not a string")
    if kind == "prompt" and not isinstance(given.get("prompt"), str):
        raise WrongEvent("the event has no prompt")
    if kind not in TOOLS:
        return
    _text(given, "tool_name")
    if not isinstance(given.get("tool_input"), dict):
        raise WrongEvent("the event has no tool_input, or it is not an object")
    try:
        event.sent  # noqa: B018
    except RecursionError:
        raise WrongEvent("the tool_input of the event is nested too deeply") from None
    if event.agent.has_ids:
        _text(given, "tool_use_id")
    if kind == "after" and "tool_response" not in given:
        raise WrongEvent("the event has no tool_response")
    if kind == "failed":
        _text(given, "error")
    context = given.get("mcp_context")
    if context is not None:
        if not isinstance(context, dict):
            raise WrongEvent("mcp_context in the event is not an object")
        server = _text(context, "server_name")
        if "__" in server or server.endswith("_"):
            why = "its tools could have the names of another server's"
            raise WrongEvent(f"the MCP server {server!a:.40} has an invalid name: {why}")
        _text(context, "tool_name")


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise WrongEvent(f"the event has no {name}, or it is not a string")
    return value
