"""Bub keeps the contract all adapters keep: its tools' calls, in both settings."""

import asyncio
from dataclasses import replace

from bub.hooks.interception import ToolCallDecision

from hookbus.adapters import bub

from .bub_parts import agent_hooks, call_tool, plugin
from .contract import InstalledContract, Subject
from .writes import WriteContract


class TestBub(InstalledContract):
    package, module = "bub", "bub"
    hook, argument = "before_tool_call", "call"

    def install(self, bus, **options):
        return bub.install(bus, **options)

    def subject(self, bus, body, own=()):
        hooks = agent_hooks(
            **{name: plugin(before_tool_call=self.own_hook(change)) for name, change in own}
        )

        def call(text):
            execution = asyncio.run(call_tool(hooks, lambda text: body(text), {"text": text}))
            return execution.tool_results[0]

        return Subject(call, hooks.before_tool_call)

    @staticmethod
    def own_hook(change):
        def before_tool_call(call):
            return ToolCallDecision.proceed(
                {**call.arguments, "text": change(call.arguments["text"])}
            )

        return before_tool_call

    def text_in(self, kwargs):
        return kwargs["call"].arguments["text"]

    def with_text(self, kwargs, text):
        return {
            "call": replace(kwargs["call"], arguments={**kwargs["call"].arguments, "text": text})
        }

    def test_an_exception_of_the_body_is_told_and_reaches_the_user_as_without_hooks(self, bus):
        # The tool runs after `before_tool_call`, in the hook `tool_call`.
        def body(text):
            raise LookupError(f"no {text} here")

        seen = []
        subject = self.subject(bus, body)
        plain = subject.call("start")
        bus.signal("error_tool_call").connect(
            lambda tools, error: seen.append(error.__cause__), role="observe", name="look"
        )
        assert subject.call("start") == plain and "no start here" in str(plain)
        assert [repr(error) for error in seen] == [repr(LookupError("no start here"))]


class TestBubStrict(TestBub):
    def install(self, bus, **options):
        return bub.install(bus, strict=True, **options)


class TestBubWrites(WriteContract):
    def put_on(self, bus):
        return bub.install(bus)

    def call_tool(self, bus, body, arguments):
        return asyncio.run(call_tool(agent_hooks(), body, arguments))
