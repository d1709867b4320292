"""An agent of the OpenAI Agents SDK, with a scripted model."""

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from receivers import REQUESTS, print_results, read

from hookbus import adapters


def work():
    calls = [function_call("read", request, call_id=str(i)) for i, request in enumerate(REQUESTS)]
    model = ScriptedModel([calls, [assistant_message("done")]])
    Runner.run_sync(Agent("reader", model=model, tools=[function_tool(read)]), "go")
    return [each["output"] for each in model.calls[1].input if "output" in each]


set_tracing_disabled(True)  # tracing needs a key
adapters.openai_agents.install()
print_results(work)
