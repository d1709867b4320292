"""The Claude Agent SDK's tools under the contract: its real CLI asks a model on this machine."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    create_sdk_mcp_server,
    query,
    tool,
)

from hookbus.adapters import claude_agent

from .claude_model import Model, asks, results_in, says, scripted, text_of
from .tool_contract import Told, ToolContract, mode, pytest_generate_tests  # noqa: F401

PAY = "mcp__bank__pay"
ALLOWED = [PAY, "Bash", "Read", "Agent"]


def bank(body: Any) -> dict[str, Any]:
    @tool("pay", "Pay a recipient.", {"amount": int, "to": str})
    async def pay(given: dict[str, Any]) -> dict[str, Any]:
        text = body(given["amount"], given["to"])
        return {"content": [{"type": "text", "text": text}]}

    return {"bank": create_sdk_mcp_server("bank", tools=[pay])}


class Session:
    """A home of the CLI's own, in which it asks a model of ours."""

    def __init__(
        self, model: Model, home: Path, body: Any = None, *, allowed: Any = ALLOWED, **options: Any
    ) -> None:  # fmt: skip
        self.model, self.home, self.messages = model, home, []
        self.options = ClaudeAgentOptions(
            mcp_servers={} if body is None else bank(body), allowed_tools=[*allowed], cwd=home,
            env=model.environment(home), setting_sources=[], **options,
        )  # fmt: skip

    async def query(self) -> None:
        async for message in query(prompt="go", options=self.options):
            self.messages.append(message)

    async def client(self) -> None:
        async with ClaudeSDKClient(self.options) as client:
            await client.query("go")
            async for message in client.receive_response():
                self.messages.append(message)

    def told(self, asked: list[dict[str, Any]]) -> Told:
        read = results_in(asked[-1])
        answers = [text_of(read[key]) for key in sorted(read, key=_number)]
        kept = [path.read_text(errors="replace") for path in self.home.rglob("*.jsonl")]
        everything = repr(self.model.asked) + repr(self.messages) + "".join(kept)
        ends = [each.result for each in self.messages if isinstance(each, ResultMessage)]
        return Told(answers, everything, ends[-1:] == ["done"])


def _number(key: str) -> int:
    return int(re.findall(r"\d+", key)[-1])


class Outside(ToolContract):
    adapter, package, module = "claude_agent", "claude-agent-sdk", "claude_agent_sdk"
    pay = {"name": PAY}
    options: dict[str, Any] = {}

    def session(self, model: Model, home: str, body: Any) -> Session:
        return Session(model, Path(home), body, **self.options)

    @mode
    async def query(self, body, calls):
        with tempfile.TemporaryDirectory() as home, paying(calls) as model:
            session = self.session(model, home, body)
            await session.query()
            return session.told(model.asked)

    kinds = {"query": "mcp", "client": "mcp", "sub_agent": "mcp"}


class TestClaudeAgent(Outside):
    unnamed = ("*",)
    besides = {"sub_agent": 1}
    install = staticmethod(claude_agent.install)

    @mode
    async def client(self, body, calls):
        with tempfile.TemporaryDirectory() as home, paying(calls) as model:
            session = self.session(model, home, body)
            await session.client()
            return session.told(model.asked)

    @mode
    async def sub_agent(self, body, calls):
        sends = {"description": "pay", "prompt": "pay them", "subagent_type": "general-purpose",
                 "run_in_background": False}  # fmt: skip
        asked = []

        def answer(request):
            told = [each["content"] for each in request["messages"] if each["role"] == "user"]
            if "pay them" in repr(told):  # it is the sub-agent that is asked
                asked.append(request)
                return says("done") if results_in(request) else asks(*[(PAY, a) for a in calls])
            return says("done") if results_in(request) else asks(("Agent", sends))

        with tempfile.TemporaryDirectory() as home, Model(answer) as model:
            session = self.session(model, home, body)
            await session.query()
            return session.told(asked)


def paying(calls: Any) -> Model:
    return scripted(*[(PAY, args) for args in calls])
