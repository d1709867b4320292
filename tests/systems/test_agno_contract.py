"""Agno keeps the contract all adapters keep: its tools, sync and async, and the input of a run, in
both settings."""

import asyncio

from agno.agent import Agent
from agno.tools.function import Function, FunctionCall

from hookbus.adapters import agno

from .agno_parts import ScriptedModel
from .contract import InstalledContract, Subject
from .writes import WriteContract


class TestAgnoTool(InstalledContract):
    package, module = "agno", "agno"
    hook, argument = "tool_call", "arguments"

    def install(self, bus, **options):
        return agno.install(bus, **options)

    def subject(self, bus, body, own=()):
        def tool(text: str):
            return body(text)

        hooks = [self.own_hook(name, change) for name, change in own]
        function = Function(name="tool", entrypoint=tool, tool_hooks=hooks or None)

        def call(text):
            done = self.execute(FunctionCall(function=function, arguments={"text": text}))
            return done.result if done.status == "success" else f"failure: {done.error}"

        return Subject(call, getattr(function, "tool_call", None))

    def execute(self, function_call):
        return function_call.execute()

    def own_hook(self, name, change):
        def hook(func, args):
            args["text"] = change(args["text"])
            return func(**args)

        hook.__name__ = name
        return hook

    def order(self, *, high, own, low):
        return [high, low, own]  # tool_hooks are arounds: they come after all that is `pre`

    def text_in(self, kwargs):
        return kwargs["arguments"]["text"]

    def with_text(self, kwargs, text):
        return {"arguments": {**kwargs["arguments"], "text": text}}


class TestAgnoToolStrict(TestAgnoTool):
    def install(self, bus, **options):
        return agno.install(bus, strict=True, **options)


class TestAgnoAsyncTool(TestAgnoTool):
    def execute(self, function_call):
        return asyncio.run(function_call.aexecute())

    def own_hook(self, name, change):
        async def hook(func, args):
            args["text"] = change(args["text"])
            return await func(**args)

        hook.__name__ = name
        return hook


class TestAgnoAsyncToolStrict(TestAgnoAsyncTool):
    def install(self, bus, **options):
        return agno.install(bus, strict=True, **options)


class TestAgnoRun(InstalledContract):
    package, module = "agno", "agno"
    hook, argument = "run_input", "run_input"

    def install(self, bus, **options):
        return agno.install(bus, **options)

    def subject(self, bus, body, own=()):
        agent = Agent(
            model=ScriptedModel(body),
            pre_hooks=[self.own_hook(name, change) for name, change in own] or None,
        )
        return Subject(lambda text: agent.run(text).content, getattr(agent, "run_input", None))

    def own_hook(self, name, change):
        def hook(run_input):
            run_input.input_content = change(run_input.input_content)

        hook.__name__ = name
        return hook

    def order(self, *, high, own, low):
        return [high, low, own]

    def text_in(self, kwargs):
        return kwargs["run_input"].input_content

    def with_text(self, kwargs, text):
        return {"run_input": type(kwargs["run_input"])(input_content=text)}

    # The model is asked after the input was taken: what it raises is no error of `run_input`.
    test_an_exception_of_the_body_is_told_and_reaches_the_user_as_without_hooks = None


class TestAgnoRunStrict(TestAgnoRun):
    def install(self, bus, **options):
        return agno.install(bus, strict=True, **options)


class TestAgnoWrites(WriteContract):
    is_read_only = False  # the tool's own `tool_hooks` may write into its arguments

    def put_on(self, bus):
        return agno.install(bus)

    def call_tool(self, bus, body, arguments):
        def tool(to: str, lines: list):
            return body(to=to, lines=lines)

        function = Function(name="tool", entrypoint=tool)
        return self.execute(FunctionCall(function=function, arguments=arguments))

    def execute(self, function_call):
        return function_call.execute()


class TestAgnoAsyncWrites(TestAgnoWrites):
    def execute(self, function_call):
        return asyncio.run(function_call.aexecute())
