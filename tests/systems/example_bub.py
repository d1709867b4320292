"""Examples of hooks after Bub's documentation: stock or on hookbus.

    .venv-systems/bub/bin/python -m tests.systems.example_bub stock
    .venv-systems/bub/bin/python -m tests.systems.example_bub hookbus

Both print the same. Nothing below `main` uses hookbus.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import Any

from bub import hookimpl
from bub.hooks.interception import (
    LlmCallDecision,
    LlmCallRequest,
    ToolCall,
    ToolCallDecision,
    ToolCallResult,
)  # fmt: skip
from bub.streaming import AsyncStreamEvents, StreamEvent, StreamState
from loguru import logger

from .bub_parts import call_tool, framework


class Echo:
    """The smallest plugin: it is the prompt and the model."""

    @hookimpl
    def build_prompt(self, message: dict[str, Any]) -> str:
        return f"[echo] {message['content']}"

    @hookimpl
    async def run_model(self, prompt: str) -> str:
        return prompt


class Memory:
    """State that is loaded before a turn and saved after it, and a block of the system prompt."""

    def __init__(self) -> None:
        self.turns: dict[str, int] = {}

    @hookimpl
    def load_state(self, session_id: str) -> dict[str, Any]:
        return {"turns": self.turns.get(session_id, 0)}

    @hookimpl
    def save_state(self, session_id: str, state: dict[str, Any], model_output: str) -> None:
        self.turns[session_id] = state["turns"] + 1
        print(f"  saved turn {self.turns[session_id]}: {model_output!r}")

    @hookimpl
    def system_prompt(self, state: dict[str, Any]) -> str:
        return f"This is turn {state['turns'] + 1}."


class Streaming:
    """A model that streams, and stands in front of the others."""

    @hookimpl
    def run_model_stream(self, prompt: str) -> AsyncStreamEvents:
        async def events() -> Any:
            for word in prompt.split():
                yield StreamEvent("text", {"delta": f"{word} "})

        return AsyncStreamEvents(events(), state=StreamState())


class Policy:
    """Watches over the agent loop: rewrites, refuses and answers calls of tools, and limits those
    of the model."""

    @hookimpl
    def before_tool_call(self, call: ToolCall) -> ToolCallDecision | None:
        if "rm" in call.arguments["cmd"]:
            return ToolCallDecision.deny("that is not allowed")
        if call.arguments["cmd"] == "date":
            return ToolCallDecision.replace("monday")
        return ToolCallDecision.proceed({"cmd": call.arguments["cmd"].strip()})

    @hookimpl
    def after_tool_call(self, result: ToolCallResult) -> None:
        print(f"  tool gave {result.result!r}, error {result.error}")
        if result.error is None:
            result.result = f"{result.result} (checked)"

    @hookimpl
    def before_llm_call(
        self, request: LlmCallRequest, state: dict[str, Any]
    ) -> LlmCallRequest | LlmCallDecision | None:
        if state["spent"] > 10:
            return LlmCallDecision.finish("the budget is spent")
        return replace(request, model="cheap")


class Errors:
    """Hears of what goes wrong, and itself goes wrong."""

    @hookimpl
    def on_error(self, stage: str, error: Exception) -> None:
        print(f"  error in {stage}: {error}")
        raise RuntimeError("observers cannot hurt")


class Broken:
    @hookimpl
    def build_prompt(self) -> str:
        raise ValueError("no prompt")


async def main() -> None:
    bot = framework(echo=Echo(), memory=Memory())
    for text in ("hello", "again"):
        result = await bot.process_inbound({"content": text, "channel": "cli", "chat_id": "1"})
        print(
            "turn:", result.session_id, result.outbounds,
            bot.get_system_prompt(result.prompt, result.state),
        )  # fmt: skip
    bot.plugin_manager.register(Streaming(), name="streaming")
    print(
        "stream:",
        (await bot.process_inbound({"content": "in pieces"}, stream_output=True)).model_output,
    )
    print("report:", bot.hook_report())

    bot.plugin_manager.register(Policy(), name="policy")
    for command in (" ls ", "date", "rm -rf"):
        execution = await call_tool(
            bot.get_agent_hooks(), lambda cmd: f"ran {cmd}", {"cmd": command}
        )
        print("tool:", execution.tool_results)
    for spent in (1, 11):
        request, decision = await bot.get_agent_hooks().before_llm_call(
            LlmCallRequest("run", "dear", []), {"spent": spent}
        )
        print("model:", request.model, decision)

    bot.plugin_manager.register(Errors(), name="errors")
    bot.plugin_manager.register(Broken(), name="broken")
    try:
        await bot.process_inbound({"content": "hello"})
    except ValueError as error:
        print("turn failed:", error)


if __name__ == "__main__":
    if sys.argv[1:] == ["hookbus"]:
        from hookbus.adapters import bub

        bub.install()
    elif sys.argv[1:] != ["stock"]:
        sys.exit(__doc__)
    logger.remove()
    asyncio.run(main())
