"""Approvals by MCP elicitation: a server asks the client's user for approval."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ._pauses import Instead, Pause, answered

if TYPE_CHECKING:
    from hookbus.approvals import Approved, Denied, Request

_IN_ROUNDS: Final = "2026-07-28"
"""The first version of the protocol in which a client repeats the call with the requested input."""

_SCHEMA: Final = {
    "type": "object",
    "properties": {"approved": {"type": "boolean", "title": "Approve this call"}},
    "required": ["approved"],
}


class Wire(NamedTuple):
    """A server's record of a call over the protocol.

    Attributes:
        ctx: the SDK's context of the request.
        state: identifies the call when the client repeats it with the requested input.
    """

    ctx: Any
    state: str

    @classmethod
    def of(cls, ctx: Any) -> Wire:
        state = _params(ctx).get("requestState")
        return cls(ctx, state if isinstance(state, str) else secrets.token_hex(16))


def _params(ctx: Any) -> Mapping[str, Any]:
    return ctx.params if isinstance(ctx.params, Mapping) else {}


def _whose(call: Any) -> str | None:
    return call.context.state if isinstance(call.context, Wire) else None


def _elicited(call: Any, request: Request, is_new: bool) -> Any:
    """Return the user's answer or an awaitable, or raise `Instead`, so that the client repeats the
    call with the answer."""
    wire = call.context
    if not isinstance(wire, Wire) or not _can_ask(wire.ctx):
        return None
    types = import_module("mcp.types")
    message = _message(call.name, request)
    if not _at_least(wire.ctx.protocol_version):
        return _waited(wire.ctx, message, request)
    given = (_params(wire.ctx).get("inputResponses") or {}).get(request.id)
    if given is not None and not is_new:
        return _said(types.ElicitResult.model_validate(given), wire.ctx, request)
    params = types.ElicitRequestFormParams(message=message, requested_schema=_SCHEMA)
    asked = {request.id: types.ElicitRequest(params=params)}
    raise Instead(types.InputRequiredResult(input_requests=asked, request_state=wire.state))


def _message(name: str, request: Request) -> str:
    """Return the text for the user, without invisible characters. The lines of the question are
    marked, so that a question cannot imitate a call."""
    from ..approvals._shown import printable, written

    asked = "\n".join(f"> {printable(line)}" for line in request.question.split("\n"))
    return f"{asked}\n{printable(name)} {written(request.arguments['arguments'])}"


async def _waited(ctx: Any, message: str, request: Request) -> Approved | Denied | None:
    """Ask the client's user during the call, and return the answer, or None if the client cannot
    ask."""
    answer: Awaitable[Any] = ctx.session.elicit_form(message, _SCHEMA, ctx.request_id)
    try:
        return _said(await answer, ctx, request)
    except import_module("mcp").MCPError:  # the client cannot, whatever it declared
        return None


def _said(result: Any, ctx: Any, request: Request) -> Approved | Denied | None:
    client = ctx.session.client_params
    by = "the client's user" if client is None else f"the user of {_named(client.client_info)}"
    is_yes = result.action == "accept" and (result.content or {}).get("approved") is True
    said = {"id": request.id, "approved": is_yes, "reason": f"the user answered {result.action}"}
    if result.action == "accept":
        said["reason"] = "the user answered no"
    return answered(said, request, by=by)


def _named(client_info: Any) -> str:
    """Return the name that the client claims, which can be any text."""
    from ..approvals._shown import printable

    return printable(f"{client_info.name:.80}")


def _can_ask(ctx: Any) -> bool:
    has = ctx.session.client_capabilities
    found = None if has is None else has.elicitation
    return found is not None and (found.form is not None or found.url is None)


def _at_least(version: str) -> bool:
    return version >= _IN_ROUNDS  # versions are dates


BY_ELICITATION: Final = Pause(_whose, _elicited)
