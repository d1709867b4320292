"""An agent of the OpenAI Agents SDK, with a model that is a script."""

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from receivers import WISHES, read, tell

from hookbus import adapters


def work():
    calls = [function_call("read", wish, call_id=str(i)) for i, wish in enumerate(WISHES)]
    model = ScriptedModel([calls, [assistant_message("done")]])
    Runner.run_sync(Agent("reader", model=model, tools=[function_tool(read)]), "go")
    return [each["output"] for each in model.calls[1].input if "output" in each]


set_tracing_disabled(True)  # it wants a key
adapters.openai_agents.install()
tell(work)
