"""An ASGI app that decides the calls of other agents with the guards of a bus."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextvars import ContextVar
from typing import Any, Final

from .. import Bus, HookBlocked, HookError, baggage, hookable
from .._connections.failures import ERROR, log
from .._ground.keywords import check_bus, named_options
from ..guards._authzen.answer import DENIED
from ..guards._authzen.question import PATH, Exact, Inexact, encoded
from ._evaluation import BadRequest, Evaluation, evaluation_of

MAX_BYTES: Final = 262_144
MIN_TOKEN: Final = 16
BODY_SECONDS: Final = 10.0
"""The maximum time to receive the body of a request, in seconds."""

BLOCKED: Final = "blocked"
"""The reason that a client receives if a guard or modifier fails, or returns an unusable value."""

_FAILED: Final = ("guard failed: ", "modify failed: ")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_RAN: Final[ContextVar[list[tuple[str, Any]]]] = ContextVar("hookbus_fleet_policy_ran")
"""The final name and arguments of the call that the running task decides."""

_DONE: Final = object()
"""The result of a permitted call. The call itself does not run in this process."""


@named_options
class policy:
    """An ASGI app that answers requests from `guards.remote` on other machines. The guards,
    modifiers and approvals of a bus decide.

    It implements `POST /access/v1/evaluation` of OpenID AuthZEN 1.0. A call is permitted only if at
    least one guard of the bus checked it and no guard blocked it. If modifiers change the
    arguments, the answer contains the changed arguments. If the client does not accept changed
    arguments, the call is denied. If a guard or modifier fails, the client receives only the reason
    "blocked". The details are in the events and in the log of this process.

    Args:
        bus: the bus whose receivers decide.
        tokens: one or more secrets of the agents, each with at least 16 characters.
        hook: the hook whose calls the app decides. Connect the receivers to this hook.
        max_bytes: the maximum size of a request in bytes.

    Raises:
        HookError: if an argument is invalid.
    """

    def __init__(
        self, bus: Bus, *, tokens: str | Iterable[str], hook: str = "tool_call",
        max_bytes: int = MAX_BYTES,
    ) -> None:  # fmt: skip
        check_bus(bus)
        self._digests = _digests_of(tokens)
        if not isinstance(hook, str) or not hook.isidentifier():
            raise HookError(f"hook={hook!r:.40} must be the name of a hook, such as 'tool_call'")
        is_number = isinstance(max_bytes, int) and not isinstance(max_bytes, bool)
        if not is_number or max_bytes < 1:
            raise HookError(f"max_bytes={max_bytes!r:.40} must be a whole number of at least 1")
        self._hook, self._max_bytes = hook, max_bytes

        async def decide(
            name: str, arguments: Any, call_id: str | None = None, kind: str = "function",
            tool: Any = None, caller: Any = None,
        ) -> Any:  # fmt: skip
            _RAN.get().append((name, arguments))
            return _DONE

        self._call: Callable[..., Awaitable[Any]] = hookable(
            hook, bus=bus, require_guard=True, identity=lambda sender: "hookbus.fleet.policy"
        )(decide)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            status, answer = await self._answer(scope, receive)
            await _send(send, status, answer)
        else:
            raise RuntimeError(f"fleet.policy does not support {scope['type']}")

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[int, dict[str, Any]]:
        if not self._is_allowed(scope):
            return 401, {"error": "the request has no valid token: send Authorization: Bearer ..."}
        if scope["path"].removeprefix(scope.get("root_path", "")) != PATH:
            return 404, {"error": f"the only path is {PATH}"}
        if scope["method"] != "POST":
            return 405, {"error": "the method must be POST"}
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await self._body(receive)
        except TimeoutError:
            return 408, {"error": "the body was not sent in time"}
        if body is None:
            return 413, {"error": f"the body is longer than max_bytes={self._max_bytes}"}
        try:
            evaluation = evaluation_of(body, self._hook)
        except BadRequest as error:
            return 400, {"error": str(error)}
        return 200, await self._decision(evaluation)

    def _is_allowed(self, scope: Scope) -> bool:
        found = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
        word, _, token = (found[0] if len(found) == 1 else b"").partition(b" ")
        given = hashlib.sha256(token).digest()
        # All are compared, so that the time does not depend on which token is right.
        is_known = sum(hmac.compare_digest(given, each) for each in self._digests) > 0
        return is_known and word.lower() == b"bearer"

    async def _body(self, receive: Receive) -> bytes | None:
        """Return the body of the request, or None if it is too long."""
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > self._max_bytes:
                return None
            if not message.get("more_body"):  # also when the client has gone
                return bytes(body)

    async def _decision(self, evaluation: Evaluation) -> dict[str, Any]:
        ran = list[tuple[str, Any]]()
        token = _RAN.set(ran)
        try:
            with baggage(**evaluation.baggage):
                async with asyncio.timeout(evaluation.deadline):
                    result = await self._call(name=evaluation.name, arguments=evaluation.arguments)
        except HookBlocked as blocked:
            return _denial_of(blocked)
        except TimeoutError:
            return _denial("the policy did not decide in time")
        except Exception as error:  # of an around or of the host: its text stays here
            log(ERROR, f"fleet.policy: a call was blocked, because its decision raised "
                f"{type(error).__name__}")  # fmt: skip
            return _denial(BLOCKED)
        finally:
            _RAN.reset(token)
        if result is not _DONE or not ran:
            return _denial(DENIED)  # a receiver gave a result of its own
        return self._permit(evaluation, *ran[-1])

    def _permit(self, evaluation: Evaluation, name: str, arguments: Any) -> dict[str, Any]:
        """Return the answer that permits the call with the arguments that all modifiers have
        produced.
        """
        before = {"name": evaluation.name, "arguments": evaluation.arguments}
        try:
            after = Exact(self._max_bytes).mapping(
                {"name": name, "arguments": arguments}, "the arguments", 0
            )
            patch = {
                key: value for key, value in after.items()
                if encoded(value).encode() != encoded(before[key]).encode()
            }  # fmt: skip
        except (Inexact, UnicodeEncodeError):
            log(ERROR, "fleet.policy: a call was blocked, because modifiers changed its arguments "
                "to values that JSON cannot represent exactly")  # fmt: skip
            return _denial(BLOCKED)
        if not patch:
            return {"decision": True}
        if not evaluation.takes_patches:
            return _denial("the policy changes the arguments, but the client accepts no changes")
        return {"decision": True, "context": {"arguments": patch}}


def _digests_of(tokens: Any) -> list[bytes]:
    several = [tokens] if isinstance(tokens, str) else tokens
    listed = list(several) if isinstance(several, Iterable) else []
    for each in listed or [""]:
        is_text = isinstance(each, str) and each.isascii() and each.isprintable()
        if not is_text or len(each) < MIN_TOKEN or " " in each:
            raise HookError(
                f"tokens= must be one or more random ASCII strings of at least {MIN_TOKEN} "
                "characters, without spaces"
            )
    return [hashlib.sha256(each.encode()).digest() for each in listed]


def _denial_of(blocked: HookBlocked) -> dict[str, Any]:
    if blocked.reason.startswith(_FAILED):
        return _denial(BLOCKED)
    code = getattr(blocked.verdict, "code", None)
    return _denial(blocked.reason, code)


def _denial(reason: str, code: str | None = None) -> dict[str, Any]:
    context = {"reason": reason} if code is None else {"reason": reason, "code": code}
    return {"decision": False, "context": context}


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


async def _send(send: Send, status: int, answer: dict[str, Any]) -> None:
    # In ASCII, so that lone surrogates in a reason are escaped.
    body = json.dumps(answer).encode()
    headers = [
        (b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]  # fmt: skip
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status in (401, 408, 413):  # the rest of the request is not read
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
