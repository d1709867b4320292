"""The self-test of the Claude Agent SDK adapter: a session with a simulated CLI."""

from __future__ import annotations

import asyncio
import json
from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample

SEAMS: Final = """
async claude_agent_sdk._internal.query:Query.close(self)
claude_agent_sdk._internal.query:Query.__init__(self, transport, is_streaming_mode, can_use_tool,
    hooks, agents)
"""


def sample(pay: Pay) -> Sample:
    """Create sessions in which the CLI calls its hooks about one tool call."""
    query = import_module("claude_agent_sdk._internal.query").Query

    async def call(amount: int, to: str) -> Any:
        cli = _Cli(pay, {"amount": amount, "to": to})
        session = query(transport=cli, is_streaming_mode=True)
        await session.start()
        try:
            await session.initialize()
            return await asyncio.wait_for(cli.call(), 20)
        finally:
            await session.close()
            if stream := getattr(session, "_message_receive", None):
                stream.close()  # no reader is left

    def refused(given: Any) -> str:
        if given.get("permissionDecision") == "deny":
            return str(given["permissionDecisionReason"])
        result = str(given["result"])
        return result if result.startswith("Error: the call was blocked") else ""

    return Sample({"Query.__init__": call}, refused)


class _Cli:
    """A simulated CLI for a session, which runs one tool as Claude Code does."""

    def __init__(self, pay: Pay, arguments: dict[str, Any]) -> None:
        self._pay, self._arguments = pay, arguments
        self._sent: asyncio.Queue[Any] = asyncio.Queue()
        self._answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._hooks: dict[str, Any] = {}

    async def write(self, data: str) -> None:
        message = json.loads(data)
        if message["type"] == "control_response":
            self._answers.put_nowait(message["response"].get("response") or {})
        elif message["type"] == "control_request":
            self._hooks = message["request"].get("hooks") or {}
            answer = {"hook_on_failure_supported": True, "hooks_applied": True}
            self._send("control_response", response={
                "subtype": "success", "request_id": message["request_id"], "response": answer,
            })  # fmt: skip

    async def read_messages(self) -> Any:
        while (message := await self._sent.get()) is not None:
            yield message

    async def end_input(self) -> None:
        pass

    async def close(self) -> None:
        self._sent.put_nowait(None)

    def _send(self, kind: str, **content: Any) -> None:
        self._sent.put_nowait({"type": kind, **content})

    async def call(self) -> dict[str, Any]:
        """Call the hooks before the tool, run the tool unless a hook denies the call, and call the
        hooks after the tool. Return the denial, or the result that the model would see.
        """
        answer = await self._ask("PreToolUse", tool_input=self._arguments)
        if answer.get("permissionDecision") == "deny":
            return answer
        result = self._pay(*answer.get("updatedInput", self._arguments).values())
        answer = await self._ask("PostToolUse", tool_input=self._arguments, tool_response=result)
        return {"result": answer.get("updatedToolOutput", result)}

    async def _ask(self, event: str, **given: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        about = {"hook_event_name": event, "tool_name": NAME, "tool_use_id": "1",
                 "session_id": "self-test", **given}  # fmt: skip
        for matcher in self._hooks.get(event, ()):
            for callback in matcher["hookCallbackIds"]:
                request = {"subtype": "hook_callback", "callback_id": callback, "input": about,
                           "tool_use_id": "1"}  # fmt: skip
                self._send("control_request", request_id=callback, request=request)
                answer = await self._answers.get()
                found |= answer.get("hookSpecificOutput") or {}
        return found
