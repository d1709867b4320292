"""Pydantic AI: what is injected, tools that do not exist, and structured output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    CallDeferred,
    DeferredToolRequests,
    ModelRetry,
    RunContext,
    ToolOutput,
)
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from hookbus import Block
from hookbus.adapters import pydantic_ai

from .call_contract import (  # noqa: F401
    HIDDEN,
    InjectedContract,
    Installed,
    PauseContract,
    UnknownContract,
    Wallet,
    pytest_generate_tests,
)
from .test_pydantic_ai_contract import paying, plain, scripted
from .tool_contract import ANN


class TestCalls(InjectedContract, UnknownContract):
    install = staticmethod(pydantic_ai.install)

    async def inject(self, wallet: Wallet) -> None:
        async def pay(context: RunContext[str], amount: int, to: str) -> str:
            return wallet(amount, to, context.deps)

        await Agent(paying([ANN]), tools=[pay], deps_type=str).run("go", deps=HIDDEN)

    async def ask_for_fly(self) -> str:
        agent = Agent(scripted(("fly", {"to": "moon"})), tools=[plain(Wallet())])
        found = await agent.run("go")
        return str(found.all_messages()[-2].parts[0].content)


class Receipt(BaseModel):
    amount: int
    items: list[str] = []


@dataclass
class Bill:
    amount: int


def answering(*answers: Any, name: str = "final_result") -> FunctionModel:
    left = iter(answers)
    return FunctionModel(lambda messages, info: ModelResponse(
        [ToolCallPart(name, next(left), "call-1")]
    ))  # fmt: skip


class TestOutput(Installed):
    install = staticmethod(pydantic_ai.install)

    async def test_a_structure_is_a_call_and_a_refused_one_is_no_output(self, bus):
        seen = []

        @bus.signal("pre_tool_call").connect_via(role="guard", when={"kind": "output"})
        def small(sender, name, arguments):
            seen.append((name, dict(arguments)))
            return Block("too much") if arguments["amount"] > 10 else None

        agent = Agent(answering({"amount": 500}, {"amount": 5}), output_type=Receipt)
        found = await agent.run("go")
        assert found.output == Receipt(amount=5)
        assert seen == [("final_result", {"amount": amount, "items": []}) for amount in (500, 5)]
        assert "small: too much" in repr(found.all_messages())

    @pytest.mark.parametrize("kind", [Receipt, Bill, int])
    async def test_a_changed_structure_is_the_output(self, bus, kind):
        def change(sender, arguments):
            name = next(iter(arguments))
            return {"arguments": {**arguments, name: 7}}

        bus.signal("pre_tool_call").connect(change, when={"kind": "output"})
        given = {"response": 5} if kind is int else {"amount": 5}
        found = await Agent(answering(given), output_type=ToolOutput(kind)).run("go")
        assert found.output == {Receipt: Receipt(amount=7), int: 7, Bill: Bill(7)}[kind]


class TestPauses(PauseContract):
    install = staticmethod(pydantic_ai.install)
    pauses = {
        "CallDeferred": CallDeferred, "ApprovalRequired": ApprovalRequired,
        "ModelRetry": lambda: ModelRetry("another account, please"),
    }  # fmt: skip

    async def pause(self, body: Any) -> Any:
        def pay(amount: int, to: str) -> str:
            return body()

        agent = Agent(paying([ANN]), tools=[pay], output_type=[str, DeferredToolRequests])
        found = await agent.run("go")
        said = [part.content for each in found.all_messages() for part in each.parts
                if part.part_kind == "retry-prompt"]  # fmt: skip
        return type(found.output).__name__, said


class TestPausesOfOutput(PauseContract):
    install = staticmethod(pydantic_ai.install)
    pauses = {"ModelRetry": lambda: ModelRetry("another one, please")}

    async def pause(self, body: Any) -> Any:
        left = [body, lambda: 7]

        def answer(amount: int) -> int:
            return left.pop(0)()

        model = answering({"amount": 1})
        try:
            return (await Agent(model, output_type=answer, retries=0).run("go")).output
        except Exception as error:
            return f"{type(error).__name__}: {error}"
