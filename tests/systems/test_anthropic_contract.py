"""Tools of Anthropic's SDK under the contract: by tool runners of all kinds, and by a program."""

from __future__ import annotations

import asyncio
from typing import Any

from anthropic.lib.tools import (
    BetaAsyncFunctionTool,
    BetaAsyncRunnableToolset,
    BetaBuiltinFunctionTool,
    BetaFunctionTool,
    BetaRunnableToolset,
    ToolError,
)

from hookbus.adapters import anthropic

from .anthropic_parts import Model, async_tool_of, options, paying, text_of, tool_of
from .tool_contract import Told, ToolContract, mode, pytest_generate_tests  # noqa: F401

SCHEMA = {
    "type": "object",
    "properties": {"amount": {"type": "integer"}, "to": {"type": "string"}},
}


class OwnTool(BetaFunctionTool[Any]):
    """A class of its own, whose `call` calls its parent's."""

    def call(self, input: object) -> Any:
        return super().call(input)


class BuiltIn(BetaBuiltinFunctionTool):
    def __init__(self, body: Any) -> None:
        self.body = body

    def to_dict(self) -> Any:
        return {"type": "custom", "name": "pay", "input_schema": SCHEMA}

    def call(self, input: Any) -> Any:
        return [{"type": "text", "text": self.body(**input)}]


class Toolset(BetaRunnableToolset):
    toolset_name = "browser"

    def __init__(self, body: Any) -> None:
        self.body = body

    def to_dict(self) -> Any:
        return {"type": "browser_toolset_20260801"}

    def call(self, context: Any, name: str, input: Any) -> Any:
        return self.body(**input)


class AsyncToolset(BetaAsyncRunnableToolset):
    toolset_name, to_dict = "browser", Toolset.to_dict

    def __init__(self, body: Any) -> None:
        self.body = body

    async def call(self, context: Any, name: str, input: Any) -> Any:
        await asyncio.sleep(0)
        return self.body(**input)


class TestAnthropic(ToolContract):
    adapter = package = module = "anthropic"
    kinds = {"built_in": "builtin", "toolset": "builtin", "toolset_async": "builtin"}
    program = ("called", "called_async")
    unnamed = ("built_in", "toolset", "toolset_async")
    install = staticmethod(anthropic.install)

    def run_once(self, tool: Any, model: Model, **more: Any) -> Told:
        runner = model.client.beta.messages.tool_runner(**options(tool, **more))
        return model.told(runner.until_done())

    @mode
    def sync(self, body, calls):
        return self.run_once(tool_of(body), Model(paying(calls)))

    @mode
    def a_class_that_overrides_call(self, body, calls):
        tool = OwnTool(tool_of(body).func)
        return self.run_once(tool, Model(paying(calls)))

    @mode
    def streamed(self, body, calls):
        model = Model(paying(calls))
        runner = model.client.beta.messages.tool_runner(**options(tool_of(body), stream=True))
        streams = [[*stream] and stream.get_final_message() for stream in runner]
        return model.told(streams[-1])

    @mode
    async def awaited(self, body, calls):
        model = Model(paying(calls))
        runner = model.async_client.beta.messages.tool_runner(**options(async_tool_of(body)))
        return model.told(await runner.until_done())

    @mode
    async def streamed_async(self, body, calls):
        model = Model(paying(calls))
        runner = model.async_client.beta.messages.tool_runner(
            **options(async_tool_of(body), stream=True)
        )
        async for stream in runner:
            last = await stream.get_final_message()
        return model.told(last)

    @mode
    def built_in(self, body, calls):
        return self.run_once(BuiltIn(body), Model(paying(calls)))

    @mode
    def toolset(self, body, calls):
        answers = [Toolset(body).tool_result(each) for each in asked(calls)]
        return Told([text_of(each["content"]) for each in answers], repr(answers))

    @mode
    async def toolset_async(self, body, calls):
        answers = [await AsyncToolset(body).tool_result(each) for each in asked(calls)]
        return Told([text_of(each["content"]) for each in answers], repr(answers))

    @mode
    def called(self, body, calls):
        tool, answers = tool_of(body), []
        for each in calls:
            try:
                answers.append(tool.call(dict(each)))
            except ToolError as error:
                answers.append(error.content)
        return Told([str(each) for each in answers], repr(answers))

    @mode
    async def called_async(self, body, calls):
        tool: BetaAsyncFunctionTool[Any] = async_tool_of(body)
        running = (tool.call(dict(each)) for each in calls)
        answers = await asyncio.gather(*running, return_exceptions=True)
        return Told([str(each) for each in answers], repr(answers))


def asked(calls: Any) -> list[Any]:
    """Return the blocks of a model that calls members of a toolset."""
    given = options()
    del given["tools"]
    model = Model(paying(calls), toolset_name="browser")
    return model.client.beta.messages.create(**given).content
