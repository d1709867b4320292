"""Parse and check requests for a decision about a call."""

from __future__ import annotations

from typing import Any, Final, NoReturn

import attrs

from .. import HookError
from .._external.strict_json import strict_json
from .._ground.numbers import is_number
from ..guards._authzen.question import VERSION
from ..guards._call import principal_in

LONGEST_DEADLINE: Final = 60.0


class BadRequest(Exception):
    """The request is not valid. The message says how to correct it."""


@attrs.frozen
class Evaluation:
    """A valid request for a decision about the call of a tool.

    Attributes:
        name: the name of the tool.
        arguments: the arguments of the tool.
        baggage: the baggage of the call.
        deadline: the time for the decision, in seconds.
        takes_patches: whether the client accepts changed arguments.
    """

    name: str
    arguments: dict[str, Any]
    baggage: dict[str, Any]
    deadline: float
    takes_patches: bool


def evaluation_of(body: bytes, hook: str) -> Evaluation:
    """Parse and check a request.

    Args:
        body: the body of the request.
        hook: the hook whose calls the policy decides.

    Raises:
        BadRequest: if the body is not a valid request for a decision about the call of a tool.
    """
    try:
        question = strict_json(body.decode())
        question["subject"]["id"].encode()
    except UnicodeDecodeError:
        _refuse("the body is not UTF-8")
    except HookError as error:
        _refuse(str(error))
    except (TypeError, KeyError, AttributeError, UnicodeEncodeError):
        _refuse("the body must be a JSON object with subject.id, a string")
    subject, action = _object(question, "subject"), _object(question, "action")
    resource, context = _object(question, "resource"), _object(question, "context")
    if action.get("name") != hook:
        _refuse(f"action.name must be {hook!r}: this policy decides only calls of this hook")
    if resource.get("type") != "tool":
        _refuse("resource.type must be 'tool'")
    arguments = _object(_object(action, "properties"), "arguments")
    if arguments.keys() != {"name", "arguments"} or not isinstance(arguments["arguments"], dict):
        _refuse("action.properties.arguments must have name and arguments, and nothing else")
    name, baggage = arguments["name"], _object(_object(subject, "properties"), "baggage")
    if not isinstance(name, str) or resource.get("id") != name:
        _refuse("resource.id must be the name of the tool")
    if subject["id"] != principal_in(baggage):
        _refuse("subject.id must be the user in the baggage, else its session, else 'anonymous'")
    deadline = _deadline(context)
    return Evaluation(
        name, arguments["arguments"], baggage, deadline, context.get("patches") is True
    )


def _deadline(context: dict[str, Any]) -> float:
    version: Any = context.get("hookbus")
    deadline: Any = context.get("deadline")
    if version != VERSION or isinstance(version, bool) or context.get("phase") != "pre":
        _refuse(f"context.hookbus must be {VERSION}, and context.phase 'pre'")
    if not is_number(deadline) or deadline <= 0:
        _refuse("context.deadline must be a number of seconds greater than 0")
    return float(min(deadline, LONGEST_DEADLINE))


def _object(owner: Any, name: str) -> dict[str, Any]:
    found = owner.get(name)
    if not isinstance(found, dict):
        _refuse(f"{name} must be an object")
    return dict(found)


def _refuse(why: str) -> NoReturn:
    raise BadRequest(why)
