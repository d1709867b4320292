"""Parses the answer of a policy server. Only a well-formed permit allows a call."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import attrs

from ... import HookError
from ..._external.strict_json import strict_json
from ...exceptions import Failure

DENIED: Final = "not allowed by the policy"


class NoAnswer(Exception):
    """The question has no usable answer.

    Attributes:
        failure: how the server failed, as in `HookError`.
        reason: a description that a model may read.
    """

    def __init__(self, failure: Failure, reason: str) -> None:
        super().__init__(reason)
        self.failure, self.reason = failure, reason


@attrs.frozen
class Decision:
    """A valid answer.

    Attributes:
        is_permit: whether the call is allowed.
        reason: the reason for a denial.
        code: a short identifier for programs.
        arguments: the changed arguments, by name, or None.
    """

    is_permit: bool
    reason: str = DENIED
    code: str | None = None
    arguments: dict[str, Any] | None = None


def decision_of(
    body: bytes, names: Collection[str], *, takes_patches: bool, is_tool: bool
) -> Decision:
    """Return the decision in the body of an answer.

    Args:
        body: the body of the answer.
        names: the names of the arguments that were sent.
        takes_patches: whether the answer may change arguments.
        is_tool: whether `name` and `arguments` are the name and the arguments of a tool.

    Raises:
        NoAnswer: if the answer is not valid.
    """
    answer = _read(body)
    if not isinstance(answer, dict):
        raise _malformed("is not a JSON object")
    decision = answer.get("decision")
    if not isinstance(decision, bool):
        raise _malformed("has no decision that is true or false")
    context = answer.get("context", {})
    if not decision:
        told = context if isinstance(context, dict) else {}
        reason, code = _text(told.get("reason")), _text(told.get("code"))
        return Decision(False, reason or DENIED, code or None)
    if not isinstance(context, dict):
        raise _malformed("has a context that is not an object")
    for each in ("reason", "code"):
        if each in context and _text(context[each]) is None:
            raise _malformed(f"has a {each} that is not a string")
    if "arguments" not in context:
        return Decision(True)
    return Decision(True, arguments=_patch(context["arguments"], names, takes_patches, is_tool))


def _patch(patch: Any, names: Collection[str], takes_patches: bool, is_tool: bool) -> Any:
    if not takes_patches:
        raise _malformed("changes arguments, although no changes were requested")
    if not isinstance(patch, dict):
        raise _malformed("has arguments that are not an object")
    if any(name not in names for name in patch):
        raise _malformed("changes an argument that the call does not have")
    if is_tool and not isinstance(patch.get("name", ""), str):
        raise _malformed("changes the name of the tool to something that is not a string")
    if is_tool and not isinstance(patch.get("arguments", {}), dict):
        raise _malformed("changes the arguments of the tool to something that is not an object")
    return patch


def _read(body: bytes) -> Any:
    try:
        return strict_json(body.decode())
    except UnicodeDecodeError:
        raise _malformed("is not JSON in UTF-8") from None
    except HookError as error:
        raise _malformed(f"cannot be used: {error}") from None


def _text(value: Any) -> str | None:
    """Return a string that can be written to any log, or None for anything else."""
    if not isinstance(value, str):
        return None
    return value.encode(errors="replace").decode()


def _malformed(what: str) -> NoAnswer:
    return NoAnswer("malformed", f"the answer of the policy server {what}")
