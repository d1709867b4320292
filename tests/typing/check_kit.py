"""What the type checkers must see of the kit for adapters.

Checked by mypy strict and pyright, never run.
"""

from collections.abc import Callable
from typing import Any, assert_type

from hookbus import Bus
from hookbus.adapters.kit import (
    Adapter,
    Gate,
    Go,
    Instead,
    Refusal,
    Sample,
    SplitCalls,
    ToolCall,
    kind_by_class,
    refused_as,
    shown_as,
)
from hookbus.testing import adapter_contract


def refused(refusal: Refusal) -> dict[str, str]:
    assert_type(refusal.text, str)
    assert_type(refusal.call, ToolCall)
    return {"error": refusal.text}


def sample(pay: Callable[[int, str], str]) -> Sample:
    return Sample({"Tool.run": pay}, refused=str, when={"name": "pay"})


agentlib = Adapter("agentlib", tested=("1.0", "1.4"), refused=refused, sample=sample)
agentlib.tool("agentlib:Tool.run", arguments="arguments", kind=lambda tool: "mcp", call_id="id")
agentlib.model("agentlib:Model.ask").stream(
    "agentlib:Model.stream", whole=lambda parts: parts[-1], items=lambda answer: [answer]
)
agentlib.run("agentlib:Agent.run", input="task", stream="stream")
agentlib.pauses("agentlib:Interrupt", KeyError)
agentlib.words("tool_call")
assert_type(kind_by_class({"agentlib.mcp.*": "mcp"})(object()), str)


@agentlib.wrap("agentlib:missing", optional=True)
def missing(gate: Gate, stock: Any, name: str) -> Any:
    return gate.run(ToolCall(name, {}, kind="unknown"), lambda arguments: stock(name))


@agentlib.also
def more(gate: Gate) -> None:
    gate.patches.replace(Bus, "more", None)


assert_type(agentlib.install(Bus(), untested="refuse"), Callable[[], None])
assert_type(agentlib.gate(Bus()), Gate)
Adapter("other", tested=("1.0", "1.0"), shown=shown_as.pydantic, refused=refused_as(ValueError))
TestAgentlib: type = adapter_contract(sample, agentlib.install)


async def before_a_tool(calls: SplitCalls, name: str) -> Any:
    begun = await calls.begin(name, ToolCall(name, {}))
    if isinstance(begun, Go):
        assert_type(begun.arguments, dict[str, Any])
    return begun.value if isinstance(begun, Instead) else None
