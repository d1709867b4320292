"""Replay a recording of OpenClaw's own hook runner: `replay(vector)`.

A vector is data: a hook, an event, a ctx and handlers (`returns throw sleep_ms hang mutate mode
timeout_ms priority matcher eligibleTriggers ...`). The runner is configured as OpenClaw's global
one, unless the vector's `catchErrors` differs.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from copy import deepcopy
from typing import Any

from hookbus.adapters.openclaw import GLOBAL_POLICY, NULL, HookRunner, Registry

OPTIONS = {
    "priority": "priority", "matcher": "matcher", "registrationId": "registration_id",
    "eligibleTriggers": "eligible_triggers", "eligibleDispatchKinds": "eligible_dispatch_kinds",
    "requiresToolAuthority": "requires_tool_authority",
}  # fmt: skip


class Error(Exception):
    """What a TypeScript handler throws."""


def replay(vector: dict[str, Any], *, logger: logging.Logger | None = None) -> dict[str, Any]:
    """Run a vector; return the `order` of the plugins, what each `saw`, the `result` or what was
    `raised`, and `event_after`."""
    registry, order, saw = Registry(), [], []
    for number, handler in enumerate(vector["handlers"]):
        plugin = handler.get("plugin", f"plugin{number}")
        options = {ours: handler[theirs] for theirs, ours in OPTIONS.items() if theirs in handler}
        timeout = handler.get("timeout_ms", handler.get("timeoutMs"))
        registry.on(
            plugin, vector["hook"], handler_of(handler, plugin, order, saw),
            timeout=None if timeout is None else timeout / 1000, **options,
        )  # fmt: skip
    event = deepcopy(vector["event"])
    catch_errors = vector.get("catchErrors", True)
    options = {"logger": logger} if logger else {}
    runner = HookRunner(
        registry, catch_errors=catch_errors, failure_policy=GLOBAL_POLICY, **options
    )
    try:
        ended = {
            "result": plain(
                asyncio.run(run(runner, vector["hook"], event, deepcopy(vector.get("ctx", {}))))
            )
        }
    except Exception as error:
        ended = {"raised": str(error)}
    return {"order": order, "saw": saw, **ended, "event_after": event}


async def run(runner: HookRunner, hook: str, event: Any, ctx: Any) -> Any:
    result = runner.run(hook, event, ctx)
    return await result if inspect.isawaitable(result) else result


def plain(value: Any) -> Any:
    """Return a result as JSON has it."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return None if value is NULL else value


def mutate(event: Any, path: list[Any], value: Any) -> None:
    """Write a value into an event, as TypeScript does it."""
    *outer, last = path
    target = event
    for key in outer:
        target = target[key]
    if isinstance(target, str):
        raise TypeError(f"Cannot create property '{last}' on string '{target}'")
    target[last] = deepcopy(value)


def handler_of(said: dict[str, Any], plugin: str, order: list[str], saw: list[Any]) -> Any:
    """Return the handler that a vector describes. One that is async has begun when it returns its
    awaitable, as in TypeScript."""
    returned = deepcopy(said["returns"]) if "returns" in said else None
    if "returns" in said and returned is None:
        returned = NULL

    def begin(event: Any) -> None:
        order.append(plugin)
        saw.append(plain(deepcopy(event)))
        if "mutate" in said:
            mutate(event, **said["mutate"])

    def end() -> Any:
        if "throw" in said:
            raise Error(said["throw"])
        return returned

    async def later(failed: Exception | None) -> Any:
        if failed is not None:
            raise failed
        if said.get("hang"):
            await asyncio.Event().wait()
        if "sleep_ms" in said:
            await asyncio.sleep(said["sleep_ms"] / 1000)
        return end()

    def begun(event: Any, ctx: Any) -> Any:
        try:
            begin(event)
        except TypeError as refused:
            return later(refused)
        return later(None)

    def at_once(event: Any, ctx: Any) -> Any:
        begin(event)
        return end()

    return at_once if said.get("mode") == "sync" else begun
