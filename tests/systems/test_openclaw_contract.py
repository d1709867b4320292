"""OpenClaw's hooks keep the contract all adapters keep, in OpenClaw's own manner and with
`strict=True`."""

import asyncio

from hookbus.adapters.openclaw import GLOBAL_POLICY, HookRunner, Registry, ToolCalls

from .contract import AdapterContract, Subject
from .writes import WriteContract


class TestOpenClaw(AdapterContract):
    hook, argument = "tool_call", "arguments"
    strict = False

    def put_on(self, bus):
        self.registry = Registry(bus, strict=self.strict)
        return lambda: [self.registry.disable(plugin) for plugin in self.registry.plugins]

    def subject(self, bus, body, own=()):
        for name, change in own:
            self.registry.on(name, "before_tool_call", self.own_hook(change))
        tools = ToolCalls(
            HookRunner(self.registry, failure_policy=GLOBAL_POLICY),
            {"say": lambda params: body(params["text"])},
        )
        return Subject(lambda text: asyncio.run(tools.call("say", {"text": text})), tools.tool_call)

    @staticmethod
    def own_hook(change):
        def before_tool_call(event, ctx):
            return {"params": {"text": change(event["params"]["text"])}}

        return before_tool_call

    def text_in(self, kwargs):
        return kwargs["arguments"]["text"]

    def with_text(self, kwargs, text):
        return {"arguments": {**kwargs["arguments"], "text": text}}


class TestOpenClawStrict(TestOpenClaw):
    strict = True


class TestOpenClawWrites(WriteContract):
    strict = False

    def put_on(self, bus):
        return lambda: None

    def call_tool(self, bus, body, arguments):
        runner = HookRunner(Registry(bus, strict=self.strict), failure_policy=GLOBAL_POLICY)
        tools = ToolCalls(runner, {"pay": lambda params: body(**params)})
        return asyncio.run(tools.call("pay", arguments))


class TestOpenClawWritesStrict(TestOpenClawWrites):
    strict = True
