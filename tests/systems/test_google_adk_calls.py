"""Google's ADK: what is injected, and tools that do not exist."""

from __future__ import annotations

from typing import Any

from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool, ToolContext
from google.adk.workflow._errors import NodeInterruptedError
from google.genai import types

from hookbus.adapters import google_adk

from .call_contract import (  # noqa: F401
    HIDDEN,
    InjectedContract,
    PauseContract,
    UnknownContract,
    Wallet,
    pytest_generate_tests,
)
from .test_google_adk_contract import agent_of, asks, content, scripted, tool_of
from .tool_contract import ANN


async def run(agent: Any) -> None:
    runner = InMemoryRunner(agent=agent, app_name="bank")
    session = await runner.session_service.create_session(
        app_name="bank", user_id="u", state={"own": HIDDEN}
    )
    async for _ in runner.run_async(
        user_id="u", session_id=session.id, new_message=content("go", "user")
    ):
        pass


class TestCalls(InjectedContract, UnknownContract):
    install = staticmethod(google_adk.install)

    async def inject(self, wallet: Wallet) -> None:
        def pay(amount: int, to: str, tool_context: ToolContext) -> str:
            """Pay a recipient."""
            return wallet(amount, to, tool_context.state.to_dict())

        pay.__annotations__["tool_context"] = ToolContext
        model = scripted([asks("pay", ANN)], "done")
        await run(agent_of("clerk", model, FunctionTool(pay)))

    async def ask_for_fly(self) -> str:
        model = scripted([asks("fly", {"to": "moon"})], "done")
        await run(agent_of("clerk", model, tool_of(Wallet())))
        parts: list[types.Part] = model.read[-1][-1].parts
        return str(parts[0].function_response.response)


class TestPauses(PauseContract):
    install = staticmethod(google_adk.install)
    pauses = {"interrupt": NodeInterruptedError}

    async def pause(self, body: Any) -> Any:
        def pay(amount: int, to: str) -> str:
            """Pay a recipient."""
            return body()

        model = scripted([asks("pay", ANN)], "done")
        await run(agent_of("clerk", model, FunctionTool(pay)))
        return len(model.read)
