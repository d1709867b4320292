"""Ask a policy server whether a call is allowed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, Final

from .. import Block, HookContext, HookError
from .._connections.options import check_timeout
from .._external.addresses import place_of
from ._authzen.answer import Decision, NoAnswer
from ._authzen.client import Client
from ._call import tool_of
from ._ready import LAST, Hooks, ReadyGuard, glob, globs, library, shown

MAX_BYTES: Final = 262_144


class remote(ReadyGuard):
    """A guard that asks a policy server about each call, over HTTP, in the format of OpenID AuthZEN
    1.0. Requires `hookbus[remote]`.

    Only a well-formed permit allows a call. Everything else blocks the call before the deadline. A
    denial has the reason and code of the server. Any other block has a reason that describes the
    problem, `code="remote"`, and `details["failure"]`: `absent`, `late`, `refused`, `malformed` or
    `unsent`.

    The server gets the actual arguments, including those that `bus.redact` removes from events,
    because the decision must apply to the call that actually runs. A call with a value that JSON
    cannot represent exactly is blocked and not sent.

    Args:
        url: the address of the server, such as `"https://policy.example"`. The guard posts to
            `/access/v1/evaluation` under it. Redirects are not followed.
        token: a secret to send as a bearer token.
        deadline: the maximum time to wait for each decision, in seconds.
        only: globs for the names of the tools to ask about. Other tools are allowed, even while the
            server cannot be reached.
        patches: whether a permit may change the arguments. All other guards check the changed
            arguments. If a later receiver changes the call again, the server is also asked about
            the final call.
        max_bytes: the maximum length of a question and of an answer.
        ca: a file of CA certificates with which to verify the server's certificate, instead of the
            system's CA certificates.
        hook: the hook to check: a name, several names, or a glob.

    Raises:
        HookError: for an invalid setting, or if the package urllib3 is missing.
    """

    def __init__(
        self, url: str, *, token: str | None = None, deadline: float = 1.0,
        only: str | Iterable[str] = ("*",), patches: bool = False, max_bytes: int = MAX_BYTES,
        ca: str | os.PathLike[str] | None = None, hook: Hooks = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        self._place = _checked_address(url)
        _check_token(token)
        _check_deadline(deadline)
        is_number = isinstance(max_bytes, int) and not isinstance(max_bytes, bool)
        if not is_number or max_bytes < 1:
            raise HookError(f"max_bytes={shown(max_bytes)} must be a whole number of at least 1")
        if not isinstance(patches, bool):
            raise HookError(f"patches={shown(patches)} must be True or False")
        if ca is not None and (not isinstance(ca, (str, os.PathLike)) or url.startswith("http:")):
            raise HookError("ca= must be the path of a file, and needs an https address")
        self._only = [glob(each, "only=") for each in globs(only, "only=")]
        library("urllib3", "remote", extra="remote")
        file = None if ca is None else os.fspath(ca)
        self._client = Client(url, token, deadline, max_bytes, file)
        if patches:
            self.on(
                "pre", self._patch_of(), role="modify", on_error="block", priority=LAST,
                name="remote: patches",
            )  # fmt: skip
        self.on("pre", self._judge_of(), role="guard")

    def __repr__(self) -> str:
        return f"<guards.remote at {self._place}>"  # the path of an address may be secret

    def _judge_of(self) -> Callable[..., Any]:
        def judge(sender: Any, ctx: HookContext) -> Any:
            call = self._call_of(ctx)
            if not isinstance(call, bytes):
                return call
            # What a permit allowed is judged once, unless it is attempted again.
            if ctx.state.pop(self, None) == call:
                return None
            return self._ask(ctx, call, lambda decision: None)

        return judge

    def _patch_of(self) -> Callable[..., Any]:
        def patch(sender: Any, ctx: HookContext) -> Any:
            call = self._call_of(ctx)
            if not isinstance(call, bytes):
                return call

            def apply(decision: Decision) -> dict[str, Any] | None:
                patch = decision.arguments
                permitted = call
                if patch:
                    changed = ctx.__replace__(kwargs={**ctx.kwargs, **patch})
                    permitted = self._client.call_of(changed)
                ctx.state[self] = permitted
                return patch

            return self._ask(ctx, call, apply, takes_patches=True)

        return patch

    def _call_of(self, ctx: HookContext) -> bytes | Block | None:
        """Return the description of the call for the question. Return None if the server is not
        asked about this tool, or a `Block` if the question cannot be sent.
        """
        name = tool_of(ctx)[0]
        if isinstance(name, str) and not any(each.match(name) for each in self._only):
            return None
        try:
            return self._client.call_of(ctx)
        except NoAnswer as error:
            return self._unanswered(error)

    def _ask(
        self, ctx: HookContext, call: bytes, permit: Callable[[Decision], Any], **more: Any
    ) -> Any:
        """Return the verdict, or an awaitable that returns the verdict on an async hook."""
        if ctx.is_async:
            return self._ask_async(ctx, call, permit, more)
        try:
            return self._verdict(self._client.ask(ctx, call, **more), permit)
        except NoAnswer as error:
            return self._unanswered(error)

    async def _ask_async(
        self, ctx: HookContext, call: bytes, permit: Callable[[Decision], Any], more: Any
    ) -> Any:
        try:
            return self._verdict(await self._client.ask_async(ctx, call, **more), permit)
        except NoAnswer as error:
            return self._unanswered(error)

    def _verdict(self, decision: Decision, permit: Callable[[Decision], Any]) -> Any:
        if decision.is_permit:
            return permit(decision)
        return Block(decision.reason, code=decision.code, details={"server": self._place})

    def _unanswered(self, error: NoAnswer) -> Block:
        details = {"server": self._place, "failure": error.failure}
        return Block(error.reason, code="remote", details=details)


def _checked_address(url: Any) -> str:
    """Check an address, and return the part that is safe to show."""
    needs = "remote() needs the address of a policy server, such as 'https://policy.example'"
    place = place_of(url, needs, name="remote()", instead="token=")
    if "?" in url or "#" in url:
        raise HookError("remote() needs an address without anything after ? or #")
    return place


def _check_token(token: Any) -> None:
    if token is None:
        return
    is_text = isinstance(token, str) and token.isascii() and token.isprintable()
    if not is_text or not token or " " in token:
        raise HookError("token= must be a non-empty ASCII string without spaces, or None")


def _check_deadline(deadline: Any) -> None:
    try:
        if deadline is None:
            raise HookError
        check_timeout(deadline)
    except HookError:
        raise HookError(
            f"deadline={shown(deadline)} must be a number of seconds greater than 0"
        ) from None
