"""Examples of hooks after Agno's documentation, with a scripted model: stock or on hookbus.

    .venv-systems/agno/bin/python -m tests.systems.example_agno stock
    .venv-systems/agno/bin/python -m tests.systems.example_agno hookbus

Both print the same. Nothing below `main` uses hookbus.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from typing import Any

from agno.agent import Agent
from agno.exceptions import InputCheckError, OutputCheckError, RetryAgentRun
from agno.tools import Toolkit, tool
from agno.tools.function import FunctionCall

from .agno_parts import ScriptedModel


class Customers(Toolkit):
    """A little database, whose tools the hooks stand around."""

    def __init__(self) -> None:
        super().__init__(name="customers", tools=[self.retrieve, self.delete])
        self.names = {"c1": "Ada", "c2": "Grace"}

    def retrieve(self, customer_id: str) -> str:
        """Retrieve a customer.

        Args:
            customer_id: which.
        """
        return self.names[customer_id]

    def delete(self, customer_id: str) -> str:
        """Delete a customer.

        Args:
            customer_id: which.
        """
        return f"deleted {self.names.pop(customer_id)}"


def log_call(
    function_name: str, function_call: Callable[..., Any], arguments: dict[str, Any]
) -> Any:
    """Say what is called with what, and what came of it."""
    print(f"  calling {function_name} with {arguments}")
    result = function_call(**arguments)
    print(f"  {function_name} gave {result!r}")
    return result


def keep_customers(name: str, func: Callable[..., Any], args: dict[str, Any]) -> Any:
    """Let nobody delete the first customer, and nobody be retrieved in capitals."""
    if name == "delete" and args["customer_id"] == "c1":
        raise ValueError("the first customer stays")
    args["customer_id"] = args["customer_id"].lower()
    return func(**args)


def tools() -> None:
    """Hooks around every tool of an agent: a chain, the first outermost."""
    calls = [
        ("retrieve", '{"customer_id": "C2"}'),
        ("delete", '{"customer_id": "c1"}'),
        ("delete", '{"customer_id": "c2"}'),
    ]
    agent = Agent(
        model=ScriptedModel(calls=calls), tools=[Customers()], tool_hooks=[keep_customers, log_call]
    )
    print("tools:", agent.run("tidy up").content)
    for each in agent.run("tidy up").tools or []:
        print("  tool", each.tool_name, each.tool_call_error, each.result)


async def async_tools() -> None:
    """The same chain around async tools."""

    async def timed(
        function_name: str, function_call: Callable[..., Any], arguments: dict[str, Any]
    ) -> Any:
        print(f"  began {function_name}")
        result = await function_call(**arguments)
        print(f"  ended {function_name}")
        return result

    async def weather(city: str) -> str:
        """Tell the weather.

        Args:
            city: where.
        """
        await asyncio.sleep(0)
        return f"sunny in {city}"

    agent = Agent(
        model=ScriptedModel(calls=[("weather", '{"city": "Paris"}')]),
        tools=[weather],
        tool_hooks=[timed],
    )
    response = await agent.arun("How is the weather?")
    print("async:", response.content, [each.result for each in response.tools or []])


def before_and_after() -> None:
    """One hook before a tool and one after it; the first may send the model back."""
    tries = []

    def before(fc: FunctionCall) -> None:
        print(f"  before {fc.function.name} {fc.arguments}")
        tries.append(fc)
        if len(tries) == 1:
            raise RetryAgentRun("Ask for fewer, please.")

    def after(fc: FunctionCall) -> None:
        print(f"  after {fc.function.name}: {fc.result}")

    @tool(pre_hook=before, post_hook=after)
    def stories(count: int) -> str:
        """Tell the top stories.

        Args:
            count: how many.
        """
        return f"{count} stories"

    calls = [("stories", '{"count": 100}'), ("stories", '{"count": 2}')]
    print(
        "before and after:",
        Agent(model=ScriptedModel(calls=calls), tools=[stories]).run("What is new?").content,
    )


def runs() -> None:
    """Hooks around a whole run: one changes the input, one checks it, one checks the output."""

    def tidy(run_input: Any) -> None:
        run_input.input_content = run_input.input_content.strip()

    def polite(run_input: Any) -> None:
        if "please" not in run_input.input_content:
            raise InputCheckError("say please")

    def short(run_output: Any) -> None:
        if len(run_output.content) > 40:
            raise OutputCheckError("too long")

    agent = Agent(
        model=ScriptedModel(lambda text: f"you said: {text}"),
        pre_hooks=[tidy, polite],
        post_hooks=[short],
    )
    for text in ("  a song, please ", "a song", "please sing all the songs that you know"):
        response = agent.run(text)
        print("run:", response.status.value, response.content)
    for event in agent.run("please", stream=True, stream_events=True):
        print(
            "  event",
            event.event,
            getattr(event, "pre_hook_name", None) or getattr(event, "post_hook_name", ""),
        )


def main() -> None:
    if sys.argv[1:] == ["hookbus"]:
        from hookbus.adapters import agno

        agno.install()
    elif sys.argv[1:] != ["stock"]:
        sys.exit(__doc__)
    logging.disable(logging.CRITICAL)
    tools()
    asyncio.run(async_tools())
    before_and_after()
    runs()


if __name__ == "__main__":
    main()
