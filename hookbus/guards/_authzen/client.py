"""Asks a policy server about a call, and waits no longer than the deadline."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from ... import HookContext, HookError
from ..._ground.platform import run_at_fork
from ..._waiting.workers import Workers
from .answer import Decision, NoAnswer, decision_of
from .connections import Server
from .question import PATH, VERSION, Inexact, arguments_of, call_of, with_context

_WORKERS: Final = Workers("questions to a policy server")
"""A separate thread pool, so that a slow server cannot block the threads of other receivers."""

run_at_fork(after_in_child=_WORKERS.reset)


class Client:
    """Asks one policy server.

    Args:
        url: the checked address of the server.
        token: the token, or None.
        deadline: the time for each answer, in seconds.
        max_bytes: the maximum length of a question and of an answer.
        ca: a file of certificates, or None for the system's certificates.

    Raises:
        HookError: if the certificates cannot be read.
    """

    def __init__(
        self, url: str, token: str | None, deadline: float, max_bytes: int, ca: str | None
    ) -> None:
        self._deadline, self._max_bytes = deadline, max_bytes
        address = urlsplit(url)
        path = address.path.rstrip("/")
        path = path if path.endswith(PATH) else path + PATH
        headers = {
            "Content-Type": "application/json", "Accept": "application/json",
            "Accept-Encoding": "identity", "User-Agent": "hookbus",
        }  # fmt: skip
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        tls = _tls(ca) if address.scheme == "https" else None
        self._server = Server(address._replace(path=path), headers, max_bytes, tls)

    def ask(self, ctx: HookContext, call: bytes, *, takes_patches: bool = False) -> Decision:
        """Return the decision about a call. A worker thread that exceeds the deadline is abandoned.

        Raises:
            NoAnswer: if no valid answer arrives before the deadline.
        """
        with self._begun(ctx, call, takes_patches) as (job, end):
            try:
                pair = job.result(end - time.monotonic())
            except TimeoutError:
                raise self._late() from None
            return self._decision(end, *pair)

    async def ask_async(
        self, ctx: HookContext, call: bytes, *, takes_patches: bool = False
    ) -> Decision:
        """Return the decision about a call, as `ask` does, without blocking the event loop.

        Raises:
            NoAnswer: if no valid answer arrives before the deadline.
        """
        with self._begun(ctx, call, takes_patches) as (job, end):
            waiter = asyncio.wrap_future(job)
            try:
                await asyncio.wait({waiter}, timeout=end - time.monotonic())
                if not waiter.done():
                    raise self._late()
                return self._decision(end, *waiter.result())
            finally:
                waiter.cancel()

    @contextmanager
    def _begun(
        self, ctx: HookContext, call: bytes, takes_patches: bool
    ) -> Iterator[tuple[Any, float]]:
        end = time.monotonic() + self._deadline
        names = frozenset(arguments_of(ctx))
        is_tool = {"name", "arguments"} <= names
        context = {
            "hookbus": VERSION, "phase": ctx.phase, "deadline": self._deadline,
            "patches": takes_patches,
        }  # fmt: skip
        question = with_context(call, context)

        def post() -> Decision:
            body = self._server.post(question, end)
            return decision_of(body, names, takes_patches=takes_patches, is_tool=is_tool)

        job, _ = _WORKERS.submit(post, (), {})
        try:
            yield job, end
        finally:
            _WORKERS.abandon(job, self)

    def call_of(self, ctx: HookContext) -> bytes:
        """Return the part of the question that describes a call.

        Raises:
            NoAnswer: if the call cannot be sent.
        """
        try:
            return call_of(ctx, self._max_bytes)
        except Inexact as error:
            raise NoAnswer(
                "unsent", f"the call cannot be sent to the policy server: {error}"
            ) from None

    def _decision(
        self, end: float, decision: Decision | None, error: BaseException | None
    ) -> Decision:
        if isinstance(error, NoAnswer) and error.failure == "late":
            raise self._late() from None
        if error is not None:
            raise error
        if decision is None or time.monotonic() > end:
            raise self._late()
        return decision

    def _late(self) -> NoAnswer:
        return NoAnswer(
            "late", f"the policy server did not answer within {self._deadline:g} seconds"
        )


def _tls(ca: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ValueError):
        raise HookError(f"ca={ca!r:.60} is not a readable file of certificates in PEM") from None
