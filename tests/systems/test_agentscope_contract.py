"""AgentScope keeps the contract all adapters keep, in its own manner and with `strict=True`."""

import asyncio

from agentscope.agent import AgentBase
from agentscope.message import Msg, TextBlock, ToolUseBlock
from agentscope.tool import Toolkit, ToolResponse

from hookbus.adapters import agentscope

from .contract import InstalledContract, Subject
from .writes import WriteContract


class TestAgentScope(InstalledContract):
    package, module = "agentscope", "agentscope"
    hook, argument = "reply", "msg"

    def install(self, bus, **options):
        return agentscope.install(bus, **options)

    def subject(self, bus, body, own=()):
        class Agent(AgentBase):
            async def reply(self, msg):
                return Msg("agent", body(msg.content), "assistant")

            async def observe(self, msg):
                pass

        agent = Agent()
        for name, change in own:
            agent.register_instance_hook("pre_reply", name, self.own_hook(change))

        def call(text):
            return asyncio.run(agent(Msg("user", text, "user"))).content

        return Subject(call, agent.reply)

    @staticmethod
    def own_hook(change):
        def hook(agent, kwargs):
            return {"msg": Msg("user", change(kwargs["msg"].content), "user")}

        return hook

    def text_in(self, kwargs):
        return kwargs["msg"].content

    def with_text(self, kwargs, text):
        return {"msg": Msg("user", text, "user")}


class TestAgentScopeStrict(TestAgentScope):
    def install(self, bus, **options):
        return agentscope.install(bus, strict=True, **options)


class TestAgentScopeWrites(WriteContract):
    def put_on(self, bus):
        return agentscope.install(bus)

    def call_tool(self, bus, body, arguments):
        def pay(to: str, lines: list) -> ToolResponse:
            body(to=to, lines=lines)
            return ToolResponse(content=[TextBlock(type="text", text="paid")])

        async def call():
            use = ToolUseBlock(type="tool_use", id="1", name="pay", input=arguments)
            return [part async for part in await toolkit.call_tool_function(use)]

        toolkit = Toolkit()
        toolkit.register_tool_function(pay)
        return asyncio.run(call())
