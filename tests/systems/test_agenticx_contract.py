"""AgenticX keeps the contract all adapters keep: the tools of its executor, in both settings."""

import pytest
from agenticx.tools.executor import ToolExecutor

from hookbus import explain
from hookbus.adapters import agenticx

from .agenticx_run import BareTool, call, finish, made_agent, made_executor, run
from .contract import InstalledContract, Subject
from .writes import WriteContract


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    # A tool that failed is tried again after a second, three times.
    monkeypatch.setattr("agenticx.tools.executor.time.sleep", lambda seconds: None)


class TestAgenticX(InstalledContract):
    package, module = "agenticx", "agenticx"
    hook, argument = "tool_call", "arguments"
    strict = False

    def install(self, bus, **options):
        return agenticx.install(bus, strict=self.strict, **options)

    def subject(self, bus, body, own=()):
        self.agent = made_agent(
            tool_hooks={"before": [self.own_hook(name, change) for name, change in own]}
        )

        def ask(text):
            done = run(
                made_executor([call("say", text=text), finish("done")], say=BareTool("say", body)),
                self.agent,
            )
            last = done.rows[-1]
            return last[2] if last[1] else f"failure: {last[3]}"

        return Subject(ask, getattr(ToolExecutor(), "tool_call", None))

    def rows(self, subject):
        return [*explain(self.agent.tool_start), *explain(subject.hookable)]

    @staticmethod
    def own_hook(name, change):
        def hook(context):
            context.tool_input["text"] = change(context.tool_input["text"])

        hook.__name__ = name
        return hook

    def order(self, *, high, own, low):
        return [own, high, low]  # AgenticX asks its hooks before it records that a tool is called

    def text_in(self, kwargs):
        return kwargs["arguments"]["text"]

    def with_text(self, kwargs, text):
        return {"arguments": {**kwargs["arguments"], "text": text}}


class TestAgenticXStrict(TestAgenticX):
    strict = True


class TestAgenticXWrites(WriteContract):
    def put_on(self, bus):
        return agenticx.install(bus)

    def call_tool(self, bus, body, arguments):
        calls = [call("pay", **arguments), finish("done")]
        return run(made_executor(calls, pay=BareTool("pay", body)), made_agent())
