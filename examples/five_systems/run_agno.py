"""An agent of Agno, with a scripted model."""

import json

from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse
from receivers import REQUESTS, connect, print_results, remove

from hookbus.adapters import agno


class Script(Model):
    """A model that requests each call, and then ends."""

    def answer(self, messages):
        number = sum(message.role == "assistant" for message in messages)
        if number == len(REQUESTS):
            return ModelResponse(role="assistant", content="done")
        function = {"name": "remove", "arguments": json.dumps(REQUESTS[number])}
        return ModelResponse(
            role="assistant",
            tool_calls=[{"id": f"call_{number}", "type": "function", "function": function}],
        )

    def invoke(self, messages, *args, **kwargs):
        return self.answer(messages)

    ainvoke = invoke_stream = ainvoke_stream = _parse_provider_response_delta = None

    def _parse_provider_response(self, response, **kwargs):
        return response


def work():
    response = Agent(model=Script(id="script"), tools=[remove], telemetry=False).run("tidy up")
    return [tool.result for tool in response.tools]


agno.install()
connect("tool_call", "arguments")
print_results(work)
