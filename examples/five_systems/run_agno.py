"""Agno's own agent, with a model that is a script."""

import json

from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse
from receivers import WISHES, connect, remove, tell

from hookbus.adapters import agno


class Script(Model):
    """Asks for each wish, and then is done."""

    def answer(self, messages):
        turn = sum(message.role == "assistant" for message in messages)
        if turn == len(WISHES):
            return ModelResponse(role="assistant", content="done")
        function = {"name": "remove", "arguments": json.dumps(WISHES[turn])}
        return ModelResponse(
            role="assistant",
            tool_calls=[{"id": f"call_{turn}", "type": "function", "function": function}],
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
tell(work)
